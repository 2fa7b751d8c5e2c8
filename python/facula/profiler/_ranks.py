# SPDX-License-Identifier: Apache-2.0
"""`facula profile -n N`: N processes of a program, each with a profile of its own, and what they say together."""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from facula._command_line import whole_file


def run(args: argparse.Namespace) -> int:
    """Starts the processes, waits for them, and prints one rank's operators and all ranks' calls."""
    from facula.distributed import schedule
    from facula.distributed._agent import Agent, Options
    from facula.profiler._command import can_write
    from facula.tools.network import _report

    if args.processes < 1 or not 0 <= args.rank < args.processes:
        print(f"facula profile: -n {args.processes} --rank {args.rank}: expected processes from 1, and one of their ranks", file=sys.stderr)
        return 2
    if not can_write("profile", args.trace, args.csv, args.jsonl, args.html):
        return 2
    with tempfile.TemporaryDirectory(prefix="facula-profile-") as folder:
        os.environ["TORCH_DISTRIBUTED_SCHEDULE"] = folder
        command = [sys.executable, "-u", "-m", "facula", "profile", "--part", folder, *_options(args), *(["-m"] if args.module else []), args.program, *args.arguments]
        status = Agent(Options(command=command, processes=args.processes)).run()
        if os.path.exists(tables := os.path.join(folder, "tables.txt")):
            print(f"Operators of rank {args.rank} of {args.processes}")
            with open(tables) as file:
                print(file.read(), end="")
        try:
            print(_report.text(schedule.load(folder), args.top), end="")
        except ValueError as error:
            if status == 0:
                print(f"no calls between the processes were recorded: {error}")
        traces = sorted(t for r in range(args.processes) if os.path.exists(t := os.path.join(folder, f"rank{r}.json")))
        if args.trace and traces:
            merge_traces(traces, args.trace)
    return status


def _options(args: argparse.Namespace) -> list[str]:
    """The command's options for one process."""
    given = ["-n", str(args.processes), "--rank", str(args.rank), "--top", str(args.top), "--sort", args.sort]
    given += [f"--{name}" for name in ("shapes", "memory", "stacks", "modules") if getattr(args, name)]
    for name in ("csv", "jsonl", "html"):
        if path := getattr(args, name):
            given += [f"--{name}", os.path.abspath(path)]
    return given


def merge_traces(paths: Sequence[str | os.PathLike], output: str | os.PathLike) -> None:
    """Traces of several ranks as one for Perfetto: a process for each rank and device, by rank, with clocks aligned.

    Each trace says which rank it is of and how far its clock is off (`distributedInfo`, which export_chrome_trace writes where
    torch.distributed is used); traces without that keep their clock and follow the others."""
    heads = [_head(path) for path in paths]
    ranks = [head.get("distributedInfo", {}).get("rank", -1 - i) for i, head in enumerate(heads)]
    if len(set(ranks)) < len(ranks):
        raise ValueError(f"two traces of one rank: {sorted(ranks)}")
    target = os.fspath(output)
    with whole_file(target, "wb") as file, _compressed(file, target) as out:
        about = {"schemaVersion": 1, "displayTimeUnit": "ms", "ranks": [h.get("distributedInfo") for h in heads]}
        out.write(json.dumps(about)[:-1].encode() + b', "traceEvents": [\n')
        between = b""
        for place, i in enumerate(sorted(range(len(paths)), key=lambda i: ranks[i] if ranks[i] >= 0 else len(paths) - ranks[i])):
            offset = heads[i].get("distributedInfo", {}).get("clock_offset_us", 0)
            numbers: dict[Any, int] = {}
            for event in _events(paths[i]):
                if event.get("name") == "process_name" and ranks[i] >= 0:
                    event["args"]["name"] = f"rank {ranks[i]}: {event['args']['name']}"
                pid = event.get("pid")
                if pid not in numbers:
                    numbers[pid] = (place + 1) * 1000 + len(numbers)  # processes of several machines may share numbers
                    order = {"ph": "M", "name": "process_sort_index", "pid": numbers[pid], "tid": 0, "args": {"sort_index": numbers[pid]}}
                    out.write(between + json.dumps(order).encode())
                    between = b",\n"
                event["pid"] = numbers[pid]
                if "ts" in event:
                    event["ts"] = round(event["ts"] + offset, 3)
                if event.get("cat") == "fwdbwd":  # arrows meet by number
                    event["id"] = f"{place}.{event['id']}"
                out.write(between + json.dumps(event, separators=(",", ":")).encode())
        out.write(b"\n]}\n")


def _compressed(file: Any, path: str) -> Any:
    return gzip.GzipFile(fileobj=file, mode="wb", compresslevel=5) if path.endswith(".gz") else _Plain(file)


class _Plain:
    def __init__(self, file: Any) -> None:
        self.write = file.write

    def __enter__(self) -> _Plain:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def _open(path: str | os.PathLike) -> Any:
    return gzip.open(path, "rt", encoding="utf-8") if os.fspath(path).endswith(".gz") else open(path, encoding="utf-8")


def _head(path: str | os.PathLike) -> dict:
    """What stands before the events, which our traces have in their first line."""
    with _open(path) as file:
        before, found, _ = file.readline().partition('"traceEvents":')
        try:
            return json.loads(before.rstrip().rstrip(",") + "}") if found else {}
        except ValueError:
            raise ValueError(f"{os.fspath(path)}: this is no trace") from None


def _events(path: str | os.PathLike) -> Iterator[dict]:
    """One a line as ours are, so that a trace larger than memory can be merged; else the whole file at once."""
    with _open(path) as file:
        if not file.readline().rstrip().endswith('"traceEvents":['):
            file.seek(0)
            loaded = json.load(file)
            yield from loaded["traceEvents"] if isinstance(loaded, dict) else loaded
            return
        for line in file:
            text = line.strip().rstrip(",")
            if text.startswith("{"):
                yield json.loads(text)
