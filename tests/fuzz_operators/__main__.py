# SPDX-License-Identifier: Apache-2.0
"""python -m fuzz_operators (see --help): looks for operator calls that break a promise. Ends with 1 if it finds one."""
import argparse
import os
import pathlib
import random
import runpy
import sys
import time

import facula as torch
from fuzz_operators import compare, draw, shrink, targets, workers
from fuzz_operators.judge import Runner

EXAMPLE = pathlib.Path(os.path.abspath(torch.__file__)).parents[2] / "tests" / "backends" / "example.so"


def arguments():
    parser = argparse.ArgumentParser(prog="fuzz_operators", description=__doc__)
    parser.add_argument("--mode", choices=("hostile", "compare"), default="hostile", help="hostile arguments, or valid ones computed in two ways")
    parser.add_argument("--seed", type=int, help="what the calls are drawn from (default: another each time)")
    parser.add_argument("--trials", type=int, help="how many calls (default: until --seconds are over)")
    parser.add_argument("--seconds", type=float, default=60, help="how long, without --trials (default 60)")
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--only", default="", help="only targets whose name contains this")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="children at a time")
    parser.add_argument("--folder", default="build/fuzz_operators", help="where findings are written")
    parser.add_argument("--load", help="a Python file to run first, which may define operators")
    parser.add_argument("--limit", type=float, help="processor seconds of one call before it counts as a hang")
    parser.add_argument("--replay", type=int, help="print the program of this trial (of --seed) and run it in this process")
    parser.add_argument("--list", action="store_true", help="list the targets")
    return parser.parse_args()


class Session:
    def __init__(self, options):
        self.options, self.folder = options, options.folder
        os.makedirs(self.folder, exist_ok=True)
        torch.set_num_threads(1)  # a child of a process with threads would hang
        torch.ones(300, 300).double().mm(torch.ones(300, 300).double())  # OpenBLAS waits forever if its buffers do not fit later
        self.devices, self.loading = ["cpu", "meta", "null"], ""
        if EXAMPLE.exists():
            self.devices.append(torch.load_backend(EXAMPLE))
            self.loading = f"torch.load_backend({str(EXAMPLE)!r})\n"
        if options.load:
            runpy.run_path(options.load)
        workers.SECONDS = options.limit or workers.SECONDS
        self.targets = [t for t in targets.collect(torch) if options.only in t.name]
        if not self.targets:
            sys.exit(f"no target's name contains {options.only!r}")
        self.findings = {}  # key -> [count, first trial, Finding]
        self.start, self.told, self.totals = time.monotonic(), 0, (0, 0, 0)

    def drawn(self, trial):
        if self.options.mode == "compare":
            return compare.draw(self.targets, self.options.seed, trial, self.devices)
        return draw.draw(self.targets, self.options.seed, trial, self.devices)

    def examine(self, target, call, runner):
        if self.options.mode == "compare":
            return compare.examine(torch, target, call, self.devices)
        return runner.run(call, target.name)

    def work(self):
        runner = []

        def work(trial):
            if not runner:
                runner.append(Runner(torch))
            reached, found = self.examine(*self.drawn(trial), runner[0])
            return reached in ("called", "used"), reached == "used", found
        return work

    def shows(self, target, call):
        def once():
            return 0, 0, self.examine(target, call, Runner(torch))[1]
        return workers.alone(once, self.folder)

    def progress(self, done, whole, returned, found):
        for trial, finding in found:
            target = self.targets[trial % len(self.targets)]
            key = f"{finding.key} {target.name.split('.')[0]}" if finding.kind in ("crash", "hang") and finding.key.endswith(" ") else finding.key
            count = self.findings.setdefault(key, [0, trial, finding])
            count[0] += 1
        self.totals = done, whole, returned
        seconds = time.monotonic() - self.start
        terminal = sys.stdout.isatty()
        if terminal or done // 20000 != self.told:
            self.told = done // 20000
            line = f"{done} calls, {100 * returned / max(done, 1):.0f} % returned, {done / seconds:.0f} per second, {len(self.findings)} findings"
            print("\r" + line if terminal else line, end="" if terminal else "\n", flush=True)

    def write_up(self):
        """Shrinks each finding and writes the program that shows it."""
        for number, (key, (count, trial, finding)) in enumerate(sorted(self.findings.items(), key=lambda f: f[1][1])):
            target, call = self.drawn(trial)
            again = self.shows(target, call)
            note = "" if again else "# Alone it does not show: it needs the trials before it.\n"
            if again and finding.kind != "hang":
                call = shrink.shrink(call, lambda c: (f := self.shows(target, c)) is not None and f.kind == again.kind and f.key == again.key)
            path = os.path.join(self.folder, f"finding-{number}.py")
            if self.options.mode == "compare":
                text = compare.program(call, finding.key.split(":")[0], self.devices, self.loading)
            else:
                text = call.program(self.loading if any(repr(d) in call.program() for d in self.devices[3:]) else "")
            detail = "".join(f"# {line}\n" for line in (again or finding).detail.splitlines())
            with open(path, "w") as file:
                file.write(f"# {finding.kind}: {key}\n# {target.name}, trial {trial} of seed {self.options.seed}, seen {count} times\n{note}{text}\n{detail}")
            print(f"\n{path}: {finding.kind}, {count} times, trial {trial}: {target.name}: {key[:160]}")
            print("".join("    " + line + "\n" for line in text.splitlines()), end="")

    def run(self):
        options = self.options
        last = options.first + (options.trials or 10**12)
        deadline = self.start + options.seconds
        workers.run(self.work(), range(options.first, last), self.folder, options.processes, 400, self.progress,
                    lambda: options.trials is None and time.monotonic() > deadline)
        done, whole, returned = self.totals
        print(f"\nseed {options.seed}: {done} calls of {len(self.targets)} targets in {time.monotonic() - self.start:.0f} s, "
              f"{100 * returned / max(done, 1):.1f} % returned, {len(self.findings)} findings")
        self.write_up()
        return 1 if self.findings else 0


def main():
    options = arguments()
    if options.seed is None:
        options.seed = random.randrange(10**6)
    session = Session(options)
    if options.list:
        print("\n".join(f"{t.name}  ({len(t.samples)} samples)" for t in session.targets))
        return 0
    if options.replay is not None:
        target, call = session.drawn(options.replay)
        print(call.program(session.loading), flush=True)
        print(session.examine(target, call, Runner(torch)))
        return 0
    return session.run()


sys.exit(main())
