# SPDX-License-Identifier: Apache-2.0
"""Passes over graphs of frozen modules: graphs as PyTorch's, and the same values before and after."""

import json
import pathlib
import re
import sys

import pytest

import facula as torch

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import frozen_cases  # noqa: E402

GOLDEN = json.loads((HERE.parent / "golden/jit/frozen.json").read_text())
# PyTorch folds these and changes what is computed: statistics of the batch are not those of the constants, and a wider
# number makes a wider result.
WRONG_THERE = {"training", *(f"{op} of wider type" for op in ("add", "sub", "mul", "div"))}


def plain(text):
    """Without the numbers of tensors, and with values numbered in the order of the text."""
    text = re.sub(r"\[value=[^\]]*\[ CPU\w+Type\{[\d,]*\} \]\]|\[value=\{[^}]*\}\]|\[value=<Tensor>\]", "[value]", text)
    numbers = {}
    return re.sub(r"%\d+\b(?!\.)", lambda m: f"%{numbers.setdefault(m.group(), len(numbers))}", text)


def results(graph):
    sizes = {"x": (4, 2, 3, 3) if "conv" in str(graph) else (4, 2), "w": (3, 2, 1, 1)}
    torch.manual_seed(0)
    inputs = [True if str(v.type()) == "bool" else torch.randn(sizes[v.debugName()]) for v in graph.inputs()]
    try:
        return torch._C._jit_interpret_graph(graph, tuple(inputs))
    except RuntimeError as e:
        return str(e).splitlines()[-1]


@pytest.mark.parametrize(("name", "case"), [(n, c) for n, cases in GOLDEN.items() for c in cases])
def test_frozen_graphs(name, case):
    text, constants = frozen_cases.CASES[name][case]
    graph = frozen_cases.build(torch, text, constants)
    before = results(graph)
    function, _, flag = name.partition("|")
    getattr(torch._C, function)(graph, *([flag == "True"] if flag else []))
    graph.lint()
    if case in WRONG_THERE:
        assert "fused" not in str(graph)
        return
    assert plain(str(graph)) == plain(GOLDEN[name][case])
    after = results(graph)
    if isinstance(before, str):
        assert before == after
    else:
        torch.testing.assert_close(after, before)
        assert after.dtype == before.dtype


def test_linear_layers_are_transposed_once():
    """PyTorch 2.15 ends the process here."""
    for bias in ("T(3)", None):
        graph = frozen_cases.build(torch, frozen_cases.TWO_LINEAR, {"w1": "T(3, 2)", "b1": bias, "w2": "T(3, 2) + 1", "b2": "T(3)"})
        before = results(graph)
        assert torch._C._jit_pass_transpose_frozen_linear(graph)
        torch.testing.FileCheck().check_count("aten::matmul", 2, exactly=True).check_not("aten::linear").run(graph)
        torch.testing.assert_close(results(graph), before)


def test_passes_over_modules():
    class Inner(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(2))
            self.register_buffer("b", torch.zeros(2))
            self.drop = torch.nn.Dropout()

        def forward(self, x):
            return self.drop(torch.relu(x * self.w + self.b) + self.w)

    x = torch.tensor([1.0, -2.0])
    traced = torch.jit.trace(Inner().eval(), x)
    graph, tensors = torch._C._jit_pass_lower_graph(traced.graph, traced._c)
    assert [v.debugName() for v in graph.inputs()][0] == "x"
    assert len(list(graph.inputs())) == 3
    assert sorted(t is traced.w for t in tensors) == [False, True]
    torch.testing.assert_close(torch._C._jit_interpret_graph(graph, (x, *tensors)), traced(x))
    torch._C._jit_pass_custom_pattern_based_rewrite(
        "graph(%x):\n  %r = aten::relu(%x)\n  return (%r)", "graph(%x):\n  %r = aten::neg(%x)\n  return (%r)", traced._c
    )
    assert traced(x).tolist() == [0.0, 3.0]
    flat = torch.jit.trace(torch.nn.Dropout().eval(), x)
    torch._C._jit_pass_remove_dropout(flat._c)
    assert "aten::dropout" not in str(flat.graph)
    flat.training = True
    with pytest.raises(RuntimeError, match="training mode is not yet supported"):
        torch._C._jit_pass_remove_dropout(flat._c)


def test_shapes_from_examples():
    graph = torch._C.parse_ir("graph(%x : Tensor, %y : Tensor):\n  %r : Tensor = aten::mul(%x, %y)\n  return (%r)\n")
    torch._C._jit_pass_complete_shape_analysis(graph, (torch.ones(2, 3), torch.ones(3)), False)
    assert "%2 : Float(2, 3" in str(graph).replace("%r", "%2")
    with pytest.raises(RuntimeError, match="takes 2 inputs, not 1"):
        torch._C._jit_pass_complete_shape_analysis(graph, (torch.ones(2, 3),), False)


def test_decompositions():
    text = (
        "graph(%x : Tensor, %d : int[]?, %c : Scalar?, %k : bool):\n  %v : Tensor = aten::var(%x, %d, %c, %k)\n"
        "  %u : Tensor = aten::var(%x, %k)\n  %r : Tensor = aten::relu(%v)\n  return (%v, %u)\n"
    )
    graph = torch._C.parse_ir(text)
    x = torch.randn(3, 4, dtype=torch.float64)
    given = [(x, [1], None, True), (x, None, 0, False), (x, [0, 1], 2.5, False)]
    before = [torch._C._jit_interpret_graph(graph, g) for g in given]
    nodes = list(graph.nodes())
    assert torch._C._jit_decomposition_graph_for_node(nodes[2]) is None
    assert "aten::mean" in str(torch._C._jit_decomposition_graph_for_node(nodes[0]))
    torch._C._jit_pass_run_decompositions(graph)
    assert "aten::var" not in str(graph)
    for g, want in zip(given, before):
        torch.testing.assert_close(torch._C._jit_interpret_graph(graph, g), want)
    body = torch._C.parse_ir("graph(%x : Tensor):\n  %r : Tensor = aten::neg(%x)\n  return (%r)\n")
    schema = next(s for s in torch._C._jit_get_schemas_for_operator("aten::cosh") if not s.overload_name)
    torch._C._jit_register_decomposition_for_schema(schema, body)
    graph = torch._C.parse_ir("graph(%x : Tensor):\n  %r : Tensor = aten::cosh(%x)\n  return (%r)\n")
    torch._C._jit_pass_run_decompositions(graph)
    assert torch._C._jit_interpret_graph(graph, (torch.ones(1),)).item() == -1
    with pytest.raises(RuntimeError, match="takes and gives"):
        torch._C._jit_register_decomposition_for_schema(schema, torch._C.parse_ir("graph():\n  return ()\n"))
