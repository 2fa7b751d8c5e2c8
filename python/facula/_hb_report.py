# SPDX-License-Identifier: Apache-2.0
"""`facula hb report`, `compare` and `sweep`: where the cycles of simulated kernels went."""

from __future__ import annotations

import argparse
import html
import json
import pathlib
import subprocess
import sys
import tempfile

_COLOURS = ["#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#bab0ac", "#1b5e7b", "#8a4b08", "#7a1f3d", "#2f6f4f", "#5b4a8a", "#a68a00"]
_IDLE = "stall_lr_aq"  # before the launch has reached a tile, and after its kernel


class Kernel:
    """All launches of one kernel."""

    def __init__(self, name: str):
        self.name = name
        self.calls = self.cycles = self.launch_cycles = self.instructions = self.flops = self.bytes = self.tiles = 0
        self.stalls: dict[str, int] = {}
        self.estimated = 0  # launches that were not timed: their cycles follow from the others'
        self.interval: int | None = 0  # half of the 95 % interval of the cycles; None: one that was timed says nothing

    def add(self, row: dict) -> None:
        self.calls += 1
        self.interval = row.get("interval", 0)
        if row.get("estimated"):
            self.estimated += 1
            self.cycles += row["cycles"]
            return
        for key in ("cycles", "launch_cycles", "instructions", "flops", "bytes"):
            setattr(self, key, getattr(self, key) + row[key])
        self.tiles = row["tiles"][0] * row["tiles"][1]
        for stall, cycles in row["stalls"].items():
            self.stalls[stall] = self.stalls.get(stall, 0) + cycles

    def spent(self) -> dict[str, int]:
        """What tiles did with their cycles, without waiting for the host, largest first."""
        parts = {"instructions": self.instructions, **{k: v for k, v in self.stalls.items() if k != _IDLE}}
        return dict(sorted(parts.items(), key=lambda part: -part[1]))


def read(run: str) -> dict[str, Kernel]:
    """The kernels of a run, by name, those with most cycles first."""
    file = pathlib.Path(run)
    file = file / "launches.jsonl" if file.is_dir() else file
    kernels: dict[str, Kernel] = {}
    try:
        for line in file.read_text().splitlines():
            row = json.loads(line)
            kernels.setdefault(row["kernel"], Kernel(row["kernel"])).add(row)
    except OSError as e:
        sys.exit(f"facula hb: {file}: {e.strerror}; pycosim.profile writes it")
    except (ValueError, KeyError, TypeError) as e:
        sys.exit(f"facula hb: {file} is no list of launches: {e}")
    return dict(sorted(kernels.items(), key=lambda k: -k[1].cycles))


def _table(kernels: dict[str, Kernel]) -> str:
    total = sum(k.cycles for k in kernels.values()) or 1
    rows = [f"{'kernel':36} {'calls':>6} {'cycles':>10} {'%':>6} {'IPC':>5} {'B/cycle':>8} {'FLOP/cycle':>10}  waits for"]
    for k in kernels.values():
        cycles = k.cycles * (k.calls - k.estimated) / k.calls or 1  # bytes and operations are those of launches that were timed
        spent = k.spent()
        everything = sum(spent.values()) or 1
        waits = ", ".join(f"{name.split('_', 1)[1]} {100 * v / everything:.0f} %" for name, v in spent.items() if name != "instructions" and v > 0.05 * everything)
        rows.append(f"{k.name:36} {k.calls:6} {k.cycles:10} {100 * k.cycles / total:6.1f} {k.instructions / everything:5.2f} {k.bytes / cycles:8.2f} {k.flops / cycles:10.2f}  {waits}")
        if k.estimated:
            within = "of unknown error: one launch was timed" if k.interval is None else f"± {k.interval} (95 %)"
            rows.append(f"{'':36} {k.calls - k.estimated:6} of them timed: {k.cycles} cycles {within}; what is beside them, of the timed ones")
    return "\n".join(rows)


def _bars(kernels: dict[str, Kernel]) -> str:
    names = sorted({part for k in kernels.values() for part in k.spent()}, key=lambda n: -sum(k.spent().get(n, 0) for k in kernels.values()))
    colour = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(names)}
    rows, y = [], 10
    for k in kernels.values():
        spent = k.spent()
        everything, x = sum(spent.values()) or 1, 280.0
        rows.append(f'<text x="270" y="{y + 15}" text-anchor="end">{html.escape(k.name)}</text>')
        for name, cycles in spent.items():
            width = 700 * cycles / everything
            rows.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="20" fill="{colour[name]}"><title>{name}: {cycles} ({100 * cycles / everything:.1f} %)</title></rect>')
            x += width
        y += 26
    for name in names:
        rows.append(f'<rect x="280" y="{y + 6}" width="12" height="12" fill="{colour[name]}"/><text x="298" y="{y + 17}">{name}</text>')
        y += 18
    return f'<svg viewBox="0 0 1000 {y + 20}" font-family="sans-serif" font-size="13" role="img" aria-label="what tiles spent their cycles on">{"".join(rows)}</svg>'


