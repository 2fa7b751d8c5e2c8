# SPDX-License-Identifier: Apache-2.0
"""Collectives of two to four processes, and what every rank is told when they go wrong."""
import re
import signal

import pytest


@pytest.mark.parametrize("n", [2, 3])
def test_every_collective(ranks, n):
    out = ranks(n, "collectives.py", "gloo")
    assert sorted(re.findall(r"rank (\d) passed", out)) == [str(r) for r in range(n)]


START = """
import sys, time, os, signal
from datetime import timedelta
import torch, torch.distributed as dist
dist.init_process_group("gloo", timeout=timedelta(seconds=1.5))
rank = dist.get_rank()
dist.barrier()
def tell(error):
    print(f"rank {rank}: {type(error).__name__}: {error}", flush=True)
    time.sleep(0.5)  # the launcher ends the others when the first of them ends
try:
%s
except Exception as e:
    tell(e)
"""


def body(*lines):
    return START % "\n".join("    " + line for line in lines)


DISAGREE = {
    "shapes": ("dist.all_reduce(torch.ones(3 + rank))", "all_reduce(float32, 4 elements, SUM)"),
    "types": ("dist.all_reduce(torch.ones(3, dtype=[torch.float32, torch.float64][rank]))", "all_reduce(float64, 3 elements, SUM)"),
    "reductions": ("dist.all_reduce(torch.ones(3), [dist.ReduceOp.SUM, dist.ReduceOp.MAX][rank])", "all_reduce(float32, 3 elements, MAX)"),
    "operators": ("(dist.all_reduce(torch.ones(3)) if rank == 0 else dist.broadcast(torch.ones(3), 0))", "broadcast(float32, 3 elements, from 0)"),
    "roots": ("dist.broadcast(torch.ones(3), rank)", "broadcast(float32, 3 elements, from 1)"),
}


@pytest.mark.parametrize(("case", "debug"), [*((c, "OFF") for c in ("shapes", "operators", "roots")), *((c, "DETAIL") for c in DISAGREE)])
def test_ranks_that_disagree(ranks, case, debug):
    line, theirs = DISAGREE[case]
    out = ranks(2, body(line), env={"TORCH_DISTRIBUTED_DEBUG": debug})
    assert out.count("DistBackendError") == 2, out  # on every rank
    assert f"rank 1 called {theirs} at program.py:" in out, out
    assert ("disagree about call number 2" in out) == (debug == "DETAIL"), out


def test_a_rank_that_calls_nothing(ranks):
    out = ranks(2, body("if rank == 0: dist.all_reduce(torch.ones(3))", "else: time.sleep(4)"))
    assert "within the time-out of 1.500 s" in out and "rank 1 has called nothing since number 1, barrier() at program.py" in out, out


def test_a_rank_that_raises(ranks):
    out = ranks(3, body("if rank == 1: raise ValueError('bad luck')", "dist.all_reduce(torch.ones(3)), dist.all_reduce(torch.ones(3))") + "\nsys.exit(rank == 1)\n", status=1)
    assert "bad luck" in out


@pytest.mark.parametrize("how", ["SIGKILL", "SIGSTOP"])
def test_a_rank_that_dies_or_stops(ranks, how):
    lines = [f"if rank == 1: os.kill(os.getpid(), signal.{how})", "begin = time.monotonic()",
             "try: dist.all_reduce(torch.ones(3))",
             "except dist.DistBackendError as e: print(f'rank {rank} heard after {time.monotonic() - begin:.1f} s: {e}', flush=True); sys.exit(1)"]  # fmt: skip
    out = ranks(3, body(*lines).replace("seconds=1.5", "seconds=60"), status=1)
    heard = [float(s) for s in re.findall(r"rank [02] heard after ([\d.]+) s", out)]
    assert heard and max(heard) < 10, out
    if how == "SIGSTOP":
        assert "rank 1 has not been heard of" in out, out


def test_group_after_its_end_and_after_a_fork(ranks):
    out = ranks(2, body(
        "group = dist.group.WORLD",
        "pid = os.fork()",
        "if pid == 0:",
        "    try: dist.all_reduce(torch.ones(1))",
        "    except dist.DistError as e: print('child:', e, flush=True)",
        "    os._exit(0)",
        "os.waitpid(pid, 0)",
        "x = torch.ones(1); dist.all_reduce(x); assert x == 2",
        "dist.destroy_process_group()",
        "dist.all_reduce(torch.ones(1), group=group)",
    ))  # fmt: skip
    assert out.count("made before a fork") == 2 and out.count("was destroyed") == 2, out


def test_failures_at_the_start(ranks):
    late = "import os, time, sys\nfrom datetime import timedelta\nimport torch.distributed as dist\n%s"
    out = ranks(3, late % "r = int(os.environ['RANK'])\nif r: time.sleep(4); sys.exit(0)\ndist.init_process_group('gloo', timeout=timedelta(seconds=1))", status=1)
    assert "after 1 s 2 of 3 ranks have not come: 1, 2" in out, out
    out = ranks(2, late % "dist.init_process_group('gloo', rank=0, world_size=2, timeout=timedelta(seconds=2))", status=1)
    assert "two processes say that they are rank 0" in out, out
    out = ranks(2, late % "dist.init_process_group('gloo', world_size=2 + int(os.environ['RANK']), timeout=timedelta(seconds=2))", status=1)
    assert "rank 1 of 3" in out or "rank 0 of 2" in out, out


def test_alone(ranks, facula_only):
    from facula import distributed as dist
    import facula as torch

    dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    try:
        x = torch.ones(3)
        dist.all_reduce(x), dist.broadcast(x, 0), dist.barrier(), dist.monitored_barrier()
        out = [torch.empty(3)]
        dist.all_gather(out, x)
        assert x.tolist() == [1, 1, 1] == out[0].tolist() and dist.get_world_size() == 1
    finally:
        dist.destroy_process_group()
    with pytest.raises(ValueError, match="has not been initialized"):
        dist.all_reduce(x)


def test_ctrl_c_leaves_nothing(tmp_path):
    import subprocess
    import sys
    import time

    program = tmp_path / "wait.py"
    program.write_text("import os, torch, torch.distributed as dist\ndist.init_process_group('gloo')\nos.write(1, f'pid {os.getpid()}\\n'.encode())\n"
                       "if dist.get_rank() == 0: dist.barrier()\nelse: dist.recv(torch.ones(1), 0)\n")  # fmt: skip
    run = subprocess.Popen([sys.executable, "-m", "facula.distributed.run", "--nproc-per-node=2", str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        pids = [int(run.stdout.readline().split()[1]) for _ in range(2)]
        time.sleep(0.3)
        begin = time.monotonic()
        run.send_signal(signal.SIGINT)
        assert run.wait(10) == 130 and time.monotonic() - begin < 4
    finally:
        run.kill()  # its processes die with it
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            __import__("os").kill(pid, 0)
