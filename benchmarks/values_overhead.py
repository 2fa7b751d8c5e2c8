# SPDX-License-Identifier: Apache-2.0
"""What `torch.profiler.values()` costs: steps of whole networks, and small calls, with and without it, interleaved.

    python benchmarks/values_overhead.py [--rounds N] [--threads N] [--cpu-time] [--memory] [--tiny] [NETWORK ...]

Each round times a plain step, one under each mode, and a plain one again; printed are the ratios of medians, and that of the
two plain steps, which is noise. --memory: the peak of processes that make three steps, and the ratios of those.
"""

import argparse
import contextlib
import os
import resource
import statistics
import sys
import time

from facula import _as_torch

_as_torch.install()
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import networks  # noqa: E402
import torch  # noqa: E402

MODES = ("default", "exact", "budget")


def seconds(step, clock):
    start = clock()
    step()
    return clock() - start


def deepwave(tiny):
    """A step of the inversion in benchmarks/models."""
    from facula.tools.bench import _load, _options, _step

    options = {**vars(_options.parse(["--performance", "--training"])), "device": "cpu"}
    loaded = _load.load("torchbench", "deepwave_inversion", True, 2, tiny, "cpu", options)
    _step.prepare(loaded, options)
    return _step.Step(loaded, loaded.module, options)


def small(tiny=False):
    x = torch.ones(4)

    def step():
        for _ in range(5000):
            x + 1  # noqa: B018

    return step


OTHERS = {"deepwave": deepwave, "small": small}


def made(name, tiny):
    return OTHERS[name](tiny) if name in OTHERS else networks.make(name, tiny)


def peak(name, tiny, mode):
    """MB that a process of its own had resident at most, in three steps."""
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        step = made(name, tiny)
        with torch.profiler.values(mode=mode) if mode else contextlib.nullcontext():
            for _ in range(3):
                step()
        os.write(write, str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        told = float(pipe.read())
    os.waitpid(pid, 0)
    return told


def measure(step, rounds, clock):
    """Seconds of plain steps, of plain ones again, and under each mode, round by round."""
    taken = {name: [] for name in ("plain", "again", *MODES)}
    profiles = {mode: torch.profiler.values(mode=mode) for mode in MODES}
    step()
    for mode in MODES:  # call paths and stacks are made once
        with profiles[mode]:
            step()
    for _ in range(rounds):
        taken["plain"].append(seconds(step, clock))
        for mode in MODES:
            with profiles[mode]:
                taken[mode].append(seconds(step, clock))
        taken["again"].append(seconds(step, clock))
    return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cpu-time", action="store_true", help="processor time of all threads instead of time that passes")
    parser.add_argument("--memory", action="store_true", help="peak memory instead of time")
    parser.add_argument("--tiny", action="store_true", help="networks of a size for tests")
    parser.add_argument("networks", nargs="*", help=f"some of {', '.join([*networks.NETWORKS, *OTHERS])}; all")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    unknown = [n for n in given.networks if n not in networks.NETWORKS and n not in OTHERS]
    if unknown:
        parser.error(f"unknown network {unknown[0]!r}")
    names = given.networks or [*networks.NETWORKS, *OTHERS]
    if given.memory:
        print(f"{'network':>28}  plain MB  {'  '.join(f'{m:>7}' for m in MODES)}")
        for name in names:
            plain = peak(name, given.tiny, None)
            print(f"{name:>28}  {plain:8.0f}  {'  '.join(f'{peak(name, given.tiny, m) / plain:7.2f}' for m in MODES)}", flush=True)
        return
    print(f"{'network':>28}  plain ms  again  {'  '.join(f'{m:>7}' for m in MODES)}")
    for name in names:
        taken = measure(made(name, given.tiny), given.rounds, time.process_time if given.cpu_time else time.perf_counter)
        middle = {k: statistics.median(v) for k, v in taken.items()}
        ratios = "  ".join(f"{middle[m] / middle['plain']:7.2f}" for m in MODES)
        print(
            f"{name:>28}  {middle['plain'] * 1e3:8.2f}  {middle['again'] / middle['plain']:5.2f}  {ratios}",
            flush=True,
        )
        if name == "small":
            print(
                "  per small call: "
                + ", ".join(f"{m} {(middle[m] - middle['plain']) / 5000 * 1e6:.2f} µs" for m in MODES)
            )


if __name__ == "__main__":
    main()
