# SPDX-License-Identifier: Apache-2.0
"""What the programs of this folder share: options, a clock that waits for the device, a bar on a terminal."""

import argparse
import os
import statistics
import sys
import time

import torch


def options(description, repeat, **sizes):
    """The command line, with the thread count set. sizes: further whole numbers that it may say, with what they are otherwise."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--repeat", type=_count, default=repeat, metavar="N", help=f"calls that are timed ({repeat}); one more comes before")
    parser.add_argument("--threads", type=_count, default=len(os.sched_getaffinity(0)), metavar="N", help="threads (all cores)")
    parser.add_argument("--device", type=torch.device, default=torch.device("cpu"), help="where it runs (cpu)")
    for name, value in sizes.items():
        parser.add_argument(f"--{name}", type=_count, default=value, metavar="N", help=f"({value})")
    parser.add_argument("--naive", action="store_true", help="operators with known waste, as PyTorch once had them (naive/naive.cpp; Facula only)")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(0)
    print(f"{os.path.basename(sys.argv[0])}: torch {torch.__version__}, {given.device}, {given.threads} threads")
    given.operators = naive() if given.naive else None
    return given


def naive():
    """torch.ops.naive: built once per Facula, beside other caches, from naive/naive.cpp."""
    import hashlib
    import pathlib
    import shlex
    import subprocess

    source = pathlib.Path(__file__).parent / "naive" / "naive.cpp"
    done = subprocess.run([sys.executable, "-m", torch.__name__ if torch.__name__ == "facula" else "facula", "info", "--cflags"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("--naive: its operators are written for Facula, which is not here")
    flags = shlex.split(done.stdout)
    library = pathlib.Path([f[2:] for f in flags if f.startswith("-L")][0], "libfacula.so")
    key = hashlib.sha256(source.read_bytes() + done.stdout.encode() + str(library.stat().st_mtime_ns).encode()).hexdigest()[:16]
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "facula")
    built = cache / f"naive-{key}.so"
    if not built.exists():
        cache.mkdir(parents=True, exist_ok=True)
        fresh = cache / f"naive-{key}.{os.getpid()}.so"
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-shared", "-fPIC", str(source), "-o", str(fresh), *flags], check=True)
        fresh.replace(built)
    torch.ops.load_library(str(built))
    return torch.ops.naive


def _count(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than one")
    return value


def wait(device):
    """Until the device has done what it was told."""
    if device.type != "cpu":
        torch.accelerator.synchronize(device)


class Bar:
    """How far it is, on a terminal; nowhere else."""

    def __init__(self, total):
        self.total, self.done, self.shown = total, 0, sys.stderr.isatty()

    def step(self):
        self.done += 1
        if self.shown:
            full = 40 * self.done // self.total
            end = "\r" + " " * 60 + "\r" if self.done == self.total else ""
            print(f"\r[{'=' * full}{' ' * (40 - full)}] {self.done}/{self.total}{end}", end="", file=sys.stderr, flush=True)


def seconds(call, repeat, device, bar=None):
    """Of each call, after one that warms up."""
    times = []
    for i in range(repeat + 1):
        wait(device)
        start = time.perf_counter()
        call()
        wait(device)
        if i > 0:
            times.append(time.perf_counter() - start)
        if bar is not None:
            bar.step()
    return times


def milliseconds(times):
    """The median and the best, in words."""
    return f"{statistics.median(times) * 1e3:9.3f} ms median, {min(times) * 1e3:9.3f} ms best of {len(times)}"
