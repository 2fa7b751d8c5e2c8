# SPDX-License-Identifier: Apache-2.0
"""Graphs as Python are PyTorch's byte for byte: what record_code.py took down."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import facula as torch

HERE = pathlib.Path(__file__).parent
GOLDEN = json.loads((HERE.parent / "golden/jit/code.json").read_text())
# Their graphs are not PyTorch's yet (test_script.py). One that becomes equal fails here until it is taken out.
DIFFERS = {"script nested_return"}


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    out = tmp_path_factory.mktemp("code") / "ours.json"
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(torch.__file__).parents[1])}
    subprocess.run([sys.executable, "-m", "facula", "run", str(HERE / "record_code.py"), str(out)], check=True, env=environment, capture_output=True, timeout=300)
    return json.loads(out.read_text())


@pytest.mark.parametrize("case", GOLDEN)
def test_a_graph_prints_as_pytorch_prints_it(case, ours):
    assert (ours.get(case) != GOLDEN[case]) == (case in DIFFERS), ours.get(case)


def test_constants_have_names():
    weight = torch.arange(12.0)
    traced = torch.jit.trace(lambda x: x + weight, torch.ones(12))
    assert "CONSTANTS.c0" in traced.code

    class Adds(torch.nn.Module):
        def forward(self, x):
            return x + weight * weight

    text, constants = torch.jit.trace(Adds(), torch.ones(12)).code_with_constants
    assert "CONSTANTS.c0" in text
    assert torch.equal(constants.c0, weight)


def test_long_chains_and_deep_blocks():
    lines = ["graph(%x0 : Tensor):", "  %1 : int = prim::Constant[value=1]()"]
    lines += [f"  %x{i + 1} : Tensor = aten::add(%x{i}, %x{i}, %1)" if i % 2 else f"  %x{i + 1} : Tensor = aten::neg(%x{i})" for i in range(20000)]
    graph = torch._C.parse_ir("\n".join([*lines, "  return (%x20000)"]))
    code = torch._C._create_function_from_graph("f", graph).code
    assert code.count("\n") > 10000
    nested = "graph(%x : Tensor, %c : bool):\n"
    for depth in range(600):
        nested += "  " * (2 * depth + 1) + "prim::If(%c)\n" + "  " * (2 * depth + 2) + "block0():\n"
    nested += "  " * 1201 + "prim::Print(%x)\n"
    for depth in reversed(range(600)):
        nested += "  " * (2 * depth + 3) + "-> ()\n" + "  " * (2 * depth + 2) + "block1():\n" + "  " * (2 * depth + 3) + "-> ()\n"
    graph = torch._C.parse_ir(nested + "  return (%x)")
    with pytest.raises(RuntimeError, match="nest more than"):
        torch._C._create_function_from_graph("f", graph).code
