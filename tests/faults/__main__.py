# SPDX-License-Identifier: Apache-2.0
"""python -m faults (tools/test_faults.sh): every allocation that our libraries make in a scenario fails once.

For each scenario: count the allocations of a clean run, then run it as often with the first, the second, ... refused.
Expected is an exception that speaks of memory, nothing left alive, and the next run as good as any. Runs in forked
children, so that a crash names its allocation.
"""
import argparse
import ctypes
import gc
import os
import re
import subprocess
import sys
import tempfile

import facula as torch
from faults import scenarios
from fuzz_operators import workers
from fuzz_operators.judge import Finding

FAULTS = ctypes.CDLL(None)
for name in ("faults_count", "faults_alive"):
    getattr(FAULTS, name).restype = ctypes.c_int64
FAULTS.faults_arm.argtypes = [ctypes.c_int64]


def stack():
    """Where the refused allocation was asked for."""
    with tempfile.TemporaryFile("w+") as file:
        FAULTS.faults_where(file.fileno())
        file.seek(0)
        return file.read().splitlines()


def readable(lines):
    """Names and lines for the frames "library(symbol+0xoffset) [0xaddress]" that lie in our libraries."""
    text = []
    for frame in lines:
        found = re.match(r"(\S*facula\S*)\((\w*)\+0x([0-9a-f]+)\)", frame)
        if not found:
            continue
        library, symbol, offset = found.groups()
        command = ["c++filt", symbol] if symbol else ["addr2line", "-Cfpe", library, hex(int(offset, 16) - 1)]
        name = subprocess.run(command, capture_output=True, text=True).stdout.strip()
        text.append(re.sub(r"\(anonymous namespace\)::|\([^)]*\)|/\S*/\.\./", "", name)[:150])
    return text


def run(scenario, n):
    """The scenario with its n-th allocation refused: "" or what is wrong."""
    FAULTS.faults_arm(n)
    try:
        scenario()
        error = None
    except BaseException as caught:
        error = caught
    reached = n and FAULTS.faults_count() >= n
    FAULTS.faults_arm(0)
    if error is not None:
        text = str(error)
        kind = type(error).__name__
        error.__traceback__ = None
        if not isinstance(error, (MemoryError, RuntimeError)) or "memory" not in text:
            return f"raised {kind}: {text[:200]}"
        if not reached:
            return f"raised {kind} without a refusal: {text[:200]}"
    return ""


def settled():
    gc.collect()
    torch._C._backend_empty_cache("cpu")
    return FAULTS.faults_alive()


def watch(scenario):
    for _ in range(4):  # what is made once is made
        run(scenario, 0)
    FAULTS.faults_arm(0)
    scenario()
    return FAULTS.faults_count()


def trial(scenario):
    """work(n) for workers.run."""
    def work(n):
        left, where = 0, None
        for _ in range(3):  # memory that is kept for the next time is no leak: the same refusal again adds nothing
            before = settled()
            problem = run(scenario, n)
            left = settled() - before
            if problem or left <= 0 or scenario in scenarios.ONCE:
                break
        else:
            problem = f"{left} allocations are left behind"
        if problem:
            where = stack()
        after = "" if problem else run(scenario, 0)
        if after:
            problem, where = f"the run after it {after}", []
        return True, not problem, Finding("fault", "", problem + "\n" + "\n".join(where)) if problem else None
    return work


def main():
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    parser.add_argument("--only", default="", help="scenarios whose name contains this")
    parser.add_argument("--sample", type=int, default=0, help="at most so many allocations of a scenario, evenly spread")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("-n", type=int, help="only this allocation, in this process")
    options = parser.parse_args()
    torch.set_num_threads(1)
    workers.MEMORY = 0  # nothing is large here, but a backend may reserve addresses
    torch._C._set_cache(False)  # every object is asked for
    FAULTS.faults_watch()
    bad = 0
    for scenario in scenarios.ALL:
        if options.only not in scenario.__name__:
            continue
        if options.n is not None:
            watch(scenario)
            print(run(scenario, options.n) or "fine", *readable(stack()), sep="\n")
            continue
        with tempfile.TemporaryDirectory() as folder:
            bad += examine(scenario, folder, options)
    return 1 if bad else 0


def examine(scenario, folder, options):
    once = scenario in scenarios.ONCE
    total = counted(scenario, folder) if once else watch(scenario)
    step = max(1, total // options.sample) if options.sample else 1
    numbers = range(1, total + 1, step)
    found, done = [], [0]

    def progress(finished, whole, returned, new):
        done[0] = finished
        found.extend(new)
    work = trial(scenario)
    workers.run(lambda i: work(numbers[i]), range(len(numbers)), folder, options.processes, 1 if once else 50, progress, lambda: False)
    print(f"{scenario.__name__}: {len(numbers)} of {total} allocations refused, {len(found)} findings", flush=True)
    seen = {}
    for i, finding in sorted(found, key=lambda f: f[0]):
        problem, *frames = finding.detail.splitlines()
        names = readable(frames)
        seen.setdefault((finding.kind, problem[:40], *names[:4]), [numbers[i], finding.kind, problem, names[:14], 0])[4] += 1
    for number, kind, problem, names, times in seen.values():
        print(f"  allocation {number} ({times} like it): {kind}: {problem}")
        print("".join(f"      {name}\n" for name in names), end="")
    return len(found)


def counted(scenario, folder):
    """How many allocations a first run makes: found out in a child, because there is no second first run."""
    path = os.path.join(folder, "count")

    def work():
        FAULTS.faults_arm(0)
        scenario()
        with open(path, "w") as file:
            file.write(str(FAULTS.faults_count()))
        return 1, 1, None
    failed = workers.alone(work, folder)
    if failed:
        raise SystemExit(f"{scenario.__name__} fails on its own: {failed.detail}")
    with open(path) as file:
        return int(file.read())


sys.exit(main())
