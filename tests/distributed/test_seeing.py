# SPDX-License-Identifier: Apache-2.0
"""Schedules and traces of real runs of several processes."""

import json
import os
import subprocess
import sys

import pytest

TRAIN = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
torch.manual_seed(0)
dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(64, 64))
for step in range(3):
    model(torch.ones(4, 64)).sum().backward()
if dist.get_rank() == 0:
    dist.send(torch.ones(10), 1)
elif dist.get_rank() == 1:
    dist.recv(torch.empty(10), 0)
dist.barrier()
dist.destroy_process_group()
"""


def test_a_schedule_of_a_run(ranks, tmp_path):
    from facula.distributed import schedule
    from facula.tools.network import Machine, _report, replay

    ranks(2, TRAIN, env={"TORCH_DISTRIBUTED_SCHEDULE": str(tmp_path / "s")})
    both = schedule.load(tmp_path / "s")
    assert [r.rank for r in both] == [0, 1] and both[0].world_size == 2
    for rank in both:
        reductions = [c for c in rank.calls if c.op == "all_reduce"]
        assert len(reductions) == 3 and all(c.bytes == 4 * (64 * 64 + 64) and c.where == "program.py:8" for c in reductions)
        assert all(rank.start <= c.called <= c.begun <= c.ended <= rank.stop for c in rank.calls if c.sequence)
        assert all(c.called <= c.wait_from <= c.wait_to and c.ended <= c.wait_to for c in reductions)
    # A collective ends nowhere before all have called it: the clocks are one.
    for a, b in zip(*([c for c in r.calls if c.op == "all_reduce"] for r in both)):
        assert min(a.ended, b.ended) > max(a.called, b.called)
    sent = _report.links(both)
    assert sent[0, 1] > 3 * 4 * 64 * 65 + 40 > 3 * 4 * 64 * 65 <= sent[1, 0]
    assert "last to come" in _report.text(both)
    two, many = (replay(both, Machine.read("cluster"), n) for n in (2, 1024))
    assert 0 < two.calls["all_reduce"] < many.calls["all_reduce"]


def test_recording_a_part(ranks, tmp_path):
    from facula.distributed import schedule

    program = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()
try:
    with dist.schedule.record("part"):
        dist.all_reduce(torch.ones(4))
        try:
            with dist.schedule.record("other"): pass
        except dist.DistError as e:
            print(f"{e}\\n", end="")
        raise KeyError
except KeyError:
    pass
dist.barrier()
dist.destroy_process_group()
"""
    out = ranks(2, program)
    assert out.count("a schedule of this process is recorded already") == 2
    assert [[c.op for c in r.calls] for r in schedule.load(tmp_path / "part")] == [["all_reduce"]] * 2


def test_one_trace_of_all_ranks(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    command = [sys.executable, "-m", "facula", "profile", "-n", "2", "--trace", "all.json", "--jsonl", "calls.jsonl", "--top", "5", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    assert "Operators of rank 0 of 2" in done.stdout and "Calls of 2 ranks" in done.stdout and "Bytes from rank to rank" in done.stdout
    trace = json.loads((tmp_path / "all.json").read_text())
    assert [r["rank"] for r in trace["ranks"]] == [0, 1] and all("clock_offset_us" in r for r in trace["ranks"])
    events = trace["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert sorted(names.values()) == ["rank 0: facula", "rank 1: facula"]
    reductions = {pid: [e for e in events if e["name"] == "gloo:all_reduce" and e["pid"] == pid] for pid in names}
    assert [len(r) for r in reductions.values()] == [3, 3]
    for a, b in zip(*reductions.values()):  # they overlap in time on one clock
        assert a["ts"] < b["ts"] + b["dur"] and b["ts"] < a["ts"] + a["dur"]
    assert any(e["name"] == "wait" for e in events) and (tmp_path / "calls.jsonl").exists()


@pytest.mark.parametrize("given", [["-n", "0"], ["-n", "2", "--rank", "2"], ["-n", "2", "--trace", "/nowhere/x.json"]])
def test_what_profile_refuses(given, tmp_path):
    done = subprocess.run([sys.executable, "-m", "facula", "profile", *given, "train.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr.startswith("facula profile: ") and done.stderr.count("\n") == 1


def test_a_rank_that_fails_is_the_status(tmp_path):
    (tmp_path / "x.py").write_text("import os, sys\nsys.exit(int(os.environ['RANK']) * 3)\n")
    done = subprocess.run([sys.executable, "-m", "facula", "profile", "-n", "2", "x.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "rank 1" in done.stderr


def test_traces_without_ranks(tmp_path):
    from facula.profiler._ranks import merge_traces

    (tmp_path / "a.json").write_text('[{"ph":"X","name":"f","pid":7,"tid":1,"ts":1.5,"dur":1}]')
    (tmp_path / "b.json").write_text(json.dumps({"traceEvents": [{"ph": "X", "name": "g", "pid": 7, "tid": 1, "ts": 2, "dur": 1}]}))
    merge_traces([tmp_path / "a.json", tmp_path / "b.json"], tmp_path / "m.json.gz")
    import gzip

    events = [e for e in json.loads(gzip.open(tmp_path / "m.json.gz").read())["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in events] == ["f", "g"] and events[0]["pid"] != events[1]["pid"]
