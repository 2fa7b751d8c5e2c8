# SPDX-License-Identifier: Apache-2.0
"""Which libraries can multiply matrices on this machine: the lines about them on the configuration page, and `facula blas`, which
compares them over the products of three networks.

Every library computes the same float32 products, forced (backends.cpu.preferred_blas), in turns: one run of each, then the next round
in another order, so that what disturbs the machine disturbs all alike; the fastest run counts, since disturbances only slow down. The
first library takes two turns in each round; how far those two differ is the noise, and smaller differences between libraries mean
nothing. Operands stay in the caches, as far as they fit.
"""

import glob
import itertools
import json
import os
import platform
import statistics
import sys
import sysconfig
import time
from typing import NamedTuple

from facula import _C
from facula._command_line import Progress, write_file


class Shape(NamedTuple):
    """batch products of m x k by k x n; `transposed`: the right side lies in memory as n x k."""

    batch: int
    m: int
    n: int
    k: int
    transposed: bool

    def __str__(self):
        return (f"{self.batch} of " if self.batch > 1 else "") + f"{self.m} x {self.n} x {self.k}" + (" T" if self.transposed else "")

    @property
    def flops(self):
        return 2 * self.batch * self.m * self.n * self.k


def _products(*rows, transposed=False):
    """(how often, [batch,] m, n, k)"""
    return [(times, Shape(*(size if len(size) == 4 else (1, *size)), transposed)) for times, *size in rows]


# A convolution is the product of its weights and the windows that they see: output channels x positions x kernel elements.
_ATTENTION = _products((12, 12, 128, 128, 64), transposed=True) + _products((12, 12, 128, 64, 128))
MODELS = {
    "ResNet-50, an image of 224 x 224": _products(
        (1, 64, 12544, 147),
        (1, 64, 3136, 64), (3, 64, 3136, 576), (4, 256, 3136, 64), (2, 64, 3136, 256),
        (1, 128, 3136, 256), (4, 128, 784, 1152), (4, 512, 784, 128), (1, 512, 784, 256), (3, 128, 784, 512),
        (1, 256, 784, 512), (6, 256, 196, 2304), (6, 1024, 196, 256), (1, 1024, 196, 512), (5, 256, 196, 1024),
        (1, 512, 196, 1024), (3, 512, 49, 4608), (3, 2048, 49, 512), (1, 2048, 49, 1024), (2, 512, 49, 2048))
        + _products((1, 1, 1000, 2048), transposed=True),
    "BERT-base, a sentence of 128 tokens": _products(
        (48, 128, 768, 768), (12, 128, 3072, 768), (12, 128, 768, 3072), (1, 1, 768, 768), transposed=True) + _ATTENTION,
    "GPT-2 small, a prompt of 128 tokens": _products(
        (12, 128, 2304, 768), (12, 128, 768, 768), (12, 128, 3072, 768), (12, 128, 768, 3072)) + _ATTENTION
        + _products((1, 1, 50257, 768), transposed=True),
    "GPT-2 small, one more token": _products(
        (12, 1, 2304, 768), (12, 1, 768, 768), (12, 1, 3072, 768), (12, 1, 768, 3072)) + _products((1, 1, 50257, 768), transposed=True),
}  # fmt: skip


def _packages():
    """Folders in which installed packages keep libraries of their own: NumPy and SciPy bring an OpenBLAS."""
    return sorted({f for key in ("platlib", "purelib") for f in glob.glob(os.path.join(sysconfig.get_paths()[key], "*.libs"))})


def found():
    """[(name, path)] of the libraries on this machine whose file names are a BLAS's; nothing is loaded."""
    return _C._blas(_packages())["found"]


def lines():
    """What the configuration page says of them."""
    now = _C._blas(_packages())
    onednn = f"oneDNN {_C._config_rows()['libraries']['oneDNN']}"
    otherwise = f"{now['default']} ({_C._describe_blas(now['default'])})" if now["default"] else "Facula's own kernel"
    name = now["choice"].partition(",force")[0]
    if now["library"]:
        use = f"{now['library']} ({_C._describe_blas(now['library'])})"
    elif name == "facula":
        use = "Facula's own kernel"
    elif name == "onednn":
        use = f"{onednn}; other types than float32: {otherwise}"
    else:
        use = f"{onednn} for float32; {otherwise} for float64 and complex" if now["onednn"] else otherwise
    yield f"BLAS in use: {now['choice']}: {use}"
    yield "BLAS found: " + (", ".join(f"{name} ({path})" for name, path in now["found"]) or "none")


class Library(NamedTuple):
    """One to compare: a short name for columns, what preferred_blas is told, and what it is."""

    label: str
    choice: str
    about: str


