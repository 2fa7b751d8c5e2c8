# SPDX-License-Identifier: Apache-2.0
"""The benchmarks' tables run, and their statistics say what they claim. No test here judges a time."""

import json
import math
import pathlib
import random
import subprocess
import sys

import pytest

pytestmark = pytest.mark.not_sanitized

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "benchmarks"))

import operators
import quiet
import reference


@pytest.mark.parametrize("row", operators.ROWS, ids=lambda row: row.name)
def test_every_row_runs(torch, row):
    timer = operators.Timer(torch)
    timer.prepare(row.family, row.setup, row.statement, row.sizes[0])
    assert timer.run(2, 1) > 0


def test_a_statement_sees_its_setup(torch):
    timer = operators.Timer(torch)
    timer.prepare("create", "seen = []; n, clock, start = 3, 4, 5", "seen.append((n, clock, start))", "small")
    timer.run(2, 1)
    assert set(timer.loop.__globals__["seen"]) == {(3, 4, 5)}


def test_selection():
    assert {size for _, size in operators.select()} == set(operators.SIZES)
    assert {row.name for row, _ in operators.select(quick=True)} == operators.QUICK
    assert {row.name for row, _ in operators.select("^softmax", ["large"])} == {"softmax.inner", "softmax.outer", "softmax.backward"}
    assert {row.family for row, _ in operators.select("view")} >= {"view"}


def rounds(rng, ours, theirs, noise, count=8):
    def pair(seconds):
        return [seconds * rng.lognormvariate(0, noise) for _ in range(2)]

    return {"ours": [pair(ours) for _ in range(count)], "theirs": [pair(theirs) for _ in range(count)]}


def test_ratio_says_how_much_faster_we_are():
    rng = random.Random(0)
    times = rounds(rng, 1e-6, 2e-6, 0.02)
    reference.summarise(times, rng)
    assert times["low"] <= times["ratio"] <= times["high"]
    assert times["ratio"] == pytest.approx(2, rel=0.05)
    assert 0.005 < times["noise"] < 0.06
    assert reference.flag(times) == ""


def test_slow_operators_are_flagged():
    rng = random.Random(0)
    clear, doubtful = rounds(rng, 2e-6, 1e-6, 0.02), rounds(rng, 1.3e-6, 1e-6, 0.4)
    for times in (clear, doubtful):
        reference.summarise(times, rng)
    assert reference.flag(clear) == "slow"
    doubtful.update(ratio=0.78, high=0.9)
    assert reference.flag(doubtful) == "slow?"


def test_class_mean_covers_the_truth():
    """Equal sides: the interval contains 1 in nearly all of 40 experiments."""
    rng = random.Random(1)
    covered = 0
    for _ in range(40):
        mean = reference.class_mean([rounds(rng, 1e-6, 1e-6, 0.1) for _ in range(5)], rng, resamples=200)
        assert mean["low"] <= mean["mean"] <= mean["high"]
        covered += mean["low"] <= 1 <= mean["high"]
    assert covered >= 34


def test_an_error_in_any_pass_is_the_result():
    results, good, bad = {}, {"ours": [[1, 1]], "theirs": [[1, 1]]}, {"error": "missing", "side": "ours"}
    reference.merge(results, "a", dict(good))
    reference.merge(results, "a", {"ours": [[2, 2]], "theirs": [[2, 2]]})
    assert len(results["a"]["ours"]) == 2
    reference.merge(results, "a", bad)
    assert results["a"] == bad
    reference.merge(results, "a", dict(good))
    assert results["a"] == bad


def test_rounds_that_would_tell():
    """Twice the noise needs four times the rounds, twice the distance a quarter."""
    near = quiet.rounds_to_tell(0.02, 0.79, 0.8)
    assert near > 10 and quiet.rounds_to_tell(0.0404, 0.79, 0.8) == pytest.approx(4 * near, rel=0.1)
    assert quiet.rounds_to_tell(0.2, 0.4, 0.8) == 3 and quiet.rounds_to_tell(0.2, 0.8, 0.8) > 1000


def test_what_disturbed_a_run_is_told(capsys):
    quiet.beware({"state": {"turbo": {"state": "bad", "observed": "on"}, "idle": {"state": "warn", "observed": "C6"}}})
    assert capsys.readouterr().out == "beware: turbo: on (facula machine check)\n"


def test_a_result_has_the_machines_state(torch, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["operators.py", "--module", torch.__name__, "--quick", "--ops", "^view$", "--threads", "1", "--json", str(tmp_path / "times.json")])
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # what main sets is undone
    monkeypatch.setattr(quiet, "pin", lambda threads: None)  # this process has other tests to run
    operators.main()
    data = json.loads((tmp_path / "times.json").read_text())
    assert data["times"]["view/small"] > 0 and data["noise"]["view/small"] >= 0 and data["machine"]["during"]["seconds"] > 0


def test_readable():
    shown = [operators.readable(s) for s in (2.5, 0.0125, 3.2e-6, 4.56e-7)]
    assert shown == ["2.5 s", "12.5 ms", "3.2 us", "456 ns"]


def test_networks_run():
    """As the program that they are, under torch's name: two inferences give one answer, two training steps learn."""
    program = pathlib.Path(__file__).parents[1] / "benchmarks" / "networks.py"
    done = subprocess.run([sys.executable, "-m", "facula", "run", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(lines) == 16
    for name, first, second in lines:
        assert math.isfinite(float(first)), name
        assert float(second) < float(first) if name.endswith("train") else second == first, name


def test_time_in_kernels(torch):
    timer = operators.Timer(torch)
    timer.prepare("matrix", "import time; x = torch.randn(200, 200)", "x @ x; time.sleep(0.02)", "small")
    assert 0 < timer.kernel_seconds() < 0.02


def test_several_numbers_of_threads():
    assert reference.options_of(["--oracle", "python", "--threads", "1,2,16"]).threads == [1, 2, 16]
    with pytest.raises(SystemExit):
        reference.options_of(["--oracle", "python", "--threads", "0"])
    with pytest.raises(SystemExit):
        reference.options_of(["--oracle", "python", "--threads", "2", "--cpu-time"])
