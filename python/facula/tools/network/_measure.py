# SPDX-License-Identifier: Apache-2.0
"""Measures this machine's engine at two and more processes and finds the numbers of a machine file that explain it.

As a program (`torchrun … -m facula.tools.network._measure FILE`) it is one of the measured processes."""

from __future__ import annotations

import json
import math
import os
import random
import statistics
import sys
import tempfile
import time
from dataclasses import replace

from facula._command_line import Progress, write_file
from facula.tools.network._algorithms import steps
from facula.tools.network._machine import Machine

SIZES = (1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 22, 1 << 24)
OPS = ("all_reduce", "all_gather", "broadcast")


def _process(path: str) -> None:
    import facula as torch
    import facula.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group()
    n, found = dist.get_world_size(), []
    for size in SIZES:
        tensor, all_of_it = torch.zeros(size // 4), torch.zeros(size // 4 * n)
        calls = {
            "all_reduce": lambda t=tensor: dist.all_reduce(t),
            "all_gather": lambda t=tensor, a=all_of_it: dist.all_gather_into_tensor(a, t),
            "broadcast": lambda t=tensor: dist.broadcast(t, 0),
        }
        for op, call in calls.items():
            times = []
            for _ in range(7 if size > 1 << 20 else 21):
                dist.barrier()
                start = time.perf_counter()
                call()
                times.append(time.perf_counter() - start)
            slowest = torch.tensor(statistics.median(times), dtype=torch.float64)
            dist.all_reduce(slowest, dist.ReduceOp.MAX)
            found.append((op, size * n if op == "all_gather" else size, n, slowest.item()))
    if dist.get_rank() == 0:
        write_file(path, json.dumps(found))
    dist.destroy_process_group()


def measured(processes: int) -> list[tuple[str, int, int, float]]:
    """(op, bytes, ranks, seconds) of a run of that many processes here."""
    from facula.distributed._agent import Agent, Options

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "times.json")
        status = Agent(Options(command=[sys.executable, "-m", "facula.tools.network._measure", path], processes=processes)).run()
        if status:
            raise RuntimeError(f"the measured processes ended with status {status}")
        with open(path) as file:
            return [tuple(row) for row in json.load(file)]


def predicted(machine: Machine, row: tuple[str, int, int, float]) -> float:
    """What the model says of a measured row."""
    op, size, n, _ = row
    return machine.seconds(steps(op, size, n, "ring"), range(n))


def error(machine: Machine, rows: list[tuple[str, int, int, float]]) -> float:
    """The root mean square of the logarithms of predicted over measured."""
    return math.sqrt(statistics.fmean(math.log(predicted(machine, row) / row[3]) ** 2 for row in rows))


def fit(rows: list[tuple[str, int, int, float]], cores: int, ranks: int, bar: Progress) -> Machine:
    """A machine of one node whose numbers make the error least: a walk downhill from several places, the same every time."""
    walk = random.Random(0)
    names = ("message_us", "copy_gbytes", "combine_gbytes", "inside_latency_us", "inside_gbytes", "memory_gbytes")
    best, least = Machine(), math.inf
    for _ in range(8):
        at = Machine(
            name="this machine", ranks=ranks, cores=cores, message_us=10 ** walk.uniform(0, 2), copy_gbytes=10 ** walk.uniform(-1, 1.5),
            combine_gbytes=10 ** walk.uniform(-1, 1.5), inside_latency_us=10 ** walk.uniform(0, 2), inside_gbytes=10 ** walk.uniform(-1, 1.5),
            memory_gbytes=10 ** walk.uniform(0, 2),
        )  # fmt: skip
        here, reach = error(at, rows), 0.5
        while reach > 0.01:
            tried = [replace(at, **{name: getattr(at, name) * math.exp(sign * reach)}) for name in names for sign in (1, -1)]
            errors = [error(t, rows) for t in tried]
            if min(errors) < here - 1e-9:
                here, at = min(errors), tried[errors.index(min(errors))]
            else:
                reach /= 2
        if here < least:
            best, least = at, here
        bar.step("finding numbers")
    return best


def machine_of(counts: list[int]) -> tuple[Machine, list[tuple[str, int, int, float]]]:
    """Measures with each number of processes; the machine found, and what was measured."""
    rows = []
    with Progress("network measure", len(counts) + 8) as bar:
        for n in counts:
            rows += measured(n)
            bar.step(f"{n} processes")
        machine = fit(rows, len(os.sched_getaffinity(0)), max(counts), bar)
    return machine, rows


if __name__ == "__main__":
    _process(sys.argv[1])
