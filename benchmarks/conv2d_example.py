# SPDX-License-Identifier: Apache-2.0
"""One large convolution: Conv2d(16 -> 8, kernel 8, stride 2) on randn[4, 16, 1024, 1024], seed 0.

    python benchmarks/conv2d_example.py [--module torch] [--threads N] [--repeat N] [--size N] [--json FILE] [--stack]

The weights are drawn as nn.Conv2d draws them. Prints the time, GFLOP/s and the share of this machine's measured
peak (benchmarks/peak.py), and three numbers of the result that PyTorch gives too. With --stack it runs itself once more
under the library profiler and prints the frames from the line that calls conv2d down to the code that multiplies, with
their files, lines and shares of the time. FACULA_BLAS=openblas,force shows the same through another library.
"""

import argparse
import importlib
import json
import math
import os
import time

import peak
import quiet


def make(torch, size=1024):
    """Weight, bias and input, in the order in which a program with nn.Conv2d would draw them."""
    torch.manual_seed(0)
    bound = 1.0 / math.sqrt(16 * 8 * 8)
    weight = torch.empty(8, 16, 8, 8).uniform_(-bound, bound)
    bias = torch.empty(8).uniform_(-bound, bound)
    return weight, bias, torch.randn(4, 16, size, size)


def run(torch, threads, repeat=5, show=print, with_peak=True, size=1024):
    """Prints the report; returns GFLOP/s and the peaks."""
    weight, bias, x = make(torch, size)
    times = []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        y = torch.nn.functional.conv2d(x, weight, bias, stride=2)
        times.append(time.perf_counter() - start)
    best, middle = min(times[1:]), sorted(times[1:])[repeat // 2]  # the first one warms up
    flop = 2 * y.numel() * weight[0].numel()
    rate = flop / best / 1e9
    show(f"conv2d {tuple(x.shape)} -> {tuple(y.shape)}, {torch.__name__} {torch.__version__}, {threads} threads")
    show(f"  time      {best * 1e3:.1f} ms best, {middle * 1e3:.1f} ms median of {repeat}")
    show(f"  rate      {rate:.1f} GFLOP/s ({flop / 1e9:.2f} GFLOP)")
    if not with_peak:
        return {"gflops": rate, "seconds": best}
    by_matmul, by_fma = peak.matmul(torch), peak.fma(threads)
    name, top = ("fused multiply-adds on registers", by_fma) if by_fma else ("the product of two matrices", by_matmul)
    show(f"  peak      {top:.1f} GFLOP/s by {name}" + (f"; {by_matmul:.1f} by the product of two matrices" if by_fma else ""))
    show(f"  share     {100 * rate / top:.0f} % of the peak" + (f", {100 * rate / by_matmul:.0f} % of the product's rate" if by_fma else ""))
    show(f"  result    mean {y.mean().item():.6f}, first {y[0, 0, 0, 0].item():.5f}, last {y[-1, -1, -1, -1].item():.5f}")
    return {"gflops": rate, "seconds": best, "peak_fma": by_fma, "peak_matmul": by_matmul}


def stack(threads, repeat, size=1024):
    """Prints the convolution's call stack; returns the program's exit status."""
    from facula import library_profile
    from facula.library_profile import stack as stacks

    arguments = ["--threads", str(threads), "--repeat", str(repeat), "--size", str(size), "--no-peak"]
    try:
        profile = library_profile.profile(["libdnnl.so", "libopenblas.so"], __file__, arguments)
    except library_profile.Refused as e:
        print(f"conv2d_example: {e}")
        return 2
    stacks.graft(profile.root)
    called = next(n for n, line in enumerate(open(__file__), 1) if "functional.conv2d(" in line)
    start = stacks.find(profile.root, lambda node: node.line()[1] == called and node.line()[0] == os.path.abspath(__file__))
    if start is None:
        print(f"conv2d_example: no sample fell into the convolution in {repeat} runs; ask for more with --repeat")
        return profile.exit_code or 1
    print(f"  call stack of line {called}, the heaviest way down (+ what else a frame calls)")
    print(stacks.text(profile, start))
    return profile.exit_code


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--module", default="facula", help="facula or torch")
    arguments.add_argument("--threads", type=int, default=quiet.default_threads())
    arguments.add_argument("--repeat", type=int, default=5)
    arguments.add_argument("--json", help="write the figures and the machine's state here")
    arguments.add_argument("--size", type=int, default=1024, help="of the input's sides (1024)")
    arguments.add_argument("--no-peak", action="store_true", help="do not measure the machine's peak")
    arguments.add_argument("--stack", action="store_true", help="print the call stack of the convolution, with times (Facula only)")
    options = arguments.parse_args()
    if options.stack:
        if options.module != "facula":
            arguments.error("--stack runs Facula: `facula profile --so all python ...` looks at other programs")
        raise SystemExit(stack(options.threads, max(options.repeat, 20), options.size))
    quiet.pin(options.threads)
    before = quiet.snapshot()
    torch = importlib.import_module(options.module)
    torch.set_num_threads(options.threads)
    figures = run(torch, options.threads, options.repeat, with_peak=not options.no_peak, size=options.size)
    state = quiet.snapshot(before)
    quiet.beware(state)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({**figures, "machine": state}, file, indent=1)


if __name__ == "__main__":
    main()
