# SPDX-License-Identifier: Apache-2.0
"""Graphs that run from Python: arguments, results, errors, threads, Ctrl-C."""
import _thread
import subprocess
import sys
import threading

import pytest

import facula as torch

LOOP = """graph(%x : Tensor, %n : int):
  %true : bool = prim::Constant[value=1]()
  %one : int = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %s : Tensor):
      %more : Tensor = aten::add(%s, %x, %one)
      -> (%true, %more)
  return (%y)
"""


def function(text, name="f"):
    return torch._C._create_function_from_graph(name, torch._C.parse_ir(text))


def test_arguments_and_results():
    f = function(LOOP)
    assert f(torch.ones(2), 3).tolist() == [4, 4] and f(n=1, x=torch.ones(1)).tolist() == [2]
    assert (f.name, f.qualified_name, str(f.schema)) == ("f", "f", "f(Tensor x, int n) -> Tensor")
    x = torch.ones(2, requires_grad=True)
    f(x, 4).sum().backward()
    assert x.grad.tolist() == [5, 5]
    g = function("graph(%l : int[], %d : Dict(str, float), %t : (int, str)?):\n"
                 "  %r : (int[], Dict(str, float), (int, str)?) = prim::TupleConstruct(%l, %d, %t)\n  return (%r)\n")
    assert g([1, 2], {"a": 1.5}, (3, "b")) == ([1, 2], {"a": 1.5}, (3, "b"))
    assert g([], {}, None) == ([], {}, None)


def test_errors():
    f = function(LOOP)
    for arguments, text in [((), "f\\(\\) is missing value for argument 'x'"), ((1, 2), "Expected a value of type 'Tensor' for argument 'x'"),
                            ((torch.ones(1), 1, 2), "expected at most 2 argument\\(s\\) but received 3"), ((torch.ones(1), 1.5), "argument 'n'")]:
        with pytest.raises(RuntimeError, match=text):
            f(*arguments)
    with pytest.raises(RuntimeError, match="Unknown keyword argument 'z'"):
        f(torch.ones(1), 1, z=2)
    g = function('graph(%a : int):\n  %t : str = prim::Constant[value="boom"]()\n  %n : NoneType = prim::Constant()\n'
                 "   = prim::RaiseException(%t, %n)\n  return (%a)\n")
    with pytest.raises(torch._C.JITException, match="RuntimeError: boom"):
        g(1)
    h = function("graph(%a : Tensor, %b : Tensor):\n  %c : Tensor = aten::mm(%a, %b)\n  return (%c)\n")
    with pytest.raises(RuntimeError, match="TorchScript interpreter") as error:
        h(torch.ones(2), torch.ones(2))
    assert "aten::mm(%a, %b)" in str(error.value) and "<--- HERE" in str(error.value)


@pytest.mark.parametrize("number", [-1, 12, 30, 1 << 40])
def test_a_number_of_no_dtype(number):
    """Graphs hold dtypes as numbers, and whoever writes one may write any."""
    given = function("graph(%a : Tensor, %d : int):\n  %r : Tensor = aten::view(%a, %d)\n  return (%r)\n")
    fixed = function(f"graph(%a : Tensor):\n  %d : int = prim::Constant[value={number}]()\n  %r : Tensor = aten::view(%a, %d)\n  return (%r)\n")
    for call in (lambda: given(torch.ones(2), number), lambda: fixed(torch.ones(2))):
        with pytest.raises(RuntimeError):
            call()
    assert given(torch.ones(2), 3).dtype is torch.int32


def test_units_own_functions():
    unit = torch._C.CompilationUnit()
    f = unit.create_function("a.b.f", torch._C.parse_ir(LOOP))
    assert f.name == "f" and unit.find_function("a.b.f").qualified_name == "a.b.f" and unit.find_function("g") is None
    with pytest.raises(RuntimeError, match="already defined"):
        unit.create_function("a.b.f", torch._C.parse_ir(LOOP))
    assert unit.create_function("a.b.f", torch._C.parse_ir(LOOP), True).qualified_name == "a.b.___torch_mangle_0.f"
    assert len(unit.get_functions()) == 2
    unit.drop_all_functions()
    assert unit.get_functions() == []


def test_functions_call_others_by_name():
    unit = torch._C.CompilationUnit()
    unit.create_function("twice", torch._C.parse_ir("graph(%x : Tensor):\n  %y : Tensor = aten::mul(%x, %x)\n  return (%y)\n"))
    f = unit.create_function(
        "f",
        torch._C.parse_ir("""graph(%x : Tensor):
  %g : Function = prim::Constant[name="twice"]()
  %y : Tensor = prim::CallFunction(%g, %x)
  return (%y)"""),
    )
    assert f(torch.tensor(3.0)).item() == 9
    graph = f.graph.copy()
    torch._C._jit_pass_inline(graph)
    torch.testing.FileCheck().check("aten::mul").check_not("CallFunction").run(graph)
    alone = torch._C.parse_ir(str(f.graph))
    with pytest.raises(RuntimeError, match="no function of that name"):
        torch._C._create_function_from_graph("f", alone)(torch.ones(1))