def _programs(folder: pathlib.Path) -> tuple[list[str], list[tuple[int, int]]]:
    """The programs of a run, and which of them begins to run at which cycle."""
    names: list[str] = []
    begins = []
    for line in (folder / "launches.jsonl").read_text().splitlines():
        row = json.loads(line)
        if "program" in row:
            if row["program"] not in names:
                names.append(row["program"])
            begins.append((row["from"], names.index(row["program"])))
    return names, begins


def _by_line(names: list[str], spent: list) -> list[tuple[str, int, str, str]]:
    """The places of `spent` by their line: line, cycles, what most of them were, the pcs; the largest first."""
    from facula import _hb

    library = _hb.Library()
    found: dict[tuple, str] = {}
    for number, name in enumerate(names):
        mine = [place for place, _, _ in spent[:400] if place[0] == number]
        if mine and pathlib.Path(name).exists():
            found.update(zip(mine, library.lines(name, [int(pc, 16) for _, pc in mine]), strict=True))
    lines: dict[str, list] = {}
    for place, cycles, what in spent:
        row = lines.setdefault(found.get(place) or place[1], [0, {}, []])
        row[0] += cycles
        row[1][what] = row[1].get(what, 0) + cycles
        row[2].append(place[1])
    table = [(where, cycles, max(whats, key=whats.get), f"{pcs[0]}" + (f" and {len(pcs) - 1} more" if len(pcs) > 1 else "")) for where, (cycles, whats, pcs) in lines.items()]
    return sorted(table, key=lambda row: -row[1])


def _picture(folder: pathlib.Path) -> str:
    """What the trace of a run shows, if it has one: blood.png, and where the cycles were spent."""
    import base64

    from facula import _hb_blood
    from facula._command_line import write_file

    trace = folder / "vanilla_operation_trace.csv"
    if not trace.exists():
        return "<p>pycosim.trace writes what tiles did in each cycle; with it this page has the picture.</p>"
    try:
        names, begins = _programs(folder)
        image, spent, first, last = _hb_blood.read(str(trace), begins)
    except (OSError, ValueError) as e:
        sys.exit(f"facula hb report: {trace}: {e}")
    write_file(str(folder / "blood.png"), image)
    total = sum(cycles for _, cycles, _ in spent) or 1
    lines = _by_line(names, spent)
    most = lines[0][1] if lines else 1
    rows = "".join(
        f"<tr><td>{html.escape(where)}<td>{cycles}<td>{100 * cycles / total:.1f} %<td><span class=bar style='width:{12 * cycles / most:.2f}em'></span>{html.escape(what)}<td>{html.escape(pcs)}"
        for where, cycles, what, pcs in lines[:40]
    )
    key = " ".join(f'<span style="background:{colour}">&nbsp;&nbsp;&nbsp;</span> {name}' for name, colour in _hb_blood.legend())
    source = base64.b64encode(image).decode()
    return (
        f"<h2>Tiles over cycles {first} to {last}</h2><p>{key}</p><img style='width:100%;image-rendering:pixelated' alt='a row for each tile' src='data:image/png;base64,{source}'>"
        f"<h2>Where</h2><table><tr><th>line<th>cycles of tiles<th>share<th>mostly<th>at{rows}</table>"
    )


def report(args: argparse.Namespace) -> int:
    from facula._command_line import write_file

    kernels = read(args.run)
    if not kernels:
        sys.exit(f"facula hb report: {args.run} has no launches")
    text = _table(kernels)
    print(text)
    folder = pathlib.Path(args.run)
    output = args.html or str((folder if folder.is_dir() else folder.parent) / "report.html")
    picture = _picture(folder if folder.is_dir() else folder.parent)
    write_file(
        output,
        "<!doctype html><meta charset=utf-8><title>Simulated kernels</title><style>body{font-family:sans-serif;margin:2em}pre{overflow:auto}svg{max-width:70em}td,th{text-align:left;padding:0 1em 0 0}.bar{display:inline-block;height:.8em;background:#4e79a7;margin-right:.5em}</style>"
        f"<h1>Simulated kernels</h1><pre>{html.escape(text)}</pre><h2>What tiles did</h2>{_bars(kernels)}{picture}\n",
    )
    print(f"{output} has the picture")
    return 0


def compare(args: argparse.Namespace) -> int:
    before, after = read(args.before), read(args.after)
    print(f"{'kernel':36} {'before':>10} {'after':>10} {'change':>8}  where (cycles of all tiles)")
    for name in dict.fromkeys((*before, *after)):
        a, b = before.get(name), after.get(name)
        if a is None or b is None:
            print(f"{name:36} {a.cycles if a else '-':>10} {b.cycles if b else '-':>10}")
            continue
        one, two = a.spent(), b.spent()
        moved = sorted(((two.get(k, 0) - one.get(k, 0), k) for k in {*one, *two}), key=lambda m: -abs(m[0]))
        where = ", ".join(f"{k} {d:+}" for d, k in moved[:4] if d)
        print(f"{name:36} {a.cycles:10} {b.cycles:10} {100 * (b.cycles - a.cycles) / (a.cycles or 1):+7.1f}%  {where or 'nothing moved'}")
    return 0


