# SPDX-License-Identifier: Apache-2.0
"""Every model ends in one row: bad models by path, kills, files that cannot be written. Nothing is left running."""

import csv
import errno
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.not_sanitized

HEAD = """
class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
    def forward(self, x):
        return self.a(x)
    def get_example_inputs(self):
        return (torch.randn(2, 4),)
"""
PERFORMANCE, ACCURACY = ["--performance", "--training"], ["--accuracy", "--training"]
BAD = {  # name: (text after HEAD, options, status, what the reason says)
    "raises on import": ("raise ValueError('on import')\n", PERFORMANCE, "model_fail_to_load", r"ValueError: on import \(m.py:"),
    "raises in forward": ("class M(Base):\n    def forward(self, x):\n        raise ValueError('in forward')\n", PERFORMANCE, "eager_fail_to_run", r"m.py:\d+ forward"),
    "raises in backward": (
        "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x * 2\n    @staticmethod\n    def backward(ctx, g):\n"
        "        raise ValueError('in backward')\nclass M(Base):\n    def forward(self, x):\n        return F.apply(self.a(x))\n",
        PERFORMANCE, "eager_fail_to_run", "in backward",
    ),
    "prints gigabytes": (
        "class M(Base):\n    def forward(self, x):\n        for _ in range(40):\n            os.write(1, b'x' * (1 << 20))\n        return self.a(x)\n",
        PERFORMANCE, "measured", "",
    ),
    "never ends": ("class M(Base):\n    def forward(self, x):\n        while True: time.sleep(0.01)\n", [*PERFORMANCE, "--timeout", "3"], "timeout", r"m.py:\d+ forward"),
    "aborts": ("class M(Base):\n    def forward(self, x):\n        os.abort()\n", PERFORMANCE, "crash", r"SIGABRT at m.py:\d+ forward"),
    "is killed": ("class M(Base):\n    def forward(self, x):\n        os.kill(os.getpid(), 9)\n", PERFORMANCE, "crash", "SIGKILL"),
    "leaves": ("class M(Base):\n    def forward(self, x):\n        os._exit(3)\n", PERFORMANCE, "crash", "exit status 3"),
    "ends the program": ("class M(Base):\n    def forward(self, x):\n        sys.exit('bye')\n", PERFORMANCE, "eager_fail_to_run", "bye"),
    "allocates without end": (
        "class M(Base):\n    def forward(self, x):\n        kept = []\n        while True: kept.append(torch.ones(1 << 22))\n",
        [*PERFORMANCE, "--per_process_memory_fraction", "0.02"], "OOM", "m.py:",
    ),
    "random in eval": ("class M(Base):\n    def forward(self, x):\n        return self.a(x) * (1 + os.urandom(1)[0])\n", ACCURACY, "eager_two_runs_differ", "rmse"),
    "NaN": ("class M(Base):\n    def forward(self, x):\n        return self.a(x) * float('nan')\n", ACCURACY, "pass", "NaN"),
    "no get_example_inputs": ("class M(nn.Linear):\n    def __init__(self): super().__init__(2, 2)\n", PERFORMANCE, "model_fail_to_load", "get_example_inputs"),
    "not a module": ("class M:\n    def get_example_inputs(self): return (1,)\n", PERFORMANCE, "model_fail_to_load", "not a torch.nn.Module"),
    "no such class": ("", PERFORMANCE, "model_fail_to_load", "no class M"),
    "a package that is not there": ("import nosuchpackage\n", PERFORMANCE, "missing", "nosuchpackage"),
    "starts a process and hangs": (
        "import subprocess\nclass M(Base):\n    def forward(self, x):\n        open('started', 'w').write(str(subprocess.Popen(['sleep', '4242']).pid))\n        time.sleep(100)\n",
        [*PERFORMANCE, "--timeout", "3"], "timeout", r"m.py:\d+ forward",
    ),
    "closes every descriptor": ("class M(Base):\n    def forward(self, x):\n        os.closerange(3, 100)\n        return self.a(x)\n", PERFORMANCE, "crash", "exit status"),
}  # fmt: skip


