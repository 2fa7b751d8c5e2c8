# SPDX-License-Identifier: Apache-2.0
"""`facula network report | replay | measure | merge`."""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import asdict

from facula._command_line import Progress, write_file
from facula.distributed import schedule
from facula.tools.network import _measure, _report
from facula.tools.network._algorithms import ALGORITHMS
from facula.tools.network._machine import Machine, MachineError, names
from facula.tools.network._replay import Prediction, ReplayError, recorded, replay


def _numbers(text: str) -> list[int]:
    try:
        found = [int(n) for n in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected numbers from 1, with commas")
    return found


def _algorithms(text: str) -> list[str]:
    names = list(ALGORITHMS) if text == "all" else text.split(",")
    for name in names:
        if name not in ALGORITHMS:
            raise argparse.ArgumentTypeError(f"{name!r}: expected all, or some of {','.join(ALGORITHMS)}")
    return names


def parser() -> argparse.ArgumentParser:
    """Of all three."""
    p = argparse.ArgumentParser(prog="facula network", description="What recorded runs of several processes say: TORCH_DISTRIBUTED_SCHEDULE=FOLDER makes a run write its schedule (docs/network.md)")
    commands = p.add_subparsers(dest="command", required=True)
    report = commands.add_parser("report", help="who waited for whom, and which bytes went where")
    report.add_argument("folder", help="of rank0.jsonl …")
    report.add_argument("--top", type=int, default=20, help="rows of each table (20)")
    report.set_defaults(do=_do_report)
    again = commands.add_parser("replay", help="how long the run would take on a machine, with other numbers of ranks")
    again.add_argument("folder", help="of rank0.jsonl …")
    again.add_argument("--machine", metavar="FILE", help=f"a machine file, or {', '.join(names())}; without it this machine is measured")
    again.add_argument("--ranks", type=_numbers, metavar="N,N…", help="how many (as many as there were)")
    again.add_argument("--algorithm", type=_algorithms, default=["ring"], metavar="NAME,…", help=f"all, or some of {', '.join(ALGORITHMS)} (ring)")
    again.add_argument("--gathers-grow", action="store_true", help="each rank's part of gathers keeps its size, as batches do; else the whole does, as sharded models do")
    again.add_argument("--json", metavar="FILE", help="write the predictions as data")
    again.set_defaults(do=_do_replay)
    measure = commands.add_parser("measure", help="find the machine file of this machine")
    measure.add_argument("-n", dest="counts", type=_numbers, default=[2, 4], metavar="N,N…", help="numbers of processes to measure with (2,4)")
    measure.add_argument("-o", "--output", metavar="FILE", help="where the machine file goes (else it is printed)")
    measure.set_defaults(do=_do_measure)
    merge = commands.add_parser("merge", help="traces of several ranks as one for Perfetto, with clocks aligned")
    merge.add_argument("traces", nargs="+", metavar="TRACE", help="what torch.profiler's export_chrome_trace wrote on each rank")
    merge.add_argument("-o", "--output", metavar="FILE", required=True, help="the trace of all; .gz is compressed")
    merge.set_defaults(do=_do_merge)
    return p


def main(arguments: list[str]) -> int:
    """The command; its exit status."""
    args = parser().parse_args(arguments)
    try:
        return args.do(args)
    except (ValueError, RuntimeError, OSError) as error:
        print(f"facula network: {error}", file=sys.stderr)
        return 2 if isinstance(error, (MachineError, ReplayError)) else 1


def _do_report(args: argparse.Namespace) -> int:
    print(_report.text(schedule.load(args.folder), args.top), end="")
    return 0


def _do_replay(args: argparse.Namespace) -> int:
    schedules = schedule.load(args.folder)
    machine = Machine.read(args.machine) if args.machine else _measure.machine_of([2, 4])[0]
    counts = args.ranks or [len(schedules)]
    total, waited = recorded(schedules)
    computed = total - waited
    print(f"{machine.name}: {len(schedules)} ranks recorded, {total:.3f} s, of which a rank waited {waited:.3f} s")
    print(f"{'ranks':>7} {'algorithm':18} {'seconds':>10} {'waiting':>10} {'efficiency':>11}")
    predictions: list[Prediction] = []
    with Progress("network replay", len(counts) * len(args.algorithm)) as bar:
        for ranks in counts:
            for algorithm in args.algorithm:
                predictions.append(replay(schedules, machine, ranks, algorithm, args.gathers_grow))
                bar.step(f"{ranks} ranks, {algorithm}")
    for p in predictions:
        said = f"  recorded {total:.3f} s: {100 * (p.total / total - 1):+.1f} %" if p.ranks == len(schedules) and total else ""
        efficiency = computed / p.total if p.total else math.nan
        print(f"{p.ranks:7} {p.algorithm:18} {p.total:10.4f} {p.waiting:10.4f} {efficiency:11.3f}{said}")
    if args.json:
        write_file(args.json, json.dumps({"machine": machine.name, "recorded": total, "waited": waited, "predictions": [asdict(p) for p in predictions]}, indent=1) + "\n")
    return 0


def _do_merge(args: argparse.Namespace) -> int:
    from facula.profiler._ranks import merge_traces

    merge_traces(args.traces, args.output)
    return 0


def _do_measure(args: argparse.Namespace) -> int:
    machine, rows = _measure.machine_of(args.counts)
    print(f"{'call':12} {'bytes':>10} {'ranks':>6} {'measured us':>12} {'model us':>10} {'error':>7}", file=sys.stderr)
    for row in rows:
        said = _measure.predicted(machine, row)
        print(f"{row[0]:12} {row[1]:10} {row[2]:6} {row[3] * 1e6:12.1f} {said * 1e6:10.1f} {100 * (said / row[3] - 1):+6.0f}%", file=sys.stderr)
    print(f"the model is off by {100 * (math.exp(_measure.error(machine, rows)) - 1):.0f} % (root mean square)", file=sys.stderr)
    if args.output:
        write_file(args.output, machine.text())
    else:
        print(machine.text(), end="")
    return 0