def sweep(args: argparse.Namespace) -> int:
    import itertools
    import os

    import facula
    from facula import _hb
    from facula._command_line import Progress

    base = _hb.Library().text("machine", args.machine)
    known = _hb.Library().machine(args.machine)
    axes = []
    for text in args.set:
        key, equals, values = text.partition("=")
        if not equals or key not in known:
            sys.exit(f"facula hb sweep: --set {text}: write section.key=value,value; `facula hb machine` lists the keys")
        axes.append([(key, value) for value in values.split(",")])
    points = list(itertools.product(*axes))
    package = pathlib.Path(facula.__file__).parent
    rows = []
    with tempfile.TemporaryDirectory(prefix="facula-hb-") as scratch, Progress("simulating", len(points)) as bar:
        for i, point in enumerate(points):
            bar.step(" ".join(f"{k}={v}" for k, v in point))
            machine = pathlib.Path(scratch) / f"{i}.machine"
            machine.write_text(_with(base, point))
            _hb.Library().text("machine", str(machine))  # says what is wrong with it
            folder = pathlib.Path(scratch) / str(i)
            folder.mkdir()
            paths = [str(package.parent), str(package / "_shim"), *filter(None, [os.environ.get("PYTHONPATH")])]
            chosen = {k: v for k, v in os.environ.items() if k not in ("HBEMUL_TILE_X_DIM", "HBEMUL_TILE_Y_DIM")}  # the machine says
            environment = {**chosen, "FACULA_HB": "sim", "FACULA_HB_FILES": "profile", "FACULA_HB_FOLDER": str(folder), "FACULA_HB_MACHINE": str(machine), "PYTHONPATH": os.pathsep.join(paths)}
            done = subprocess.run([sys.executable, args.script, *args.arguments], env=environment, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"facula hb sweep: {args.script} fails with {dict(point)}:\n{done.stderr}")
            kernels = read(str(folder)).values()
            values = _hb.Library().machine(str(machine))
            if any(key.startswith("tiles.") for key, _ in point) and any(k.tiles != int(values["tiles.x"]) * int(values["tiles.y"]) for k in kernels):
                print(f"facula hb sweep: {args.script} chooses its own mesh, so {', '.join(f'{k}={v}' for k, v in point)} was not what ran", file=sys.stderr)
            rows.append((point, sum(k.calls for k in kernels), sum(k.cycles for k in kernels), sum(k.instructions for k in kernels)))
    keys = [axis[0][0] for axis in axes]
    print(" ".join(f"{k:>18}" for k in keys), f"{'launches':>9} {'cycles':>12} {'instructions':>13} {'beside the first':>17}")
    for point, calls, cycles, instructions in rows:
        print(" ".join(f"{v:>18}" for _, v in point), f"{calls:9} {cycles:12} {instructions:13} {cycles / (rows[0][2] or 1):17.3f}")
    return 0


def _with(base: str, point: tuple) -> str:
    """A machine file with other values."""
    lines, section = [], ""
    values = dict(point)
    for line in base.splitlines():
        if line.startswith("["):
            section = line.strip("[]") + "."
        key = section + line.split(" = ")[0]
        lines.append(f"{line.split(' = ')[0]} = {values[key]}" if key in values and " = " in line else line)
    return "\n".join(lines) + "\n"


def add_commands(commands: argparse._SubParsersAction) -> None:
    p = commands.add_parser("report", help="where the cycles of a simulated run went: a table, and report.html")
    p.add_argument("run", nargs="?", default=".", metavar="RUN", help="the folder in which pycosim.profile ran (.)")
    p.add_argument("--html", metavar="FILE", help="where the page goes (RUN/report.html)")
    p.set_defaults(do=report)
    p = commands.add_parser("compare", help="two simulated runs: what changed, and which stalls moved")
    p.add_argument("before", metavar="A")
    p.add_argument("after", metavar="B")
    p.set_defaults(do=compare)
    p = commands.add_parser("sweep", help="a program on machines with other values: facula hb sweep --set tiles.x=8,16 script.py")
    p.add_argument("--set", action="append", required=True, metavar="KEY=V,V", help="a key of the machine file and its values; several: all combinations")
    p.add_argument("--machine", metavar="NAME", default="pod_X1Y1_ruche_X16Y8", help="the machine that is changed")
    p.add_argument("script")
    p.add_argument("arguments", nargs=argparse.REMAINDER)
    p.set_defaults(do=sweep)
