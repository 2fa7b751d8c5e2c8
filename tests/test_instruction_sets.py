# SPDX-License-Identifier: Apache-2.0
"""Kernels are compiled once per instruction set: the elementary functions of those with fused multiply-add have the same
bits, and folds of rows are right for every length of the last vector."""
import os
import subprocess
import sys

import numpy as np
import pytest

import facula as torch

BITS = r"""
import hashlib, sys
import numpy as np
import facula as torch
from facula.nn import functional as F

random = np.random.default_rng(0)
unary = "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc erfinv sigmoid"
functions = {name: lambda x, y, name=name: getattr(torch, name)(x) for name in unary.split()}
functions.update({name: lambda x, y, name=name: getattr(F, name)(x) for name in "silu mish gelu softplus elu logsigmoid".split()})
functions.update({name: lambda x, y, name=name: getattr(torch, name)(x, y) for name in "logaddexp logaddexp2 atan2 xlogy ldexp".split()})
functions["softmax"] = lambda x, y: torch.softmax(x[:1000].nan_to_num().view(10, 100), 1)
for dtype, word in (("float32", "uint32"), ("float64", "uint64")):
    patterns = random.integers(0, np.iinfo(word).max, 5000, dtype=word).view(dtype)
    x = np.concatenate([patterns, random.uniform(-12, 12, 5000).astype(dtype), random.uniform(0.75, 1.25, 5003).astype(dtype)])
    x, y = torch.from_numpy(x), torch.from_numpy(np.roll(x, 1))
    for name, f in functions.items():
        result = f(x, y).numpy().copy()
        result[np.isnan(result)] = 0.5  # a NaN's sign is nobody's business
        print(name, dtype, hashlib.sha256(result.tobytes()).hexdigest())
"""


@pytest.mark.skipif(torch.backends.cpu.get_cpu_capability() != "AVX512", reason="one instruction set to compare with")
def test_elementary_functions_have_the_bits_of_the_shorter_vectors():
    def bits(capability):
        env = dict(os.environ, FACULA_CPU_CAPABILITY=capability)
        done = subprocess.run([sys.executable, "-c", BITS], env=env, capture_output=True, text=True, check=True, timeout=300)
        return done.stdout.splitlines()

    assert len(bits("avx2")) == 70
    assert bits("avx512") == bits("avx2")


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", [1, 15, 16, 17, 31, 32, 33, 63, 100, 4096, 5001])
def test_folds_of_complex_rows(dtype, n):
    random = np.random.default_rng(n)
    angle = random.uniform(-3, 3, (3, n))
    x = np.exp(1j * angle).astype(dtype)
    tolerance = 1e-5 * n if dtype == "complex64" else 1e-14 * n
    t = torch.from_numpy(x)
    np.testing.assert_allclose(t.sum(1).numpy(), x.astype("complex128").sum(1), rtol=0, atol=tolerance)
    np.testing.assert_allclose(t.prod(1).numpy(), np.exp(1j * angle.sum(1)), rtol=0, atol=tolerance)


@pytest.mark.parametrize("n", [1, 255, 256, 257, 4097, 65535, 65536, 65537, 200000])
def test_extremes_of_bytes(n):
    for dtype in ("uint8", "int8"):
        x = np.full(n, 7, dtype)
        for at in {0, n // 2, n - 1}:
            x[at] = 100
            assert torch.from_numpy(x).amax().item() == 100
            x[at] = 7
            x[at] = 3
            assert torch.from_numpy(x).amin().item() == 3
            x[at] = 7


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("n", [1, 15, 63, 64, 65, 200])
def test_half_types_round_to_nearest_even(dtype, n):
    bits = np.random.default_rng(n).integers(0, 2**16, (2, n), dtype="uint16")
    x, y = (torch.from_numpy(b.view("int16")).view(getattr(torch, dtype)) for b in bits)
    assert torch.equal((x + y).nan_to_num(), (x.float() + y.float()).to(x.dtype).nan_to_num())
