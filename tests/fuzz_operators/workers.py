# SPDX-License-Identifier: Apache-2.0
"""Runs trials in forked children, so that a crash or a hang is a finding and not the end.

A child writes the number of the trial into shared memory before it starts it, so that what dies or stands still is known
exactly. Children inherit the parent's targets; the parent itself never makes a hostile call.
"""
import faulthandler
import gc
import json
import mmap
import os
import re
import resource
import signal
import struct
import sys
import time

from fuzz_operators.judge import Finding

SANITIZED = os.environ.get("FACULA_SANITIZED")
MEMORY = 3 << 29          # what a child may take beside what it has mapped
RESIDENT = min(4 << 30, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4)
SLOW = 8 if SANITIZED else 1
SECONDS = 20 * SLOW       # of one trial on a processor, before it counts as a hang
ASLEEP = 20               # times as long if it waits: a busy machine is no hang
SLOTS = struct.Struct("qqqq")  # trial, trials done, reached the end, calls that returned
FRAME = re.compile(r"#\d+ 0x[0-9a-f]+ in ([^\s(]+(?:\([^)]*\))?)")
# A sanitizer's operator new ends the process where ours throws std::bad_alloc: tried in the plain build only.
NO_MEMORY = re.compile(r"AddressSanitizer: (requested allocation size|out of memory|allocation-size-too-big)")
PLUMBING = re.compile(r"__asan|__sanitizer|__interceptor|std::|operator new|operator delete|^_?_?Py|^py|memcpy|memmove|memset|_start|libc|"
                      r"fc::Ref|fc::RefCounted|abort|raise|__GI|gsignal|__cxa|__ubsan|fatal_error|faulthandler")  # fmt: skip


def restrict():
    """Limits of a child: memory, no core files, its own signals."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if MEMORY and not SANITIZED:  # a sanitizer's shadow memory is larger than any limit; it has max_allocation_size_mb
        with open("/proc/self/statm") as statm:
            limit = int(statm.read().split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def stack_key(report):
    """The functions of ours that a sanitizer or faulthandler names first."""
    frames = [f for f in FRAME.findall(report) if not PLUMBING.search(f)]
    return " < ".join(frames[:3])


class Child:
    """One forked process that runs work(trial) for a range of trials; work returns (returned, whole, Finding or None)."""

    def __init__(self, work, trials, folder, number):
        self.trials, self.shared = trials, mmap.mmap(-1, SLOTS.size)
        self.errors = os.path.join(folder, f"child-{number}.txt")
        self.notes = os.path.join(folder, f"child-{number}.jsonl")
        open(self.notes, "w").close()
        self.write(trials.start, 0, 0, 0)
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self.serve(work)
        self.seen, self.since, self.since_busy = None, time.monotonic(), 0.0

    def write(self, *slots):
        SLOTS.pack_into(self.shared, 0, *slots)

    def read(self):
        return SLOTS.unpack_from(self.shared, 0)

    def serve(self, work):
        try:
            output = os.open(self.errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            restrict()
            if not SANITIZED:
                faulthandler.enable()
            gc.disable()  # collections come where a trial ends, so that a trial alone does what it does here
            done = whole = returned = 0
            with open(self.notes, "a") as notes:
                for trial in self.trials:
                    self.write(trial, done, whole, returned)
                    came_back, used, found = work(trial)
                    done, returned, whole = done + 1, returned + came_back, whole + used
                    if trial % 64 == 63:
                        gc.collect()
                    if found:
                        notes.write(json.dumps([trial, found.kind, found.key, found.detail]) + "\n")
                        notes.flush()
                        if found.kind == "state":  # later trials would be judged by a broken process
                            self.write(trial, done, whole, returned)
                            os._exit(7)
            self.write(self.trials.stop, done, whole, returned)
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(8)

    def poll(self):
        """None while it runs; else (next trial to run, [(trial, Finding)])."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        trial = self.read()[0]
        hang = False
        if not pid:
            now, busy = time.monotonic(), self.busy()
            if (trial, self.read()[1]) != self.seen:
                self.seen, self.since, self.since_busy = (trial, self.read()[1]), now, busy
            if SANITIZED and self.resident() > RESIDENT:  # no limit of the system's holds for a sanitized process
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                return trial + 1, self.noted()
            if busy - self.since_busy < SECONDS and now - self.since < ASLEEP * SECONDS:
                return None
            hang = True
            os.kill(self.pid, signal.SIGABRT)  # faulthandler or the sanitizer writes where it stands
            for _ in range(50):
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    break
                time.sleep(0.1)
            else:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
        found = self.noted()
        if not hang and status == 0:
            return self.trials.stop, found
        if not hang and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:  # by the system, for memory
            return trial + 1, found
        if not hang and os.WIFEXITED(status) and os.WEXITSTATUS(status) == 7:
            return trial + 1, found
        with open(self.errors, errors="replace") as errors:
            report = errors.read()
        if not (SANITIZED and NO_MEMORY.search(report)):
            found.append((trial, self.ending(hang, status, report)))
        return trial + 1, found

    def busy(self):
        """Seconds it has spent on processors."""
        with open(f"/proc/{self.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self):
        with open(f"/proc/{self.pid}/statm") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()

    def noted(self):
        """Findings that the child wrote down itself."""
        with open(self.notes) as notes:
            return [(t, Finding(kind, key, detail)) for t, kind, key, detail in map(json.loads, notes)]

    def ending(self, hang, status, report):
        place = stack_key(report)
        if hang:
            return Finding("hang", f"hang {place}", f"no answer after {SECONDS} s of computing or {ASLEEP * SECONDS} s\n{report[-3000:]}")
        if os.WIFSIGNALED(status):
            name = signal.Signals(os.WTERMSIG(status)).name
        else:
            title = re.search(r"ERROR: AddressSanitizer:? ([\w-]+)|runtime error: (.{0,60})", report)
            name = next(filter(None, title.groups())) if title else f"exit status {os.WEXITSTATUS(status)}"
        return Finding("crash", f"{name} {place}", report[-6000:] if len(report) < 9000 else report[:6000] + "\n...\n" + report[-3000:])


def alone(work, folder):
    """One piece of work in a child of its own: its Finding or None."""
    child = Child(lambda trial: work(), range(1), folder, "alone")
    while (ended := child.poll()) is None:
        time.sleep(0.002)
    return ended[1][-1][1] if ended[1] else None


def run(work, trials, folder, processes, batch, progress, stop):
    """Runs every trial. progress(done, whole, returned, findings) after each batch; stop() ends it early."""
    following = iter(range(trials.start, trials.stop, batch))
    waiting = []  # rests of batches that were cut short
    children = {}

    def more():
        if waiting:
            return waiting.pop()
        first = next(following, None)
        return None if first is None else range(first, min(first + batch, trials.stop))
    totals = [0, 0, 0]
    try:
        while True:
            while len(children) < processes and not stop() and (piece := more()):
                number = next(n for n in range(processes) if n not in children)
                children[number] = Child(work, piece, folder, number)
            if not children:
                break
            for number, child in list(children.items()):
                ended = child.poll()
                if ended is None:
                    continue
                del children[number]
                resume, found = ended
                totals = [a + b for a, b in zip(totals, child.read()[1:])]
                if resume < child.trials.stop:
                    waiting.append(range(resume, child.trials.stop))
                progress(*totals, found)
            time.sleep(0.005)
    finally:
        for child in children.values():
            os.kill(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)
