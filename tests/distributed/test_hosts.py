# SPDX-License-Identifier: Apache-2.0
"""Two hosts: network namespaces joined by a cable that delays, loses and is cut."""

import os
import re
import shutil
import subprocess
import sys
import time

import pytest

PROGRAM = """
import datetime, sys, time, torch, torch.distributed as dist
torch.manual_seed(0)
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=6))
dist.barrier()
x = torch.full((1000,), dist.get_rank() + 1.0)
start = time.perf_counter()
for i in range(5):
    dist.all_reduce(x)
print(f"rank {dist.get_rank()} sum {x[0].item():.0f} in {time.perf_counter() - start:.3f} s\\n", end="", flush=True)
if "stay" in sys.argv:
    start = time.time()
    try:
        while True:
            dist.all_reduce(x.fill_(1)); time.sleep(.05)
    except dist.DistError as e:
        print(f"rank {dist.get_rank()} broke off: {type(e).__name__}: {e}\\n", end="", flush=True)
        sys.exit(3)
dist.destroy_process_group()
"""


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True)


@pytest.fixture
def hosts(tmp_path):
    """(names of two namespaces, run): run(*arguments) starts the program as one run of two machines with a rank each."""
    if not shutil.which("ip") or os.geteuid() != 0:
        pytest.skip("network namespaces need root and iproute2")
    mine = f"fc{os.getpid() % 100000}"
    names = [f"{mine}a", f"{mine}b"]
    started = []
    try:
        for name in names:
            if ip("netns", "add", name).returncode:
                pytest.skip("network namespaces are not allowed here")
        made = ip("link", "add", f"{mine}x", "netns", names[0], "type", "veth", "peer", "name", f"{mine}y", "netns", names[1])
        if made.returncode:
            pytest.skip("this kernel has no virtual cables")
        for name, cable, host in zip(names, "xy", (1, 2)):
            ip("-n", name, "addr", "add", f"10.213.7.{host}/24", "dev", f"{mine}{cable}")
            ip("-n", name, "link", "set", f"{mine}{cable}", "up")
            ip("-n", name, "link", "set", "lo", "up")
        (tmp_path / "program.py").write_text(PROGRAM)

        def run(*arguments):
            for rank, name in enumerate(names):
                command = ["ip", "netns", "exec", name, sys.executable, "-m", "facula.distributed.run", "--nnodes=2", "--nproc-per-node=1", f"--node-rank={rank}",
                           "--master-addr=10.213.7.1", "--master-port=29511", "--rdzv-id=cable", str(tmp_path / "program.py"), *arguments]  # fmt: skip
                started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}))
            return started

        yield [(names[0], f"{mine}x"), (names[1], f"{mine}y")], run
    finally:
        for process in started:
            process.kill()
            process.communicate()
        for name in names:
            ip("netns", "del", name)


def shape(host, *netem):
    done = subprocess.run(["ip", "netns", "exec", host[0], "tc", "qdisc", "add", "dev", host[1], "root", "netem", *netem], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"this kernel does not shape traffic: {done.stderr.strip()}")


def test_two_hosts(hosts):
    _, run = hosts
    out = "".join(p.communicate(timeout=60)[0] for p in run())
    assert sorted(re.findall(r"rank (\d) sum (\d+)", out)) == [("0", "48"), ("1", "48")], out


def test_a_cable_that_delays_and_loses(hosts):
    ends, run = hosts
    shape(ends[0], "delay", "10ms", "loss", "1%")
    processes = run()
    out = "".join(p.communicate(timeout=90)[0] for p in processes)
    times = [float(t) for t in re.findall(r"sum 48 in ([\d.]+) s", out)]
    assert len(times) == 2 and min(times) > 5 * 0.01, out  # each reduction crosses the cable


def test_a_cable_that_is_cut(hosts):
    ends, run = hosts
    processes = run("stay")
    before = ""
    while "rank 0 sum 48" not in before:
        line = processes[0].stdout.readline()
        assert line, before
        before += line
    ip("-n", ends[0][0], "link", "set", ends[0][1], "down")
    cut = time.monotonic()
    out = [p.communicate(timeout=60)[0] for p in processes]
    assert time.monotonic() - cut < 40
    for rank, text in enumerate(out):
        assert re.search(f"rank {rank} broke off: DistBackendError|the machine that holds the store cannot be reached", text), text
    assert all(p.returncode for p in processes)
