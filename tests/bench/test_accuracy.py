# SPDX-License-Identifier: Apache-2.0
"""--accuracy: statuses, the worst tensor, and the first operator that diverges; the rule by itself."""

import pathlib
import sys
import types

import pytest

from facula.tools.bench import _accuracy, _diverge

pytestmark = pytest.mark.not_sanitized

HERE = pathlib.Path(__file__).parent
NET = f"path:{HERE / 'known.py'},class:Net"


@pytest.fixture
def accuracy(bench, monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setenv("PYTHONPATH", f"{HERE}")
    return lambda *options: bench("--accuracy", "--only", NET, *options)[1][0]


@pytest.mark.parametrize("mode", ["--inference", "--training"])
def test_the_same_passes(accuracy, mode):
    row = accuracy(mode, "--backend", "known:same")
    assert row["accuracy"] == "pass" and row["worst"]


@pytest.mark.parametrize("mode", ["--inference", "--training"])
def test_a_wrong_layer_is_named(accuracy, mode):
    row = accuracy(mode, "--backend", "known:wrong")
    assert row["accuracy"] == "fail_accuracy"
    assert "second" in row["first_divergence"] and "add" in row["first_divergence"], row
    assert float(row["rmse_candidate"]) > float(row["rmse_eager"])


def test_a_missing_operator_is_named(accuracy):
    row = accuracy("--inference", "--backend", "known:shorter")
    assert row["accuracy"] == "fail_accuracy" and "last" in row["first_divergence"], row


def test_further_modes(accuracy, bench):
    assert accuracy("--inference", "--bfloat16")["accuracy"] == "pass"
    assert accuracy("--training", "--amp", "--deterministic", "--iterations", "3")["accuracy"] == "pass"
    assert accuracy("--inference", "--cosine", "--skip-fp64-check")["accuracy"] == "pass"
    assert accuracy("--inference", "--batch-invariant")["accuracy"] in ("pass", "fail_batch_invariance_at_4", "fail_batch_invariance_at_2", "fail_batch_invariance_at_1")
    status, rows = bench("--tolerance", "--inference", "--only", NET)
    assert status == 0 and float(rows[0]["max"]) == 0.0


def judge(torch, reference, value, exact=None, tolerance=1e-4, **options):
    worker = types.SimpleNamespace(results={"a": [("t", reference)], "b": [("t", value)]}, options={"cosine": False, "float32": False, **options})
    if exact is not None:
        worker.results["float64"] = [("t", exact)]
    return _accuracy.compare(worker, "a", "b", tolerance)


@pytest.fixture
def plain(torch, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", torch)
    return torch


def test_the_rule(plain):
    torch = plain
    exact = torch.linspace(0, 1, 2000, dtype=torch.float64)
    eager = exact.float() + 1e-3
    assert judge(torch, eager, eager)["well"]
    assert judge(torch, eager, exact.float() + 1.9e-3, exact)["well"]  # twice as far as eager from the truth
    far = judge(torch, eager, exact.float() + 2.1e-3, exact)
    assert not far["well"] and far["worst"] == "t" and far["rmse_eager"] == pytest.approx(1e-3, rel=1e-2)
    assert judge(torch, eager[:500], (exact.float() + 2.9e-3)[:500], exact[:500])["well"]  # three times, of few numbers
    assert not judge(torch, eager, eager.double())["well"]
    assert not judge(torch, eager, eager[:-1])["well"]
    assert not judge(torch, torch.tensor([1, 2]), torch.tensor([1, 3]))["well"]
    assert judge(torch, None, torch.zeros(3))["well"] and not judge(torch, None, torch.ones(3))["well"]
    assert judge(torch, torch.tensor([1 + 2j]), torch.tensor([1 + 2j]))["well"]


def test_the_rule_of_nan(plain):
    torch = plain
    nan, numbers = torch.tensor([float("nan"), 1.0]), torch.tensor([2.0, 1.0])
    assert judge(torch, nan, nan.clone())["well"]
    assert not judge(torch, nan, nan.clone(), float32=True)["well"]
    assert judge(torch, nan, nan.clone(), nan.double(), float32=True)["well"]
    assert judge(torch, nan, numbers, numbers.double())["well"]  # eager overflowed, the candidate did not
    assert not judge(torch, numbers, nan, numbers.double())["well"]
    assert judge(torch, nan, nan.clone(), tolerance=0)["well"] and not judge(torch, nan, numbers, tolerance=0)["well"]


def test_where_two_traces_part(plain):
    torch = plain
    x = torch.linspace(-1, 1, 100)
    a, b = [["aten.mul", "l", [_diverge.digest(x)]]], [["aten.mul", "l", [_diverge.digest(x * 1.01)]]]
    assert _diverge.meet(a, b, 1e-3).startswith("aten.mul in l by 0.0")
    assert "no single one" in _diverge.meet(a, a, 1e-3)
    assert _diverge.meet(a, [["aten.add", "l", []]], 1e-3) == "aten.add for aten.mul in l"
    assert "only one of them" in _diverge.meet(a, a + b, 1e-3)
    assert _diverge.digest(torch.zeros(0)) == [0.0] * 4