def _label(name, path):
    """openblas-pthread and reference64 for Debian's variants, openblas-numpy for a package's own."""
    folder = os.path.basename(os.path.dirname(path))
    if folder.startswith(name):
        return folder
    if folder == "blas64":
        return f"{name}64"
    return f"{name}-{folder[: -len('.libs')]}" if folder.endswith(".libs") else name


def libraries(wanted=()):
    """Those that were asked for by name or path, or all that are here. One that was asked for and cannot be used raises."""
    everywhere = found()
    if wanted:
        listed = [next(((_label(n, p), p) for n, p in everywhere if p == w), (os.path.basename(w) if "/" in w else w, w)) for w in wanted]
    else:
        listed = [("facula", "facula"), ("onednn", "onednn")] + [(_label(name, path), path) for name, path in everywhere]
    out, before = [], _C._preferred_blas()
    try:
        for label, choice in listed:
            try:
                _C._set_preferred_blas(f"{choice},force")
            except RuntimeError:
                if wanted:
                    raise
                continue  # a file of that name that is no BLAS for this process
            path = _C._blas([])["library"]
            about = f"{path}: {_C._describe_blas(path)}" if path else f"oneDNN {_C._config_rows()['libraries']['oneDNN']}" if choice == "onednn" else "Facula's own kernel"
            count = sum(other.label.partition("#")[0] == label for other in out)
            out.append(Library(f"{label}#{count + 1}" if count else label, f"{choice},force", about))
    finally:
        _C._set_preferred_blas(before)
    return out


def _measure(shape, slots, seconds, rounds):
    """Rates in GFLOP/s of each slot's library, one per round."""
    import facula as torch

    generator = torch.Generator().manual_seed(0)
    sizes = ((shape.m, shape.k), (shape.n, shape.k) if shape.transposed else (shape.k, shape.n), (shape.m, shape.n))
    a, b, out = (torch.rand((shape.batch, *size) if shape.batch > 1 else size, generator=generator) - 0.5 for size in sizes)
    if shape.transposed:
        b = b.transpose(-2, -1)
    multiply = torch.bmm if shape.batch > 1 else torch.mm

    def run(count):
        start = time.perf_counter()
        for _ in itertools.repeat(None, count):
            multiply(a, b, out=out)
        return time.perf_counter() - start

    repeats, rates, want = [], [[] for _ in slots], None
    for library in slots:
        _C._set_preferred_blas(library.choice)
        run(1)
        if want is None:
            want = out.clone()
        elif not torch.allclose(out, want, rtol=1e-3, atol=1e-3):
            raise RuntimeError(f"{library.label} and {slots[0].label} disagree about a product of {shape}: {library.about}")
        repeats.append(max(1, round(seconds / max(run(1), 1e-7))))
    for turn in range(rounds):
        for at in range(len(slots)):
            slot = (at + turn) % len(slots)
            _C._set_preferred_blas(slots[slot].choice)
            rates[slot].append(shape.flops * repeats[slot] / run(repeats[slot]) / 1e9)
    return rates


def compare(compared, threads, quick=False):
    """All of it as data: the fastest and the single runs in GFLOP/s, by shape and library."""
    seconds, rounds = (0.003, 5) if quick else (0.02, 9)
    peak = _C._peak_rate(threads, 0.2) / 1e9
    shapes = list(dict.fromkeys(shape for rows in MODELS.values() for _, shape in rows))
    slots = [compared[0], *compared]
    before, measured = _C._preferred_blas(), {}
    try:
        with Progress("products", len(shapes)) as bar:
            for shape in shapes:
                bar.step(str(shape))
                again, *rates = _measure(shape, slots, seconds, rounds)
                best = {library.label: max(r) for library, r in zip(compared, rates)}
                measured[shape] = {
                    **shape._asdict(), "gflops": best, "noise": abs(max(again) / best[compared[0].label] - 1),
                    "runs": {library.label: r for library, r in zip(compared, rates)}, "again": again}  # fmt: skip
    finally:
        _C._set_preferred_blas(before)
    labels = [library.label for library in compared]
    models = {}
    for name, rows in MODELS.items():
        flops = sum(times * shape.flops for times, shape in rows)
        pass_ms = {l: sum(times * shape.flops / measured[shape]["gflops"][l] for times, shape in rows) / 1e6 for l in labels}
        models[name] = {"flops": flops, "milliseconds": pass_ms, "shapes": [{"times": times, "shape": str(shape)} for times, shape in rows]}
    return {
        "machine": {"processor": _processor(), "capability": _C._cpu_capability(), "threads": threads, "peak_gflops": peak},
        "rounds": rounds, "seconds_per_run": seconds, "libraries": [library._asdict() for library in compared],
        "shapes": {str(shape): row for shape, row in measured.items()}, "models": models,
        "geometric_mean": {l: statistics.geometric_mean(row["gflops"][l] for row in measured.values()) for l in labels},
        "noise": {"median": statistics.median(row["noise"] for row in measured.values()), "largest": max(row["noise"] for row in measured.values())}}  # fmt: skip


