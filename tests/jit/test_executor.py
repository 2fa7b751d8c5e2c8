# SPDX-License-Identifier: Apache-2.0
"""The plans that calls of compiled functions run, against what record_executor.py took down from PyTorch."""

import json
import os
import pathlib
import re
import subprocess
import sys
import threading

import pytest

import facula as torch

HERE = pathlib.Path(__file__).parent
GOLDEN = json.loads((HERE.parent / "golden/jit/executor.json").read_text())
CASES = list(GOLDEN["plans"])


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    out = tmp_path_factory.mktemp("executor") / "ours.json"
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(torch.__file__).parents[1])}
    subprocess.run([sys.executable, "-m", "facula", "run", str(HERE / "record_executor.py"), str(out)], check=True, env=environment, capture_output=True, timeout=300)
    return json.loads(out.read_text())


def outside(text):
    """Without what is inside of regions, which is ours, and with values numbered in the order of the text."""
    if text is None or "DifferentiableGraph" not in text and "prim::profile" in text:
        return text
    numbers = {}
    text = text.partition("\nwith prim::DifferentiableGraph")[0]
    return re.sub(r"%(?:y\.)?\d+\b(?!\.)", lambda m: numbers.setdefault(m.group(), f"%{len(numbers)}"), text)


@pytest.mark.parametrize("case", CASES)
def test_the_first_calls_run_the_graphs_that_pytorch_runs(case, ours):
    assert ours["plans"][case]["plain"] == GOLDEN["plans"][case]["plain"]


@pytest.mark.parametrize("case", CASES)
def test_where_gradients_are_needed_regions_are_pytorchs(case, ours):
    found, wanted = (list(map(outside, plans["plans"][case]["grad"])) for plans in (ours, GOLDEN))
    assert found == wanted


@pytest.mark.parametrize("source", ["profiling_graph_executor_impl", "dead_code_elimination"])
def test_what_calls_log_is_pytorchs(source, ours):
    """All dumps around the 16 passes, of the profiled graph and of the plan, line by line."""
    assert ours[source] == GOLDEN[source]
    if source.startswith("profiling"):
        titles = [line for line in ours[source][0] if re.search(r"Before inlining|, before |end of runProfilingInsensitive", line)]
        assert len(titles) == 17


def test_the_original_graph_is_a_copy(ours):
    assert ours["original"] == GOLDEN["original"]
    f = function("graph(%7 : Tensor):\n  %9 : Tensor = aten::relu(%7)\n  return (%9)\n")
    assert "%9" not in str(torch._C._jit_original_graph(f))


def function(text, name="f"):
    return torch._C._create_function_from_graph(name, torch._C.parse_ir(text))


POINTWISE = """graph(%x : Tensor, %y : Tensor):
  %two : int = prim::Constant[value=2]()
  %one : int = prim::Constant[value=1]()
  %p : Tensor = aten::mul(%x, %y)
  %s : Tensor = aten::add(%p, %two, %one)
  %r : Tensor = aten::relu(%s)
  return (%r)
"""


def test_every_call_gives_the_same_bits():
    f = function(POINTWISE)
    x, y = torch.randn(50, 3), torch.randn(3)
    results = []
    for _ in range(4):
        a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
        r = f(a, b)
        first = torch.autograd.grad((r * r).sum(), (a, b), create_graph=True)
        second = torch.autograd.grad(first[0].sum(), (a, b))
        results.append([r.detach(), *(t.detach() for t in first), *second])
    a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
    r = torch.relu(a * b + 2)
    first = torch.autograd.grad((r * r).sum(), (a, b), create_graph=True)
    results.append([r.detach(), *(t.detach() for t in first), *torch.autograd.grad(first[0].sum(), (a, b))])
    for other in results[1:]:
        assert all(torch.equal(p, q) for p, q in zip(results[0], other))


def test_a_guard_that_does_not_hold_is_another_way_not_an_error():
    f = function(POINTWISE)
    needs, plain = torch.ones(2, requires_grad=True), torch.ones(2)
    for _ in range(3):
        f(needs, needs)
    assert "RequiresGradCheck" in str(torch.jit.last_executed_optimized_graph())
    for x, y in [(plain, plain), (needs, plain), (plain, needs)] * 20:
        r = f(x, y)
        assert r.requires_grad == (x.requires_grad or y.requires_grad)
        assert r.tolist() == [3, 3]
    with torch.no_grad():
        assert not f(needs, needs).requires_grad
    text = torch.jit.explain(f, plain, plain)
    assert "prim::RequiresGradCheck: %y is Tensor(requires_grad=1)" in text
    assert "fallback_function" in text


