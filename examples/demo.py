# SPDX-License-Identifier: Apache-2.0
"""A first tour, in less than a minute: `make demo`.

Shows how this copy of Facula was built, a few lines of Python with what they print, a training whose losses are
PyTorch's, one large convolution against this machine's peak, and the scorecard that every backend gets.
"""

import argparse
import importlib
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "benchmarks")]

LINES = """
torch.manual_seed(0)
x = torch.randn(2, 3)
x
x.T @ x
torch.arange(2000).reshape(40, 50)
torch.tensor([1, 2]) + torch.tensor([0.5, 1e-5], dtype=torch.float64)
w = torch.ones(3, requires_grad=True)
loss = (x @ w).exp().sum()
loss
loss.backward()
w.grad
view = x[:, 1:]
view.zero_()
x
"""


def headline(text):
    print(f"\n--- {text} " + "-" * max(0, 100 - len(text)), flush=True)


def python_lines(torch):
    """Types the lines as at Python's prompt."""
    scope = {"torch": torch}
    for line in LINES.strip().splitlines():
        print(f">>> {line}")
        is_expression = " = " not in line
        value = eval(line, scope) if is_expression else exec(line, scope)
        if value is not None and not isinstance(value, torch.Generator):
            print(repr(value))


def training(torch):
    import train_convnet

    recorded = json.loads((ROOT / "tests" / "golden" / "training.json").read_text())
    theirs = recorded["train_convnet"]["float32"]
    print(f"step   loss         PyTorch {recorded['torch'].split('+')[0]}, recorded")

    def report(step, loss):
        if step % 6 == 0 or step == 29:
            print(f"{step:4d}   {loss:.7f}    {theirs[step]:.7f}", flush=True)

    losses = train_convnet.train(torch, 30, report=report)
    spread, exact = recorded["train_convnet"]["spread"], recorded["train_convnet"]["float64"]
    distance = max(abs(a - b) for a, b in zip(losses, exact))
    print(f"farthest from the exact curve: {distance:.1e}; PyTorch's own float32 runs: {spread:.1e}")


def convolution(torch):
    import conv2d_example

    conv2d_example.run(torch, torch.get_num_threads(), repeat=3)


def scorecard(module):
    if module != "facula":
        print("(Facula's own)")
        return
    backend = pathlib.Path(importlib.import_module(module).__file__).parents[2] / "tests/backends/example.so"
    if not backend.exists():
        print("(built with BUILD_TEST only)")
        return
    subprocess.run([sys.executable, "-m", "facula", "conformance", str(backend)], check=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--module", default="facula", help="facula or torch")
    options = arguments.parse_args()
    started = time.perf_counter()
    torch = importlib.import_module(options.module)
    loaded = time.perf_counter() - started
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    headline(f"import {options.module} as torch took {1e3 * loaded:.0f} ms; this is how it was built")
    print(torch.__config__.show().strip())
    headline("tensors, gradients, views")
    python_lines(torch)
    headline("examples/train_convnet.py: a training whose losses are PyTorch's")
    training(torch)
    headline("benchmarks/conv2d_example.py: one large convolution")
    convolution(torch)
    headline("facula conformance: what a backend is asked, and how examples/backend does")
    scorecard(options.module)
    headline(f"done in {time.perf_counter() - started:.0f} s")
    print("next: README.md, examples/, docs/add-an-operator.md; make test, make bench")


if __name__ == "__main__":
    main()
