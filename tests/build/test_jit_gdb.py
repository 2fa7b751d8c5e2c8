# SPDX-License-Identifier: Apache-2.0
"""The walk of docs/jit.md in gdb: a breakpoint at each stage of tracing, scripting and running is met in the order of the page, on the first
and on the second call."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import facula

pytestmark = pytest.mark.not_sanitized

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/jit.md").read_text()
# | name in the notes | function here | file |
ROWS = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|$", PAGE[PAGE.index("## A walk in gdb") :], re.M)

PROGRAM = """
import facula as torch
from walked import doubled

def mark(text):
    print("MARK", text, flush=True)

x = torch.ones(2)
mark("trace")
traced = torch.jit.trace(doubled, x, check_trace=False)
for call in ("first", "second"):
    mark(call)
    traced(x)
mark("script")
torch.jit.script(doubled)
mark("end")
"""
# What stops when, in this order; what is not named here is Python, or is met again and again.
STOPS = {
    "trace": ["create_function_from_trace", "to_traceable_stack", "create_graph_by_tracing", "fc::jit::trace::trace", "TraceFn::operator()"],
    "first": ["invoke_script_function_from_python", "run_and_insert_call", "fc::jit::Function::run", "fc::jit::Function::get_executor",
              "fc::jit::Function::optimized_graph", "fc::jit::Executor::run", "fc::jit::Executor::get_plan_for", "fc::jit::Executor::get_optimized_plan_for",
              "fc::jit::run_profiling_insensitive_optimizations", "InterpreterState::run", "InterpreterState::run_impl"],
    "second": ["invoke_script_function_from_python", "run_and_insert_call", "fc::jit::Function::run", "fc::jit::Function::get_executor", "fc::jit::Executor::run",
               "fc::jit::Executor::get_plan_for", "fc::jit::Executor::get_optimized_plan_for", "fc::jit::run_profiling_optimizations",
               "InterpreterState::run", "InterpreterState::run_impl"],
    "script": ["script_compile_function", "fc::jit::Function::ensure_defined", "fc::jit::to_ir", "clean_up"],
}  # fmt: skip


def test_the_page_names_functions_that_there_are():
    assert len(ROWS) >= 30
    for name, function, file in ROWS:
        text = (ROOT / file).read_text()
        assert function.rpartition("::")[2] in text, (name, function, file)
    told = {function for _, function, _ in ROWS}
    assert {stop.rpartition("fc::jit::")[2] for stops in STOPS.values() for stop in stops} <= told


@pytest.mark.skipif("FACULA_SANITIZED" in os.environ, reason="gdb does not run under a preloaded sanitizer")
@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
def test_gdb_stops_at_each_stage(tmp_path):
    (tmp_path / "walked.py").write_text("def doubled(x):\n    return (x * 2).relu()\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    stops = list(dict.fromkeys(stop for group in STOPS.values() for stop in group))
    script = ["set breakpoint pending on", "set debuginfod enabled off", "set pagination off", "handle SIGSEGV nostop noprint pass"]
    for stop in stops:
        script += [f"break {stop}", "commands", "silent", f"echo MARK {stop}\\n", "continue", "end"]
    (tmp_path / "walk.gdb").write_text("\n".join([*script, "run", "kill", ""]))
    environment = {**os.environ, "PYTHONPATH": f"{pathlib.Path(facula.__file__).parents[1]}:{tmp_path}"}
    done = subprocess.run(["gdb", "-q", "-nx", "-batch", "-x", tmp_path / "walk.gdb", "--args", sys.executable, tmp_path / "program.py"],
                          capture_output=True, text=True, timeout=200, stdin=subprocess.DEVNULL, env=environment)  # fmt: skip
    if "ptrace" in done.stderr and "not permitted" in done.stderr:
        pytest.skip("this container does not let gdb trace a process")
    met = re.findall(r"^MARK (.+)$", done.stdout, re.M)
    assert met[-1:] == ["end"], done.stdout[-2000:] + done.stderr[-2000:]
    for group, wanted in STOPS.items():
        begin = met.index(group) + 1
        rest = met[begin : next(i for i in range(begin, len(met)) if met[i] in (*STOPS, "end"))]
        at = 0
        for stop in wanted:
            assert stop in rest[at:], (group, stop, rest)
            at += rest[at:].index(stop) + 1
