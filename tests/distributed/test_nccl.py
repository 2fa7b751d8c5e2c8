# SPDX-License-Identifier: Apache-2.0
"""The engine over NCCL, with a stand-in for NCCL and CUDA's runtime: this is not the place for GPUs."""

import pathlib
import re
import subprocess
import sys

import pytest

import facula

PACKAGE = pathlib.Path(facula._C.__file__).parent
FAKE = PACKAGE.parent.parent / "tests" / "distributed"


@pytest.fixture
def fake(monkeypatch):
    if not (PACKAGE / "libfacula_nccl.so").exists() or not (FAKE / "libnccl.so.2").exists():
        pytest.skip("nccl.h was not found when Facula was built, or its tests are not built")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(FAKE))


@pytest.mark.parametrize("n", [2, 3])
def test_every_collective(fake, ranks, n):
    out = ranks(n, "collectives.py", "nccl")
    assert sorted(re.findall(r"rank (\d) passed", out)) == [str(r) for r in range(n)]


START = """
import os, sys, time
from datetime import timedelta
import torch, torch.distributed as dist
dist.init_process_group("nccl", timeout=timedelta(seconds=%s))
rank = dist.get_rank()
x = torch.full((5,), float(rank + 1))
dist.all_reduce(x)
assert x[0] == 3, x
try:
    %s
except Exception as e:
    print(f"rank {rank}: {type(e).__name__}: {e}\\n", end="", flush=True)
    time.sleep(1)
"""


def test_ranks_that_disagree_and_one_that_is_late(fake, ranks):
    out = ranks(2, START % (2, "dist.all_reduce(torch.ones(3 + rank))"))
    assert out.count("DistBackendError") == 2 and "rank 1 called all_reduce(float32, 4 elements, SUM) at program.py" in out, out
    out = ranks(2, START % (1, "dist.all_reduce(x) if rank else time.sleep(4)"))
    assert "no end within the time-out of 1 s" in out and "rank 0 has called nothing since number 1" in out, out


def test_messages_in_both_directions_at_once_and_by_tag(fake, ranks):
    body = (
        "a, b, large = torch.zeros(1), torch.zeros(1), torch.full((1 << 20,), rank + 1.0); got = torch.zeros(1 << 20)\n"
        "    jobs = [dist.isend(large, 1 - rank), dist.isend(torch.ones(1) * 7, 1 - rank, tag=7), dist.isend(torch.ones(1) * 8, 1 - rank, tag=8),\n"
        "            dist.irecv(b, 1 - rank, tag=8), dist.irecv(a, 1 - rank, tag=7), dist.irecv(got, 1 - rank)]\n"
        "    for job in jobs: job.wait()\n"
        "    assert (a.item(), b.item(), got[-1].item()) == (7, 8, 2 - rank)\n"
        "    dist.barrier(); print('passed\\n', end='')"
    )
    assert ranks(2, START % (20, body)).count("passed") == 2


def test_a_rank_that_dies(fake, ranks):
    out = ranks(2, START % (60, "os._exit(3) if rank else dist.all_reduce(x)"), status=1)
    assert "rank 1" in out and "ended with exit status 3" in out, out


ASK = "import facula.distributed as d\nprint(d.is_nccl_available())\nd.init_process_group('nccl', store=d.HashStore(), rank=0, world_size=2)"


@pytest.mark.parametrize(("lacking", "text"), [("gpu", "no CUDA-capable device is detected"), ("library", "cannot be loaded"), ("function", "is too old: it has no nccl")])
def test_what_is_missing_is_said(fake, tmp_path, monkeypatch, lacking, text):
    monkeypatch.setenv("FAKE_GPUS", "0")
    runtime = next(FAKE.glob("libcudart.so.*"))
    if lacking == "library":  # what is found first is no library
        (tmp_path / runtime.name).symlink_to(runtime.resolve())
        (tmp_path / "libnccl.so.2").write_text("nothing")
    elif lacking == "function":
        (tmp_path / runtime.name).symlink_to(runtime.resolve())
        (tmp_path / "libnccl.so.2").symlink_to(PACKAGE / "libfacula_nccl.so")
    if lacking != "gpu":
        monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    done = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n" and text in done.stderr and "needs a GPU of NVIDIA's, CUDA's runtime and NCCL" in done.stderr, done