def test_ten_thousand_shapes_are_few_plans():
    f = function(POINTWISE)
    for n in range(10_000):
        x = torch.ones(n % 97, n // 97, requires_grad=n % 3 == 0)
        f(x, torch.ones(1, requires_grad=n % 2 == 0))
    assert torch.jit.explain(f, x, x).count("plan of") <= 13


def test_what_fails_in_the_middle_is_not_counted():
    f = function(POINTWISE)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="must match"):
            f(torch.ones(2), torch.ones(3))
    with pytest.raises(RuntimeError, match="no optimized plan yet"):
        f.get_debug_state()
    f(torch.ones(2), torch.ones(2))
    with pytest.raises(RuntimeError, match="no optimized plan yet"):
        f.get_debug_state()
    f(torch.ones(2), torch.ones(2))
    assert len(f.get_debug_state().execution_plans) == 1
    with pytest.raises(RuntimeError, match="must match"):
        f(torch.ones(2), torch.ones(3))
    assert f(torch.ones(2), torch.ones(2)).tolist() == [3, 3]


@pytest.mark.threads
def test_threads_call_while_others_profile():
    wrong = []
    for _ in range(10):
        f = function(POINTWISE)

        def call(needs, f=f):
            for n in range(1, 12):
                x = torch.ones(n, requires_grad=needs)
                r = f(x, x)
                if r.tolist() != [3.0] * n:
                    wrong.append(n)
                str(torch.jit.last_executed_optimized_graph())
                if n == 7:
                    f._debug_flush_compilation_cache()

        threads = [threading.Thread(target=call, args=(i % 2 == 0,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong


def last_text(f, *args):
    f(*args)
    return str(torch.jit.last_executed_optimized_graph())


def test_switches_say_what_is_run():
    x = torch.ones(2)
    before = torch._C._jit_set_num_profiled_runs(2)
    try:
        f = function(POINTWISE)
        assert ["prim::profile" in last_text(f, x, x) for _ in range(4)] == [True, True, False, False]
    finally:
        assert torch._C._jit_set_num_profiled_runs(before) == 2
    for switch in (torch._C._jit_set_profiling_executor, torch._C._jit_set_profiling_mode):
        was = switch(False)
        try:
            assert "prim::profile" not in last_text(function(POINTWISE), x, x)
        finally:
            assert switch(was) is False
    with torch.jit.optimized_execution(False):
        assert "prim::profile" not in last_text(function(POINTWISE), x, x)
        assert torch._C._get_graph_executor_optimize() is False
    assert torch._C._get_graph_executor_optimize() is True
    strategy = torch.jit.set_fusion_strategy([("STATIC", 0)])
    try:
        assert strategy == [("STATIC", 2), ("DYNAMIC", 10)]
        assert "prim::profile" not in last_text(function(POINTWISE), x, x)
        assert torch._C._jit_set_bailout_depth(20) == 0
    finally:
        assert torch.jit.set_fusion_strategy(strategy) == [("STATIC", 20)]
    with pytest.raises(ValueError, match="only supported 'STATIC' or 'DYNAMIC', got: X"):
        torch.jit.set_fusion_strategy([("X", 1)])
    for wrong in ([("STATIC", -1)], [("STATIC", 10**6)], [("STATIC", 1000)] * 9, [(1,)], 3):
        with pytest.raises((RuntimeError, TypeError, ValueError)):
            torch.jit.set_fusion_strategy(wrong)
    with pytest.raises(RuntimeError, match="cannot be negative"):
        torch._C._jit_set_num_profiled_runs(-1)
    with pytest.raises(Exception, match="unrecognized fuser option"), torch.jit.fuser("fuser9"):
        pass
    with torch.jit.fuser("fuser2"):
        assert not torch._C._jit_can_fuse_on_cpu()
        assert not torch._C._jit_texpr_fuser_enabled()
    assert torch._C._jit_texpr_fuser_enabled()


def test_plans_are_shown():
    f = function(POINTWISE)
    x = torch.ones(2)
    shown = str(f.graph_for(x, x))
    torch.testing.FileCheck().check("aten::mul").check("aten::relu").check_not("prim::profile").run(shown)
    state = f.get_debug_state()
    plan = next(iter(state.execution_plans.values()))
    assert str(plan.graph.copy()) == shown
    assert (plan.code.num_bailouts(), plan.code.grad_executor_states()) == (0, [])
    assert "Optimized plan" in torch.jit.explain(f, x, x)
    profiled = function(POINTWISE)
    text = last_text(profiled, x, x)
    assert "profiled_type=Float(2, strides=[1], requires_grad=0, device=cpu), seen_none=0](%x)" in text
    # What was seen is of that function: its text, run as a graph of its own, tells nobody.
    graph = torch.jit.last_executed_optimized_graph().copy()
    del profiled
    assert torch._C._jit_interpret_graph(graph, (x, x)).tolist() == [3, 3]
