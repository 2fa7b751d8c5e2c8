# SPDX-License-Identifier: Apache-2.0
"""`facula machine noise`: what its figures mean. No test here judges this machine's time."""

import json
import math
import os
import random
import subprocess
import sys

import pytest

import facula
from facula.machine import _command_line, _noise, _pin, _read
from facula.machine._read import System

pytestmark = pytest.mark.not_sanitized


def passes(rng, sigma, luck, number, rounds):
    """Times of the same work: noise of a sample, and the luck of a process."""

    def side(seconds):
        return [[seconds * rng.lognormvariate(0, sigma) for _ in range(2)] for _ in range(rounds)]

    return [(side(rng.lognormvariate(0, luck)), side(rng.lognormvariate(0, luck))) for _ in range(number)]


def test_the_interval_covers_one():
    """A is B: the interval of their ratio contains 1 in nearly all of 60 experiments."""
    rng = random.Random(1)
    covered = 0
    for _ in range(60):
        n = _noise.evaluate("small", passes(rng, 0.05, 0.0, 3, 10))
        assert n.low <= n.ratio <= n.high and n.rounds == 30
        covered += n.low <= 1 <= n.high
    assert covered >= 53


def test_typical_is_what_two_samples_differ_by():
    n = _noise.evaluate("small", passes(random.Random(2), 0.04, 0.0, 3, 200))
    assert math.log1p(n.typical) == pytest.approx(0.954 * 0.04, rel=0.1) and n.worst > 2 * n.typical and n.processes < 0.01


def test_advised_rounds_are_enough():
    """With so many rounds the ratio of medians is within the precision, in 19 of 20 cases or so."""
    rng = random.Random(3)
    advised = _noise.evaluate("small", passes(rng, 0.04, 0.0, 3, 200)).rounds_for(0.02)
    assert 20 <= advised <= 40
    inside = sum(abs(math.log(_noise._ratio(passes(rng, 0.04, 0.0, 1, advised)))) < math.log1p(0.02) for _ in range(200))
    assert inside >= 180


def test_luck_of_processes_is_told_apart():
    n = _noise.evaluate("small", passes(random.Random(4), 0.01, 0.1, 40, 20))
    assert math.log1p(n.processes) == pytest.approx(0.954 * 0.1, rel=0.35)
    assert n.rounds_for(0.01) < 10 and n.passes_for(0.01) > 300


def test_a_clock_without_noise():
    n = _noise.evaluate("small", passes(random.Random(5), 0.0, 0.0, 2, 5))
    assert (n.typical, n.processes, n.low, n.high, n.rounds_for(0.01), n.passes_for(0.01)) == (0, 0, 1, 1, 3, 1)


class Fake:
    """A process that needs a known time."""

    started = closed = 0

    def __init__(self, threads):
        Fake.started += 1
        self.asked = []

    def __call__(self, name, count):
        return 1e-4 * count

    def close(self):
        Fake.closed += 1


def test_every_pass_has_fresh_processes():
    shares = []
    measured = _noise.measure(0, 3, 1, Fake, shares.append)
    assert [n.work for n in measured] == list(_noise.WORK) and all(n.seconds == pytest.approx(1e-4) for n in measured)
    assert Fake.started == Fake.closed == 6 and shares[-1] == 1 and shares == sorted(shares)


def test_for_real(capsys):
    assert _command_line.main(["noise", "--seconds", "0.1", "--passes", "1", "--threads", "1", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [n["work"] for n in data["noise"]] == list(_noise.WORK) and all(n["seconds"] > 0 and n["rounds"] >= 3 for n in data["noise"])


def test_a_worker_that_ends_says_why(monkeypatch, capsys):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert _command_line.main(["noise", "--seconds", "0.1"]) == 2
    assert "facula machine noise: noise cannot be measured: the process that works has ended" in capsys.readouterr().err


# ---- where threads run ----


def test_cores_before_their_threads(tree):
    root = tree("intel")
    (root / "sys/devices/system/cpu/isolated").write_text("2-3,6-7")
    known = _read.facts(System(root))
    assert _pin.quiet_cpus(known) == [2, 3, 6, 7] and _pin.cores(known) == 2
    (root / "proc/self/status").write_text("Cpus_allowed_list:\t6-7\n")  # chosen by taskset
    assert _pin.quiet_cpus(_read.facts(System(root))) == [6, 7]


def test_no_isolated_cpus_no_pin(tree):
    environment = {}
    assert _pin.pin(system=System(tree("guest")), environment=environment) == [] and environment == {}


SCRIPT = """
import os, runpy, sys
machine = runpy.run_path({package!r})["machine"]
cpus = machine.pin(2, machine.System({root!r}))
import facula
facula.set_num_threads(2)
x = facula.ones(4 << 20)
for _ in range(3): x.exp()
masks = [sorted(os.sched_getaffinity(int(task))) for task in os.listdir("/proc/self/task")]
print(cpus, os.environ["GOMP_CPU_AFFINITY"], facula.get_num_threads(), masks)
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: nothing to pin to")
@pytest.mark.skipif("FACULA_SANITIZED" in os.environ, reason="Python only; a sanitizer adds threads")
def test_each_thread_has_its_own_isolated_cpu(tree):
    """In a process of its own, as a benchmark does it: before OpenMP is loaded."""
    root = tree("guest")
    two = sorted(os.sched_getaffinity(0))[:2]
    for path in ("online", "isolated"):
        (root / f"sys/devices/system/cpu/{path}").write_text(",".join(map(str, two)))
    code = SCRIPT.format(package=os.path.dirname(_noise.__file__), root=str(root))
    home = os.path.dirname(os.path.dirname(os.path.abspath(facula.__file__)))
    environment = {k: v for k, v in os.environ.items() if k not in _pin.BINDING}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**environment, "PYTHONPATH": home}, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{two} {two[0]} {two[1]} 2 ")
    assert f"[{two[0]}]" in done.stdout and f"[{two[1]}]" in done.stdout


def test_more_threads_than_isolated_cpus_are_not_squeezed_onto_them(tree, capsys):
    environment = {}
    assert _pin.pin(9, System(tree("amd")), environment) == [] and environment == {}
    assert capsys.readouterr().err == "not pinned: 9 threads, and only the CPUs 8-15 are isolated\n"


def test_cpus_that_a_group_forbids_are_told(tree, capsys):
    root = tree("guest")
    for path in ("online", "isolated"):
        (root / f"sys/devices/system/cpu/{path}").write_text("60000-60001")
    assert _pin.pin(system=System(root), environment={}) == []
    assert "not pinned to the isolated CPUs 60000-60001: " in capsys.readouterr().err
