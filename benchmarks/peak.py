# SPDX-License-Identifier: Apache-2.0
"""How many float32 operations this machine does in a second, measured in two ways.

fma     benchmarks/peak.cpp: multiply-adds on registers, the limit of the cores; needs a C++ compiler
matmul  the module's own product of two 2048 x 2048 matrices, the most that real memory traffic allows
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).parent


def fma(threads, seconds=0.5):
    """GFLOP/s, or None without a compiler."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        return None
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/peak"
        build = [compiler, "-std=c++20", "-O3", "-march=native", "-ffp-contract=fast", "-pthread", str(HERE / "peak.cpp"), "-o", program]
        if subprocess.run(build, capture_output=True).returncode != 0:
            return None
        done = subprocess.run([program, str(threads), str(seconds)], capture_output=True, text=True)
        return float(done.stdout) if done.returncode == 0 else None


def matmul(torch, size=2048, seconds=1.0):
    """GFLOP/s of the best product within so many seconds (at least three products)."""
    x, y = torch.rand(size, size), torch.rand(size, size)
    best, count, end = float("inf"), 0, time.perf_counter() + seconds
    while count < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        torch.mm(x, y)
        best = min(best, time.perf_counter() - start)
        count += 1
    return 2 * size**3 / best / 1e9