def _processor():
    for line in _C._parallel_info().splitlines():
        if line.startswith("  - CPU: "):
            return line[9:]
    return platform.machine()


def threads_of(machine):
    return f"{machine['threads']} thread{'s' if machine['threads'] > 1 else ''} of {machine['processor']} ({machine['capability']})"


def winner(rates, noise):
    """Which of them is the largest by more than the noise; None if none is."""
    best = max(range(len(rates)), key=rates.__getitem__)
    return best if len(rates) > 1 and all(rates[best] > r * (1 + noise) for i, r in enumerate(rates) if i != best) else None


def table(data):
    """The text that the command prints."""
    labels = [library["label"] for library in data["libraries"]]
    machine, noise = data["machine"], data["noise"]["median"]
    width = [max(8, len(l) + 1) for l in labels]
    cells = lambda values: "".join(f"{v:>{w}}" for v, w in zip(values, width))

    def row(title, times, values, rates, noise, end=""):
        best = winner(rates, noise)
        return f"  {title:<34}{times:>5} " + cells(f"{v:.1f}" + ("*" if i == best else " ") for i, v in enumerate(values)) + end

    yield f"float32 products on {threads_of(machine)}, GFLOP/s: the fastest of {data['rounds']} runs, in turns"
    yield "rows are m x n x k: m x k by k x n, with T where the right side lies transposed in memory, and how often a pass has it"
    yield f"peak {machine['peak_gflops']:.1f} GFLOP/s: multiply-adds on registers, measured"
    yield ""
    for library in data["libraries"]:
        yield f"  {library['label']:<{max(map(len, labels))}}  {library['about']}"
    for name, model in data["models"].items():
        yield ""
        yield f"{name:<36}times " + cells(l + " " for l in labels) + "    A/A"
        for entry in model["shapes"]:
            measured = data["shapes"][entry["shape"]]
            rates = [measured["gflops"][l] for l in labels]
            yield row(entry["shape"], entry["times"], rates, rates, measured["noise"], f"{100 * measured['noise']:6.1f} %")
        spent = [model["milliseconds"][l] for l in labels]
        yield row("all of them, milliseconds", "", spent, [1 / t for t in spent], noise)
    yield ""
    mean = [data["geometric_mean"][l] for l in labels]
    yield row("geometric mean", "", mean, mean, noise)
    yield row("share of the peak, %", "", [100 * m / machine["peak_gflops"] for m in mean], mean, noise)
    yield f"  * the best, by more than the noise. A/A: {labels[0]} against itself, {100 * noise:.1f} % at the median, {100 * data['noise']['largest']:.1f} % at most; smaller differences mean nothing."
    if noise > 0.1:
        yield "  Something disturbs this machine (`facula machine check` looks for it): measure again when it is quiet."


def command(args) -> int:
    import facula
    from facula import machine

    if args.threads is not None and not 1 <= args.threads <= 1024:
        raise ValueError(f"--threads takes 1 to 1024, got {args.threads}")
    for path in filter(None, (args.json, args.svg)):  # before the work, not after it
        folder = os.path.dirname(os.path.abspath(path))
        if os.path.isdir(path) or not os.access(folder, os.W_OK | os.X_OK):
            raise OSError(f"cannot write {path}: " + ("it is a folder" if os.path.isdir(path) else f"{folder} is no folder that can be written to"))
    compared = libraries(args.library)
    isolated, before = machine.pin(args.threads), facula.get_num_threads()
    threads = args.threads or len(isolated) or before
    facula.set_num_threads(threads)
    since = machine.snapshot()
    try:
        data = compare(compared, threads, args.quick)
    finally:
        facula.set_num_threads(before)
    print("\n".join(table(data)))
    if args.json:
        write_file(args.json, json.dumps({**data, "state": machine.snapshot(since)}, indent=1) + "\n")
    if args.svg:
        from facula import _blas_picture

        write_file(args.svg, _blas_picture.picture(data))
    return 0


def main(args) -> int:
    try:
        return command(args)
    except BrokenPipeError:
        raise
    except (RuntimeError, ValueError, OSError) as e:
        print(f"facula blas: {e}", file=sys.stderr)
        return 2
