# SPDX-License-Identifier: Apache-2.0
"""Graphs as text and as objects, against what PyTorch 2.15 prints; logs, FileCheck, passes of programs, bad input."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import facula as torch
from facula.testing import FileCheck  # noqa: F401 (named by the recorded checks)

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import graph_cases  # noqa: E402

GOLDEN = json.loads((HERE.parent / "golden/jit/graphs.json").read_text())
C = torch._C
CHAIN = graph_cases.LOG_GRAPHS["chain"]


@pytest.mark.parametrize("name", GOLDEN["parse"])
def test_text_is_parsed_and_printed_as_pytorch_does(name):
    graph = C.parse_ir(graph_cases.TEXTS[name])
    assert str(graph) == GOLDEN["parse"][name]
    assert str(C.parse_ir(str(graph))) == str(graph)


@pytest.mark.parametrize("expression", GOLDEN["constants"])
def test_constants_print_as_pytorchs(expression):
    graph = C.Graph()
    graph.registerOutput(graph.insertConstant(eval(expression)))
    assert str(graph) == GOLDEN["constants"][expression]
    if " *  " not in str(graph):  # a scale is printed with four digits: reading rounds
        assert str(C.parse_ir(str(graph), parse_tensor_constants=True)) == str(graph)


@pytest.mark.parametrize("expression", GOLDEN["checks"])
def test_file_check_says_what_pytorchs_does(expression):
    wanted = GOLDEN["checks"][expression]
    if wanted is None:
        return eval(expression)
    with pytest.raises(RuntimeError) as e:
        eval(expression)
    assert str(e.value).splitlines()[0] == wanted.splitlines()[0]
    assert str(e.value).splitlines()[-1].split("From ")[-1] == wanted.splitlines()[-1].split("From ")[-1]


PROGRAM = "import facula as torch, sys, graph_cases\ng = torch._C.parse_ir(graph_cases.LOG_GRAPHS[sys.argv[2]])\ngetattr(torch._C, sys.argv[1])(g)\nprint(g)\n"


def run(program, *arguments, **environment):
    path = os.pathsep.join([str(pathlib.Path(torch.__file__).parents[1]), str(HERE)])
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.parametrize("name", GOLDEN["logs"])
def test_log_lines_are_pytorchs(name):
    level, function, graph = graph_cases.LOGS[name]
    done = run(PROGRAM, function, graph, PYTORCH_JIT_LOG_LEVEL=level)
    assert done.stderr.splitlines() == GOLDEN["logs"][name]


def test_the_limit_of_rewrites_bounds_a_pass():
    for limit, left in (("0", 3), ("1", 2), ("2", 1)):
        done = run(PROGRAM, "_jit_pass_dce", "chain", PYTORCH_JIT_OPT_LIMIT=f"dead_code_elimination={limit}")
        assert done.stdout.count("aten::") == left


def test_logging_at_run_time(capfd):
    C._jit_set_logging_stream("stdout")
    C._jit_set_logging_option("dead_code_elimination")
    try:
        assert C._jit_get_logging_option() == "dead_code_elimination"
        C._jit_pass_dce_graph(C.parse_ir(CHAIN))
    finally:
        C._jit_set_logging_option("")
        C._jit_set_logging_stream("stderr")
    assert "[DUMP dead_code_elimination.cpp:001] After EliminateDeadCode: " in capfd.readouterr().out
    with pytest.raises(ValueError, match="stdout or stderr"):
        C._jit_set_logging_stream("file")


def test_the_objects():
    graph = C.Graph()
    x = graph.addInput("x")
    node = graph.insertNode(graph.create("my::op", [x], 2))
    first, second = node.outputs()
    node.i_("a", 1).f_("b", 2.5).s_("c", "text").is_("d", [1, 2]).t_("e", torch.ones(1))
    assert node.attributeNames() == ["a", "b", "c", "d", "e"]
    assert (node.i("a"), node.f("b"), node.s("c"), node.kindOf("d")) == (1, 2.5, "text", "is")
    with pytest.raises(AttributeError, match="undefined"):
        node.i("z")
    with pytest.raises(TypeError, match="kind s"):
        node.i("c")
    assert graph.findNode("my::op") == node
    assert next(iter(graph.nodes())) == node
    assert x.uses()[0].user == node
    assert first.debugName() == "1"
    second.setDebugName("y")
    with pytest.raises(ValueError, match="Invalid name"):
        second.setDebugName("7")
    graph.registerOutput(second)
    assert (
        str(graph)
        == 'graph(%x : Tensor):\n  %1 : Tensor, %y : Tensor = my::op[a=1, b=2.5, c="text", d=[1, 2], e={1}](%x)\n  return (%y)\n'
    )
    copy = graph.copy()
    graph.eraseOutput(0)
    node.destroy()
    with pytest.raises(RuntimeError, match="destroyed"):
        node.kind()
    assert "my::op" in str(copy)
    block = copy.findNode("my::op").addBlock()
    block.registerOutput(block.addInputToBlock())
    assert "block0" in str(copy)
    assert first.__class__.__name__ == "Value"


def test_aliases():
    graph = C.parse_ir(
        "graph(%x : Tensor):\n  %0 : int = prim::Constant[value=0]()\n  %v : Tensor = aten::select(%x, %0, %0)\n  %k : Tensor = aten::relu(%v)\n"
        "  %w : Tensor = aten::add_(%v, %x, %0)\n  %n : Tensor = aten::neg(%x)\n  return (%n)\n"
    )
    db = graph.alias_db()
    nodes = list(graph.nodes())
    x, view, fresh = next(graph.inputs()), nodes[1].output(), nodes[2].output()
    assert db.may_contain_alias(x, view)
    assert not db.may_contain_alias(x, fresh)
    assert db.has_writers(x)
    assert not db.has_writers(fresh)
    assert not db.move_before_topologically_valid(nodes[4], nodes[3])  # neg reads what add_ writes
    assert db.move_after_topologically_valid(nodes[0], nodes[0])
    text = db.to_graphviz_str()
    assert "digraph alias_db" in text
    assert "points to" in str(db)


def test_a_pass_in_python():
    def drop_neg(graph):
        for node in graph.findAllNodes("aten::neg"):
            node.output().replaceAllUsesWith(node.input())
            node.destroy()
        return True

    if not any(name == "DropNeg" for name, *_ in C._jit_passes()):
        C._jit_add_pass("DropNeg", drop_neg)
    with pytest.raises(ValueError, match="already"):
        C._jit_add_pass("DropNeg", drop_neg)
    graph = C.parse_ir(
        "graph(%x : Tensor):\n  %1 : Tensor = aten::neg(%x)\n  %2 : Tensor = aten::relu(%1)\n  return (%2)\n"
    )
    assert C._jit_run_pass(graph, "DropNeg")
    assert "neg" not in str(graph)
    with pytest.raises(ValueError, match="no pass"):
        C._jit_run_pass(graph, "Absent")


def test_passes_that_raise_or_break_the_graph():
    def raises(graph):
        raise KeyError("mine")

    def breaks(graph):
        first, second = list(graph.nodes())[:2]
        first.moveAfter(second)

    for name, run_it in (("Raises", raises), ("Breaks", breaks)):
        if not any(row[0] == name for row in C._jit_passes()):
            C._jit_add_pass(name, run_it)
    graph = C.parse_ir(CHAIN)
    with pytest.raises(KeyError, match="mine"):
        C._jit_run_pass(graph, "Raises")
    with pytest.raises(RuntimeError, match="rule 2.*not in scope"):
        C._jit_run_pass(graph, "Breaks")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("graph(%x):\n  %1 = aten::neg(%q)\n  return (%1)\n", "line 2, column 18"),
        ("graph(%x):\n  return (%x\n", "line 3, column 1"),
        ("grap", "line 1, column 5"),
    ],
)
def test_errors_name_line_and_column(text, place):
    with pytest.raises(RuntimeError, match=place):
        C.parse_ir(text)


def test_a_node_reads_neither_itself_nor_what_its_blocks_make():
    graph = C.Graph()
    x = graph.addInput("x")
    node = graph.insertNode(graph.create("aten::neg", [x]))
    node.replaceInput(0, node.output())
    graph.registerOutput(node.output())
    with pytest.raises(RuntimeError, match="rule 2.*not in scope"):
        graph.lint()
    graph = C.Graph()
    c = graph.addInput("c")
    branch = graph.insertNode(graph.create("prim::If", [c]))
    for block in (branch.addBlock(), branch.addBlock()):
        block.registerOutput(branch.output())
    with pytest.raises(RuntimeError, match="rule 2.*not in scope"):
        graph.lint()


def test_unknown_operators_are_told_with_their_place():
    graph = C.parse_ir("graph(%x):\n  %1 = aten::no_such(%x)\n  return (%1)\n")
    with pytest.raises(RuntimeError, match=r"aten::no_such[\s\S]*HERE"):
        C._jit_pass_dce(graph)


def test_nesting_and_size_of_constants_are_bounded():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises((RecursionError, TypeError)):
        C.Graph().insertConstant(deep)
    with pytest.raises(RuntimeError, match="nest too deeply"):
        C.parse_ir("graph():\n  %1 : int[] = prim::Constant[value=" + "[" * 100_000 + "]()\n  return ()\n")
    with pytest.raises((ValueError, OverflowError)):
        C.Graph().create("a::b", 1 << 40)


def test_import_makes_no_graph_type():
    program = "import facula._C as c\nassert 'Graph' not in vars(c)\nc.Graph\nassert 'Node' in vars(c)\nassert not hasattr(c, 'NoSuchName')"
    run(program)


def test_the_page_of_passes(tmp_path):
    file = tmp_path / "f.py"
    file.write_text("def f(x):\n    return -x\n")
    path = tmp_path / "passes.html"
    graph = C.parse_ir(CHAIN)
    with torch.jit.view.record(str(path)):
        C._jit_pass_dce(graph)
        C._jit_pass_cse(graph)
    text = path.read_text()
    assert "2 passes, 1 of them changed the graph" in text
    assert text.count('class="gone"') == 2
    assert "http" not in re.sub(r"<style>.*?</style>", "", text, flags=re.S)
    torch.jit.view.page(C.parse_ir(CHAIN), str(path))
    assert "EliminateDeadCode" in path.read_text()


def test_eight_threads_parse_and_run_passes():
    import threading

    seen = []

    def work():
        for _ in range(20):
            graph = C.parse_ir(CHAIN)
            C._jit_pass_dce(graph)
            C._jit_pass_cse(graph)
            seen.append(str(graph))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(seen) == 160
    assert len(set(seen)) == 1
