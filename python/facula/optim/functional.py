# SPDX-License-Identifier: Apache-2.0
"""The steps of optimisers as functions of lists: parameters, gradients, and the parts of their state.

Each is its class's own step (`PerParameter`) over a state that the caller holds. They change what is in the lists, and record
nothing only where the caller says so (`torch.no_grad()`), as PyTorch's do. Every function is also in its class's module.
"""

import sys
from inspect import Parameter, Signature

from facula.optim._adafactor import Adafactor
from facula.optim._muon import Muon
from facula.optim.adadelta import Adadelta
from facula.optim.adagrad import Adagrad
from facula.optim.adam import Adam
from facula.optim.adamax import Adamax
from facula.optim.adamw import AdamW
from facula.optim.asgd import ASGD
from facula.optim.nadam import NAdam
from facula.optim.radam import RAdam
from facula.optim.rmsprop import RMSprop
from facula.optim.rprop import Rprop
from facula.optim.sgd import SGD
from facula.optim.sparse_adam import sparse_adam

__all__ = [
    "adadelta", "adafactor", "adagrad", "adam", "adamax", "adamw", "asgd", "muon", "nadam", "radam", "rmsprop", "rprop", "sgd", "sparse_adam",
]  # fmt: skip

# Arguments that are a part of the state of each parameter, and the name that the class has for it.
_PARTS = {
    "acc_deltas": "acc_delta", "axs": "ax", "col_vars": "col_var", "etas": "eta", "exp_avg_sqs": "exp_avg_sq", "exp_avgs": "exp_avg",
    "exp_infs": "exp_inf", "grad_avgs": "grad_avg", "max_exp_avg_sqs": "max_exp_avg_sq", "momentum_buffer_list": "momentum_buffer",
    "mu_products": "mu_product", "mus": "mu", "muon_momentum_bufs": "momentum_buffer", "prevs": "prev", "row_vars": "row_var",
    "square_avgs": "square_avg", "state_steps": "step", "state_sums": "sum", "step_sizes": "step_size", "variances": "variance",
}  # fmt: skip
# Options of a class that are two arguments of its function.
_PAIRS = {"betas": ("beta1", "beta2"), "eps": ("eps1", "eps2"), "etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max")}
_DEFAULTS = {"foreach": None, "fused": None, "grad_scale": None, "found_inf": None}  # of the others: False
_COMMON = "foreach? capturable? differentiable? has_complex?"


def _signature(arguments):
    """Of words: `x?` has a default, what follows `*` is given by name."""
    kind, parameters = Parameter.POSITIONAL_OR_KEYWORD, []
    for word in arguments.split():
        if word == "*":
            kind = Parameter.KEYWORD_ONLY
            continue
        name = word.rstrip("?")
        parameters.append(Parameter(name, kind, default=_DEFAULTS.get(name, False) if word != name else Parameter.empty))
    return Signature(parameters)


def _function(name, cls, arguments, **fixed):
    signature = _signature(arguments)

    def step(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        options = {**given.arguments, **fixed}
        params, grads = (options.pop(key) for key in list(options)[:2])
        lists = {part: options.pop(key) for key, part in _PARTS.items() if key in options}
        for part, values in lists.items():
            if len(values) not in (0, len(params)):
                raise ValueError(f"{name}: {len(params)} parameters, but {len(values)} of {part}")
        for pair, parts in _PAIRS.items():
            if parts[0] in options:
                options[pair] = tuple(options.pop(key) for key in parts)
        states = [{part: values[i] for part, values in lists.items() if values and values[i] is not None} for i in range(len(params))]
        optimizer = cls.__new__(cls)
        optimizer.grad_scale, optimizer.found_inf = (options.pop(key, None) for key in ("grad_scale", "found_inf"))
        optimizer._step_of_group(options, params, grads, states)
        for part, values in lists.items():
            for i, state in enumerate(states if values else ()):
                if state.get(part) is not values[i]:
                    values[i] = state[part]  # the first step made it

    step.__name__ = step.__qualname__ = name
    step.__module__, step.__signature__ = __name__, signature
    step.__doc__ = f"One step of {cls.__name__} over lists of parameters, gradients and parts of their state."
    setattr(sys.modules[cls.__module__], name, step)
    return step


_ADAM = "params grads exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps foreach? capturable? differentiable? fused? grad_scale? found_inf? has_complex?"
_ADAM_OPTIONS = "* amsgrad beta1 beta2 lr weight_decay eps maximize"

adadelta = _function(
    "adadelta", Adadelta, "params grads square_avgs acc_deltas state_steps capturable? foreach? differentiable? has_complex? * lr rho eps weight_decay maximize"
)
adafactor = _function(
    "adafactor", Adafactor,
    "params grads row_vars col_vars variances state_steps foreach? grad_scale? found_inf? has_complex? * d lr beta2_decay weight_decay eps1 eps2 maximize",
)  # fmt: skip
adagrad = _function(
    "adagrad", Adagrad,
    "params grads state_sums state_steps fused? grad_scale? found_inf? has_sparse_grad? foreach? differentiable? has_complex?"
    " * lr weight_decay lr_decay eps maximize",
)  # fmt: skip
adam = _function("adam", Adam, f"{_ADAM} decoupled_weight_decay? {_ADAM_OPTIONS}")
adamw = _function("adamw", AdamW, f"{_ADAM} {_ADAM_OPTIONS}", decoupled_weight_decay=True)
adamax = _function(
    "adamax", Adamax, "params grads exp_avgs exp_infs state_steps foreach? maximize? differentiable? capturable? has_complex? * eps beta1 beta2 lr weight_decay"
)
asgd = _function(
    "asgd", ASGD, "params grads axs mus etas state_steps foreach? maximize? differentiable? capturable? has_complex? * lambd lr t0 alpha weight_decay"
)
muon = _function(
    "muon", Muon, "params grads muon_momentum_bufs * foreach? lr weight_decay momentum nesterov ns_coefficients ns_steps eps adjust_lr_fn has_complex"
)
nadam = _function(
    "nadam", NAdam,
    f"params grads exp_avgs exp_avg_sqs mu_products state_steps decoupled_weight_decay? {_COMMON} maximize? * beta1 beta2 lr weight_decay momentum_decay eps",
)  # fmt: skip
radam = _function(
    "radam", RAdam,
    "params grads exp_avgs exp_avg_sqs state_steps decoupled_weight_decay? foreach? differentiable? capturable? has_complex? maximize?"
    " * beta1 beta2 lr weight_decay eps",
)  # fmt: skip
rmsprop = _function(
    "rmsprop", RMSprop,
    "params grads square_avgs grad_avgs momentum_buffer_list state_steps foreach? maximize? differentiable? capturable? has_complex?"
    " * lr alpha eps weight_decay momentum centered",
)  # fmt: skip
rprop = _function(
    "rprop", Rprop,
    "params grads prevs step_sizes state_steps foreach? capturable? maximize? differentiable? has_complex? * step_size_min step_size_max etaminus etaplus",
)  # fmt: skip
sgd = _function(
    "sgd", SGD,
    "params d_p_list momentum_buffer_list has_sparse_grad? foreach? fused? grad_scale? found_inf? * weight_decay momentum lr dampening nesterov maximize",
)  # fmt: skip
