# SPDX-License-Identifier: Apache-2.0
"""`facula hb gdb`, a debugger on simulated tiles, and `facula hb lines`, what each tile did in each cycle as text."""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

_GDB = ("gdb-multiarch", "riscv64-unknown-elf-gdb", "riscv32-unknown-elf-gdb")


def _environment(args: argparse.Namespace, where: str) -> dict[str, str]:
    import facula

    package = pathlib.Path(facula.__file__).parent
    paths = [str(package.parent), str(package / "_shim"), *filter(None, [os.environ.get("PYTHONPATH")])]
    chosen = {"FACULA_HB_MACHINE": args.machine} if args.machine else {}
    return {**os.environ, **chosen, "FACULA_HB": "sim", "FACULA_HB_FIDELITY": args.fidelity, "FACULA_HB_GDB": where, "PYTHONPATH": os.pathsep.join(paths)}


def gdb(args: argparse.Namespace) -> int:
    if not pathlib.Path(args.script).is_file():
        sys.exit(f"facula hb gdb: {args.script}: no such file")
    command = [sys.executable, args.script, *args.arguments]
    if args.port is not None:
        return subprocess.run(command, env=_environment(args, str(args.port))).returncode
    debugger = next((path for name in _GDB if (path := shutil.which(name))), None)
    if debugger is None:
        sys.exit("facula hb gdb: gdb-multiarch is not installed (Debian: apt-get install gdb-multiarch, or make setup-cosim); --port N waits for another debugger")
    with tempfile.TemporaryDirectory(prefix="facula-gdb-") as folder:
        where = pathlib.Path(folder) / "socket"
        # A session of its own: ^C is for the debugger, which passes it on.
        script = subprocess.Popen(command, env=_environment(args, str(where)), stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            while not where.exists():
                if script.poll() is not None:
                    sys.exit(f"facula hb gdb: {args.script} ended (status {script.returncode}) before it used the device")
                time.sleep(0.02)
            words = [debugger, "-q", "-iex", "set sysroot /", "-iex", "set breakpoint pending on", "-iex", "set osabi none", "-iex", "set architecture riscv:rv32"]
            words += ["-ex", f"target remote {where}", "-ex", "sharedlibrary"]
            for one in args.ex:
                words += ["-ex", one]
            for one in args.command:
                words += ["-x", one]
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)
            try:
                subprocess.run([*words, *(["-batch"] if args.batch else [])])
            finally:
                signal.signal(signal.SIGINT, before)
            return script.wait()
        finally:
            if script.poll() is None:
                script.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    script.wait(10)


# ---- a line for each cycle ------------------------------------------------------------------------------------------

# One character for what a tile did: letters for instructions, signs for waiting.
_SIGNS = [
    ("remote_", "L", "loads and stores beyond its scratchpad"),
    ("local_", "l", "loads and stores of its scratchpad"),
    ("f", "F", "floating point"),
    ("amo", "A", "atomics"),
    ("b", "B", "branches and barriers"),
    ("j", "J", "jumps"),
    ("bubble_", "~", "a branch predicted wrong, or an instruction that was not in the cache"),
    ("stall_ifetch_wait", "i", "waits for instructions"),
    ("stall_depend_dram", ".", "waits for DRAM"),
    ("stall_depend_g", ":", "waits for another tile's scratchpad"),
    ("stall_depend", "-", "waits for a result"),
    ("stall_lr_aq", " ", "sleeps until a word is written"),
    ("stall_barrier", "|", "waits at a hardware barrier"),
    ("stall_fence", "=", "waits for its stores"),
    ("stall_remote", "^", "the network takes nothing"),
    ("stall_", "*", "waits for something else"),
    ("", "a", "integer instructions"),
]


def _sign(operation: str) -> str:
    return max((row for row in _SIGNS if operation.startswith(row[0])), key=lambda row: len(row[0]))[1]


def _tiles(text: str | None) -> set[tuple[int, int]] | None:
    if text is None:
        return None
    chosen: set[tuple[int, int]] = set()
    try:
        for part in text.split():
            first, _, last = part.partition("-")
            (x0, y0), (x1, y1) = (tuple(map(int, p.split(","))) for p in (first, last or first))
            chosen |= {(x, y) for x in range(x0, x1 + 1) for y in range(y0, y1 + 1)}
    except ValueError:
        sys.exit(f"facula hb lines: --tiles {text}: write x,y or x,y-x,y, several in quotes")
    return chosen


