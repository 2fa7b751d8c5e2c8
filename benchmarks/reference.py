# SPDX-License-Identifier: Apache-2.0
"""Facula against PyTorch, operator by operator, interleaved in one run: `make bench-reference`.

    FACULA_ORACLE=/path/to/python make bench-reference     # a Python that has PyTorch 2.x
    make bench-reference BENCH_ARGS="--quick"              # two dozen operators
    make bench-reference BENCH_ARGS="--ops 'softmax|sum' --sizes large"
    make bench-reference BENCH_ARGS="--threads 1,2,16"     # the whole table at each number of threads
    python benchmarks/reference.py --ours torch            # PyTorch on both sides: what the method itself shows

Each side is a process of its own (benchmarks/operators.py --worker), with the same number of threads; only
one of them works at any time. One round is ours, theirs, theirs, ours (in every second pass theirs, ours,
ours, theirs), so that a machine that slows down or speeds up during a round favours nobody; every pass has
fresh processes, because a process may be lucky with its memory. A turn is the best of several short blocks,
so that it has seen no other process. The round's ratio is theirs / ours (2.0: Facula is twice as fast), from
geometric means; an operator's ratio is the median of its rounds. The two times of one side in a round differ
by noise alone: their typical difference is shown as noise, in per cent. For every size class there is the
geometric mean over its operators with a 95 % confidence interval: operators fixed, rounds resampled 2000
times. An operator under 0.8 is flagged: `slow` if even its upper bound is, `slow?` if noise may explain it.
"""

import argparse
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

import operators
import quiet

HERE = pathlib.Path(__file__).parent
LIMIT = 0.8
ADVICE = """PyTorch is timed in an environment of its own. Name its Python, or let this make one:
  FACULA_ORACLE=/path/to/python make bench-reference
  make bench-reference BENCH_ARGS=--install     # creates {folder} with pip install torch numpy"""


