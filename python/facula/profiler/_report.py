# SPDX-License-Identifier: Apache-2.0
"""What the profiler shows: a text of what is near the machine's limits, and one page that needs nothing else."""

import json
import os


def roofline_text(rows, peaks):
    """The operators that compute or move most, with their share of what the machine can do."""
    arithmetic, traffic = peaks
    busy = sorted((r for r in rows if r["flops"] or r["bytes"]), key=lambda r: -r["self_us"])[:8]
    if not busy:
        return ""
    lines = [f"Of the machine's {arithmetic:.0f} GFLOP/s (a float32 product) and {traffic:.1f} GB/s (a copy), in the time of each and of what it calls:"]
    for r in busy:
        lines.append(f"  {r['name']:<40} {r['gflops']:9.2f} GFLOP/s {100 * r['gflops'] / arithmetic:6.1f} %   {r['gbytes']:8.2f} GB/s {100 * r['gbytes'] / traffic:6.1f} %")
    return "\n".join(lines) + "\n"


def _page(title, data):
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "report.html")) as f:
        text = f.read()
    # A name may hold anything, "</script>" too.
    payload = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return text.replace("TITLE", title.replace("&", "&amp;").replace("<", "&lt;")).replace("/*DATA*/null", payload)


def _memory(profile, device):
    recorder, live, points = profile._recorded(), 0, []
    for at, size, _, _, where, _, _ in sorted(recorder.memory()):
        if where.split(":")[0] == device:
            live += size
            points.append([round((at - recorder.started) / 1000, 3), live])
    return points


def page(profile, rows, title, most=200_000):
    """The report: at most so many events in its timeline, the longest; the tables have all."""
    events = profile.events()
    names, numbers, spans = [], {}, []
    threads = {}
    events = [e for e in events if e.kind in ("call", "range")]  # of threads: what devices ran is in the tables
    shown = sorted(events, key=lambda e: -e.cpu_time_total)[:most]
    depth = {}
    for e in sorted(shown, key=lambda e: (e.thread, e.time_range.start, -e.time_range.end)):
        stack = depth.setdefault(e.thread, [])
        while stack and stack[-1] <= e.time_range.start:
            stack.pop()
        stack.append(e.time_range.end)
        number = numbers.setdefault(e.name, len(names))
        if number == len(names):
            names.append(e.name)
        spans.append([number, threads.setdefault(e.thread, len(threads)), len(stack) - 1, round(e.time_range.start, 3), round(e.cpu_time_total, 3), e.id, e.forward_id])
    memory = _memory(profile, "cpu") if profile.profile_memory else []
    return _page(title, {"rows": rows, "names": names, "spans": spans, "threads": list(threads), "memory": memory, "left_out": len(events) - len(shown)})


def memory_page(times, sizes, device):
    return _page(f"memory of {device}", {"rows": [], "names": [], "spans": [], "threads": [], "memory": [list(p) for p in zip(times, sizes)], "left_out": 0})
