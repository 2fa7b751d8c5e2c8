# SPDX-License-Identifier: Apache-2.0
"""torch.optim.functional walks the paths that PyTorch's optimisers walk. `--module torch` runs the same on PyTorch."""
import importlib
import inspect
import json
import pathlib

import optim_cases as cases
import pytest

pytestmark = pytest.mark.not_sanitized

WANT = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "optim.json").read_text())["cases"]
NAMES = [name for name, (optimizer, _) in cases.ALL.items() if optimizer != "LBFGS"]
PAIRS = {"beta1": ("betas", 0), "beta2": ("betas", 1), "eps1": ("eps", 0), "eps2": ("eps", 1), "etaminus": ("etas", 0), "etaplus": ("etas", 1),
         "step_size_min": ("step_sizes", 0), "step_size_max": ("step_sizes", 1)}  # fmt: skip


def begin(torch, function, group, p):
    """The lists of a state before the first step, for one parameter."""
    lists = {}
    for name in list(inspect.signature(function).parameters)[2:]:
        if name in ("state_steps", "mus", "mu_products"):
            lists[name] = [torch.tensor(0.0 if name == "state_steps" else 1.0)]
        elif name in ("etas", "step_sizes"):
            lists[name] = [torch.tensor(group["lr"]) if name == "etas" else torch.full_like(p, group["lr"])]
        elif name == "momentum_buffer_list" and "dampening" in group:
            lists[name] = [None] if group["momentum"] else []
        elif name == "momentum_buffer_list":
            lists[name] = [torch.zeros_like(p)] if group["momentum"] else []
        elif name == "grad_avgs":
            lists[name] = [torch.zeros_like(p)] if group["centered"] else []
        elif name == "max_exp_avg_sqs":
            lists[name] = [torch.zeros_like(p)] if group["amsgrad"] else []
        elif name == "state_sums":
            lists[name] = [torch.full_like(p, group["initial_accumulator_value"])]
        elif name in ("row_vars", "col_vars", "variances"):
            shape = {"row_vars": (*p.shape[:-1], 1), "col_vars": (*p.shape[:-2], 1, *p.shape[-1:]), "variances": p.shape}[name]
            lists[name] = [torch.zeros(shape, dtype=p.dtype) if (name == "variances") == (p.dim() < 2) else None]
        elif name.endswith(("avgs", "sqs", "infs", "deltas", "axs", "prevs", "bufs")):
            lists[name] = [torch.zeros_like(p)]
    return lists


def value(group, name):
    if name in PAIRS:
        key, i = PAIRS[name]
        found = group[key][i]
        return 1.1920928955078125e-07 if name == "eps1" and found is None else found
    return group.get(name, False)


@pytest.mark.parametrize("case", NAMES)
def test_path(torch, case):
    optimizer, options = cases.ALL[case]
    function = getattr(importlib.import_module(f"{torch.__name__}.optim.functional"), optimizer.lower())
    params = cases.start(torch, "float32")
    groups = cases.make(torch, optimizer, params, options).param_groups
    states = [begin(torch, function, group, group["params"][0]) for group in groups]
    keywords = [n for n, p in inspect.signature(function).parameters.items() if p.kind == p.KEYWORD_ONLY and p.default is p.empty]
    optional = [n for n in ("decoupled_weight_decay", "maximize") if n in inspect.signature(function).parameters]
    for _ in range(cases.STEPS):
        for p in params:
            p.grad = None
        cases.loss_of(params).backward()
        with torch.no_grad():
            for group, lists in zip(groups, states, strict=True):
                p = group["params"][0]
                function([p], [p.grad], *lists.values(), **{n: value(group, n) for n in {*keywords, *optional}})
    scale = max(map(abs, WANT[case]["float32"]))
    for got, want in zip([x for p in params for x in p.flatten().tolist()], WANT[case]["float32"], strict=True):
        assert abs(got - want) <= 1e-6 * max(abs(want), 0.1 * scale), (got, want)


def test_names_and_errors(torch):
    functional = importlib.import_module(f"{torch.__name__}.optim.functional")
    older = importlib.import_module(f"{torch.__name__}.optim._functional")
    module = importlib.import_module(f"{torch.__name__}.optim.adam")
    assert {"adam", "sgd", "muon", "adafactor", "sparse_adam"} <= set(functional.__all__) and callable(older.rmsprop) and callable(module.adam)
    p = torch.zeros(2)
    with pytest.raises(TypeError, match="missing"):
        functional.sgd([p], [p], [], lr=0.1)
    with pytest.raises(TypeError, match="unexpected"):
        functional.sgd([p], [p], [], lr=0.1, weight_decay=0, momentum=0, dampening=0, nesterov=False, maximize=False, speed=1)
    with pytest.raises((ValueError, IndexError, AssertionError)):
        functional.adam([p, p], [p, p], [p], [p, p], [], [torch.tensor(0.0)] * 2, amsgrad=False, beta1=0.9, beta2=0.99, lr=0.1, weight_decay=0, eps=1e-8, maximize=False, foreach=False)
