# SPDX-License-Identifier: Apache-2.0
"""Statistics on synthetic machines, whose truth is known, and on times recorded on a busy one. No test judges this machine."""

import contextlib
import json
import math
import pathlib
import random

import pytest

from facula.tools.bench import _measure, _statistics

pytestmark = pytest.mark.not_sanitized


class Machine:
    """Processes with their luck, turns with noise, disturbances that are seen, and a clock."""

    def __init__(self, seed, ratio=1.0, luck=0.01, noise=0.02, disturbed=0.0, step=0.01):
        self.rng, self.ratio, self.luck, self.noise, self.disturbed, self.step = random.Random(seed), ratio, luck, noise, disturbed, step
        self.time, self.passes = 0.0, 0

    def now(self):
        return self.time

    @contextlib.contextmanager
    def start(self, number):
        self.passes += 1
        luck = {side: self.rng.gauss(0, self.luck) for side in "abc"}

        def turn(side):
            seconds = self.step * math.exp(luck[side] + self.rng.gauss(0, self.noise)) / (self.ratio if side == "c" else 1)
            stolen = 0.0
            if self.rng.random() < self.disturbed:
                stolen = seconds
                seconds += stolen
            self.time += seconds
            return _measure.Turn(seconds, seconds, stolen=stolen)

        yield {side: lambda side=side: turn(side) for side in "abc"}

    def measure(self, **settings):
        return _measure.measure(self.start, _measure.Settings(**settings), self.now)


def test_equal_sides_are_the_same():
    """In at least 19 of 20 runs, again and again."""
    verdicts = [Machine(seed).measure().judged.verdict for seed in range(40)]
    assert verdicts.count("SAME") >= 38


def test_equal_sides_are_the_same_on_a_busy_machine():
    measured = [Machine(seed, noise=0.04, disturbed=0.1).measure() for seed in range(20)]
    assert sum(m.judged.verdict == "SAME" for m in measured) >= 19
    assert all(m.dropped for m in measured)


@pytest.mark.parametrize(("ratio", "verdict"), [(1 / 1.1, "SLOWER"), (1.1, "FASTER"), (0.5, "SLOWER"), (2.0, "FASTER")])
def test_other_sides_are_told(ratio, verdict):
    judged = [Machine(seed, ratio, luck=0.005).measure().judged for seed in range(20)]
    assert sum(j.verdict == verdict for j in judged) >= 19
    assert all(j.ratio == pytest.approx(ratio, rel=0.05) for j in judged)
    assert sum(j.low <= ratio <= j.high for j in judged) >= 15


def test_ten_per_cent_of_sleep():
    judged = [Machine(seed, 1 / 1.1, luck=0.003, noise=0.01).measure().judged for seed in range(20)]
    assert all(j.verdict == "SLOWER" and 0.85 < j.ratio < 0.95 for j in judged)


def test_noise_without_bounds_is_unknown():
    assert Machine(0, luck=0.5, noise=0.5).measure().judged.verdict == "UNKNOWN"


def test_disturbed_rounds_are_dropped_and_counted():
    calm, busy = (Machine(3, noise=0.005, luck=0.001, disturbed=d).measure(half_width=1e-9) for d in (0, 0.1))
    assert calm.dropped == 0 and 0 < busy.dropped < 15
    assert busy.judged.rounds == 30 - busy.dropped
    assert busy.judged.floor < 0.05


def test_where_everything_is_disturbed_nothing_is_dropped():
    measured = Machine(3, disturbed=1.0).measure()
    assert measured.dropped == 0 and measured.judged.rounds == 30


def test_it_stops_at_the_half_width():
    measured = Machine(1, luck=0.0005, noise=0.001).measure(rounds=300)
    assert measured.stopped == "half-width" and measured.judged.rounds < 300 and measured.judged.half_width <= 0.01


def test_it_stops_at_the_rounds():
    measured = Machine(1, noise=0.2).measure(rounds=7)
    assert (measured.stopped, measured.judged.rounds, measured.passes) == ("rounds", 7, 3)
    assert Machine(1).measure(rounds=1).judged.verdict == "UNKNOWN"


def test_it_stops_at_the_budget():
    machine = Machine(1, step=2.0)
    measured = machine.measure(rounds=1000, budget=60.0)
    assert measured.stopped == "budget" and 3 <= measured.judged.rounds <= 12 and machine.time < 80
    one = Machine(1, step=100.0).measure(rounds=1000, budget=60.0)
    assert (one.stopped, one.judged.rounds) == ("budget", 1)


def test_fresh_processes_for_every_pass():
    machine = Machine(1)
    machine.measure(passes=4)
    assert machine.passes == 4


def test_waiting_is_left_out_on_one_thread():
    """A thread that wanted a core and had none; on several threads such a turn is a disturbed one."""
    turn = _measure.Turn(wall=0.02, cpu=0.01, waited=0.008, own=0.008)
    assert turn.seconds(1) == pytest.approx(0.012) and turn.seconds(2) == 0.02
    assert not turn.disturbed(1, 0) and turn.disturbed(2, 0)


def test_processor_time_beside():
    assert Machine(1, ratio=2.0).measure().cpu_ratio == pytest.approx(2.0, rel=0.05)


def test_the_summary_hides_nothing():
    mean = _statistics.mean([2.0, 0.5], 0)
    assert (mean.of_ran, mean.ran, mean.failed) == (pytest.approx(1.0), 2, 0)
    mean = _statistics.mean([2.0, 0.5], 1)
    assert mean.with_failures == pytest.approx((2.0 * 0.5 * 0.25) ** (1 / 3))
    assert "1 did not run" in str(mean)
    assert str(_statistics.mean([], 3)) == "none ran, 3 failed"


def test_times_recorded_on_a_busy_machine():
    """Of a linear network's step: eager three times, and eager with a tenth of sleep, beside compilers (recorded.json)."""
    recorded = json.loads((pathlib.Path(__file__).parent / "recorded.json").read_text())
    for row in recorded:
        turns = [[{side: _measure.Turn(**t) for side, t in r.items()} for r in p] for p in row["turns"]]
        judged = _measure.evaluate(turns, _measure.Settings(threads=1), "").judged
        assert judged.verdict == row["truth"], row["name"]
