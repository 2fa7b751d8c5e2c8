# SPDX-License-Identifier: Apache-2.0
"""Where the benchmarks run, and on what: isolated CPUs if the machine has some, and its state beside every result.

Imported before Facula or PyTorch, because OpenMP reads where its threads go when it is loaded.
"""

import pathlib
import runpy
import sys

machine = runpy.run_path(str(pathlib.Path(__file__).resolve().parents[1] / "python" / "facula" / "machine"))["machine"]


def default_threads():
    """One for each isolated core, or for each CPU that this process is allowed."""
    return machine.cores()


def pin(threads):
    cpus = machine.pin(threads)
    if cpus:
        print(f"pinned to the isolated CPUs {machine.show_cpus(cpus)}", file=sys.stderr)


def snapshot(since=None):
    return machine.snapshot(since)
