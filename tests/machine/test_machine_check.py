# SPDX-License-Identifier: Apache-2.0
"""`facula machine check` on recorded machines: what it finds, what it counts, what it answers."""

import json
import pathlib
import random
import re

import pytest

from facula import machine
from facula.machine import _command_line, _judge, _noise, _read

pytestmark = pytest.mark.not_sanitized

SETTINGS = {  # what is not ok, looking at settings only
    "intel": {"smt": "bad", "turbo": "bad", "governor": "warn", "frequency": "warn", "idle": "warn", "isolated": "warn"},
    "amd": {"turbo": "bad", "frequency": "warn", "affinity": "warn", "numa": "warn", "clock": "warn", "huge-pages": "warn"},
    "guest": {"smt": "unknown", "turbo": "unknown", "governor": "unknown", "frequency": "unknown", "isolated": "warn", "load": "warn",
              "heat": "unknown", "hypervisor": "warn"},
    "container": {"frequency": "warn", "idle": "unknown", "isolated": "warn", "cgroup": "warn", "heat": "unknown", "aslr": "warn", "huge-pages": "warn"},
    "arm": {"turbo": "unknown", "governor": "warn", "frequency": "warn", "idle": "unknown", "isolated": "warn", "heat": "warn", "memory": "warn",
            "huge-pages": "unknown", "numa": "unknown", "battery": "warn"},
}  # fmt: skip
COUNTED = {"interrupts", "switches", "steal", "pressure", "noise"}


def found(root, **options):
    return {f.name: f for f in machine.check(system=machine.System(root), **options)}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_recorded_machines(tree, name, monkeypatch):
    for variable in (*_read.DISTURBING, "OMP_NUM_THREADS"):
        monkeypatch.delenv(variable, raising=False)
    findings = found(tree(name), seconds=0)
    assert {n: f.state for n, f in findings.items() if f.state != "ok" and n not in COUNTED} == SETTINGS[name]
    assert all(findings[n].state == "unknown" for n in COUNTED)
    assert ("battery" in findings) == (name == "arm") and "gpu-clock" not in findings


def test_what_is_observed(tree):
    intel = found(tree("intel"), seconds=0)
    assert intel["frequency"].observed == "800 to 4700 MHz allowed, 1200 to 1900 now"
    assert intel["idle"].observed == "C6 (85 us)"
    assert intel["smt"].observed == "on: CPUs 0-7 share cores" and intel["smt"].root
    assert intel["smt"].fix == "echo off | sudo tee /sys/devices/system/cpu/smt/control"
    assert "isolcpus=2-3,6-7" in intel["isolated"].fix


def test_what_is_observed_elsewhere(tree):
    amd = found(tree("amd"), seconds=0)
    assert amd["isolated"].observed == "CPUs 8-15"
    assert amd["numa"].observed == "the kernel moves pages between nodes"
    assert amd["clock"].fix.startswith("echo tsc |") and amd["heat"].observed == "41 degrees (k10temp)"
    assert amd["turbo"].fix == "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"


def test_a_guest_is_limited_by_groups_of_version_1(tree):
    known = _read.facts(machine.System(tree("guest")))
    assert known.limits.memory == 8 << 30 and known.limits.cpus is None
    assert known.limits.files == ["sys/fs/cgroup/cpu/cpu.stat"]


def test_the_tightest_group_counts(tree):
    root = tree("container")
    known = _read.facts(machine.System(root))
    assert known.limits.memory == 2 << 30 and known.limits.cpus == 1.5
    assert found(root, seconds=0)["cgroup"].observed == "1.5 CPUs' time on 8 CPUs"


def test_a_quota_of_version_1(tree):
    root = tree("guest")
    (root / "sys/fs/cgroup/cpu/cpu.cfs_quota_us").write_text("50000")
    assert found(root, seconds=0)["cgroup"].observed == "0.5 CPUs' time on 2 CPUs"


def test_more_threads_than_cpus(tree, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "9")
    finding = found(tree("intel"), seconds=0)["affinity"]
    assert (finding.state, finding.fix) == ("bad", "OMP_NUM_THREADS=8")
    monkeypatch.setenv("OMP_NUM_THREADS", "8,4")
    assert found(tree("intel"), seconds=0)["affinity"].state == "ok"


def test_idle_states_that_the_command_line_forbids(tree):
    root = tree("container")
    (root / "proc/cmdline").write_text("quiet intel_idle.max_cstate=1")
    assert found(root, seconds=0)["idle"].state == "ok"


def during(root, *changes):
    """A measurement in whose course files change."""

    def measure(seconds, threads):
        for path, old, new in changes:
            text = (root / path).read_text()
            assert re.search(old, text, re.M), path
            (root / path).write_text(re.sub(old, new, text, count=1, flags=re.M))
        import time

        time.sleep(0.01)
        return []

    return measure