def _cycles(file: pathlib.Path, wanted: set[tuple[int, int]] | None, first: int, last: int) -> Iterator[tuple[int, dict[tuple[int, int], str]]]:
    """Each cycle with what its tiles did."""
    with open(file, newline="") as rows:
        table = csv.reader(rows)
        if next(table, None) != ["cycle", "x", "y", "pc", "operation"]:
            sys.exit(f"facula hb lines: {file} is no trace (pycosim.trace writes it)")
        cycle, now = -1, {}
        for row in table:
            if len(row) != 5:
                break  # the end of a trace that was cut
            at = int(row[0])
            if at < first:
                continue
            if at != cycle:
                if now:
                    yield cycle, now
                if at > last:
                    return
                cycle, now = at, {}
            tile = (int(row[1]), int(row[2]))
            if wanted is None or tile in wanted:
                now[tile] = row[4]
        if now:
            yield cycle, now


def lines(args: argparse.Namespace) -> int:
    file = pathlib.Path(args.run)
    file = file / "vanilla_operation_trace.csv" if file.is_dir() else file
    if not file.is_file():
        sys.exit(f"facula hb lines: {file}: no such file; pycosim.trace writes it")
    print("; ".join(f"{sign} {what}" for _, sign, what in _SIGNS))
    shown: list[tuple[int, int]] = []
    before, same, wide = "", 0, args.wide
    for cycle, now in _cycles(file, _tiles(args.tiles), args.from_, args.to):
        if tiles := [t for t in sorted(now, key=lambda t: (t[1], t[0])) if t not in shown]:
            shown = sorted({*shown, *tiles}, key=lambda t: (t[1], t[0]))
            print(f"{'cycle':>9}  " + " ".join((f"{x},{y}".ljust(20) if wide else f"y{y}") for x, y in shown if wide or x == min(t[0] for t in shown if t[1] == y)))
        if wide:
            text = " ".join(now.get(t, "").removeprefix("stall_").ljust(20) for t in shown).rstrip()
        else:
            text = " ".join("".join(_sign(now[t]) if t in now else " " for t in shown if t[1] == y) for y in dict.fromkeys(t[1] for t in shown))
        if text == before and not args.all:
            same += 1
            continue
        if same:
            print(f"{'':9}  … {same} cycles more")
        print(f"{cycle:9}  {text}")
        before, same = text, 0
    if same:
        print(f"{'':9}  … {same} cycles more")
    if not shown:
        sys.exit(f"facula hb lines: {file} has none of these tiles and cycles")
    return 0


def add_commands(commands: argparse._SubParsersAction) -> None:
    p = commands.add_parser("gdb", help="run a program with GDB on the simulated tiles: a tile is a thread")
    p.add_argument("--port", type=int, metavar="N", help="no debugger is started: one may connect to localhost:N (0: a free port, which is said)")
    p.add_argument("--fidelity", choices=("functional", "timed"), default="functional", help="timed: cycles count, and tiles run beside each other (functional)")
    p.add_argument("--machine", metavar="NAME", help="a machine, or the path of a .machine file")
    p.add_argument("--ex", action="append", default=[], metavar="COMMAND", help="given to GDB once it is connected; several are possible")
    p.add_argument("--command", action="append", default=[], metavar="FILE", help="a file of GDB's commands")
    p.add_argument("--batch", action="store_true", help="GDB ends after these")
    p.add_argument("script")
    p.add_argument("arguments", nargs=argparse.REMAINDER)
    p.set_defaults(do=gdb)
    p = commands.add_parser("lines", help="what each tile did in each cycle of a trace, a character each")
    p.add_argument("run", nargs="?", default=".", metavar="RUN", help="the folder in which pycosim.trace ran (.)")
    p.add_argument("--tiles", metavar="X,Y-X,Y", help="only these tiles")
    p.add_argument("--from", dest="from_", type=int, default=0, metavar="CYCLE")
    p.add_argument("--to", type=int, default=1 << 62, metavar="CYCLE")
    p.add_argument("--wide", action="store_true", help="the operations' names")
    p.add_argument("--all", action="store_true", help="cycles in which nothing changes, too")
    p.set_defaults(do=lines)