def running(folder):
    """Our children, and the process that a model started, which wrote down its number."""
    found = [pid for task in os.listdir("/proc/self/task") for pid in pathlib.Path(f"/proc/self/task/{task}/children").read_text().split()]
    started = folder / "started"
    if started.exists():
        pid = started.read_text()
        found += [pid] if os.path.exists(f"/proc/{pid}") and " Z " not in pathlib.Path(f"/proc/{pid}/stat").read_text() else []
    return found


@pytest.mark.parametrize("name", BAD)
def test_a_bad_model_is_one_row(bench, name):
    text, options, status, reason = BAD[name]
    shared = set(os.listdir("/dev/shm"))
    code, rows = bench(*options, "--only", bench.model(HEAD + text))
    assert len(rows) == 1
    row = rows[0]
    assert row.get("status", row.get("accuracy")) == status, row
    assert re.search(reason, row["reason"])
    assert code == (0 if status in ("measured", "pass", "missing") else 1)
    assert not running(bench.folder)
    assert (bench.folder / "started").exists() == ("starts" in name)
    assert not {f for f in set(os.listdir("/dev/shm")) - shared if "facula" in f or "torch" in f}


GOOD = HEAD + "class M(Base):\n    pass\n"


def test_a_good_model(bench):
    code, rows = bench("--performance", "--training", "--nothing", "--only", bench.model(GOOD))
    assert code == 0
    row = rows[0]
    assert row["status"] == "measured" and row["verdict"] in ("SAME", "UNKNOWN", "FASTER", "SLOWER")
    assert float(row["ci_low"]) <= float(row["speedup"]) <= float(row["ci_high"])
    assert int(row["batch_size"]) == 2 and int(row["n"]) == 2
    assert 0.01 < float(row["eager_peak_mem"]) < 2  # GB of a process, not of the machine
    counts = dict(part.split("=") for part in row["counts"].split(";"))
    assert int(counts["operators"]) > 0 and int(counts["flops"]) == 2 * 2 * 4 * 4 * 2
    assert bench.details[0]["parameters"] == 20
    shares = bench.details[0]["shares"]
    assert "outside" in shares and "linear" in shares and 0.9 < sum(shares.values()) < 1.1
    assert bench.details[0]["turns"][0][0]["a"]["wall"] > 0
    theirs = list(row)[: list(row).index("n")]
    assert theirs == [
        "dev", "name", "batch_size", "speedup", "abs_latency", "compilation_latency", "compression_ratio", "eager_peak_mem", "dynamo_peak_mem",
        "calls_captured", "unique_graphs", "fallbacks_to_eager", "graph_breaks", "unique_graph_breaks", "autograd_captures", "autograd_compiles",
        "cudagraph_skips",
    ]  # fmt: skip


def test_inductor_is_never_one(bench):
    code, rows = bench("--performance", "--inference", "--inductor", "--only", bench.model(GOOD))
    assert code == 0
    assert rows[0]["status"] == "no_compiler" and float(rows[0]["speedup"]) == 0.0 and float(rows[0]["abs_latency"]) > 0


def test_no_compiler_is_no_accuracy(bench):
    _, rows = bench("--accuracy", "--inference", "--backend=inductor", "--only", bench.model(GOOD))
    assert rows[0]["accuracy"] == "no_compiler"


def test_backends_that_fail(bench):
    only = ["--performance", "--inference", "--only", bench.model(GOOD)]
    (bench.folder / "mine.py").write_text(
        "def raises(model, inputs): raise ValueError('mine')\ndef late(model, inputs): return lambda *a: 1 / 0\ndef number(model, inputs): return 3\n"
    )
    for name, reason in (("raises", "mine"), ("late", "division"), ("number", "cannot be called"), ("absent", "absent")):
        _, rows = bench(*only, "--backend", f"mine:{name}")
        assert rows[0]["status"] == "warmup_failed" and reason in rows[0]["reason"], rows[0]


def start(folder, only, *more):
    program = [sys.executable, "-m", "facula", "bench", "torchbench", "--perf", "--train", "--float32", "-t1", "--output", "x.csv", "--only", only, *more]
    return subprocess.Popen(program, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(path, seconds=60):
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.05)


