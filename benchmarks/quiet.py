# SPDX-License-Identifier: Apache-2.0
"""Where the benchmarks run, and on what: isolated CPUs if the machine has some, and its state beside every result.

Imported before Facula or PyTorch, because OpenMP reads where its threads go when it is loaded.
"""

import math
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


def beware(state):
    """Says what of the machine's state makes the figures doubtful."""
    for name, finding in state["state"].items():
        if finding["state"] == "bad":
            print(f"beware: {name}: {finding['observed']} (facula machine check)")


def rounds_to_tell(noise, ratio, limit):
    """Rounds after which a ratio is known to be above or below a limit, at so much noise."""
    return machine._noise.rounds_for(noise, max(abs(math.log(ratio / limit)), 1e-3))
