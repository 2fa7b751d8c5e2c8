# SPDX-License-Identifier: Apache-2.0
"""What `torch.profiler.values()` costs: steps of whole networks, and small calls, with and without it, interleaved.

    python benchmarks/values_overhead.py [--rounds N] [--threads N] [--tiny] [NETWORK ...]

Each round times a plain step, one under each mode, and a plain one again; printed are the ratios of medians, and that of the
two plain steps, which is noise.
"""

import argparse
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


def seconds(step):
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def measure(step, rounds):
    """Seconds of plain steps, of plain ones again, and under each mode, round by round."""
    taken = {name: [] for name in ("plain", "again", *MODES)}
    profiles = {mode: torch.profiler.values(mode=mode) for mode in MODES}
    step()
    for mode in MODES:  # call paths and stacks are made once
        with profiles[mode]:
            step()
    for _ in range(rounds):
        taken["plain"].append(seconds(step))
        for mode in MODES:
            with profiles[mode]:
                taken[mode].append(seconds(step))
        taken["again"].append(seconds(step))
    return taken


def small():
    x = torch.ones(4)

    def step():
        for _ in range(5000):
            x + 1  # noqa: B018

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tiny", action="store_true", help="networks of a size for tests")
    parser.add_argument("networks", nargs="*", help=f"some of {', '.join(networks.NETWORKS)}, small; all")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    unknown = [n for n in given.networks if n not in networks.NETWORKS and n != "small"]
    if unknown:
        parser.error(f"unknown network {unknown[0]!r}")
    print(f"{'network':>28}  plain ms  again  {'  '.join(f'{m:>7}' for m in MODES)}")
    for name in given.networks or [*networks.NETWORKS, "small"]:
        taken = measure(small() if name == "small" else networks.make(name, given.tiny), given.rounds)
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
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
