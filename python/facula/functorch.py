# SPDX-License-Identifier: Apache-2.0
"""functorch, the package from before torch.func: the same functions, and modules as functions of their parameters."""

import copy

import facula as torch
from facula import func
from facula.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

__all__ = [
    "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp", "vmap", "make_functional",
    "make_functional_with_buffers", "combine_state_for_ensemble",
]  # fmt: skip


class _Functional(torch.nn.Module):
    """A module's structure without its numbers, which are given with each call."""

    def __init__(self, model, parameters, buffers, takes_buffers):
        super().__init__()
        self.stateless_model = model
        self.param_names, self.buffer_names, self._takes_buffers = parameters, buffers, takes_buffers

    def forward(self, parameters, *args, **kwargs):
        state = dict(zip(self.param_names, parameters, strict=True))
        if self._takes_buffers:
            state.update(zip(self.buffer_names, args[0], strict=True))
            args = args[1:]
        return func.functional_call(self.stateless_model, state, args, kwargs)


def _taken_apart(model, disable_autograd_tracking, takes_buffers):
    parameters, buffers = dict(model.named_parameters(remove_duplicate=False)), dict(model.named_buffers(remove_duplicate=False))
    empty = copy.deepcopy(model).to("meta") if takes_buffers or not buffers else copy.deepcopy(model)
    function = _Functional(empty, tuple(parameters), tuple(buffers), takes_buffers)
    weights = tuple(p.detach() if disable_autograd_tracking else p for p in parameters.values())
    return function, weights, tuple(buffers.values())


def make_functional(model, disable_autograd_tracking=False, *, _remove_duplicates=True):
    """A function of parameters and inputs, and the model's parameters. The model has no buffers."""
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return _taken_apart(model, disable_autograd_tracking, False)[:2]


def make_functional_with_buffers(model, disable_autograd_tracking=False, *, _remove_duplicates=True):
    """A function of parameters, buffers and inputs, and the model's parameters and buffers."""
    return _taken_apart(model, disable_autograd_tracking, True)


def combine_state_for_ensemble(models):
    """A function, parameters and buffers of models of one class, stacked: to be called in vmap."""
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({m.training for m in models}) != 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) != 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    functions, weights, buffers = zip(*map(make_functional_with_buffers, models), strict=True)
    stacked = [tuple(torch.stack(items) for items in zip(*states, strict=True)) for states in (weights, buffers)]
    return functions[0], stacked[0], stacked[1]
