# SPDX-License-Identifier: Apache-2.0
"""torchbenchmark/util/machine_config.py, and the package without the rest of Facula."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

pytestmark = pytest.mark.not_sanitized

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "torchbenchmark/util/machine_config.py"


@pytest.fixture(scope="module")
def config():
    spec = importlib.util.spec_from_file_location("machine_config", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_configure_and_enable_hyper_threads(tree, config, capsys):
    root = tree("intel", "h200")
    system = config.machine.System(root)
    assert config.main(["--configure", "--no_verify"], system) == 0
    files = ("smt/control", "intel_pstate/no_turbo", "cpufreq/policy5/scaling_min_freq", "cpu3/cpuidle/state2/disable")
    assert [system.text(f"sys/devices/system/cpu/{f}") for f in files] == ["off", "1", "3000000", "1"]
    assert (root / "nvidia-smi.log").read_text().splitlines()[0] == "-i GPU-cccc -lgc 1890,1890"
    assert config.main(["--enable_ht", "--no_verify"], system) == 0
    assert [system.text(f"sys/devices/system/cpu/{f}") for f in files] == ["on", "1", "3000000", "1"]
    config.machine._lock.unlock(system)
    assert system.text("sys/devices/system/cpu/intel_pstate/no_turbo") == "0"
    (root / "sys/devices/system/cpu/smt/control").write_text("off")  # by somebody else
    assert config.main(["--enable_ht", "--no_verify"], system) == 0
    assert system.text("sys/devices/system/cpu/smt/control") == "on"


def test_single_settings_add_up_and_are_undone_together(tree, config):
    root = tree("intel")
    system = config.machine.System(root)
    files = ("smt/control", "intel_pstate/no_turbo", "cpufreq/policy5/scaling_min_freq", "cpufreq/policy5/scaling_max_freq")

    def now():
        return [system.text(f"sys/devices/system/cpu/{f}") for f in files]

    before = now()
    config.set_hyper_threading(False, system=system)
    config.set_intel_no_turbo_state(1, system=system)
    config.set_pstate_frequency(2000, 2500, system=system)
    assert now() == ["off", "1", "2000000", "2500000"]
    with pytest.raises(config.machine.MachineError, match="is locked since"):
        config.machine._lock.lock(system)
    config.machine._lock.unlock(system)
    assert now() == before
    config.set_hyper_threading(False, system=system)
    config.set_intel_no_turbo_state(1, system=system)
    config.set_intel_no_turbo_state(0, system=system)
    config.set_hyper_threading(True, system=system)
    assert now() == before and config.machine._lock.unlock(system) in (None, [])
    (root / "sys/devices/system/cpu/intel_pstate/no_turbo").write_text("1")  # by somebody else
    config.set_intel_no_turbo_state(0, system=system)
    assert now() == before
    for wrong in (lambda: config.set_pstate_frequency(10**6, 10**6, system=system), lambda: config.set_pstate_frequency(2500, 2000, system=system)):
        with pytest.raises(config.machine.MachineError, match="MHz: /sys/devices/system/cpu/cpufreq/policy0 allows"):
            wrong()
    with pytest.raises(config.machine.MachineError, match="1 forbids turbo, 0 allows it"):
        config.set_intel_no_turbo_state(2, system=system)
    assert now() == before


def without_measuring(config, monkeypatch):
    check = config.machine.check
    monkeypatch.setattr(config.machine, "check", lambda system=None: check(0, system=system))


def test_verify(tree, config, monkeypatch, capsys):
    without_measuring(config, monkeypatch)
    system = config.machine.System(tree("intel"))
    assert config.main([], system) == 1
    said = capsys.readouterr().out
    assert "smt: on: CPUs 0-7 share cores, wanted: one thread a core; echo off" in said and "not configured: 5 of 6" in said
    with pytest.raises(AssertionError, match="turbo: on, wanted: off"):
        config.check_machine_configured(system=system)
    assert config.get_machine_config(system)["state"]["turbo"]["state"] == "bad"


def test_any_distribution_may_look(tree, config, monkeypatch, capsys):
    without_measuring(config, monkeypatch)
    root = tree("guest")
    (root / "sys/devices/system/cpu/isolated").write_text("1")
    assert config.main([], config.machine.System(root)) == 0
    assert "not shown by this machine: smt, turbo, frequency; measured noise: not measured\nconfigured" in capsys.readouterr().out


def test_without_root(config, monkeypatch, capsys):
    monkeypatch.setattr(config.machine._lock.os, "geteuid", lambda: 1000)
    assert config.main(["--configure"]) == 2
    assert "machine_config.py: settings of the machine are root's to change" in capsys.readouterr().err


def test_from_the_command_line_without_a_build(tree):
    """As sudo starts it: no path to Facula, another folder."""
    done = subprocess.run([sys.executable, "-I", "-S", SCRIPT, "--help"], cwd="/", capture_output=True, text=True)
    assert done.returncode == 0 and "--enable_ht" in done.stdout and "--no_verify" in done.stdout, done.stderr
    done = subprocess.run([sys.executable, "-I", "-S", ROOT / "python/facula/machine", "check", "--seconds", "0", "--root", tree("intel")], cwd="/", capture_output=True, text=True)
    assert done.returncode == 2 and "turbo" in done.stdout, done.stderr
