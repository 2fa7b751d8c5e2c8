# SPDX-License-Identifier: Apache-2.0
"""Settings that quiet a machine, and their way back.

`lock` writes what it is about to change into a state file, changes it, and notes what the kernel made of it; `unlock` undoes it
in the reverse order. The state file lies in /run, which a restart empties; it names the boot besides, since a restart also
undoes every setting that is changed here. With a command, a guardian process undoes it when the process that locked is gone,
however it went.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Optional
from collections.abc import Callable

from . import _gpu, _judge
from ._pin import pin
from ._read import CPU, Facts, System, cpu_list, facts, idle_files, show_cpus

STATE = "run/facula/machine.json"
UNKEPT = "settings are only changed where their way back can be kept"


class MachineError(Exception):
    """A sentence for the user."""


@dataclass
class Change:
    """One setting: a file of the kernel, or `UUID persistence|clock|memory` of a card."""

    item: str
    target: str
    old: Optional[str]
    new: str
    seen: Optional[str] = None  # what it held after all changes; the kernel rounds frequencies
    error: Optional[str] = None


# ---- what to change ----


def _write_both(path: str, policy, low: int, high: int) -> Iterator[Change]:
    """The two ends of a range, in the order in which it never turns over."""
    ends = [Change("frequency", f"{path}/scaling_max_freq", str(policy.high), str(high)), Change("frequency", f"{path}/scaling_min_freq", str(policy.low), str(low))]
    yield from reversed(ends) if high < policy.low else ends


def _interrupts(system: System, f: Facts) -> Iterator[Change]:
    """All interrupts to the CPUs that do not measure."""
    rest = [cpu for cpu in f.online if cpu not in f.isolated]
    if not f.isolated or not rest:
        return
    for number in system.names("proc/irq", r"\d+"):
        path = f"proc/irq/{number}/smp_affinity_list"
        old = system.text(path)
        if old and set(cpu_list(old)) & set(f.isolated):
            yield Change("interrupts", path, old, show_cpus(rest))


def _idle(system: System, f: Facts) -> Iterator[Change]:
    for _, path in idle_files(system, f.online):
        if (system.number(f"{path}/latency") or 0) > _judge.WAKING and system.number(f"{path}/disable") == 0:
            yield Change("idle", f"{path}/disable", "0", "1")


def _governor(system: System, f: Facts) -> Iterator[Change]:
    for policy in f.policies:
        if policy.governor and policy.governor != "performance" and "performance" in policy.governors:
            yield Change("governor", f"{policy.path}/scaling_governor", policy.governor, "performance")


def _frequency(system: System, f: Facts) -> Iterator[Change]:
    for policy in f.policies:
        steady = policy.steady or policy.hardware_high
        if steady and policy.low and policy.high and (policy.low, policy.high) != (steady, steady):
            yield from _write_both(policy.path, policy, steady, steady)


def _turbo(system: System, f: Facts) -> Iterator[Change]:
    for path in _judge.turbo_on(f):
        yield Change("turbo", path, str(f.turbo[path]), "1" if path.endswith("no_turbo") else "0")


def _smt(system: System, f: Facts) -> Iterator[Change]:
    if f.smt == "on":
        yield Change("smt", f"{CPU}/smt/control", "on", "off")
    elif f.smt is None or f.smt.startswith("not"):  # kernels without that switch: each core's further threads by themselves
        for cpu, others in f.siblings.items():
            if cpu != min(others) and system.number(f"{CPU}/cpu{cpu}/online") == 1:
                yield Change("smt", f"{CPU}/cpu{cpu}/online", "1", "0")


def _gpus(f: Facts, clock: Optional[int]) -> Iterator[Change]:
    for gpu in f.gpus:
        chosen = _gpu.choose_clock(gpu, clock)
        if gpu.persistence is False:
            yield Change("gpu", f"{gpu.uuid} persistence", "0", "1")
        if chosen:
            yield Change("gpu", f"{gpu.uuid} clock", None, str(chosen))
        if gpu.memory_most:
            yield Change("gpu", f"{gpu.uuid} memory", None, str(gpu.memory_most))


# In this order they are changed: frequencies while turbo still shows the full range, and threads go last, since their CPUs'
# files go with them. Undoing them in the reverse order finds every file again.
ITEMS: dict[str, Callable[[System, Facts], Iterator[Change]]] = {
    "interrupts": _interrupts, "idle": _idle, "governor": _governor, "frequency": _frequency, "turbo": _turbo, "smt": _smt,
}  # fmt: skip
NAMES = (*ITEMS, "gpu")


def plan(system: System, known: Facts, only: Optional[list[str]] = None, gpu: bool = False, gpu_clock: Optional[int] = None) -> list[Change]:
    wanted = only if only is not None else [*ITEMS, *(["gpu"] if gpu else [])]
    changes = [change for item, of in ITEMS.items() if item in wanted for change in of(system, known)]
    if "gpu" not in wanted:
        return changes
    if not known.gpus:
        raise MachineError("no NVIDIA card is here, so there are no clocks to lock: nvidia-smi is not installed, or shows none")
    if gpu_clock is not None:
        for card in known.gpus:
            if card.supported and not card.supported[0] <= gpu_clock <= card.supported[-1]:
                raise MachineError(f"--gpu-clock {gpu_clock}: {card.name} supports {card.supported[0]} to {card.supported[-1]} MHz")
    return changes + list(_gpus(known, gpu_clock))


# ---- changing it ----


def _read(system: System, change: Change) -> Optional[str]:
    return None if " " in change.target else system.text(change.target)


def _write(system: System, target: str, value: Optional[str]) -> Optional[str]:
    """Why it did not work, or None."""
    if " " in target:
        uuid, what = target.split(" ")
        if what == "persistence":
            return _gpu.set_persistence(system, uuid, value == "1")
        return _gpu.lock_clock(system, uuid, int(value) if value else None, memory=what == "memory")
    try:
        system.write(target, value or "")
    except OSError as error:
        if target.startswith("proc/irq/") and error.errno in (errno.EIO, errno.EPERM):
            return None  # one that the kernel places by itself, such as a disk's queue of each CPU
        return f"/{target}: {error.strerror}"
    return None


def _save(system: System, state: dict) -> None:
    try:
        system.replace(STATE, json.dumps(state, indent=1) + "\n")
    except OSError as error:
        raise MachineError(f"{system.root / STATE} cannot be written: {error.strerror}; {UNKEPT}")


def state(system: System) -> Optional[dict]:
    """What is locked now, or None; what an earlier boot locked is not."""
    text = system.text(STATE)
    if text is None:
        return None
    try:
        found = json.loads(text)
        changes = [Change(**change) for change in found["changes"]]
        since, owner = float(found["since"]), found["owner"]
        if owner is not None:
            owner = [int(owner[0]), str(owner[1])]
    except (ValueError, LookupError, TypeError):
        raise MachineError(f"{system.root / STATE} is no state of a locked machine; delete it if you know its settings, or restart the machine, which restores them")
    if found.get("boot") != system.text("proc/sys/kernel/random/boot_id"):
        return None
    return {"boot": found["boot"], "since": since, "owner": owner, "changes": changes}


def process_id(number: int) -> Optional[list]:
    """A process, so that another one with its number is not taken for it: number and start time."""
    text = System().text(f"proc/{number}/stat")
    return [number, text.rpartition(")")[2].split()[19]] if text else None


def orphaned(found: dict) -> bool:
    """Whether it was locked for a command, by a process that is gone."""
    return found["owner"] is not None and process_id(found["owner"][0]) != found["owner"]


@contextlib.contextmanager
def _alone(system: System) -> Iterator[None]:
    """One process changes settings at a time."""
    folder = (system.root / STATE).parent
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        descriptor = os.open(folder / "machine.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise MachineError(f"{folder} cannot be written: {error.strerror}; {UNKEPT}")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _need_root(system: System, command: str) -> None:
    if system.real and os.geteuid() != 0:
        raise MachineError(f"settings of the machine are root's to change: sudo $(which facula) machine {command}")


def lock(system: System, only: Optional[list[str]] = None, gpu: bool = False, gpu_clock: Optional[int] = None, owner: Optional[list] = None) -> list[Change]:
    """Changes what can be changed; each change has its error, or none."""
    return apply(system, lambda known: plan(system, known, only, gpu, gpu_clock), owner)


def apply(system: System, wanted: Callable[[Facts], list[Change]], owner: Optional[list] = None, beside: bool = False) -> list[Change]:
    """Makes the changes that `wanted` finds; on a machine that is locked already only `beside` what was changed before."""
    _need_root(system, "lock")
    with _alone(system):
        found = state(system)
        if found and not orphaned(found):
            if not beside:
                when = time.strftime("%H:%M", time.localtime(found["since"]))
                raise MachineError(f"the machine is locked since {when}: facula machine unlock first")
            left, owner = found["changes"], found["owner"]
        else:
            left = _restore(system, found["changes"]) if found else []
        known = facts(system)
        changes = wanted(known)
        saved = {"boot": known.boot, "since": time.time(), "owner": owner, "changes": [asdict(change) for change in left + changes]}
        _save(system, saved)
        for change in changes:
            change.error = _write(system, change.target, change.new)
        for change in changes:
            change.seen = _read(system, change)
            if change.error is None and change.seen is not None and change.seen == change.old and change.item != "interrupts":
                change.error = f"/{change.target}: still {change.seen}"
        saved["changes"] = [asdict(change) for change in left + [change for change in changes if change.error is None]]
        if saved["changes"]:
            _save(system, saved)
        else:
            os.unlink(system.root / STATE)
    return changes if beside else left + changes


def unlock(system: System, only: Optional[list[str]] = None, owner: Optional[list] = None) -> Optional[list[Change]]:
    """Undoes it; each change has its error, or none. None: nothing was locked (by this owner, if one is given)."""
    _need_root(system, "unlock")
    with _alone(system):
        found = state(system)
        if found is None or (owner is not None and found["owner"] != owner):
            if found is None:
                (system.root / STATE).unlink(missing_ok=True)
            return None
        chosen = [change for change in found["changes"] if only is None or change.item in only]
        refused = _restore(system, chosen)
        rest = [asdict(change) for change in found["changes"] if change in refused or change not in chosen]
        if rest:
            _save(system, {**found, "changes": rest})
        else:
            os.unlink(system.root / STATE)
    return chosen


def set_frequency(system: System, low: int, high: int) -> list[Change]:
    """One range for all CPUs, in kHz, beside what is locked already."""

    def wanted(known: Facts) -> list[Change]:
        changes: list[Change] = []
        for policy in known.policies:
            least, most = policy.hardware_low or 0, policy.hardware_high or high
            if not least <= low <= high <= most:
                raise MachineError(f"{low // 1000} to {high // 1000} MHz: /{policy.path} allows {least // 1000} to {most // 1000}")
            if policy.low and policy.high and (policy.low, policy.high) != (low, high):
                changes += _write_both(policy.path, policy, low, high)
        return changes

    return apply(system, wanted, beside=True)


def enable_turbo(system: System) -> list[Change]:
    """Lets clocks rise again, whoever forbade it."""
    _need_root(system, "unlock --only turbo")
    changes = unlock(system, ["turbo"]) or []
    known = facts(system, gpus=False)
    off = [path for path in known.turbo if path not in _judge.turbo_on(known)]
    changes += [Change("turbo", path, "0" if path.endswith("no_turbo") else "1", str(known.turbo[path])) for path in off]
    _restore(system, [change for change in changes if change.seen is None])
    return changes


def enable_smt(system: System) -> list[Change]:
    """Puts the cores' further threads back, whoever took them away."""
    _need_root(system, "unlock --only smt")
    changes = unlock(system, ["smt"]) or []
    known = facts(system, gpus=False)
    if known.smt == "off":
        changes.append(Change("smt", f"{CPU}/smt/control", "on", "off"))
    elif known.smt is None:
        changes += [Change("smt", f"{CPU}/cpu{cpu}/online", "1", "0") for cpu in known.present if cpu not in known.online]
    _restore(system, [change for change in changes if change.seen is None])
    return changes


