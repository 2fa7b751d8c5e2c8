# SPDX-License-Identifier: Apache-2.0
"""Optimisers walk the paths that PyTorch's walk, with the same state."""
import copy
import json
import pathlib
import pickle

import optim_cases as cases
import pytest

pytestmark = pytest.mark.not_sanitized

WANT = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "optim.json").read_text())["cases"]
FORMS = {"default": {}, "foreach": {"foreach": True}, "loop": {"foreach": False}}


def values(params):
    return [x for p in params for x in p.flatten().tolist()]


def accepts(torch, optimizer, option):
    import inspect
    return option in inspect.signature(getattr(torch.optim, optimizer)).parameters


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", cases.ALL)
def test_path(torch, case, form):
    optimizer, options = cases.ALL[case]
    if form != "default" and not accepts(torch, optimizer, "foreach"):
        pytest.skip("has one form")
    # L-BFGS divides differences by differences, which makes the last digits of a dot product larger ones.
    for dtype, tolerance in [("float64", 1e-9)] if optimizer == "LBFGS" else [("float32", 1e-6), ("float64", 1e-12)]:
        params, made = cases.run(torch, optimizer, {**options, **FORMS[form]}, dtype)
        scale = max(map(abs, WANT[case][dtype]))
        for got, want in zip(values(params), WANT[case][dtype], strict=True):
            assert abs(got - want) <= tolerance * max(abs(want), 0.1 * scale), (dtype, got, want)
    if form == "default":
        assert json.loads(json.dumps(cases.layout(torch, made.state_dict()))) == WANT[case]["state"]
        assert repr(made) == WANT[case]["repr"]


@pytest.mark.parametrize("case", [name for name, (optimizer, _) in cases.ALL.items() if optimizer in ("SGD", "Adam", "AdamW", "Adagrad")])
def test_fused_path(torch, case):
    optimizer, options = cases.ALL[case]
    params, _ = cases.run(torch, optimizer, {**options, "fused": True}, "float32")
    for got, want in zip(values(params), WANT[case]["float32"], strict=True):
        assert abs(got - want) <= 1e-6 * max(abs(want), 0.1)


@pytest.mark.parametrize("optimizer", cases.CASES)
def test_continues_from_its_state(torch, optimizer):
    options = cases.CASES[optimizer][-1]
    whole, _ = cases.run(torch, optimizer, options, "float64")
    params, made = cases.run(torch, optimizer, options, "float64", cases.STEPS // 2)
    again = copy.deepcopy(params)
    other = cases.make(torch, optimizer, again, options)
    other.load_state_dict(copy.deepcopy(made.state_dict()))
    assert [g["lr"] for g in other.param_groups] == [g["lr"] for g in made.param_groups]
    thawed = pickle.loads(pickle.dumps(other))
    leaves = [p for g in thawed.param_groups for p in g["params"]]
    for continued, leaves in ((other, again), (thawed, leaves + copy.deepcopy(params)[len(leaves) :])):
        def closure(continued=continued, leaves=leaves):
            continued.zero_grad()
            loss = cases.loss_of(leaves)
            loss.backward()
            return loss
        for _ in range(cases.STEPS - cases.STEPS // 2):
            continued.step(closure)
        assert values(leaves) == pytest.approx(values(whole), rel=1e-6)  # NAdam loads its product in another type


@pytest.mark.parametrize("optimizer", [n for n in cases.CASES if n not in ("LBFGS", "SparseAdam", "Adafactor", "Muon")])
def test_complex_parameters_are_pairs_of_real_ones(torch, optimizer):
    if optimizer == "SGD":
        pytest.skip("needs no pairs")
    pair = torch.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=torch.float64, requires_grad=True)
    number = torch.view_as_complex(pair.detach().clone()).requires_grad_()
    for p in (pair, number):
        made = getattr(torch.optim, optimizer)([p], **cases.CASES[optimizer][-1])
        for _ in range(4):
            made.zero_grad()
            real = p if p is pair else torch.view_as_real(p)
            (real**4).sum().backward()
            made.step()
    torch.testing.assert_close(torch.view_as_real(number.detach()), pair.detach())


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW"])
def test_differentiable(torch, optimizer):
    """The gradient through a step, by the parameter, the gradient, the state and the learning rate, against differences."""
    names = ["momentum_buffer"] if optimizer == "SGD" else ["exp_avg", "exp_avg_sq"]

    def after(x, grad, lr, *state):
        p = x.clone()
        p.grad = grad
        options = {"momentum": 0.9} if optimizer == "SGD" else {}
        made = getattr(torch.optim, optimizer)([p], lr=lr, weight_decay=0.1, differentiable=True, **options)
        made.state[p] = {n: s.clone() for n, s in zip(names, state, strict=True)}
        if optimizer != "SGD":
            made.state[p]["step"] = torch.tensor(3.0, dtype=torch.float64)
        made.step()
        return p

    x = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)
    inputs = [x, x.cos(), torch.tensor(0.1, dtype=torch.float64), *(x.square() * (i + 1) for i in range(len(names)))]
    assert torch.autograd.gradcheck(after, [t.requires_grad_() for t in inputs])


def test_half_parameters(torch):
    for optimizer in ("SGD", "Adam", "AdamW"):
        for dtype, tolerance in (("bfloat16", 0.03), ("float16", 0.004)):
            options = {"lr": 0.1, "momentum": 0.9} if optimizer == "SGD" else {"lr": 0.05}
            params, _ = cases.run(torch, optimizer, options, dtype, 4)
            want, _ = cases.run(torch, optimizer, options, "float32", 4)
            assert all(p.dtype == getattr(torch, dtype) for p in params)
            assert max(abs(a - b) for a, b in zip(values(params), values(want), strict=True)) < tolerance * 4
