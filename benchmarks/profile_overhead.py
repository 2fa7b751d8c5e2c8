# SPDX-License-Identifier: Apache-2.0
"""What `facula profile --so` costs: CPU time of a large convolution and of a loop of small calls, with and without it.

    python benchmarks/profile_overhead.py [--rounds N] [--rate HZ] [--so LIBRARIES]

Each round runs the program plain, profiled and plain again, in random order, in processes of their own; a program measures
the CPU time of its work, not of its start. Printed is the ratio of medians with a bootstrap interval, and the same for the
two plain runs: what that one says is noise. The last line is the sampler's own account: samples per second of CPU time, and
how long one takes.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time

import facula as torch
from facula.library_profile import launch, record

LIBRARIES = "libfacula.so,libdnnl.so,libopenblas.so"


def convolution():
    import conv2d_example

    weight, bias, x = conv2d_example.make(torch)
    torch.nn.functional.conv2d(x, weight, bias, stride=2)

    def work():
        for _ in range(8):
            torch.nn.functional.conv2d(x, weight, bias, stride=2)

    return work


def small_calls():
    x = torch.ones(4)

    def work():
        for _ in range(1_000_000):
            x + x  # noqa: B018

    return work


PROGRAMS = {"convolution": convolution, "small calls": small_calls}


def seconds(name, rate, names, taken):
    """CPU seconds of the work, in a process of its own; rate 0: not profiled. What the sampler says of itself is added to `taken`."""
    command = [sys.executable, __file__, "--work", name]
    if not rate:
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    with tempfile.TemporaryDirectory() as folder:
        env = launch.environment(folder, names, rate)
        spent = float(subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout)
        taken.extend(record.read_folder(folder)[0])
        return spent


def interval(above, below, rng):
    """Ratio of medians, and its 95 % interval."""
    draws = sorted(statistics.median(rng.choices(above, k=len(above))) / statistics.median(rng.choices(below, k=len(below))) for _ in range(2000))
    return statistics.median(above) / statistics.median(below), draws[50], draws[1949]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument("--rate", type=int, default=1000)
    arguments.add_argument("--so", default=LIBRARIES)
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument("--work", choices=PROGRAMS, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.work:
        torch.set_num_threads(options.threads)
        work = PROGRAMS[options.work]()
        start = time.process_time()
        work()
        print(time.process_time() - start)
        return
    rng = random.Random(0)
    for name in PROGRAMS:
        times, taken = {"plain": [], "again": [], "profiled": []}, []
        for _ in range(options.rounds):
            for kind in rng.sample(sorted(times), 3):
                times[kind].append(seconds(name, options.rate if kind == "profiled" else 0, options.so.split(","), taken))
        for kind in ("profiled", "again"):
            ratio, low, high = interval(times[kind], times["plain"], rng)
            print(f"{name:12}  {kind:8} / plain  {ratio:.3f}  [{low:.3f}, {high:.3f}]  {statistics.median(times[kind]):.3f} s, {options.rounds} rounds")
        samples, handler = sum(run.samples for run in taken), sum(run.handler_seconds for run in taken)
        rate = samples / sum(run.ticks * run.period for run in taken)
        print(f"{name:12}  {rate:.0f} samples a second, {handler / samples * 1e6:.1f} us each")


if __name__ == "__main__":
    main()
