# SPDX-License-Identifier: Apache-2.0
"""`facula machine lock` and its way back, on recorded machines; processes and signals are real."""

import errno
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

from facula import machine
from facula.machine import _command_line, _grub, _judge, _lock, _read

pytestmark = pytest.mark.not_sanitized

PACKAGE = pathlib.Path(machine.__file__).resolve().parent
CPU = "sys/devices/system/cpu"
OURS = ("run", "nvidia-smi.log")  # the state file, and what the card's tool was told


def contents(root):
    """Every file of a machine, without our own."""
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file() and p.relative_to(root).parts[0] not in OURS}


class Kernel(machine.System):
    """Files that answer as the kernel's do: numbers are rounded, some refuse, and CPUs come and go."""

    def __init__(self, root, refuse=(), stop_at=None):
        super().__init__(root)
        self.refuse, self.stop_at, self.writes = dict(refuse), stop_at, 0

    def write(self, path, text):
        self.writes += 1
        if self.writes == self.stop_at:
            raise KeyboardInterrupt
        for part, number in self.refuse.items():
            if part in path:
                raise OSError(number, os.strerror(number))
        if path.endswith("_freq"):
            other = self.number(path.replace("min", "max") if "min_freq" in path else path.replace("max", "min"))
            assert int(text) <= other if "min_freq" in path else int(text) >= other, "the range would turn over"
            text = str(int(text) // 25000 * 25000)
        if path.endswith("smt/control"):
            self.hide(text == "off")
        super().write(path, text + "\n")

    def hide(self, away):
        """A CPU that is off has no files of frequencies and idle states."""
        for cpu in range(4, 8):
            for shown in (f"{CPU}/cpu{cpu}", f"{CPU}/cpufreq/policy{cpu}"):
                kept = self.root / "run" / shown.replace("/", "_")
                (self.root / shown).rename(kept) if away else kept.rename(self.root / shown)
        (self.root / CPU / "online").write_text("0-3\n" if away else "0-7\n")


def test_lock_and_back(tree):
    root = tree("intel")
    system, before = Kernel(root), contents(root)
    changes = _lock.lock(system)
    assert [c.error for c in changes] == [None] * len(changes)
    assert list(dict.fromkeys(c.item for c in changes)) == ["idle", "governor", "frequency", "turbo", "smt"]
    states = {f.name: f.state for f in machine.check(seconds=0, system=system)}
    assert {states[name] for name in ("smt", "turbo", "governor", "idle")} == {"ok"}
    policy = root / CPU / "cpufreq/policy0"
    assert (policy / "scaling_max_freq").read_text() == (policy / "scaling_min_freq").read_text() == "3000000\n"
    assert json.loads((root / _lock.STATE).read_text())["owner"] is None
    undone = _lock.unlock(system)
    assert [c.error for c in undone] == [None] * len(changes)
    assert contents(root) == before and not (root / _lock.STATE).exists()
    assert _lock.unlock(system) is None


def test_boost_and_interrupts_of_another_make(tree):
    root = tree("amd")
    system, before = Kernel(root), contents(root)
    changes = _lock.lock(system)
    assert {c.item for c in changes} == {"interrupts", "frequency", "turbo"}
    assert (root / CPU / "cpufreq/boost").read_text() == "0\n" and system.number(f"{CPU}/cpufreq/policy9/scaling_min_freq") == 3000000
    assert [(root / f"proc/irq/{n}/smp_affinity_list").read_text() for n in (60, 61, 62)] == ["0-7\n", "0-7\n", "3\n"]
    _lock.unlock(system)
    assert contents(root) == before


def test_one_policy_for_all_cores(tree):
    root = tree("arm")
    system, before = Kernel(root), contents(root)
    _lock.lock(system)
    assert system.number(f"{CPU}/cpufreq/policy0/scaling_min_freq") == 1800000
    _lock.unlock(system)
    assert contents(root) == before


def test_a_guest_has_nothing_to_change(tree, capsys):
    root = tree("guest")
    assert _command_line.main(["lock", "--root", str(root)]) == 0
    assert "nothing to change" in capsys.readouterr().out and not (root / _lock.STATE).exists()


def test_part_of_it(tree, capsys):
    root = tree("intel")
    before = contents(root)
    assert _command_line.main(["lock", "--root", str(root), "--only", "turbo,governor"]) == 0
    assert "governor    scaling_governor: powersave -> performance (8 times)" in capsys.readouterr().out
    assert {name for name, data in contents(root).items() if data != before[name]} == {f"{CPU}/intel_pstate/no_turbo", *(f"{CPU}/cpufreq/policy{i}/scaling_governor" for i in range(8))}
    assert _command_line.main(["unlock", "--root", str(root), "--only", "turbo"]) == 0
    assert [c.item for c in _lock.state(machine.System(root))["changes"]] == ["governor"] * 8
    assert _command_line.main(["unlock", "--root", str(root)]) == 0
    assert {n: d.strip() for n, d in contents(root).items()} == {n: d.strip() for n, d in before.items()}


def test_what_refuses_is_told_and_the_rest_is_locked(tree, capsys):
    root = tree("intel")
    system, before = Kernel(root, {"no_turbo": errno.EPERM, "policy3/scaling_governor": errno.EBUSY}), contents(root)
    assert _command_line.main(["lock"], system) == 1
    said = capsys.readouterr().out
    assert f"turbo       /{CPU}/intel_pstate/no_turbo: Operation not permitted" in said and "Device or resource busy" in said
    assert _command_line.main(["unlock"], Kernel(root)) == 0
    assert contents(root) == before


def test_interrupts_that_the_kernel_places_stay(tree, capsys):
    root = tree("amd")
    before = contents(root)
    assert _command_line.main(["lock", "--only", "interrupts"], Kernel(root, {"irq/61": errno.EIO})) == 0
    assert "smp_affinity_list: 0-15 -> 0-15" in capsys.readouterr().out
    assert _command_line.main(["unlock"], Kernel(root)) == 0 and contents(root) == before


def test_a_setting_that_does_not_take_is_told(tree, capsys):
    class Deaf(machine.System):
        def write(self, path, text):
            pass

    assert _command_line.main(["lock", "--only", "turbo"], Deaf(tree("intel"))) == 2
    assert f"/{CPU}/intel_pstate/no_turbo: still 0" in capsys.readouterr().out


def test_nothing_could_be_changed(tree, capsys):
    root = tree("intel")
    assert _command_line.main(["lock"], Kernel(root, {"sys": errno.EROFS, "proc": errno.EROFS})) == 2
    assert "Read-only file system" in capsys.readouterr().out and not (root / _lock.STATE).exists()


@pytest.mark.parametrize("step", [1, 2, 9, 25, 33, 34])
def test_a_crash_at_any_step_can_be_undone(tree, step):
    root = tree("intel")
    before = contents(root)
    with pytest.raises(KeyboardInterrupt):
        _lock.lock(Kernel(root, stop_at=step))
    assert (root / _lock.STATE).exists()
    assert not [c.error for c in _lock.unlock(Kernel(root)) if c.error]
    assert contents(root) == before


def test_a_restart_forgets(tree, capsys):
    root = tree("intel")
    system = machine.System(root)
    _lock.lock(system, only=["turbo"])
    (root / "proc/sys/kernel/random/boot_id").write_text("another\n")
    (root / CPU / "intel_pstate/no_turbo").write_text("0\n")  # as every start does
    assert _command_line.main(["unlock"], system) == 0
    assert capsys.readouterr().out == "nothing is locked\n" and not (root / _lock.STATE).exists()
    assert (root / CPU / "intel_pstate/no_turbo").read_text() == "0\n"
    assert _lock.lock(system, only=["turbo"])[0].error is None


def test_twice_is_refused(tree, capsys):
    root = tree("intel")
    _lock.lock(machine.System(root), only=["turbo"])
    assert _command_line.main(["lock", "--root", str(root)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("facula machine lock: the machine is locked since ") and said.count("\n") == 1
    assert _command_line.main(["check", "--root", str(root), "--seconds", "0"]) == 2
    assert "locked since " in capsys.readouterr().out


def test_what_somebody_else_changed_is_left_alone(tree):
    root = tree("intel")
    system = machine.System(root)
    _lock.lock(system, only=["governor"])
    (root / CPU / "cpufreq/policy2/scaling_governor").write_text("schedutil\n")
    undone = _lock.unlock(system)
    (left,) = [c.error for c in undone if c.error]
    assert left == f"/{CPU}/cpufreq/policy2/scaling_governor: schedutil now, which somebody else set; left alone"
    assert {system.text(f"{CPU}/cpufreq/policy{i}/scaling_governor") for i in range(8)} == {"powersave", "schedutil"}


def test_what_refuses_to_be_undone_can_be_undone_later(tree, capsys):
    root = tree("intel")
    before = contents(root)
    assert _command_line.main(["lock", "--only", "turbo,governor"], Kernel(root)) == 0
    assert _command_line.main(["unlock"], Kernel(root, {"no_turbo": errno.EBUSY})) == 1
    assert "no_turbo: Device or resource busy" in capsys.readouterr().out
    assert [c.item for c in _lock.state(machine.System(root))["changes"]] == ["turbo"]
    assert _command_line.main(["unlock"], Kernel(root)) == 0 and contents(root) == before


def test_a_cpu_that_is_gone_needs_no_undoing(tree):
    root = tree("intel")
    system = machine.System(root)
    _lock.lock(system, only=["governor"])
    shutil.rmtree(root / CPU / "cpufreq/policy7")
    assert not [c.error for c in _lock.unlock(system) if c.error] and not (root / _lock.STATE).exists()


def test_a_kernel_without_the_switch_for_threads(tree):
    root = tree("intel")
    shutil.rmtree(root / CPU / "smt")
    system, before = machine.System(root), contents(root)
    assert [c.target for c in _lock.lock(system, only=["smt"])] == [f"{CPU}/cpu{i}/online" for i in range(4, 8)]
    _lock.unlock(system)
    assert {n: d.strip() for n, d in contents(root).items()} == {n: d.strip() for n, d in before.items()}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"changes": [], "since": 0, "owner": [1]}', '{"changes": [1], "since": 0, "owner": null}', '{"changes": []}'])
def test_a_broken_state_file_is_told(tree, capsys, text):
    root = tree("intel")
    (root / "run/facula").mkdir(parents=True)
    (root / _lock.STATE).write_text(text)
    assert _command_line.main(["unlock", "--root", str(root)]) == 2
    assert "is no state of a locked machine; delete it" in capsys.readouterr().err
    assert _command_line.main(["check", "--root", str(root), "--seconds", "0"]) == 2
    assert "is no state of a locked machine" in capsys.readouterr().out
    machine.snapshot(system=machine.System(root))


def test_without_root_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for command in (["lock"], ["unlock"], ["lock", "--grub"], ["unlock", "--grub"], ["lock", "--", "true"]):
        assert _command_line.main(command) == 2
        said = capsys.readouterr().err
        assert "settings of the machine are root's to change: sudo $(which facula) machine" in said and said.count("\n") == 1


def test_no_place_for_the_state(tree, capsys):
    root = tree("intel")
    (root / "run").write_text("a file")
    before = contents(root)
    assert _command_line.main(["lock", "--root", str(root)]) == 2
    assert "cannot be written: Not a directory; settings are only changed where their way back can be kept" in capsys.readouterr().err
    assert contents(root) == before


# ---- cards ----


def told(root):
    log = root / "nvidia-smi.log"
    return log.read_text().splitlines() if log.exists() else []


def test_clocks_are_the_cards_own(tree, capsys):
    root = tree("intel", "a100")
    assert _command_line.main(["lock", "--root", str(root), "--only", "gpu"]) == 1  # one card's memory clock cannot be locked
    assert told(root) == ["-i GPU-aaaa -pm 1", "-i GPU-aaaa -lgc 1350,1350", "-i GPU-aaaa -lmc 1215,1215", "-i GPU-bbbb -lgc 1350,1350", "-i GPU-bbbb -lmc 1215,1215"]
    assert "nvidia-smi -lmc 1215,1215: Setting locked Memory clocks is not supported" in capsys.readouterr().out
    findings = {f.name: f for f in machine.check(seconds=0, system=machine.System(root))}
    assert findings["gpu-clock"].state == "ok" and "locked at 1350" in findings["gpu-clock"].observed
    assert _command_line.main(["unlock", "--root", str(root)]) == 0
    assert told(root)[5:] == ["-i GPU-bbbb -rgc", "-i GPU-aaaa -rmc", "-i GPU-aaaa -rgc", "-i GPU-aaaa -pm 0"]


def test_clocks_are_not_touched_unless_asked(tree):
    root = tree("intel", "h200")
    _lock.lock(machine.System(root))
    assert told(root) == []


@pytest.mark.parametrize(("asked", "locked"), [(None, 1890), (1900, 1890), (1980, 1980), (345, 345)])
def test_a_clock_is_one_that_the_card_supports(tree, asked, locked):
    root = tree("guest", "h200")
    _lock.lock(machine.System(root), gpu=True, gpu_clock=asked)
    assert told(root) == [f"-i GPU-cccc -lgc {locked},{locked}", "-i GPU-cccc -lmc 3201,3201"]


def test_a_clock_that_the_card_does_not_have(tree, capsys):
    root = tree("guest", "h200")
    assert _command_line.main(["lock", "--root", str(root), "--gpu-clock", "2500"]) == 2
    assert "--gpu-clock 2500: NVIDIA H200 supports 345 to 1980 MHz" in capsys.readouterr().err and told(root) == []


def test_no_card(tree, capsys):
    root = tree("guest")
    assert _command_line.main(["lock", "--root", str(root), "--gpu"]) == 2
    assert "no NVIDIA card is here" in capsys.readouterr().err


def test_the_script_of_that_name(tree):
    """sudo lock-clock-a100.sh"""
    root = tree("intel", "a100")
    script = pathlib.Path(__file__).parents[2] / "tools/torch-build/lock-clock-a100.sh"
    done = subprocess.run([script, "--root", root], capture_output=True, text=True)
    assert done.returncode == 1 and "-i GPU-aaaa -lgc 1350,1350" in told(root), done.stderr
    done = subprocess.run([script, "--unlock", "--root", root], capture_output=True, text=True)
    assert done.returncode == 0 and told(root)[-1] == "-i GPU-aaaa -pm 0", done.stderr


# ---- for the duration of a command ----


def start(root, *command, **options):
    arguments = [sys.executable, str(PACKAGE), "lock", "--root", str(root), "--only", "turbo", "--", *command]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def turbo(root):
    return (root / CPU / "intel_pstate/no_turbo").read_text().strip()


def wait_for(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_command_runs_locked_and_its_status_is_passed_on(tree):
    root = tree("intel")
    process = start(root, "sh", "-c", f"cat {root}/{CPU}/intel_pstate/no_turbo; exit 7")
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out, turbo(root)) == (7, "1", "0"), errors
    assert not (root / _lock.STATE).exists()
    process = start(root, "sh", "-c", "kill -9 $$")
    process.communicate(timeout=60)
    assert process.returncode == 137 and turbo(root) == "0"


def test_a_command_that_is_not_there(tree):
    root = tree("intel")
    process = start(root, "/no/such/command")
    assert "facula machine lock: /no/such/command: No such file or directory" in process.communicate(timeout=60)[1]
    assert process.returncode == 2 and turbo(root) == "0"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_command_and_restores(tree, number):
    root = tree("intel")
    process = start(root, "sh", "-c", f"touch {root}/run/started; exec sleep 60", start_new_session=True)
    wait_for((root / "run/started").exists)
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 128 + number and turbo(root) == "0"


def test_a_killed_process_restores_nevertheless(tree):
    root = tree("intel")
    process = start(root, "sh", "-c", f"echo $$ > {root}/run/started; exec sleep 60")
    wait_for(lambda: (root / "run/started").exists() and (root / "run/started").read_text().strip())
    assert turbo(root) == "1"
    process.kill()
    wait_for(lambda: turbo(root) == "0" and not (root / _lock.STATE).exists())
    os.kill(int((root / "run/started").read_text()), signal.SIGTERM)
    process.communicate(timeout=60)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_under_sudo_the_command_is_the_users(tree):
    root = tree("intel")
    process = start(root, "sh", "-c", "id -u; id -g; echo $USER", env={**os.environ, "SUDO_UID": "65534", "SUDO_GID": "65534", "SUDO_USER": "nobody"})
    assert process.communicate(timeout=60)[0].split() == ["65534", "65534", "nobody"] and turbo(root) == "0"


def test_what_a_gone_process_left_is_restored_first(tree, capsys):
    """The guardian was killed as well: the next lock begins with the machine as it was."""
    root = tree("intel")
    system, before = machine.System(root), contents(root)
    _lock.lock(system, only=["turbo"], owner=[999999999, "1"])
    assert _command_line.main(["check", "--root", str(root), "--seconds", "0"]) == 2
    assert "the process that locked it is gone: facula machine unlock" in capsys.readouterr().out
    assert [c.item for c in _lock.lock(system, only=["governor"])] == ["governor"] * 8
    assert turbo(root) == "0"
    _lock.unlock(system)
    assert {n: d.strip() for n, d in contents(root).items()} == {n: d.strip() for n, d in before.items()}


def test_for_real_where_this_machine_lets_us(tmp_path):
    """The deep idle states of this machine, disabled and enabled again, if we are root and it has some."""
    system = machine.System()
    idle = [c.target for c in _lock.plan(system, _read.facts(system, gpus=False), ["idle"])]
    if os.geteuid() != 0 or not idle or not os.access(f"/{idle[0]}", os.W_OK) or _lock.state(system):
        pytest.skip("not root, no deep idle state, or the machine is locked")
    before = [system.text(path) for path in idle]
    done = subprocess.run([sys.executable, str(PACKAGE), "lock", "--only", "idle", "--", "cat", f"/{idle[0]}"], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "1" and [system.text(path) for path in idle] == before


# ---- the kernel's command line ----

LINE = "intel_idle.max_cstate=1 processor.max_cstate=1 isolcpus=2-3,6-7 nohz_full=2-3,6-7 rcu_nocbs=2-3,6-7"


def tool(root, name, body="exit 0"):
    path = root / "usr/bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\necho "{name} $*" >> "$(dirname "$0")/../../run/tools"\n{body}\n')
    path.chmod(0o755)
    (root / "run").mkdir(exist_ok=True)


def test_grub_with_a_folder_of_settings(tree, capsys):
    root = tree("intel")
    tool(root, "update-grub")
    (root / "etc/default/grub.d").mkdir()
    before = contents(root)
    assert _command_line.main(["lock", "--grub", "--root", str(root)]) == 0
    assert f"from the next start on: {LINE} " in capsys.readouterr().out
    file = root / _grub.DROP_IN
    shown = subprocess.run(["sh", "-c", f'GRUB_CMDLINE_LINUX_DEFAULT="quiet"; . {file}; echo "$GRUB_CMDLINE_LINUX_DEFAULT"'], capture_output=True, text=True).stdout
    assert shown.strip() == f"quiet {LINE}" and file.stat().st_mode & 0o777 == 0o644
    assert _command_line.main(["unlock", "--grub", "--root", str(root)]) == 0
    assert contents(root) == before and (root / "run/tools").read_text() == "update-grub \n" * 2


def test_grub_with_one_file_of_settings(tree, capsys):
    root = tree("intel")
    tool(root, "grub-mkconfig")
    before = contents(root)
    for _ in range(2):  # the second time replaces the first
        assert _command_line.main(["lock", "--grub", "--isolate", "1,5", "--root", str(root)]) == 0
    assert (root / _grub.SETTINGS).read_text().count("isolcpus=1,5") == 1
    assert _command_line.main(["unlock", "--grub", "--root", str(root)]) == 0
    assert contents(root) == before
    assert f"grub-mkconfig -o {root}/boot/grub/grub.cfg\n" in (root / "run/tools").read_text()
    assert _command_line.main(["unlock", "--grub", "--root", str(root)]) == 0
    assert "nothing was added" in capsys.readouterr().out


def test_grubby(tree):
    root = tree("intel")
    tool(root, "grubby")
    before = contents(root)
    _grub.add(machine.System(root))
    assert _grub.remove(machine.System(root))
    assert (root / "run/tools").read_text() == f"grubby --update-kernel=ALL --args={LINE}\ngrubby --update-kernel=ALL --remove-args={LINE}\n"
    assert contents(root) == before


def test_no_grub(tree, capsys):
    root = tree("guest")
    assert _command_line.main(["lock", "--grub", "--root", str(root)]) == 2
    said = capsys.readouterr().err
    assert "no GRUB is here" in said and "add to the kernel's command line: processor.max_cstate=1 isolcpus=1" in said


def test_what_the_kernel_has_is_not_added_again(tree, capsys):
    root = tree("amd")
    assert _judge.kernel_arguments(_read.facts(machine.System(root))) == ["rcu_nocbs=8-15"]
    (root / "proc/cmdline").write_text("isolcpus=8-15 nohz_full=8-15 rcu_nocbs=8-15 processor.max_cstate=1")
    assert _command_line.main(["lock", "--grub", "--root", str(root)]) == 0
    assert "all of it" in capsys.readouterr().out


@pytest.mark.parametrize(("arguments", "words"), [
    (["--grub", "--isolate", "0-7"], "--isolate 0-7: choose some of the CPUs 0-7, and leave at least one to everybody else"),
    (["--grub", "--isolate", "9"], "--isolate 9: choose some of the CPUs 0-7"),
    (["--isolate", "1"], "--isolate goes with --grub"),
    (["--grub", "--gpu"], "--grub is a step of its own"),
    (["--"], "name the command to run after --"),
])  # fmt: skip
def test_what_does_not_go_together(tree, capsys, arguments, words):
    root = tree("intel")
    before = contents(root)
    assert _command_line.main(["lock", "--root", str(root), *arguments]) == 2
    assert words in capsys.readouterr().err and contents(root) == before


def test_a_tool_that_fails_is_told(tree, capsys):
    root = tree("intel")
    tool(root, "update-grub", "echo 'no space left' >&2; exit 1")
    assert _command_line.main(["lock", "--grub", "--root", str(root)]) == 2
    assert "update-grub: no space left" in capsys.readouterr().err