def test_python_functions_are_called():
    seen = []

    def scale(x, factor, power):
        seen.append((factor, power))
        return x * factor**power

    graph = torch._C.Graph()
    x = graph.addInput("x")
    node = graph.insertNode(torch._C._jit_create_python_op(graph, scale, (3, 2), "dcc"))
    node.addInput(x)
    graph.registerOutput(node.output())
    assert node.pyobj() is scale
    assert node.scalar_args() == [3, 2]
    assert node.cconv() == "dcc"
    assert "^scale" in str(graph)
    f = torch._C._create_function_from_graph("f", graph)
    assert f(torch.ones(2)).tolist() == [9, 9]
    assert seen == [(3, 2)]
    graph = torch._C.Graph()
    node = graph.insertNode(torch._C._jit_create_python_op(graph, lambda: 1 / 0))
    graph.registerOutput(node.output())
    with pytest.raises(ZeroDivisionError):
        torch._C._create_function_from_graph("f", graph)()
    read = torch._C.parse_ir("graph(%x : Tensor):\n  %y : Tensor = ^gone()(%x)\n  return (%y)\n")
    with pytest.raises(RuntimeError, match="without its function"):
        torch._C._create_function_from_graph("f", read)(torch.ones(1))


def test_threads_for_forks_are_told_once():
    program = """
import facula as torch
assert torch.get_num_interop_threads() >= 1
torch.set_num_interop_threads(3)
assert torch.get_num_interop_threads() == 3
for wrong in (0, -1, "2"):
    try:
        torch.set_num_interop_threads(wrong)
    except RuntimeError as e:
        assert "positive" in str(e)
try:
    torch.set_num_interop_threads(4)
except RuntimeError as e:
    print(e)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "cannot set number of interop threads" in done.stdout


def test_batched_products_are_what_they_replace():
    sizes = "%x : Float(2, 3, strides=[3, 1], device=cpu), %y : Float(3, 2, strides=[2, 1], device=cpu)"
    one = "  %one : int = prim::Constant[value=1]()\n"
    products = "".join(f"  %p{i} : Tensor = aten::mm(%x, %y)\n" for i in range(8))
    tree = "  %s1 : Tensor = aten::add(%p0, %p1, %one)\n" + "".join(
        f"  %s{i} : Tensor = aten::add(%s{i - 1}, %p{i}, %one)\n" for i in range(2, 8)
    )
    side = ", ".join(f"%p{i}" for i in range(8))
    for text, kind in ((tree + "  return (%s7)\n", "MMTreeReduce"), (f"  return ({side})\n", "MMBatchSide")):
        graph = torch._C.parse_ir(f"graph({sizes}):\n{one}{products}{text}")
        x, y = torch.randn(2, 3), torch.randn(3, 2)
        before = torch._C._jit_interpret_graph(graph, (x, y))
        torch._C._jit_pass_batch_mm(graph)
        assert kind in str(graph)
        torch.testing.assert_close(torch._C._jit_interpret_graph(graph, (x, y)), before)


def test_the_dump_names_operators():
    text = function(LOOP)._dump_code()
    assert "LOOP" in text and "aten::add" in text and text.endswith("RET 0 0 0\n")


def test_many_threads():
    f = function(LOOP)
    found = []
    threads = [threading.Thread(target=lambda: found.extend(f(torch.ones(3), n).sum().item() for n in range(50))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(found) == sorted(3.0 * (n + 1) for n in range(50) for _ in range(8))


def test_ctrl_c_stops_a_loop():
    f = function("graph(%n : int):\n  %true : bool = prim::Constant[value=1]()\n  %one : int = prim::Constant[value=1]()\n"
                 "  %s : int = prim::Loop(%n, %true, %one)\n    block0(%i : int, %a : int):\n      %b : int = aten::add(%a, %one)\n"
                 "      -> (%true, %b)\n  return (%s)\n")
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        f(2**62)
    timer.join()


def test_operators_give_as_many_results_as_they_have():
    graph = torch._C.parse_ir("graph(%l : int[]):\n   = aten::len(%l)\n  return (%l)\n")
    torch._C._jit_pass_peephole(graph)
    with pytest.raises(RuntimeError, match="aten::len.t returns 1 values, not 0"):
        torch._C._create_function_from_graph("f", graph)._dump_code()
    assert torch._C._jit_interpret_graph(graph.copy(), ([1],)) == [1]  # nobody reads it: it does not run