def _restore(system: System, changes: list[Change]) -> list[Change]:
    """Returns those that refused: they are still to be undone."""
    refused: list[Change] = []
    for change in reversed(changes):
        now, change.error = _read(system, change), None
        if (now is not None and now == change.old) or (" " not in change.target and not (system.root / change.target).exists()):
            continue  # as it was, or its CPU is gone
        if now is not None and change.seen is not None and now != change.seen:
            change.error = f"/{change.target}: {now} now, which somebody else set; left alone"
        else:
            change.error = _write(system, change.target, change.old)
            if change.error:
                refused.insert(0, change)
    return refused


# ---- for the duration of a command ----


def run(system: System, command: list[str], report: Callable[[list[Change]], object], **options) -> int:
    """Locks, runs the command on the isolated CPUs, and unlocks, whatever happens to any of the processes."""
    _need_root(system, "lock -- command")
    owner = process_id(os.getpid())
    reading, writing = os.pipe()
    guardian = os.fork()
    if guardian == 0:
        _guard(system, reading, writing, owner)
    os.close(reading)
    try:
        report(lock(system, owner=owner, **options))
        return _obey(system, command)
    finally:
        os.close(writing)
        os.waitpid(guardian, 0)


def _guard(system: System, reading: int, writing: int, owner: Optional[list]) -> None:
    """Waits until nobody holds the other end of the pipe, then unlocks."""
    code = 1
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        os.close(writing)
        os.read(reading, 1)
        for change in unlock(system, owner=owner) or []:
            if change.error:
                print(f"facula machine unlock: {change.error}", file=sys.stderr)
        code = 0
    except MachineError as error:
        print(f"facula machine unlock: {error}", file=sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(code)


def _obey(system: System, command: list[str]) -> int:
    """The command's status, as a shell has it. It runs as the user who called sudo."""
    pin(system=system)
    caller: dict = {}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdigit() and os.environ.get("SUDO_GID", "").isdigit():
        user, group, name = int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"]), os.environ.get("SUDO_USER", "")
        home = os.path.expanduser(f"~{name}")
        caller = {"user": user, "group": group, "extra_groups": os.getgrouplist(name, group), "env": {**os.environ, "HOME": home, "USER": name, "LOGNAME": name}}
    child: Optional[subprocess.Popen] = None
    pending: list[int] = []

    def forward(number, frame):
        if child is None:
            pending.append(number)
        else:
            child.send_signal(number)

    # A terminal sends SIGINT to the command as well; its end is what ends us.
    handlers: dict[int, Any] = {signal.SIGINT: signal.SIG_IGN, signal.SIGQUIT: signal.SIG_IGN, signal.SIGTERM: forward, signal.SIGHUP: forward}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        child = subprocess.Popen(command, preexec_fn=_default_signals, **caller)
        for number in pending:
            child.send_signal(number)
        status = child.wait()
    except OSError as error:
        raise MachineError(f"{command[0]}: {error.strerror}")
    except subprocess.SubprocessError as error:
        raise MachineError(f"{command[0]} cannot be started: {error}")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def _default_signals() -> None:
    """Ignored signals stay ignored in a new program, unless this is done."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
