# SPDX-License-Identifier: Apache-2.0
"""How many float32 operations this machine does in a second, measured in two ways.

fma     multiply-adds on registers, the limit of the cores; measured by Facula, whichever module the benchmark is of
matmul  the module's own product of two 2048 x 2048 matrices, the most that real memory traffic allows
"""

import subprocess
import sys
import time


def fma(threads, seconds=0.5):
    """GFLOP/s, or None without Facula."""
    program = f"import facula; print(facula._C._peak_rate({threads}, {seconds}) / 1e9)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
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
