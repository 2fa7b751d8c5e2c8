# SPDX-License-Identifier: Apache-2.0
"""`facula machine check | lock | unlock | noise`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from typing import Optional

from . import _grub, _judge, _lock, _noise, _pin, _read, check, cores, noise
from ._lock import MachineError
from ._noise import NotMeasured
from ._read import System


def main(arguments: Optional[list[str]] = None, system: Optional[System] = None) -> int:
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    separator, command = "--" in arguments, []
    if separator and arguments[0] == "lock":
        position = arguments.index("--")
        arguments, command = arguments[:position], arguments[position + 1 :]
    options = _parser().parse_args(arguments)
    options.run = command
    try:
        if options.command == "lock" and separator and not command:
            raise MachineError("name the command to run after --")
        code = options.do(options, system or System(options.root))
        sys.stdout.flush()
        return code
    except (MachineError, NotMeasured) as error:
        print(f"facula machine {options.command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return 130


def _names(allowed: tuple):
    def parse(text: str) -> list[str]:
        names = [name for name in text.split(",") if name]
        wrong = [name for name in names if name not in allowed]
        if wrong or not names:
            raise argparse.ArgumentTypeError(f"{', '.join(wrong) or 'nothing'}: choose from {', '.join(allowed)}")
        return names

    return parse


def _cpus(text: str) -> list[int]:
    try:
        return _read.cpu_list(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error))


def _between(low: float, high: float, kind=float):
    def parse(text: str):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not low <= value <= high:
            raise argparse.ArgumentTypeError(f"a number from {low:g} to {high:g}, got {text}")
        return value

    return parse


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="facula machine", description="What disturbs measurements on this machine, and how to quiet it. docs/machine.md is a tour.")
    commands = parser.add_subparsers(dest="command", required=True)

    p = commands.add_parser("check", help="what disturbs a measurement here; needs no root", description="Exit status: 0 all well, 1 warnings, 2 something bad or required.")
    p.add_argument("--json", action="store_true", help="the findings as data")
    p.add_argument("--require", type=_names(_judge.NAMES), default=[], metavar="NAME,…", help="end with 2 unless these are ok: " + ", ".join(_judge.NAMES))
    p.add_argument("--seconds", type=_between(0, 600), default=2.0, help="measure noise for so long (2); 0: settings only")
    p.set_defaults(do=_check)

    p = commands.add_parser("lock", help="quiet the machine (root); unlock takes it back", usage="facula machine lock [-h] [--only NAME,…] [--gpu] [--gpu-clock MHZ] [--grub [--isolate CPUS]] [-- COMMAND …]",
                            description="With a COMMAND: for its duration, on the isolated CPUs. Exit status: 0 all changed, 1 some could not be, 2 nothing was; or the COMMAND's.")  # fmt: skip
    p.add_argument("--only", type=_names(_lock.NAMES), metavar="NAME,…", help="of " + ", ".join(_lock.NAMES))
    p.add_argument("--gpu", action="store_true", help="also the clocks of NVIDIA cards, chosen from those that the card supports")
    p.add_argument("--gpu-clock", type=_between(1, 100000, int), metavar="MHZ", help="the highest supported clock up to this one (96 %% of the card's highest)")
    p.add_argument("--grub", action="store_true", help="instead: isolate CPUs and forbid deep idle states from the next start on")
    p.add_argument("--isolate", type=_cpus, metavar="CPUS", help="with --grub: these CPUs (the upper half of the cores)")
    p.set_defaults(do=_do_lock)

    p = commands.add_parser("unlock", help="restore what lock changed (root)")
    p.add_argument("--only", type=_names(_lock.NAMES), metavar="NAME,…", help="of " + ", ".join(_lock.NAMES))
    p.add_argument("--grub", action="store_true", help="what lock --grub changed")
    p.set_defaults(do=_do_unlock)

    p = commands.add_parser("noise", help="how much two measurements of the same work differ")
    p.add_argument("--json", action="store_true", help="the figures as data")
    p.add_argument("--seconds", type=_between(0.1, 3600), default=6.0, help="how long to measure (6)")
    p.add_argument("--passes", type=_between(1, 100, int), default=3, help="pairs of fresh processes (3)")
    p.add_argument("--threads", type=_between(1, 4096, int), help="threads of each process (one for each isolated core, or for each CPU)")
    p.add_argument("--precision", type=_between(0.01, 50), default=1.0, metavar="PERCENT", help="the difference that a benchmark is to see (1)")
    p.set_defaults(do=_noise_command)

    for p in commands.choices.values():
        p.add_argument("--root", default="/", help=argparse.SUPPRESS)  # a recorded tree
    return parser


def _locked(system: System) -> Optional[str]:
    try:
        found = _lock.state(system)
    except MachineError as error:
        return str(error)
    if not found:
        return None
    items = ", ".join(dict.fromkeys(change.item for change in found["changes"]))
    gone = "; the process that locked it is gone: facula machine unlock" if _lock.orphaned(found) else ""
    return f"locked since {time.strftime('%Y-%m-%d %H:%M', time.localtime(found['since']))}: {items}{gone}"


def _check(options, system: System) -> int:
    required = tuple(options.require)
    if options.seconds and sys.stderr.isatty():
        print(f"measuring for {options.seconds:g} s …", end="\r", file=sys.stderr, flush=True)
    findings = check(options.seconds, required, system)
    status, locked = _judge.status(findings, required), _locked(system)
    if options.json:
        print(json.dumps({"status": status, "locked": locked, "findings": [dataclasses.asdict(f) for f in findings]}, indent=1))
        return status
    for f in findings:
        print(f"{f.state:8s} {f.name:16s} {f.observed}" + ("   (required)" if f.name in required and f.state != "ok" else ""))
        if f.state in ("warn", "bad"):
            for title, text in (("wanted", f.wanted), ("because", f.why), ("cost", f.cost), ("mend", f.fix)):
                if text:
                    print(f"{'':25s} {title:8s} {text}")
    count = {state: sum(f.state == state for f in findings) for state in _judge.STATES}
    print(", ".join(f"{n} {state}" for state, n in count.items() if n))
    possible = [f.name for f in findings if f.name in _lock.NAMES and f.state in ("warn", "bad") and f.fix and "--grub" not in f.fix]
    if locked:
        print(locked)
    elif possible:
        print(f"{_judge.LOCK}   # mends {', '.join(possible)}; unlock takes it back")
    return status


def _report(changes: list, undone: bool = False) -> int:
    """A line per item and kind of change; 0 all done, 1 some not, 2 none."""
    groups: dict = {}
    for change in changes:
        place = change.target.rsplit("/" if "/" in change.target else " ", 1)[1]
        was, becomes = change.old if change.old is not None else "free", change.new if change.seen is None else change.seen
        groups.setdefault((change.item, place, *((becomes, was) if undone else (was, becomes)), change.error), []).append(change)
    for (item, place, was, becomes, error), same in groups.items():
        times = f" ({len(same)} times)" if len(same) > 1 else ""
        print(f"{item:11s} {error}" if error else f"{item:11s} {place}: {was} -> {becomes}{times}")
    wrong = sum(change.error is not None for change in changes)
    return 0 if not wrong else 2 if wrong == len(changes) else 1


def _do_lock(options, system: System) -> int:
    if options.isolate and not options.grub:
        raise MachineError("--isolate goes with --grub: CPUs can only be isolated from a start on")
    if options.grub:
        if options.run or options.only or options.gpu or options.gpu_clock:
            raise MachineError("--grub is a step of its own: it takes effect with the next start")
        added = _grub.add(system, options.isolate)
        print(f"from the next start on: {' '.join(added)}   (facula machine unlock --grub takes it back)" if added else "the kernel has been started with all of it")
        return 0
    gpu = options.gpu or options.gpu_clock is not None
    only = [*options.only, *(["gpu"] if gpu and "gpu" not in options.only else [])] if options.only else None
    chosen = {"only": only, "gpu": gpu, "gpu_clock": options.gpu_clock}
    if options.run:
        return _lock.run(system, options.run, lambda changes: _report([c for c in changes if c.error]), **chosen)
    changes = _lock.lock(system, **chosen)
    if not changes:
        print("nothing to change: all of it is as wanted, or this machine does not let it be set")
        return 0
    return _report(changes)


def _do_unlock(options, system: System) -> int:
    if options.grub:
        print("taken back; restart to be without it" if _grub.remove(system) else "nothing was added to the kernel's command line")
        return 0
    changes = _lock.unlock(system, options.only)
    if changes is None:
        print("nothing is locked")
        return 0
    return _report(changes, undone=True)


def _progress(share: float) -> None:
    if sys.stderr.isatty():
        print(f"\r[{'#' * round(30 * share):30s}]" if share < 1 else "\r" + " " * 32 + "\r", end="", file=sys.stderr, flush=True)


def readable(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _noise_command(options, system: System) -> int:
    threads = options.threads or cores(system)
    pinned = _pin.quiet_cpus(_read.facts(system, gpus=False))[:threads]
    measured = noise(options.seconds, options.passes, threads, _progress)
    precision = options.precision / 100
    if options.json:
        rows = [{**dataclasses.asdict(n), "rounds_advised": n.rounds_for(precision), "passes_advised": n.passes_for(precision)} for n in measured]
        print(json.dumps({"threads": threads, "pinned": pinned, "precision": precision, "noise": rows}, indent=1))
        return 0
    print(f"the same work in two processes of {threads} threads" + (f" on the isolated CPUs {_read.show_cpus(pinned)}" if pinned else ""))
    print(f"{'work':8s} {'time':>9s}   {'two samples differ by':28s} {'two processes by':17s} {'A/A ratio, 95 % interval':26s} to see {options.precision:g} %")
    for n in measured:
        varies = f"{_judge.per_cent(n.typical)}, one in 20 {_judge.per_cent(n.worst)}"
        advice = f"{n.rounds_for(precision)} rounds, {n.passes_for(precision)} pass{'es' if n.passes_for(precision) > 1 else ''}"
        print(f"{n.work:8s} {readable(n.seconds):>9s}   {varies:28s} {_judge.per_cent(n.processes):17s} {f'{n.ratio:.3f} [{n.low:.3f}, {n.high:.3f}]':26s} {advice}")
    print(f"measured: {', '.join(f'{n.rounds} rounds of {n.work}' for n in measured)} in {options.passes} passes; a round is A, B, B, A, a pass has fresh processes")
    for name, text in _noise.MEANING.items():
        print(f"  {name}: {text}")
    return 0