@pytest.mark.parametrize(("name", "finding", "state", "words", "change"), [
    ("intel", "interrupts", "bad", "CPU 1, most from 125 nvme0q1", ("proc/interrupts", "  100  ", "99999  ")),
    ("intel", "interrupts", "ok", "up to 0 a second", ("proc/interrupts", "5000", "9999")),
    ("intel", "switches", "warn", "a second", ("proc/self/status", r"switches:\t10", "switches: 99")),
    ("intel", "steal", "bad", "50.0 % of the time", ("proc/stat", "^cpu3 100 0 100 10000 0 0 0 0", "cpu3 101 0 100 10000 0 0 0 1")),
    ("intel", "pressure", "bad", "cpu ", ("proc/pressure/cpu", "total=1000", "total=900000")),
    ("intel", "load", "bad", "other programs use", ("proc/stat", "^cpu3 100", "cpu3 700")),
    ("intel", "heat", "bad", "slowed down 2 times", ("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "3", "5")),
    ("intel", "memory", "bad", "7 pages swapped", ("proc/vmstat", "pswpin 0", "pswpin 7")),
    ("container", "cgroup", "bad", "1.5 CPUs' time, stopped for 0.25 s", ("sys/fs/cgroup/kubepods/pod1/cpu.stat", "usec 1000", "usec 251000")),
    ("guest", "cgroup", "bad", "no limit of CPU time, stopped for 2.00 s", ("sys/fs/cgroup/cpu/cpu.stat", "time 0", "time 2000000000")),
])  # fmt: skip
def test_what_happens_during_the_measurement(tree, name, finding, state, words, change):
    root = tree(name)
    seen = found(root, measure=during(root, change))[finding]
    assert seen.state == state and words in seen.observed


def noises(typical):
    return [machine.Noise(work, 1e-6, typical, 2 * typical, 0.0, 1.0, 0.99, 1.01, 10) for work in _noise.WORK]


def test_findings_say_what_they_cost_now(tree):
    findings = found(tree("intel"), measure=lambda seconds, threads: noises(0.031))
    assert findings["turbo"].cost == "two samples of compute work differ by 3.1 % now"
    assert findings["idle"].cost == "two samples of small work differ by 3.1 % now"
    assert findings["clock"].cost == "" and findings["noise"].state == "warn"
    assert found(tree("intel"), measure=lambda *_: noises(0.001))["noise"].state == "ok"
    assert found(tree("intel"), measure=lambda *_: noises(0.2))["noise"].state == "bad"


def test_noise_that_cannot_be_measured_is_unknown(tree):
    def measure(seconds, threads):
        raise machine.NotMeasured("noise cannot be measured: no module")

    noise = found(tree("intel"), seconds=0.01, measure=measure)["noise"]
    assert (noise.state, noise.observed) == ("unknown", "noise cannot be measured: no module")


def run(capsys, *arguments):
    code = _command_line.main([str(a) for a in arguments])
    return code, capsys.readouterr()


def test_exit_status_and_data(tree, capsys):
    root = tree("guest")
    look = ("check", "--root", root, "--seconds", 0)
    assert run(capsys, *look)[0] == 1
    assert run(capsys, *look, "--require", "clock")[0] == 1
    code, said = run(capsys, *look, "--require", "smt,gpu-clock")
    assert code == 2 and said.out.count("(required)") == 2 and "gpu-clock" in said.out
    code, said = run(capsys, *look, "--json")
    data = json.loads(said.out)
    assert code == data["status"] == 1 and data["locked"] is None
    assert set(data["findings"][0]) == {"name", "state", "observed", "wanted", "why", "cost", "fix", "root"}
    assert run(capsys, "check", "--root", tree("intel"), "--seconds", 0)[0] == 2


def test_a_quiet_machine_is_all_well(tree, capsys):
    root = tree("container")
    for path, text in {"proc/sys/kernel/randomize_va_space": "2", "sys/devices/system/cpu/isolated": "4-7", "proc/self/status": "Cpus_allowed_list: 4-7",
                       "sys/fs/cgroup/kubepods/pod1/cpu.max": "max 100000", "sys/kernel/mm/transparent_hugepage/enabled": "[madvise]"}.items():  # fmt: skip
        (root / path).write_text(text)
    code, said = run(capsys, "check", "--root", root, "--seconds", 0)
    assert code == 0, said.out
    assert "frequency" in said.out and "2100 MHz, 2100 now" in said.out


@pytest.mark.parametrize(("arguments", "words"), [
    (["check", "--require", "smt,nothing"], "nothing: choose from smt, turbo"),
    (["check", "--seconds", "-1"], "a number from 0 to 600, got -1"),
    (["lock", "--only", "fan"], "fan: choose from interrupts, idle"),
    (["lock", "--isolate", "3-1"], "'3-1' is no list of CPUs such as 0-3,6"),
    (["lock", "--isolate", "0-99999999"], "is no list of CPUs"),
    (["noise", "--threads", "none"], "a number from 1 to 4096, got none"),
])  # fmt: skip
def test_wrong_arguments_are_told(capsys, arguments, words):
    with pytest.raises(SystemExit) as ended:
        _command_line.main(arguments)
    assert ended.value.code == 2 and words in capsys.readouterr().err


def test_gpus_of_an_old_driver(tree):
    findings = found(tree("intel", "a100"), seconds=0)
    assert findings["gpu-clock"].observed == "GPU 0: 210 of 1410 MHz, programs ask for 1410; GPU 1: 1245 of 1410 MHz, not locked"
    assert (findings["gpu-throttle"].state, findings["gpu-throttle"].observed) == ("bad", "GPU 1: sw_power_cap, sw_thermal_slowdown")
    assert findings["gpu-power"].state == "warn" and findings["gpu-persistence"].state == "warn" and findings["gpu-load"].state == "warn"


def test_a_gpu_of_a_new_driver(tree):
    root = tree("guest", "h200")
    findings = found(root, seconds=0)
    assert findings["gpu-throttle"].state == findings["gpu-power"].state == findings["gpu-persistence"].state == "ok"
    (gpu,) = _read.facts(machine.System(root)).gpus
    assert gpu.supported == [345, 1890, 1905, 1980] and gpu.margin == 49 and gpu.power == 80.57
    slowed = found(root, measure=during(root, ("nvidia-smi.xml", "power_cap>0 us", "power_cap>500000 us")))["gpu-throttle"]
    assert slowed.state == "bad" and slowed.observed == "slowed down for 0.50 s during the measurement"


@pytest.mark.parametrize("answer", ["exit 9", "echo '<nvidia_smi_log><gpu>'", "true", "echo '<a><gpu/></a>'"])
def test_an_nvidia_smi_that_fails_is_no_card(tree, answer):
    root = tree("intel", "h200")
    (root / "usr/bin/nvidia-smi").write_text(f"#!/bin/sh\n{answer}\n")
    found(root, seconds=0)


def test_nothing_can_be_read(tmp_path):
    assert {f.state for f in machine.check(system=machine.System(tmp_path), measure=lambda *_: []) if f.name not in ("cgroup", "hypervisor", "environment", "switches")} == {"unknown"}


@pytest.mark.parametrize("seed", range(12))
def test_nonsense_in_any_file_is_no_crash(tree, seed):
    """Every file may hold anything: the answer may be poor, but there is one."""
    rng = random.Random(seed)
    root = tree(rng.choice(sorted(SETTINGS)), "h200")
    files = sorted(p for p in root.rglob("*") if p.is_file() and p.name != "nvidia-smi")
    for file in rng.sample(files, len(files) // 3):
        text = file.read_text()
        cut = rng.randrange(len(text) + 1)
        file.write_bytes(rng.choice([b"", b"-1", b"9" * 6000, b"\xff\x00\xfe", text[:cut].encode(), (text[:cut] + "½ 7" + text[cut:]).encode(), b"0-99999999999\n", b"1 2 3\n"]))
    machine.check(system=machine.System(root), measure=lambda *_: [])
    machine.snapshot(system=machine.System(root))


def test_a_snapshot_is_data_and_knows_what_came_between(tree):
    root = tree("intel", "h200")
    system = machine.System(root)
    before = machine.snapshot(system=system)
    during(root, ("proc/vmstat", "pswpin 0", "pswpin 7"))(0, 1)
    after = json.loads(json.dumps(machine.snapshot(since=before, system=system)))
    assert after["cpus"] == {"online": "0-7", "allowed": "0-7", "isolated": ""} and after["during"]["swapped"] == 7
    assert after["state"]["turbo"] == {"state": "bad", "observed": "on"} and after["gpus"][0]["clock"] == 345
    assert "during" not in before and len(json.dumps(after)) < 8000


def test_this_machine(capsys):
    """Whatever it is: a line for everything, and a status that fits."""
    code, said = run(capsys, "check", "--seconds", 0)
    assert code in (0, 1, 2) and "affinity" in said.out
    before = machine.snapshot()
    assert json.loads(json.dumps(machine.snapshot(since=before)))["during"]["seconds"] > 0


def test_the_page_runs_and_names_everything():
    page = (pathlib.Path(__file__).parents[2] / "docs/machine.md").read_text()
    assert not [name for name in _judge.NAMES if f"`{name}`" not in page]
    (program,) = re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)
    exec(program, {})


def test_every_check_explains_itself():
    assert len(set(_judge.NAMES)) == len(_judge.NAMES)
    assert all(check.wanted and check.why and check.work in (None, *_noise.WORK) for check in _judge.CHECKS)
