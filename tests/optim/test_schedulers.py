# SPDX-License-Identifier: Apache-2.0
"""Schedulers set the rates and momenta that PyTorch's set, and continue from their states."""
import copy
import json
import pathlib
import warnings

import optim_cases as cases
import pytest

pytestmark = pytest.mark.not_sanitized

WANT = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "optim.json").read_text())["schedules"]


@pytest.mark.parametrize("case", WANT)
def test_rates(torch, case):
    rows, _, scheduler = cases.follow(torch, case)
    for got, want in zip(rows, WANT[case]["rates"], strict=True):
        assert got == pytest.approx(want, rel=1e-12)
    assert scheduler.get_last_lr() == pytest.approx(WANT[case]["last"], rel=1e-12)
    state = {k: v for k, v in WANT[case]["state"].items() if k != "_scale_fn_ref"}
    assert json.loads(json.dumps(cases.layout(torch, scheduler.state_dict()))) == state


@pytest.mark.parametrize("case", WANT)
def test_continues(torch, case):
    _, made, scheduler = cases.follow(torch, case, 7)
    state = (7, copy.deepcopy(made.state_dict()), copy.deepcopy(scheduler.state_dict()))
    rows, _, _ = cases.follow(torch, case, state=state)
    for got, want in zip(rows, WANT[case]["rates"][7:], strict=True):
        assert got == pytest.approx(want, rel=1e-12)


def sgd(torch, lr=0.1):
    return torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=lr, momentum=0.9)


@pytest.mark.parametrize("case", ["StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR", "PolynomialLR", "CosineAnnealingLR"])
def test_closed_form(torch, case):
    made = cases.make(torch, "SGD", cases.start(torch, "float64"), {"lr": 0.1, "momentum": 0.9})
    scheduler = cases.schedulers(torch)[case][2](made)
    made.step()
    for epoch in (6, 2):
        with pytest.warns(UserWarning, match="The epoch parameter in"):
            scheduler.step(epoch)
        assert made.param_groups[0]["lr"] == pytest.approx(WANT[case]["rates"][epoch][0], rel=1e-12)


def test_warm_restarts_at_any_epoch(torch):
    made = sgd(torch)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(made, 3, 2)
    rates = []
    for epoch in (0.5, 3, 5.5, 9, 1):
        scheduler.step(epoch)
        rates.append(made.param_groups[0]["lr"])
    assert rates == pytest.approx([0.09330127018922194, 0.1, 0.06294095225512604, 0.1, 0.075], rel=1e-12)


def test_order_of_steps(torch):
    made = sgd(torch)
    scheduler = torch.optim.lr_scheduler.StepLR(made, 2)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before"):
        scheduler.step()
    made = sgd(torch)
    scheduler = torch.optim.lr_scheduler.StepLR(made, 2)
    made.step = lambda: None
    with pytest.warns(UserWarning, match="has been overridden"):
        scheduler.step()
    made = sgd(torch)
    scheduler = torch.optim.lr_scheduler.StepLR(made, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made.step()
        scheduler.step()
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        scheduler.get_lr()


def test_own_scheduler(torch):
    class Halve(torch.optim.lr_scheduler._LRScheduler):
        def get_lr(self):
            return [base / 2**self.last_epoch for base in self.base_lrs]

    made = sgd(torch, 0.8)
    scheduler = Halve(made)
    made.step()
    scheduler.step()
    assert made.param_groups[0]["lr"] == 0.4
    with pytest.warns(UserWarning, match="The epoch parameter in"):
        scheduler.step(3)
    assert made.param_groups[0]["lr"] == 0.1


def test_tensor_rates(torch):
    lr = torch.tensor(0.8)
    made = sgd(torch, lr)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(made, 0.5)
    made.step()
    scheduler.step()
    assert made.param_groups[0]["lr"] is lr and lr.item() == pytest.approx(0.4)
    assert scheduler.get_last_lr()[0] is not lr


def test_resumes_at_an_epoch(torch):
    made = sgd(torch)
    with pytest.raises(KeyError, match="initial_lr"):
        torch.optim.lr_scheduler.StepLR(made, 2, last_epoch=3)
    made.param_groups[0]["initial_lr"] = 0.1
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(made, 10, last_epoch=3)
    assert scheduler.last_epoch == 4


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda s, o: s.StepLR(3, 2), TypeError, "int is not an Optimizer"),
        (lambda s, o: s.LambdaLR(o, [abs, abs]), ValueError, "Expected 1 lr_lambdas, but got 2"),
        (lambda s, o: s.MultiplicativeLR(o, 3), TypeError, "lr_lambda should be a function, but got int"),
        (lambda s, o: s.ConstantLR(o, 2.0), ValueError, "between 0 and 1"),
        (lambda s, o: s.LinearLR(o, 0.0), ValueError, "greater than 0"),
        (lambda s, o: s.LinearLR(o, 0.5, 2.0), ValueError, "Ending multiplicative factor"),
        (lambda s, o: s.SequentialLR(o, [s.StepLR(o, 2)], [3]), ValueError, "one more than the number of milestone"),
        (lambda s, o: s.SequentialLR(o, [], []), ValueError, "at least one scheduler"),
        (lambda s, o: s.ChainedScheduler([]), ValueError, "at least one scheduler"),
        (lambda s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]), ValueError, "does not support `ReduceLROnPlateau`"),
        (lambda s, o: s.ReduceLROnPlateau(o, factor=1.0), ValueError, "Factor should be < 1.0"),
        (lambda s, o: s.ReduceLROnPlateau(o, "mean"), ValueError, "mode mean is unknown!"),
        (lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="x"), ValueError, "threshold mode x is unknown!"),
        (lambda s, o: s.ReduceLROnPlateau(o, min_lr=[0, 0]), ValueError, "expected 1 min_lrs, got 2"),
        (lambda s, o: s.CyclicLR(o, [0.1, 0.2], 0.3), ValueError, "base_lr must have the same length"),
        (lambda s, o: s.CyclicLR(o, 0.1, 0.3, mode="x"), ValueError, "mode is invalid"),
        (lambda s, o: s.OneCycleLR(o, 0.1), ValueError, "You must define either total_steps"),
        (lambda s, o: s.OneCycleLR(o, 0.1, total_steps=-3), ValueError, "Expected positive integer total_steps"),
        (lambda s, o: s.OneCycleLR(o, 0.1, total_steps=9, pct_start=2.0), ValueError, "pct_start"),
        (lambda s, o: s.OneCycleLR(o, 0.1, total_steps=9, anneal_strategy="x"), ValueError, "anneal_strategy must be one of"),
        (lambda s, o: s.CosineAnnealingWarmRestarts(o, 0), ValueError, "Expected positive integer T_0"),
        (lambda s, o: s.CosineAnnealingWarmRestarts(o, 3).step(-1), ValueError, "Expected non-negative epoch"),
    ],
)
def test_refuses(torch, make, kind, text):
    with pytest.raises(kind, match=text):
        make(torch.optim.lr_scheduler, sgd(torch))


def test_one_cycle_ends(torch):
    made = sgd(torch)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(made, 0.1, total_steps=3)
    made.step()
    for _ in range(3):
        scheduler.step()
    with pytest.raises(ValueError, match="Tried to step 4 times"):
        scheduler.step()
