# SPDX-License-Identifier: Apache-2.0
"""What `facula profile --so` costs: CPU time of a large convolution and of a loop of small calls, with and without it.

    python benchmarks/profile_overhead.py [--rounds N] [--rate HZ] [--so LIBRARIES] [--perf]

Each round runs the program plain, profiled and plain again, in random order, in processes of their own; a program measures
the CPU time of each repetition of its work, not of its start. Printed is the ratio of medians with a bootstrap interval over
processes, and the same for the two plain runs: what that one says is noise. --perf adds `perf record -g` at the same rate, the
yardstick: an interrupt and a record in the kernel, no signal. The last line is the sampler's own account: samples per second of CPU time, and
how long one takes.
"""

import argparse
import random
import shutil
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
        torch.nn.functional.conv2d(x, weight, bias, stride=2)

    return work


def small_calls():
    x = torch.ones(4)

    def work():
        for _ in range(1_000_000):
            x + x  # noqa: B018

    return work


PROGRAMS = {"convolution": convolution, "small calls": small_calls}
REPETITIONS = 10


def seconds(name, kind, options, taken):
    """CPU seconds of each repetition, in a process of its own. What the sampler says of itself is added to `taken`."""
    command, env = [sys.executable, __file__, "--work", name, "--threads", str(options.threads)], None
    with tempfile.TemporaryDirectory() as folder:
        if kind == "perf":
            command = ["perf", "record", "-q", "-g", "-e", "task-clock", "-F", str(options.rate), "-o", f"{folder}/perf.data", *command]
        elif kind == "profiled":
            env = launch.environment(folder, options.so.split(","), options.rate)
        printed = subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout
        if kind == "profiled":
            taken.extend(record.read_folder(folder)[0])
    return [float(word) for word in printed.split()]


def interval(above, below, rng):
    """Ratio of medians, and its 95 % interval; of lists, one of each process."""
    median = lambda lists: statistics.median(x for one in lists for x in one)
    draws = sorted(median(rng.choices(above, k=len(above))) / median(rng.choices(below, k=len(below))) for _ in range(1000))
    return median(above) / median(below), draws[25], draws[974], median(above)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument("--rate", type=int, default=1000)
    arguments.add_argument("--so", default=LIBRARIES)
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument("--perf", action="store_true", help="measure perf record -g too")
    arguments.add_argument("--work", choices=PROGRAMS, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.work:
        torch.set_num_threads(options.threads)
        work = PROGRAMS[options.work]()
        for _ in range(REPETITIONS):
            start = time.process_time()
            work()
            print(time.process_time() - start)
        return
    if options.perf and not shutil.which("perf"):
        sys.exit("profile_overhead: perf was not found (Debian: linux-perf)")
    rng = random.Random(0)
    for name in PROGRAMS:
        times, taken = {"plain": [], "again": [], "profiled": [], **({"perf": []} if options.perf else {})}, []
        for _ in range(options.rounds):
            for kind in rng.sample(sorted(times), len(times)):
                times[kind].append(seconds(name, kind, options, taken))
        for kind in [kind for kind in times if kind != "plain"]:
            ratio, low, high, middle = interval(times[kind], times["plain"], rng)
            print(f"{name:12}  {kind:8} / plain  {ratio:.3f}  [{low:.3f}, {high:.3f}]  {middle:.3f} s, {options.rounds} rounds of {REPETITIONS}")
        samples, handler = sum(run.samples for run in taken), sum(run.handler_seconds for run in taken)
        rate = samples / sum(run.ticks * run.period for run in taken)
        print(f"{name:12}  {rate:.0f} samples a second, {handler / samples * 1e6:.1f} us each")


if __name__ == "__main__":
    main()
