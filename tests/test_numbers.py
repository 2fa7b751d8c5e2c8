# SPDX-License-Identifier: Apache-2.0
"""Numbers are numbers: what golden/record_numbers.py asked PyTorch."""
import json
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE / "golden")]

import record_numbers

ANSWERS = json.loads((HERE / "golden" / "numbers.json").read_text())["answers"]


def close(got, wanted):
    if not (isinstance(wanted, list) and isinstance(got, list)):
        return got == wanted
    numbers = [[float({"True": 1, "False": 0}.get(v, v)) for v in answer[2]] for answer in (got, wanted)]
    return got[:2] == wanted[:2] and all(a == pytest.approx(b, rel=2e-6, abs=1e-6, nan_ok=True) for a, b in zip(*numbers))


@pytest.mark.parametrize("code", record_numbers.CASES)
def test_numbers(torch, code):
    assert close(record_numbers.answer(torch, code), ANSWERS[code]), (record_numbers.answer(torch, code), ANSWERS[code])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_samples_of_beta_and_dirichlet_stay_below_one(torch, dtype):
    d, a = torch.distributions, torch.tensor(0.01, dtype=getattr(torch, dtype))
    for x in (d.Beta(a, a).sample((500,)), d.Dirichlet(a.expand(3)).sample((500,))):
        assert (x < 1).all() and (x > 0).all() and x.max() > 0.9


def test_a_continuous_bernoulli_of_large_logits_is_finite(torch):
    at = torch.distributions.ContinuousBernoulli(logits=torch.tensor([1e38, -1e38, 1.0])).log_prob(torch.tensor([1.0, 0.0, 1.0]))
    assert at.tolist() == pytest.approx([2.7690, 2.7690, 0.4587], abs=2e-4)


@pytest.mark.parametrize("low, high, dtype, words", [
    (0, 1e39, "float32", "to is out of bounds for float"), (-1e39, 0, "float32", "from is out of bounds for float"),
    (0, 1e5, "float16", "to is out of bounds for c10::Half"), (0, float("inf"), "float64", "to is out of bounds for double"),
    (0, 4e38, "bfloat16", "to is out of bounds for c10::BFloat16"), (0, float("nan"), "float32", "to is out of bounds for float"),
    (-3e38, 3e38, "float32", "to-from to exceed the limit"), (-1.7e308, 1.7e308, "float64", "to-from to exceed the limit"),
])  # fmt: skip
def test_uniform_refuses_bounds_that_the_type_does_not_hold(torch, low, high, dtype, words):
    with pytest.raises(RuntimeError, match=words):
        torch.empty(2, dtype=getattr(torch, dtype)).uniform_(low, high)


@pytest.mark.parametrize("call", [
    lambda t: t.ones(True), lambda t: t.zeros((True, 2)), lambda t: t.ones(2).view(True, 2), lambda t: t.ones(2).repeat(True), lambda t: t.ones(2).expand(True, 2),
    lambda t: t.full((True,), 1), lambda t: t.ones(2, 2).permute(True, 0), lambda t: t.randn(True, 2), lambda t: t.ones(2, 2).flip(True), lambda t: t.ones(2, 2).sum((True,)),
])  # fmt: skip
def test_a_bool_is_no_first_size(torch, call):
    with pytest.raises(TypeError):
        call(torch)
    assert torch.ones(2, True).shape == (2, 1)  # PyTorch looks at the first only
