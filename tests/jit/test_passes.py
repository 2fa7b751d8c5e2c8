# SPDX-License-Identifier: Apache-2.0
"""Each pass does to each graph of pass_cases.py what PyTorch's does: the text before and after it is the recorded one."""

import json
import pathlib
import re
import sys

import pytest

import facula as torch

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from pass_cases import CASES  # noqa: E402
from pass_cases_more import CASES as MORE  # noqa: E402

GOLDEN = json.loads((HERE.parent / "golden/jit/passes.json").read_text())
ALL = [
    (name, case)
    for name, cases in GOLDEN.items()
    for case, (before, _) in cases.items()
    if before is not None
]
# PyTorch puts in what it compiled of functions of its own (batch_norm_stats and others); ours stays with the operator.
OTHERWISE = {("_jit_pass_decompose_ops", "layer_norm_cuda"), ("_jit_pass_decompose_ops", "batch_norm_cuda")}


def numbered_alike(text):
    """With values numbered in the order of the text: of passes that make nodes in another order than PyTorch does."""
    parts = []
    for part in text.split("\nwith "):
        numbers = {}
        parts.append(re.sub(r"%\d+\b(?!\.)", lambda m, n=numbers: f"%{n.setdefault(m.group(), len(n))}", part))
    return "\nwith ".join(parts)


# PyTorch puts what replaces a pattern behind the last of its inputs, also where one of them is written in between; here it
# stands where the pattern stood.
ELSEWHERE = {"_jit_pass_fuse_linear", "_jit_pass_fuse_add_relu"}


def lines_of(text):
    return sorted(re.sub(r"%\d+", "%", line) for line in text.splitlines())


def plain(text):
    """Without places in PyTorch's own built-in functions."""
    return re.sub(r" # <string>:\d+:\d+", "", text)


@pytest.mark.parametrize(("name", "case"), ALL, ids=[f"{n.removeprefix('_jit_pass_')}-{c}" for n, c in ALL])
def test_pass_does_what_pytorchs_does(name, case):
    before, after = GOLDEN[name][case]
    text = {**CASES.get(name, {}), **MORE.get(name, {})}[case]
    graph = torch._C.parse_ir(text, parse_tensor_constants=True)
    assert str(graph) == before
    name, _, flags = name.partition("|")
    getattr(torch._C, name)(graph, **{flag: True for flag in flags.split()})
    graph.lint()
    if (name, case) in OTHERWISE:
        assert "norm" in str(graph)
        assert "aten::mul" in str(graph)
        return
    if name in ELSEWHERE:
        assert lines_of(str(graph)) == lines_of(plain(after))
    elif name in MORE and case in MORE[name]:
        assert numbered_alike(str(graph)) == numbered_alike(plain(after))
    else:
        assert str(graph) == plain(after)


def test_patterns_are_replaced():
    graph = torch._C.parse_ir(MORE["_jit_pass_fuse_add_relu"]["pair"])
    pattern = "graph(%a, %b, %c):\n  %s = aten::add(%a, %b, %c)\n  %r = aten::relu(%s)\n  return (%r)\n"
    torch._C._jit_pass_custom_pattern_based_rewrite_graph(pattern, "graph(%a, %b, %c):\n  %r = my::fused(%a, %b, %c)\n  return (%r)\n", graph)
    torch.testing.FileCheck().check("my::fused(%x, %y").check_not("aten::relu").run(graph)
    with pytest.raises(RuntimeError, match="same inputs"):
        torch._C._jit_pass_custom_pattern_based_rewrite_graph(pattern, "graph(%a):\n  %r = my::fused(%a)\n  return (%r)\n", graph)


def test_groups_and_their_inlining_undo_each_other():
    text = MORE["_jit_pass_create_functional_graphs"]["six"]
    graph = torch._C.parse_ir(text)
    torch._C._jit_pass_create_functional_graphs(graph)
    assert "prim::FunctionalGraph" in str(graph)
    torch._C._jit_pass_inline_functional_graphs(graph)
    torch._C._jit_pass_dce(graph)
    whole = torch._C.parse_ir(text)
    torch._C._jit_pass_dce(whole)
    assert numbered_alike(str(graph)) == numbered_alike(str(whole))


def test_what_a_loop_changes_is_not_believed():
    graph = torch._C.parse_ir("""graph(%x : Float(2, 3), %n : int):
  %t : bool = prim::Constant[value=1]()
  %r : Tensor = prim::Loop(%n, %t, %x)
    block0(%i : int, %c : Tensor):
      %d : Tensor = aten::t(%c)
      -> (%t, %d)
  return (%r)
""")
    torch._C._jit_pass_propagate_shapes_on_graph(graph)
    assert "Tensor(2, 3)" not in str(graph)
    assert "Tensor(3, 2)" not in str(graph)


def test_what_a_branch_writes_stays_written():
    graph = torch._C.parse_ir("""graph(%x : Tensor, %c : bool):
  %one : int = prim::Constant[value=1]()
  %y : Tensor = prim::If(%c)
    block0():
      %w : Tensor = aten::add_(%x, %x, %one)
      -> (%w)
    block1():
      %n : Tensor = aten::neg(%x)
      %v : Tensor = aten::mul_(%n, %x)
      -> (%n)
  return (%x)
""")
    torch._C._jit_pass_remove_inplace_ops(graph)
    graph.lint()
    torch.testing.FileCheck().check("aten::add_").check("aten::mul(").check_not("aten::mul_").run(graph)
