# SPDX-License-Identifier: Apache-2.0
"""One large convolution: Conv2d(16 -> 8, kernel 8, stride 2) on randn[4, 16, 1024, 1024], seed 0.

    python benchmarks/conv2d_example.py [--module torch] [--threads N] [--repeat N] [--json FILE]

The weights are drawn as nn.Conv2d draws them. Prints the time, GFLOP/s and the share of this machine's measured
peak (benchmarks/peak.py), and three numbers of the result that PyTorch gives too.
"""

import argparse
import importlib
import json
import math
import time

import peak
import quiet


def make(torch):
    """Weight, bias and input, in the order in which a program with nn.Conv2d would draw them."""
    torch.manual_seed(0)
    bound = 1.0 / math.sqrt(16 * 8 * 8)
    weight = torch.empty(8, 16, 8, 8).uniform_(-bound, bound)
    bias = torch.empty(8).uniform_(-bound, bound)
    return weight, bias, torch.randn(4, 16, 1024, 1024)


def run(torch, threads, repeat=5, show=print):
    """Prints the report; returns GFLOP/s and the peaks."""
    weight, bias, x = make(torch)
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
    by_matmul, by_fma = peak.matmul(torch), peak.fma(threads)
    name, top = ("fused multiply-adds on registers", by_fma) if by_fma else ("the product of two matrices", by_matmul)
    show(f"  peak      {top:.1f} GFLOP/s by {name}" + (f"; {by_matmul:.1f} by the product of two matrices" if by_fma else ""))
    show(f"  share     {100 * rate / top:.0f} % of the peak" + (f", {100 * rate / by_matmul:.0f} % of the product's rate" if by_fma else ""))
    show(f"  result    mean {y.mean().item():.6f}, first {y[0, 0, 0, 0].item():.5f}, last {y[-1, -1, -1, -1].item():.5f}")
    return {"gflops": rate, "seconds": best, "peak_fma": by_fma, "peak_matmul": by_matmul}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--module", default="facula", help="facula or torch")
    arguments.add_argument("--threads", type=int, default=quiet.default_threads())
    arguments.add_argument("--repeat", type=int, default=5)
    arguments.add_argument("--json", help="write the figures and the machine's state here")
    options = arguments.parse_args()
    quiet.pin(options.threads)
    before = quiet.snapshot()
    torch = importlib.import_module(options.module)
    torch.set_num_threads(options.threads)
    figures = run(torch, options.threads, options.repeat)
    state = quiet.snapshot(before)
    quiet.beware(state)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({**figures, "machine": state}, file, indent=1)


if __name__ == "__main__":
    main()
