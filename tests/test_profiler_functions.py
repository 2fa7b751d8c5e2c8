# SPDX-License-Identifier: Apache-2.0
"""Python functions in the traces of profiles with stacks: programs whose calls can be counted by hand."""

import json
import os
import sys
import threading
import time

import pytest


def inner(torch):
    time.sleep(0.01)
    return torch.ones(2) + 1


def outer(torch):
    for _ in range(3):
        inner(torch)


def counting(n):
    yield from range(n)


def trace_of(torch, tmp_path, run):
    with torch.profiler.profile(with_stack=True) as p:
        run()
    p.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    return events, [e for e in events if e.get("cat") == "python_function"]


def named(functions, name):
    return [f for f in functions if f["name"].endswith(f": {name}")]


def test_the_tree_of_calls(torch, tmp_path):
    events, functions = trace_of(torch, tmp_path, lambda: outer(torch))
    (around,), within = named(functions, "outer"), named(functions, "inner")
    assert len(within) == 3 and around["name"] == f"{around['name'].split('(')[0]}({outer.__code__.co_firstlineno}): outer"
    assert around["name"].startswith(("tests/test_profiler_functions.py", "test_profiler_functions.py", __file__))
    for f in within:
        assert f["args"]["Python parent id"] == around["args"]["Python id"] and f["dur"] >= 10_000
        assert around["ts"] <= f["ts"] and f["ts"] + f["dur"] <= around["ts"] + around["dur"] + 0.002
    adds = [e for e in events if e.get("cat") == "cpu_op" and e["name"] == "aten::add"]
    assert len(adds) == 3 and all(f["ts"] <= a["ts"] and a["ts"] + a["dur"] <= f["ts"] + f["dur"] + 0.002 for f, a in zip(within, adds, strict=True))
    assert len({f["args"]["Python id"] for f in functions}) == len(functions)
    assert named(functions, "<module>")[0]["ts"] <= around["ts"]  # what was on the stack before


def test_generators_and_exceptions_end(torch, tmp_path):
    def run():
        assert list(counting(3)) == [0, 1, 2]
        with pytest.raises(ZeroDivisionError):
            (lambda: 1 / 0)()

    _, functions = trace_of(torch, tmp_path, run)
    assert len(named(functions, "counting")) == 4 and len(named(functions, "<lambda>")) >= 1
    assert all(f["dur"] >= 0 for f in functions)


def test_threads_that_begin_meanwhile(torch, tmp_path):
    def run():
        thread = threading.Thread(target=outer, args=(torch,))
        thread.start()
        thread.join()

    _, functions = trace_of(torch, tmp_path, run)
    assert len(named(functions, "inner")) == 3
    assert len({f["tid"] for f in functions}) == 2
    assert sys.getprofile() is None and threading.getprofile() is None


def test_a_thread_outlives_the_profile(torch, tmp_path):
    go, done = threading.Event(), threading.Event()

    def until_told():
        go.wait()
        outer(torch)
        done.set()

    def run():
        threading.Thread(target=until_told).start()

    _, functions = trace_of(torch, tmp_path, run)
    go.set()
    assert done.wait(60) and not named(functions, "inner")
    assert len(named(functions, "until_told")) == 1  # it ended with the profile


def test_a_profiler_of_the_program_s_own_stays(torch, tmp_path):
    seen = []

    def own(frame, event, arg):
        seen.append(event)

    sys.setprofile(own)
    try:
        _, functions = trace_of(torch, tmp_path, lambda: outer(torch))
        assert sys.getprofile() is own
    finally:
        sys.setprofile(None)
    assert seen and not functions


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_records_nothing(torch, tmp_path):
    def run():
        child = os.fork()
        if child == 0:
            outer(torch)
            os._exit(0 if sys.getprofile() is None else 1)
        assert os.waitpid(child, 0)[1] == 0

    _, functions = trace_of(torch, tmp_path, run)
    assert not named(functions, "outer")


def test_without_stacks_there_are_none(torch, tmp_path):
    with torch.profiler.profile() as p:
        outer(torch)
    p.export_chrome_trace(str(tmp_path / "trace.json"))
    assert "python_function" not in (tmp_path / "trace.json").read_text()


def test_two_cycles_of_a_schedule(torch, tmp_path):
    counts = []

    def ready(p):
        p.export_chrome_trace(str(tmp_path / "trace.json"))
        events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
        counts.append(len(named([e for e in events if e.get("cat") == "python_function"], "inner")))

    with torch.profiler.profile(with_stack=True, schedule=torch.profiler.schedule(wait=1, warmup=0, active=1, repeat=2), on_trace_ready=ready) as p:
        for _ in range(4):
            outer(torch)
            p.step()
    assert counts == [3, 3]


def test_arguments_that_are_no_tensors(torch):
    with torch.profiler.profile(record_shapes=True) as p:
        torch.add(torch.ones(2, 2), torch.ones(2, 2), alpha=2).sum(1)
    by_name = {e.name: e for e in p.events()}
    assert by_name["aten::add"].concrete_inputs == [None, None, 2]
    assert by_name["aten::sum"].concrete_inputs[:3] == [None, [1], False]


def test_starting_in_parts(torch):
    p = torch.profiler.profile()
    p.prepare_trace()
    p.start_trace()
    torch.ones(1)
    p.stop_trace()
    assert "aten::ones" in {e.name for e in p.events()}