SLOW = HEAD + "class M(Base):\n    def forward(self, x):\n        open(os.environ['SEEN'], 'w').write(str(os.getpid()))\n        time.sleep(0.2)\n        return self.a(x)\n"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_the_parent_is_killed(bench, monkeypatch, how):
    """Its workers die with it; asked to stop, it says how many rows are kept."""
    seen = bench.folder / "seen"
    monkeypatch.setenv("SEEN", str(seen))
    parent = start(bench.folder, bench.model(SLOW))
    try:
        wait_for(seen)
        time.sleep(0.2)
        worker = int(seen.read_text())
        parent.send_signal(how)
        _, errors = parent.communicate(timeout=60)
    finally:
        parent.kill()
    end = time.monotonic() + 10
    while os.path.exists(f"/proc/{worker}") and time.monotonic() < end:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{worker}")
    with open(bench.folder / "x.csv", newline="") as file:
        assert list(csv.DictReader(file)) == []  # a header, and no half a row
    if how != signal.SIGKILL:
        assert parent.returncode == 130 and "0 rows are kept" in errors


def test_it_goes_on_where_it_stopped(bench):
    only = bench.model(GOOD)
    bench("--performance", "--inference", "--only", only)
    other = bench.model(GOOD, file="n.py")
    _, rows = bench("--performance", "--inference", "--retain-output", "--only", other)
    assert [r["name"] for r in rows] == [only, other]
    before = (bench.folder / "x.csv").read_text()
    _, rows = bench("--performance", "--inference", "--retain-output", "--only", only)
    assert len(rows) == 2 and (bench.folder / "x.csv").read_text() == before
    (bench.folder / "x.csv").write_text("a,b\n1,2\n")
    code, _ = bench("--performance", "--inference", "--retain-output", "--only", only)
    assert code == 2


@pytest.mark.parametrize(("options", "word"), [
    (["--only", "nosuchmodel"], "nosuchmodel"), (["--output", "/proc/x.csv"], "/proc/x.csv"),
    (["--baseline", "nosuch.csv"], "nosuch.csv"), (["-d", "cuda"], "'cuda'"), (["--oracle", "/nosuch/python"], "/nosuch/python"),
    (["--peer", "tensorrt"], "tensorrt"), (["--peer", "onnxruntime"], "--oracle"), (["--train"], "not allowed with"),
])  # fmt: skip
def test_refused_before_any_model(bench, capsys, options, word):
    only = [] if "--only" in options else ["--only", bench.model(GOOD)]
    code, _ = bench("--performance", "--inference", *only, *options)
    said = capsys.readouterr().err
    assert code == 2 and word in said and said.count("\n") == 1


def test_a_file_that_cannot_be_written(bench, capsys):
    """Whoever runs the tests may write anywhere but into a file that is a folder's place."""
    (bench.folder / "taken").write_text("")
    code, _ = bench("--performance", "--inference", "--only", bench.model(GOOD), "--output", "taken/x.csv")
    assert code == 2 and "taken" in capsys.readouterr().err


def test_a_full_disk(bench, capsys, monkeypatch):
    """Before any model, and after one whose row no longer fits: what was written stays."""
    from facula import _command_line

    write, left = _command_line.write_file, [2]

    def limited(path, content):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(path, content)

    monkeypatch.setattr(_command_line, "write_file", limited)
    code, rows = bench("--performance", "--inference", "--only", bench.model(GOOD))
    said = capsys.readouterr().err
    assert code == 2 and rows == [] and "No space left" in said and said.count("\n") == 1
    code, _ = bench("--performance", "--inference", "--only", bench.model(GOOD))
    assert code == 2


def test_a_baseline(bench, capsys):
    only = bench.model(GOOD)
    (bench.folder / "old.csv").write_text(f'dev,name,batch_size,speedup\ncpu,"{only}",2,2.0\n')
    _, rows = bench("--performance", "--inference", "--only", only, "--baseline", "old.csv", "--tag", "t")
    row = rows[0]
    assert float(row["baseline"]) == 2.0 and float(row["speedup_vs_baseline"]) == pytest.approx(float(row["speedup"]) / 2, abs=1e-5)
    assert row["tag"] == "t" and "2.00x ->" in capsys.readouterr().out
