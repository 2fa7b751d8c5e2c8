# SPDX-License-Identifier: Apache-2.0
"""Optimisers with their options, and the small problem that each of them steps through."""

STEPS = 12
CASES = {
    "SGD": [{}, {"lr": 0.02, "momentum": 0.9}, {"lr": 0.02, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.05},
            {"lr": 0.02, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}, {"lr": 0.01, "maximize": True}],
    "Adam": [{}, {"lr": 0.05, "betas": (0.8, 0.95), "eps": 1e-6}, {"lr": 0.05, "weight_decay": 0.1}, {"lr": 0.05, "amsgrad": True},
             {"lr": 0.05, "amsgrad": True, "weight_decay": 0.1, "maximize": True}, {"lr": 0.05, "decoupled_weight_decay": True, "weight_decay": 0.1}],
    "AdamW": [{}, {"lr": 0.05, "weight_decay": 0.2}, {"lr": 0.05, "amsgrad": True}, {"lr": 0.05, "maximize": True}],
    "Adamax": [{}, {"lr": 0.05, "weight_decay": 0.1}, {"lr": 0.05, "betas": (0.8, 0.9), "maximize": True}],
    "NAdam": [{}, {"lr": 0.05, "weight_decay": 0.1}, {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "momentum_decay": 0.1}],
    "RAdam": [{}, {"lr": 0.05, "weight_decay": 0.1, "betas": (0.8, 0.9)}, {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}],
    "RMSprop": [{}, {"lr": 0.01, "momentum": 0.5, "weight_decay": 0.1}, {"lr": 0.02, "centered": True}, {"lr": 0.01, "centered": True, "momentum": 0.5, "maximize": True}],
    "Rprop": [{}, {"lr": 0.05, "etas": (0.4, 1.5), "step_sizes": (1e-3, 0.2)}, {"lr": 0.02, "maximize": True}],
    "ASGD": [{}, {"lr": 0.05, "lambd": 0.01, "alpha": 0.5, "t0": 3, "weight_decay": 0.1}, {"lr": 0.01, "maximize": True, "t0": 0}],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1}, {"maximize": True}],
    "Adagrad": [{}, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}, {"lr": 0.1, "initial_accumulator_value": 0.5, "eps": 1e-6, "maximize": True}],
    "Adafactor": [{}, {"lr": 0.05, "beta2_decay": -0.5, "eps": (1e-4, 1e-2), "d": 2.0, "weight_decay": 0.1}, {"lr": 0.05, "maximize": True}],
    "Muon": [{}, {"lr": 0.02, "nesterov": False, "momentum": 0.5}, {"lr": 0.02, "adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.0}],
    "LBFGS": [{"max_iter": 1, "lr": 0.05}, {"max_iter": 2, "lr": 0.1, "history_size": 3}, {"max_iter": 2, "line_search_fn": "strong_wolfe"},
              {"lr": 0.5, "max_iter": 4, "line_search_fn": "strong_wolfe", "history_size": 2}],
}  # fmt: skip


def name(optimizer, options):
    return ",".join([optimizer, *(f"{k}={v}" for k, v in options.items())])


ALL = {name(optimizer, options): (optimizer, options) for optimizer, many in CASES.items() for options in many}


def start(torch, dtype):
    """Two parameters with fixed values; the second is in a group of its own."""
    first = (torch.arange(12, dtype=torch.float64) * 0.37).sin().reshape(3, 4) * 2
    second = (torch.arange(5, dtype=torch.float64) * 0.61).cos()
    return [x.to(getattr(torch, dtype)).requires_grad_() for x in (first, second)]


def loss_of(params):
    """Curved, not symmetric, with gradients of different sizes and signs."""
    first, second = params
    return (first * first * 0.7 + (first * 3).sin()).sum() + ((second - 0.3) ** 4).sum() + first.sum() * second.sum() * 0.1


def make(torch, optimizer, params, options):
    first, second = params
    groups = [{"params": [first]}, {"params": [second], "lr": options.get("lr", 1e-3) / 2}]
    groups = {"Muon": groups[:1], "LBFGS": [first, second]}.get(optimizer, groups)
    return getattr(torch.optim, optimizer)(groups, **options)


def run(torch, optimizer, options, dtype, steps=STEPS, state=None):
    """The parameters after the steps, and the optimiser."""
    params = start(torch, dtype)
    made = make(torch, optimizer, params, options)
    if state is not None:
        made.load_state_dict(state)

    def closure():
        made.zero_grad()
        loss = loss_of(params)
        loss.backward()
        return loss

    for _ in range(steps):
        made.step(closure)
    return params, made


def layout(torch, state):
    """A state dict with every tensor replaced by its type and shape, and without the last digits of numbers."""
    if isinstance(state, torch.Tensor):
        return f"{state.dtype} {list(state.shape)}"
    if isinstance(state, dict):
        return {str(k): layout(torch, v) for k, v in state.items()}
    if isinstance(state, (list, tuple)):
        return [layout(torch, v) for v in state]
    return float(f"{state:.9g}") if isinstance(state, float) else state


class Power:
    """A callable with attributes, which schedulers save."""

    def __init__(self, base):
        self.base = base

    def __call__(self, epoch):
        return self.base**epoch


def schedulers(torch):
    """Name -> (optimiser, function that makes a scheduler for it)."""
    s = torch.optim.lr_scheduler
    sgd = {"lr": 0.1, "momentum": 0.9}
    made = {
        "LambdaLR": lambda o: s.LambdaLR(o, lambda e: 1 / (1 + e)),
        "LambdaLR,two": lambda o: s.LambdaLR(o, [Power(0.9), lambda e: 0.5**e]),
        "MultiplicativeLR": lambda o: s.MultiplicativeLR(o, lambda e: 0.95),
        "StepLR": lambda o: s.StepLR(o, 4, 0.5),
        "MultiStepLR": lambda o: s.MultiStepLR(o, [3, 3, 7], 0.3),
        "ConstantLR": lambda o: s.ConstantLR(o, 0.5, 4),
        "LinearLR": lambda o: s.LinearLR(o, 0.2, 0.9, 6),
        "ExponentialLR": lambda o: s.ExponentialLR(o, 0.9),
        "PolynomialLR": lambda o: s.PolynomialLR(o, 8, 2.0),
        "CosineAnnealingLR": lambda o: s.CosineAnnealingLR(o, 5, 0.01),
        "CosineAnnealingWarmRestarts": lambda o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.001),
        "SequentialLR": lambda o: s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.LinearLR(o, 0.5, 1.0, 4), s.ExponentialLR(o, 0.9)], [3, 8]),
        "ChainedScheduler": lambda o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)]),
        "SequentialLR,nested": lambda o: s.SequentialLR(o, [s.ChainedScheduler([s.ConstantLR(o, 0.5, 2), s.ExponentialLR(o, 0.9)]), s.CosineAnnealingLR(o, 5)], [5]),
        "CyclicLR": lambda o: s.CyclicLR(o, 0.01, 0.2, 3, 5),
        "CyclicLR,triangular2": lambda o: s.CyclicLR(o, [0.01, 0.02], 0.2, 3, mode="triangular2", base_momentum=0.7),
        "CyclicLR,exp_range": lambda o: s.CyclicLR(o, 0.01, 0.2, 3, mode="exp_range", gamma=0.9, cycle_momentum=False),
        "CyclicLR,scale_fn": lambda o: s.CyclicLR(o, 0.01, 0.2, 3, scale_fn=Power(0.8), scale_mode="iterations"),
        "OneCycleLR": lambda o: s.OneCycleLR(o, 0.5, total_steps=20),
        "OneCycleLR,three": lambda o: s.OneCycleLR(o, [0.5, 0.3], epochs=5, steps_per_epoch=4, three_phase=True, anneal_strategy="linear"),
        "SWALR": lambda o: torch.optim.swa_utils.SWALR(o, 0.01, 5),
        "SWALR,linear": lambda o: torch.optim.swa_utils.SWALR(o, [0.01, 0.5], 4, "linear"),
    }  # fmt: skip
    table = {name: ("SGD", sgd, make) for name, make in made.items()}
    table["OneCycleLR,Adam"] = ("Adam", {"lr": 0.1}, made["OneCycleLR"])
    table["CyclicLR,AdamW"] = ("AdamW", {"lr": 0.1}, made["CyclicLR"])
    for mode, kind in (("min", "rel"), ("max", "abs")):
        options = {"mode": mode, "threshold_mode": kind, "factor": 0.5, "patience": 1, "cooldown": 1, "threshold": 0.05, "min_lr": [0.01, 0.04]}
        table[f"ReduceLROnPlateau,{mode},{kind}"] = ("SGD", sgd, lambda o, options=options: s.ReduceLROnPlateau(o, **options))
    return table


def follow(torch, case, epochs=18, state=None):
    """The rates (and momenta) of every epoch and the scheduler. state: (epoch, optimiser's, scheduler's) to begin with."""
    name, options, make_scheduler = schedulers(torch)[case]
    made = make(torch, name, start(torch, "float64"), options)
    scheduler = make_scheduler(made)
    begin = 0
    if state is not None:
        begin, of_optimizer, of_scheduler = state
        made.load_state_dict(of_optimizer)
        scheduler.load_state_dict(of_scheduler)
    rows = []
    for epoch in range(begin, epochs):
        made.step()
        rows.append([x for g in made.param_groups for x in (g["lr"], g["betas"][0] if "betas" in g else g["momentum"])])
        if case.startswith("ReduceLROnPlateau"):
            scheduler.step((1.0, 0.9, 0.9, 0.89, 0.89, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.9, 0.9, 0.9, 2.0, 2.0, 2.1, 2.1)[epoch])
        else:
            scheduler.step()
    return rows, made, scheduler
