# SPDX-License-Identifier: Apache-2.0
"""How much two measurements of the same work differ on this machine, now: A/A pairs.

A and B are two processes that do the same. A round is A, B, B, A, so that a machine that speeds up or slows down during a
round favours neither; fresh processes in every pass, because a process may be lucky with its memory. Whatever the two differ
by is noise: no difference that a benchmark finds below it means anything.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from collections.abc import Callable

from ._pin import pin

# What is timed: setup, statement, seconds of one sample.
WORK = {
    "small": ("x = facula.ones(8)", "facula.add(x, x)", 0.001),
    "memory": ("x, y = facula.ones(16 << 20), facula.zeros(16 << 20)", "y.copy_(x)", 0.01),
    "compute": ("x = facula.rand(512, 512)", "facula.mm(x, x)", 0.005),
}
MEANING = {
    "small": "one operator on eight numbers: the cost of a call",
    "memory": "a copy of 64 MiB: the memory's bandwidth",
    "compute": "a product of 512 x 512 matrices: the cores' arithmetic",
}
MOST_ROUNDS = 1000  # of one kind of work in a pass; more would only take time to evaluate
STEADY, UNSTEADY = 0.02, 0.07  # typical difference of two samples: up to the first is fine, above the second nothing can be said


class NotMeasured(Exception):
    """Why there is no noise to show."""


def work() -> None:
    """The worker: obeys [work, statements] on standard input, answers seconds. It pins itself as a benchmark does."""
    threads = int(os.environ["OMP_NUM_THREADS"])
    pin(threads)
    import facula

    facula.set_num_threads(threads)
    loops: dict[str, Callable] = {}
    for line in sys.stdin:
        name, count = json.loads(line)
        if name not in loops:
            setup, statement, _ = WORK[name]
            scope: dict = {"facula": facula, "clock": time.perf_counter}
            exec(f"{setup}\ndef loop(n):\n  start = clock()\n  for _ in range(n): {statement}\n  return clock() - start", scope)
            loops[name] = scope["loop"]
            loops[name](1)
        print(loops[name](count), flush=True)


class Side:
    """One of the two processes."""

    def __init__(self, threads: int):
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        if "facula" in sys.modules:  # the worker imports the same one
            home = os.path.dirname(os.path.dirname(os.path.abspath(str(sys.modules["facula"].__file__))))
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"import runpy; runpy.run_path({os.path.dirname(os.path.abspath(__file__))!r})['machine']._noise.work()"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    def __call__(self, name: str, count: int) -> float:
        assert self.process.stdin and self.process.stdout and self.process.stderr
        try:
            self.process.stdin.write(json.dumps([name, count]) + "\n")
            self.process.stdin.flush()
            return float(self.process.stdout.readline())
        except (BrokenPipeError, ValueError):
            said = self.process.stderr.read().strip().splitlines()
            raise NotMeasured(f"noise cannot be measured: {said[-1] if said else 'the process that works has ended'}")

    def close(self) -> None:
        assert self.process.stdin
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()


def rounds_for(typical: float, precision: float) -> int:
    """Rounds after which the ratio of medians is known to plus and minus the precision (0.01: one per cent).

    Two samples in a row differ by 0.954 standard deviations s in the middle (normal, or near it there); a median of n
    samples has the error 1.253 s / sqrt(n), and a round has two of each side: 1.96 * 1.253 * s / sqrt(rounds).
    """
    return max(3, math.ceil((1.96 * 1.253 / 0.954 * math.log1p(typical) / math.log1p(precision)) ** 2))


@dataclasses.dataclass
class Noise:
    work: str
    seconds: float  # median of one statement
    typical: float  # how much two samples in a row typically differ: 0.01 is one per cent
    worst: float  # the same, of one pair in twenty
    processes: float  # how much two processes typically differ beyond that: luck with memory
    ratio: float  # median of B over median of A
    low: float  # its 95 % interval
    high: float
    rounds: int

    def rounds_for(self, precision: float) -> int:
        return rounds_for(self.typical, precision)

    def passes_for(self, precision: float) -> int:
        """Pairs of fresh processes for the same, by the same reasoning."""
        return max(1, math.ceil((1.96 * 1.414 / 0.954 * math.log1p(self.processes) / math.log1p(precision)) ** 2))


Pass = tuple[list, list]  # A's and B's pairs of times, one pair a round


def _ratio(passes: list[Pass]) -> float:
    a, b = ([t for both in passes for pair in both[side] for t in pair] for side in (0, 1))
    return statistics.median(b) / statistics.median(a)


def evaluate(name: str, passes: list[Pass]) -> Noise:
    """Passes are resampled, and rounds within them: rounds of one pair of processes share that pair's luck."""
    rng = random.Random(0)

    def again() -> Iterator[Pass]:
        for a, b in rng.choices(passes, k=len(passes)):
            chosen = rng.choices(range(len(a)), k=len(a))
            yield [a[i] for i in chosen], [b[i] for i in chosen]

    resampled = sorted(_ratio(list(again())) for _ in range(500))
    pairs = [pair for both in passes for side in both for pair in side]
    steps = sorted(abs(math.log(x / y)) for x, y in pairs)
    typical, rounds = statistics.median(steps), sum(len(a) for a, _ in passes)
    # What the samples' own noise explains of the difference of two processes is not the processes' doing.
    explained = (1.253 * typical / 0.954) ** 2 * len(passes) / rounds
    between = statistics.median(math.log(_ratio([one])) ** 2 for one in passes)
    return Noise(
        name,
        seconds=statistics.median(t for pair in pairs for t in pair),
        typical=math.expm1(typical),
        worst=math.expm1(steps[math.ceil(0.95 * len(steps)) - 1]),
        processes=math.expm1(math.sqrt(max(0.0, between - explained))),
        ratio=_ratio(passes),
        low=resampled[12],
        high=resampled[487],
        rounds=rounds,
    )


def calibrate(side: Callable[[str, int], float], name: str) -> int:
    """How many statements make a sample."""
    count, target = 1, WORK[name][2]
    while True:
        seconds = side(name, count)
        if seconds > target / 4:
            return max(1, round(count * target / seconds))
        count *= 4


def measure(seconds: float = 2.0, passes: int = 1, threads: int = 1, side: Callable = Side, progress: Callable[[float], None] = lambda share: None) -> list[Noise]:
    """Noise of all kinds of work, in about so many seconds. NotMeasured says why not."""
    times: dict[str, list[Pass]] = {name: [] for name in WORK}
    for number in range(passes):
        a = b = None
        try:
            a, b = side(threads), side(threads)
            for position, name in enumerate(WORK):
                of_a: list[list[float]] = []
                of_b: list[list[float]] = []
                times[name].append((of_a, of_b))
                count = calibrate(a, name)
                b(name, count)
                done, end = 0, time.monotonic() + seconds / passes / len(WORK)
                while done < 3 or (done < MOST_ROUNDS and time.monotonic() < end):
                    outer, inner = (b, a) if number % 2 else (a, b)
                    first = outer(name, count)
                    middle = [inner(name, count) for _ in range(2)]
                    pairs = [first, outer(name, count)], middle
                    for kept, pair in zip((of_b, of_a) if number % 2 else (of_a, of_b), pairs):
                        kept.append([t / count for t in pair])
                    done += 1
                progress((number + (position + 1) / len(WORK)) / passes)
        finally:
            for process in (a, b):
                if process is not None:
                    process.close()
    return [evaluate(name, passes_of) for name, passes_of in times.items()]