class Side:
    """A worker process and the module it times."""

    def __init__(self, python, module, threads, path, cpu_time=False):
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": path}
        command = [python, str(HERE / "operators.py"), "--worker", "--module", module, "--threads", str(threads)]
        command += ["--cpu-time"] * cpu_time
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.module = module

    def ask(self, *command):
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise SystemExit(f"the process that times {self.module} has ended; its last message is above")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer.get("value")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def version(python, module, path):
    code = f"import {module}; print({module}.__version__)"
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([python, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def measure(ours, theirs, row, size, rounds, swapped):
    """{"ours": [[first, last] per round], "theirs": the same}, in seconds; or {"error": why}."""
    target, blocks = operators.EFFORT[size]
    counts = {}
    for side, name in ((ours, "ours"), (theirs, "theirs")):
        try:
            side.ask("prepare", row.family, row.setup, row.statement, size)
            counts[side] = side.ask("calibrate", target)
        except RuntimeError as error:
            return {"error": str(error), "side": name}
    outer, inner = (theirs, ours) if swapped else (ours, theirs)
    times = {ours: [], theirs: []}
    for _ in range(rounds):
        first = outer.ask("run", counts[outer], blocks)
        middle = [inner.ask("run", counts[inner], blocks) for _ in range(2)]
        times[outer].append([first, outer.ask("run", counts[outer], blocks)])
        times[inner].append(middle)
    return {"ours": times[ours], "theirs": times[theirs]}


def merge(results, key, times):
    """Adds a pass's rounds to an operator's; an error in any pass is the operator's result."""
    known = results.setdefault(key, times)
    if known is not times and "error" not in known:
        if "error" in times:
            results[key] = times
        else:
            known["ours"] += times["ours"]
            known["theirs"] += times["theirs"]


def log_ratios(times):
    def mean_log(pair):
        return (math.log(pair[0]) + math.log(pair[1])) / 2

    return [mean_log(b) - mean_log(a) for a, b in zip(times["ours"], times["theirs"])]


def summarise(times, rng):
    """Adds ratio, its 95 % interval and the noise to an operator's times."""
    logs = log_ratios(times)
    medians = sorted(statistics.median(rng.choices(logs, k=len(logs))) for _ in range(1000))
    noise = statistics.median(abs(math.log(a / b)) for a, b in times["ours"] + times["theirs"])
    times.update(
        ratio=math.exp(statistics.median(logs)),
        low=math.exp(medians[25]),
        high=math.exp(medians[974]),
        noise=math.exp(noise) - 1,
        ours_seconds=statistics.median(t for pair in times["ours"] for t in pair),
        theirs_seconds=statistics.median(t for pair in times["theirs"] for t in pair),
    )


def class_mean(results, rng, logs_of=log_ratios, resamples=2000):
    """Geometric mean over operators and its 95 % interval."""
    logs = [logs_of(times) for times in results]
    if not logs:
        return None
    means = []
    for _ in range(resamples):
        means.append(statistics.fmean(statistics.median(rng.choices(rounds, k=len(rounds))) for rounds in logs))
    means.sort()
    mean = statistics.fmean(statistics.median(rounds) for rounds in logs)
    return {"mean": math.exp(mean), "low": math.exp(means[resamples // 40]), "high": math.exp(means[-1 - resamples // 40]), "operators": len(logs)}


def self_ratios(times):
    """ours against ours: what an unbiased method shows as 1."""
    return [math.log(b / a) for a, b in times["ours"]]


def progress(done, total, text, started):
    if not sys.stderr.isatty():
        return
    left = (time.time() - started) / max(done, 1) * (total - done)
    bar = "#" * (30 * done // total)
    print(f"\r[{bar:30s}] {done}/{total} {text:34.34s} {left // 60:3.0f}:{left % 60:02.0f} left", end="", file=sys.stderr)
    if done == total:
        print("\r" + " " * 100 + "\r", end="", file=sys.stderr)


def flag(times):
    if times["ratio"] >= LIMIT:
        return ""
    return "slow" if times["high"] < LIMIT else "slow?"


def table(results, sizes):
    """A line per operator, a column per size: ratio, our time, noise."""
    names = {}
    for (name, family, size), times in results.items():
        names.setdefault((family, name), {})[size] = times
    lines = ["operator".ljust(34) + "".join(f"{size:>34s}" for size in sizes)]
    for (family, name), by_size in names.items():
        line = f"{family:9s} {name:24s}"
        for size in sizes:
            times = by_size.get(size)
            if times is None:
                cell = ""
            elif "error" in times:
                cell = f"{times['side']}: {times['error']}"[:32]
            else:
                shown = operators.readable(times["ours_seconds"])
                cell = f"{flag(times)} {times['ratio']:6.2f}x {shown:>8s} ±{100 * times['noise']:4.1f}%"
            line += f"{cell:>34s}"
        lines.append(line)
    return "\n".join(lines)


def install(folder):
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "torch", "numpy"], check=True)


def add_common_options(parser):
    folder = HERE.parent / ".oracle"
    beside = folder / "bin" / "python"
    parser.add_argument("--threads", type=thread_counts, default=[quiet.default_threads()], help="one number or several: 1,2,16")
    parser.add_argument("--cpu-time", action="store_true", help="time of the processor, for busy machines; needs --threads 1")
    parser.add_argument("--ours", default="facula", help="module on our side; torch shows the method's own bias")
    parser.add_argument("--oracle", default=os.environ.get("FACULA_ORACLE") or (str(beside) if beside.exists() else None),
                        help="Python that has PyTorch (default: $FACULA_ORACLE)")  # fmt: skip
    parser.add_argument("--install", action="store_true", help=f"first install PyTorch into {folder.name}/")


def thread_counts(text):
    counts = [int(part) for part in text.split(",")]
    if min(counts) < 1:
        raise argparse.ArgumentTypeError(f"numbers of threads must be positive, got {text}")
    return counts


def finish_options(parser, arguments):
    """Parses, installs PyTorch if asked to, and says which Python runs our side."""
    folder = HERE.parent / ".oracle"
    options = parser.parse_args(arguments)
    if options.cpu_time and options.threads != [1]:
        parser.error("--cpu-time adds up what all threads do, those that wait included: ask for --threads 1")
    if options.install:
        install(folder)
        options.oracle = str(folder / "bin" / "python")
    if not options.oracle:
        parser.exit(2, ADVICE.format(folder=folder.name + "/") + "\n")
    options.ours_python = options.oracle if options.ours == "torch" else sys.executable
    return options


def options_of(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_common_options(parser)
    parser.add_argument("--ops", help="only operators whose name matches this expression, or of this family")
    parser.add_argument("--sizes", type=lambda text: text.split(","), default=list(operators.SIZES), help="small,medium,large")
    parser.add_argument("--quick", action="store_true", help="two dozen operators, few rounds")
    parser.add_argument("--passes", type=int, default=2, help="times that the table is gone through, each with fresh processes")
    parser.add_argument("--rounds", type=int, help="rounds per operator, size and pass (4; quick: 3)")
    parser.add_argument("--json", default=str(HERE.parent / "build" / "bench-reference.json"), help="where all times go")
    options = finish_options(parser, arguments)
    options.rounds = options.rounds or (3 if options.quick else 4)
    return options


def check_versions(options):
    """The path of our module, and the versions of both sides; ends the program if one cannot be imported."""
    path = os.environ.get("PYTHONPATH", "")
    versions = [version(options.ours_python, options.ours, path), version(options.oracle, "torch", "")]
    for module, found in zip((options.ours, "torch"), versions):
        if found is None:
            raise SystemExit(f"{module} cannot be imported; the message is above")
    return path, versions


def go_through(options, path, threads, rng):
    """Times the table with so many threads: {(name, family, size): times}."""
    pairs = operators.select(options.ops, options.sizes, options.quick)
    results, started = {}, time.time()
    for number in range(options.passes):
        ours = Side(options.ours_python, options.ours, threads, path, options.cpu_time)
        theirs = Side(options.oracle, "torch", threads, "", options.cpu_time)
        for done, (row, size) in enumerate(pairs, number * len(pairs)):
            progress(done, options.passes * len(pairs), f"{size} {row.name}", started)
            times = measure(ours, theirs, row, size, options.rounds, swapped=number % 2)
            merge(results, (row.name, row.family, size), times)
        ours.close()
        theirs.close()
    progress(1, 1, "", started)
    for times in results.values():
        if "error" not in times:
            summarise(times, rng)
    return results


def report(options, versions, threads, results, rng, seconds):
    """Prints the table and what it says by size class; returns the classes."""
    good = {key: times for key, times in results.items() if "error" not in times}
    print(table(results, options.sizes))
    print(f"\n{options.ours} {versions[0]} against torch {versions[1]}, {threads} threads, {options.passes} x {options.rounds} rounds, "
          f"{seconds:.0f} s; ratio > 1: {options.ours} is faster")  # fmt: skip
    classes = {}
    for size in options.sizes:
        of_size = [times for key, times in good.items() if key[2] == size]
        mean = class_mean(of_size, rng)
        if mean:
            itself = class_mean(of_size, rng, self_ratios)
            classes[size] = {**mean, "against_itself": itself["mean"]}
            print(f"{size:7s} geometric mean {mean['mean']:.3f} [{mean['low']:.3f}, {mean['high']:.3f}] over {mean['operators']} "
                  f"operators; {options.ours} against itself {itself['mean']:.3f}")  # fmt: skip
    slow = [f"{name} ({size}, {times['ratio']:.2f})" for (name, _, size), times in good.items() if flag(times) == "slow"]
    maybe = [f"{name} ({size}, {times['ratio']:.2f}; {quiet.rounds_to_tell(times['noise'], times['ratio'], LIMIT)} rounds would tell)" for (name, _, size), times in good.items() if flag(times) == "slow?"]
    failed = [f"{name} ({size}): {times['side']}: {times['error']}" for (name, _, size), times in results.items() if "error" in times]
    for title, names in ((f"under {LIMIT}", slow), (f"perhaps under {LIMIT}", maybe), ("not timed", failed)):
        print(f"{title}: {len(names)}" + "".join("\n  " + name for name in names))
    return classes


def main():
    options = options_of()
    path, versions = check_versions(options)
    busy, rng, runs, before = os.getloadavg()[0], random.Random(0), [], quiet.snapshot()
    for threads in options.threads:
        started = time.time()
        results = go_through(options, path, threads, rng)
        classes = report(options, versions, threads, results, rng, time.time() - started)
        rows = [{"operator": name, "family": family, "size": size, **times} for (name, family, size), times in results.items()]
        runs.append({"threads": threads, "classes": classes, "rows": rows})
    state = quiet.snapshot(before)
    quiet.beware(state)
    output = pathlib.Path(options.json)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps({"versions": versions, "load": busy, "machine": state, "runs": runs}, indent=1))
    print(f"all times: {os.path.relpath(output)}")


if __name__ == "__main__":
    main()
