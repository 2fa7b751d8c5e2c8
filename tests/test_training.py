# SPDX-License-Identifier: Apache-2.0
"""The training examples give PyTorch's losses for 30 steps: recorded in golden/training.json.

The rule. t64(k) is PyTorch's float64 loss of step k, S the spread of PyTorch's own float32 runs around t64 (the
largest distance over all steps of 24 runs that differ in rounding only; record_training.py). Then

    float32:  |facula(k) - t64(k)| <= S + u(k) / 2     for every step k
    float64:  |facula(k) - t64(k)| <= 1e-12            for every step k

u(k) is the distance between neighbouring float32 numbers at t64(k): a float32 loss cannot show less. So Facula's
float32 must be as near the exact curve as PyTorch's worst, and its float64 a hundred thousand times nearer.
"""

import importlib
import json
import math
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "examples"))

GOLDEN = json.loads((HERE / "golden" / "training.json").read_text())
EXAMPLES = ["train_convnet", "train_transformer"]


def check(name, dtype, losses):
    exact = GOLDEN[name]["float64"]
    assert len(losses) == len(exact) == 30
    for step, (loss, truth) in enumerate(zip(losses, exact)):
        unit = 2.0 ** (math.frexp(truth)[1] - 24)
        allowed = GOLDEN[name]["spread"] + unit / 2 if dtype == "float32" else 1e-12
        assert abs(loss - truth) <= allowed, (
            f"{name}, {dtype}, step {step}: loss {loss!r}, PyTorch's in float64 {truth!r}, "
            f"distance {abs(loss - truth):.3g}, allowed {allowed:.3g}"
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_losses_equal_pytorch(torch, name, dtype):
    check(name, dtype, importlib.import_module(name).train(torch, 30, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_cpp_losses_equal_pytorch(torch, name, dtype):
    """The C++ twins are built into BUILD/examples, beside BUILD/python."""
    program = pathlib.Path(torch.__file__).parents[2] / "examples" / name
    if not program.exists():
        pytest.skip("the C++ examples are not part of this build")
    done = subprocess.run([program, "--dtype", dtype], stdout=subprocess.PIPE, text=True, check=True)
    check(name, dtype, [float(line.split()[1]) for line in done.stdout.splitlines()])


def test_two_runs_are_equal(torch):
    """Same seed, same machine: the same bits."""
    example = importlib.import_module("train_convnet")
    assert example.train(torch, 5) == example.train(torch, 5)


@pytest.mark.parametrize("name", EXAMPLES)
def test_training_learns(torch, name):
    losses = importlib.import_module(name).train(torch, 30)
    assert sum(losses[-5:]) < 0.6 * sum(losses[:5])
