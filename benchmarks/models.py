# SPDX-License-Identifier: Apache-2.0
"""Whole networks, Facula against PyTorch, interleaved in one run: `make bench-models`.

    FACULA_ORACLE=/path/to/python make bench-models        # a Python that has PyTorch 2.x
    make bench-models BENCH_ARGS="--threads 1,2,16 --only BERT"

The networks are benchmarks/networks.py's, the method is benchmarks/reference.py's: two processes, rounds of ours, theirs,
theirs, ours, the ratio (2.0: Facula is twice as fast) a median of rounds with its interval, noise beside it. Every
network has fresh processes, so the peak of resident memory is its own. What the first step returns must agree to 1e-4.
`facula run` runs it, so that the networks' `import torch` is Facula here and in our process.

"Outside" is the part of our step's time that no kernel ran in: modules, Python, dispatch, autograd, the optimiser's Python.
An observer adds up what passes inside of kernels; the rest of the unobserved step's time is outside, or somewhat more: a
microsecond of observing per kernel counts as the kernel's.
"""

import argparse
import json
import os
import pathlib
import random
import sys
import time

import networks
import operators
import quiet
import reference

SETUP = "import networks; step = networks.make({name!r}); first = step()"


def measure(name, threads, options, path, order, setup=SETUP):
    """{"ours": ..., "theirs": ..., "memory": [ours, theirs] in bytes, "values": ...}."""
    ours = reference.Side(options.ours_python, options.ours, threads, path, options.cpu_time)
    theirs = reference.Side(options.oracle, "torch", threads, "", options.cpu_time)
    row = operators.Row(name, None, setup.format(name=name), "step()")
    times = reference.measure(ours, theirs, row, "large", options.rounds, swapped=order % 2)
    if "error" not in times:
        times["memory"] = [side.ask("peak_memory") for side in (ours, theirs)]
        if options.ours != "torch" and setup is SETUP:
            times["kernel_seconds"] = ours.ask("kernel_seconds")
        times["values"] = [side.ask("value", "first") for side in (ours, theirs)]
    for side in (ours, theirs):
        side.close()
    return times


def options_of(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    reference.add_common_options(parser)
    parser.add_argument("--only", default="", help="networks whose name contains this")
    parser.add_argument("--rounds", type=int, default=6, help="rounds per network and number of threads")
    parser.add_argument("--json", default=str(reference.HERE.parent / "build" / "bench-models.json"), help="where all times go")
    return reference.finish_options(parser, arguments)


def main():
    options = options_of()
    path, versions = reference.check_versions(options)
    path = "" if options.ours == "torch" else path
    names = [name for name in networks.NETWORKS if options.only in name]
    rng, rows, started, before = random.Random(0), [], time.time(), quiet.snapshot()
    print(f"{options.ours} {versions[0]} against torch {versions[1]}; ratio > 1: {options.ours} is faster")
    print(f"{'network':22s} threads   ratio     interval       {options.ours:>9s}      torch    noise   outside   peak memory, MB")
    for threads in options.threads:
        for number, name in enumerate(names):
            reference.progress(len(rows), len(names) * len(options.threads), name, started)
            times = measure(name, threads, options, path, number)
            rows.append({"network": name, "threads": threads, **times})
            if "error" in times:
                print(f"{name:22s} {threads:7d}   {times['side']}: {times['error']}")
                continue
            reference.summarise(times, rng)
            rows[-1].update(times)
            a, b = times["values"]
            agree = abs(a - b) <= 1e-4 * max(1, abs(b))
            ours, theirs = (operators.readable(times[f"{side}_seconds"]) for side in ("ours", "theirs"))
            outside = f"{100 * max(0, 1 - times['kernel_seconds'] / times['ours_seconds']):.1f}%" if "kernel_seconds" in times else ""
            memory = " against ".join(f"{bytes / 1e6:.0f}" for bytes in times["memory"])
            print(f"{name:22s} {threads:7d} {times['ratio']:6.2f}x  [{times['low']:.2f}, {times['high']:.2f}] {ours:>12s} {theirs:>10s} "
                  f"  ±{100 * times['noise']:.1f}%   {outside:>7s}   {memory}" + ("" if agree else f"   RESULTS DIFFER: {a} and {b}"), flush=True)  # fmt: skip
    reference.progress(1, 1, "", started)
    for threads in options.threads:
        mean = reference.class_mean([row for row in rows if row["threads"] == threads and "ratio" in row], rng)
        if mean:
            print(f"{threads} threads: geometric mean {mean['mean']:.2f} [{mean['low']:.2f}, {mean['high']:.2f}] over {mean['operators']} networks")
    state = quiet.snapshot(before)
    quiet.beware(state)
    output = pathlib.Path(options.json)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps({"versions": versions, "machine": state, "rows": rows}, indent=1))
    print(f"{time.time() - started:.0f} s; all times: {os.path.relpath(output)}")
    if any("error" in row for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
