# SPDX-License-Identifier: Apache-2.0
"""Beside real PyTorch, and engines that its Python has: FACULA_ORACLE=/path/to/python pytest tests/bench/test_oracle.py"""

import os
import subprocess

import pytest

ORACLE = os.environ.get("FACULA_ORACLE")
pytestmark = [pytest.mark.skipif(not ORACLE, reason="FACULA_ORACLE names no Python that has PyTorch"), pytest.mark.not_sanitized]


def has(package):
    return subprocess.run([ORACLE, "-c", f"import {package}"], capture_output=True).returncode == 0


@pytest.fixture
def beside(bench):
    return lambda *options: bench("--oracle", ORACLE, "--tiny", *options)


def test_times(beside, bench):
    status, rows = beside("--performance", "--training", "--backend", "torch", "--only", "phlippe_resnet")
    assert status == 0 and float(rows[0]["speedup"]) > 0.2 and "PyTorch's eager" in rows[0]["reason"]
    details = bench.details[0]
    assert details["baseline"] == "PyTorch eager"
    assert details["learned"]["a"]["torch"].startswith("torch ") and details["learned"]["c"]["torch"].startswith("facula ")
    assert details["first"]["a"] == pytest.approx(details["first"]["c"], rel=1e-4)
    assert details["counts"]["operators"] > 0


def test_without_a_compiler_the_row_says_what_it_compares(beside):
    _, rows = beside("--performance", "--inference", "--inductor", "--only", "lennard_jones")
    assert rows[0]["status"] == "no_compiler" and float(rows[0]["speedup"]) > 0 and "PyTorch's eager" in rows[0]["reason"]


@pytest.mark.parametrize("mode", ["--training", "--inference"])
def test_accuracy(beside, mode):
    _, rows = beside("--accuracy", mode, "--float32", "--backend", "torch", "--only", "lennard_jones")
    assert rows[0]["accuracy"] == "pass"


def test_an_accuracy_that_fails_names_the_module(beside, bench):
    """The same text that computes something else under Facula: the first module that does is named."""
    only = bench.model("""
        class Odd(nn.Linear):
            def forward(self, x):
                return super().forward(x) + (0.01 if "facula" in torch.__version__ else 0.0)
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.one, self.two, self.three = nn.Linear(4, 4), Odd(4, 4), nn.Linear(4, 4)
            def forward(self, x):
                return self.three(self.two(self.one(x)))
            def get_example_inputs(self):
                return (torch.randn(8, 4),)
    """)
    status, rows = beside("--accuracy", "--inference", "--backend", "torch", "--only", only)
    assert status == 1 and rows[0]["accuracy"] == "fail_accuracy" and "Odd in two" in rows[0]["first_divergence"], rows


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
def test_a_peer(beside, engine):
    status, rows = beside("--performance", "--inference", "--peer", engine, "--only", "phlippe_resnet")
    assert [r["name"] for r in rows] == ["phlippe_resnet", f"phlippe_resnet@{engine}"]
    assert rows[1]["status"] == ("measured" if has(engine) else "missing"), rows[1]
    assert "left to gain" in rows[1]["reason"] if has(engine) else engine in rows[1]["reason"]
    assert status == 0
