# SPDX-License-Identifier: Apache-2.0
"""torch.profiler.coverage and `facula coverage`: what a device has of what a program needs."""

import csv
import json
import subprocess
import sys

import pytest

import facula as torch
from backend_tools import library
from facula.profiler.coverage import Coverage

pytestmark = pytest.mark.threads

PROGRAM = """
import sys, torch
assert sys.argv[1:] == ["--steps", "2"], sys.argv
x = torch.randn(5, 4, requires_grad=True)
loss = torch.nn.functional.cross_entropy(torch.nn.functional.linear(x, torch.ones(3, 4)), torch.zeros(5, dtype=torch.long))
loss.backward()
x.detach().cumsum(0)
torch.linalg.svd(torch.ones(3, 3))
sys.exit(3)
"""


def paths(coverage):
    return {row.operator: row.path for row in coverage.rows}


def work(device):
    x = torch.randn(5, 4, device=device)
    torch.log_softmax(x, 1)
    x.cumsum(0)
    x.cumsum(1)
    torch.linalg.svd(x)
    torch.addmm(x, x, torch.ones(4, 4, device=device))


def test_paths_of_a_program_on_the_device(example):
    with Coverage(example) as c:
        work(example)
    found = paths(c)
    assert found["aten::cumsum"] == found["aten::_linalg_svd"] == "fallback"
    assert found["aten::_log_softmax"] == "decomposition"
    assert found["aten::linalg_svd"] == found["aten::log_softmax.int"] == "composite"
    assert found["aten::addmm"] in ("family", "kernel") and found["aten::exp"] == "family"  # exp: a part of the decomposition
    assert all(row.seen for row in c.rows)
    assert c.unimplemented() == {"aten::_linalg_svd": 1, "aten::cumsum": 2}
    rows = {row.operator: row for row in c.rows}
    assert rows["aten::cumsum"].calls == 2 and rows["aten::cumsum"].bytes == 2 * 2 * 5 * 4 * 4  # read and written
    assert rows["aten::cumsum"].self_us > 0
    order = [list(torch.profiler.coverage.PATHS).index(row.path) for row in c.rows]
    assert order == sorted(order)


def test_the_same_is_foretold_on_the_cpu(example):
    with Coverage(example) as c:
        work("cpu")
    found = paths(c)
    assert c.unimplemented() == {"aten::_linalg_svd": 1, "aten::cumsum": 2}
    assert found["aten::_log_softmax"] == "decomposition" and found["aten::addmm"] == "family"
    assert not any(row.seen for row in c.rows)
    assert "* called on the CPU: what example would do" in c.table()


def test_null_offers_every_family():
    with Coverage("null") as c:
        work("null")
    assert c.unimplemented() == {"aten::_linalg_svd": 1}
    assert paths(c)["aten::cumsum"] == "family" and paths(c)["aten::randn"] == "family"


def test_times_are_those_of_the_calls_alone(example):
    with Coverage(example) as c:
        work(example)
    data = c.data()
    assert data["device"] == "example" and sum(p["calls"] for p in data["paths"].values()) == sum(r["calls"] for r in data["operators"])
    assert all(row["self_us"] >= 0 for row in data["operators"])
    with c, pytest.raises(RuntimeError, match="started already"):
        c.start()


def test_nothing_was_called():
    with Coverage("null") as c:
        pass
    assert c.table() == "No operator was called.\n"


def test_the_command(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    run = lambda *arguments: subprocess.run([sys.executable, "-m", "facula", "coverage", *map(str, arguments)], capture_output=True, text=True, cwd=tmp_path)  # noqa: E731
    done = run(program, "--device", library("example"), "--steps", "2", "--json", "c.json", "--csv", "c.csv")
    assert done.returncode == 3, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "Operators of the program on example" and lines[1].split()[:3] == ["Operator", "Path", "Calls"]
    assert any(line.split()[:3] == ["aten::cumsum", "fallback", "1"] for line in lines)
    data = json.loads((tmp_path / "c.json").read_text())
    rows = list(csv.DictReader((tmp_path / "c.csv").open()))
    assert [r["operator"] for r in rows] == [r["operator"] for r in data["operators"]]
    assert data["paths"]["fallback"]["operators"] == 2
    assert "aten::nll_loss_backward" in {r["operator"] for r in rows}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x.py", "--device", "nowhere"], "nowhere"),
        (["x.py"], "the following arguments are required: --device"),
        (["x.py", "--device", "null", "--json", "no/such/folder/c.json"], "cannot write no/such/folder/c.json"),
    ],
)
def test_what_cannot_be_done(arguments, message, capfd):
    try:
        status = torch.profiler.coverage.main(arguments)
    except SystemExit as e:
        status = e.code
    assert status == 2 and message in capfd.readouterr().err


def test_the_ports_unimpl_says_the_same(example, capfd):
    profiler = torch.hammerblade.profiler
    profiler.route.set_device(example)
    try:
        profiler.enable()
        work("cpu")
        profiler.disable()
        assert profiler.unimpl.counts() == {"aten::_linalg_svd": 1, "aten::cumsum": 2}
    finally:
        profiler.route.set_device(None)
