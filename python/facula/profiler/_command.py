# SPDX-License-Identifier: Apache-2.0
"""`facula profile program.py`: where a program's time goes, without a change to it."""

import csv
import io
import json
import os
import sys


def is_native(path):
    """Whether it is a program that the system runs by itself."""
    try:
        with open(path, "rb") as f:
            return f.read(4) == b"\x7fELF"
    except OSError:
        return False


def _own_frames(stack):
    """The innermost line of the program itself."""
    import facula

    home = os.path.dirname(os.path.abspath(facula.__file__))
    return next((line for line in stack if not line.startswith(home)), stack[0] if stack else "")


def peaks():
    """What the machine can do, measured now: GFLOP/s of a float32 product, GB/s of a copy."""
    import time

    import facula as torch

    def best(f):
        times = []
        for _ in range(5):
            start = time.perf_counter()
            f()
            times.append(time.perf_counter() - start)
        return min(times)

    with torch.no_grad():
        a, b = torch.ones(768, 768), torch.ones(1 << 24)
        c = torch.empty_like(b)
        return 2 * 768**3 / best(lambda: a @ a) / 1e9, 2 * b.numel() * 4 / best(lambda: c.copy_(b)) / 1e9


def rows_of(profile):
    """Averages as plain data, with arithmetic and traffic per second."""
    out = []
    for e in profile.key_averages():
        seconds = e.cpu_time_total / 1e6  # what it calls may do the work that is counted here
        out.append({"name": e.key, "calls": e.count, "self_us": round(e.self_cpu_time_total, 3), "total_us": round(e.cpu_time_total, 3), "memory": e.cpu_memory_usage,
                    "self_memory": e.self_cpu_memory_usage, "flops": e.flops, "bytes": e.bytes, "gflops": round(e.flops / seconds / 1e9, 3) if seconds and e.flops else 0,
                    "gbytes": round(e.bytes / seconds / 1e9, 3) if seconds and e.bytes else 0, "device_us": round(e.device_time_total, 3), "kind": e.kind})  # fmt: skip
    return out


def can_write(command, *paths):
    """Whether files can be made there; says so if not, before the program has run for nothing."""
    for path in filter(None, paths):
        if os.path.isdir(path):
            print(f"facula {command}: cannot write {path}: it is a folder; name a file", file=sys.stderr)
            return False
        if not os.access(os.path.dirname(os.path.abspath(path)), os.W_OK):
            print(f"facula {command}: cannot write {path}: no such folder, or no permission to write to it", file=sys.stderr)
            return False
    return True


def run_program(args, watch) -> int:
    """Runs it between watch.start() and watch.stop(), in this process only; its exit status."""
    from facula import _as_torch

    pid = os.getpid()
    watch.start()
    try:
        return _as_torch.run(args.module, args.program, args.arguments)
    except SystemExit as e:
        if os.getpid() != pid:
            raise
        return e.code if isinstance(e.code, int) else 0 if e.code is None else (print(e.code, file=sys.stderr), 1)[1]
    finally:
        if os.getpid() == pid:
            watch.stop()


def run(args) -> int:
    if args.processes is not None and not args.part:
        from facula.profiler import _ranks

        return _ranks.run(args)
    from facula.profiler import _report
    from facula.profiler._events import _SORT_KEYS
    from facula._command_line import write_file
    from facula.profiler._profile import profile

    if args.sort not in _SORT_KEYS:
        print(f"facula profile: cannot sort by {args.sort!r}: expected one of {', '.join(_SORT_KEYS)}", file=sys.stderr)
        return 2
    if not can_write("profile", args.trace, args.csv, args.jsonl, args.html):
        return 2
    if args.part:
        args.trace = os.path.join(args.part, f"rank{os.environ['RANK']}.json")
        if int(os.environ["RANK"]) != args.rank:
            args.csv = args.jsonl = args.html = None
    p = profile(record_shapes=args.shapes or bool(args.jsonl), profile_memory=args.memory or bool(args.html), with_stack=args.stacks, with_modules=args.modules,
                with_flops=True)  # fmt: skip
    status = run_program(args, p)
    if args.part:
        p.export_chrome_trace(args.trace)
        if int(os.environ["RANK"]) != args.rank:
            return status
        args.trace = None
        sys.stdout = open(os.path.join(args.part, "tables.txt"), "w")  # shown by who started us, after all have ended
    averages = p.key_averages(group_by_input_shape=args.shapes, group_by_stack_n=8 if args.stacks else 0)
    for e in averages:
        e.stack = [_own_frames(e.stack)] if e.stack else []
    print(averages.table(sort_by=args.sort, row_limit=args.top), end="")
    if args.modules:
        print(p.module_averages().table(sort_by="cpu_time_total", row_limit=args.top, header="nn.Modules"), end="")
    print(_report.roofline_text(rows_of(p), peaks()), end="")
    if args.trace:
        p.export_chrome_trace(args.trace)
    if args.csv:
        table = rows_of(p)
        text = io.StringIO()
        writer = csv.DictWriter(text, fieldnames=list(table[0]) if table else ["name"])
        writer.writeheader()
        writer.writerows(table)
        write_file(args.csv, text.getvalue())
    if args.jsonl:
        write_file(args.jsonl, "".join(json.dumps({"name": e.name, "overload": e.overload_name, "id": e.id, "parent": e.parent_id, "forward": e.forward_id, "thread": e.thread,
                                               "start_us": round(e.time_range.start, 3), "us": round(e.cpu_time_total, 3), "self_us": round(e.self_cpu_time_total, 3),
                                               "path": e.path, "failed": e.failed, "device": e.device, "shapes": e.input_shapes, "flops": e.flops or 0, "bytes": e.bytes,
                                               "memory": e.cpu_memory_usage}) + "\n" for e in p.events()))  # fmt: skip
    if args.html:
        write_file(args.html, _report.page(p, rows_of(p), os.path.basename(args.program)))
    return status
