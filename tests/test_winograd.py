# SPDX-License-Identifier: Apache-2.0
"""3 x 3 convolutions over many channels take Winograd's form in float32; in float64 they are matrix products: both must
agree. Sizes leave every remainder of a tile and of a vector of tiles, and the number of threads changes no bit."""

import os
import subprocess
import sys

import numpy as np
import pytest


def everything(torch, x, w, b, padding):
    """The result and the gradients of a convolution, with the gradient of the result drawn from one seed."""
    inputs = [t.clone().requires_grad_() for t in (x, w, b)]
    y = torch.conv2d(*inputs, padding=padding)
    torch.manual_seed(1)
    g = torch.randn(y.shape, dtype=torch.float32).to(y.dtype)
    return y.detach(), *torch.autograd.grad(y, inputs, g)


LEAST = 2**25  # multiplications; smaller convolutions are summed plainly


def batch_for(channels, outputs, height, width, padding):
    pixels = (height + 2 * padding[0] - 2) * (width + 2 * padding[1] - 2)
    return -(-LEAST // (9 * channels * outputs * min(pixels, height * width)))


# batch at least, channels in and out, height, width, padding
CASES = [
    *[(1, 32, 32, 21, width, (1, 1)) for width in (*range(17, 25), 64, 66, 130)],
    *[(2, 40, 24, height, 33, (1, 1)) for height in (3, 4, 5, 6, 7, 8)],
    *[(2, 24, 40, 19, 18, padding) for padding in ((0, 0), (2, 2), (0, 2), (1, 0))],
    (3, 130, 61, 28, 28, (1, 1)),
    (5, 48, 64, 7, 7, (1, 1)),
    (1, 64, 256, 14, 14, (1, 1)),
    (1, 256, 24, 16, 16, (1, 1)),
    (1, 300, 300, 16, 16, (1, 1)),
    (40, 32, 32, 3, 3, (0, 0)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees_with_products(torch, case):
    batch, *sizes = case
    channels, outputs, height, width, padding = sizes
    batch = max(batch, batch_for(*sizes))
    torch.manual_seed(0)
    x, w, b = torch.randn(batch, channels, height, width), torch.randn(outputs, channels, 3, 3), torch.randn(outputs)
    expected = everything(torch, x.double(), w.double(), b.double(), padding)
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    try:
        torch.use_deterministic_algorithms(True)
        for n in (1, 2, 3):
            torch.set_num_threads(n)
            found = everything(torch, x, w, b, padding)
            if n == 1:
                first = found
            for name, value, same, right in zip(("y", "x", "w", "b"), found, first, expected, strict=True):
                assert np.array_equal(value.numpy(), same.numpy()), (name, n)
                scale = abs(right.numpy()).max()
                assert abs(value.numpy() - right.numpy()).max() < 1e-5 * scale, (name, n)
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(strict)


def test_errors_are_of_the_plain_sums_size(torch):
    """Textbooks' points 1, -1, 2, -2 would be at eight times the plain sums' error."""
    torch.manual_seed(0)
    x, w = torch.randn(2, 128, 32, 32).relu(), torch.randn(64, 128, 3, 3) * 0.04
    right = torch.conv2d(x.double(), w.double(), padding=1)
    plain = torch.zeros(2, 64, 32, 32)
    padded = torch.nn.functional.pad(x, (1, 1, 1, 1))
    for c in range(128):  # one sum after another
        for i in range(3):
            for j in range(3):
                plain += padded[:, c : c + 1, i : i + 32, j : j + 32] * w[:, c, i, j].view(1, 64, 1, 1)
    error, of_plain = ((t - right).square().mean().sqrt() for t in (torch.conv2d(x, w, padding=1), plain))
    assert error < 3 * of_plain


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 3e38])
@pytest.mark.parametrize("place", ["x", "w", "grad"])
def test_what_is_not_finite_stays_where_it_belongs(torch, value, place):
    """A transformed tile would spread it over all of its results."""
    torch.manual_seed(0)
    x, w = torch.randn(3, 32, 40, 40), torch.randn(32, 32, 3, 3) * 0.05
    g = torch.randn(3, 32, 40, 40)
    {"x": x[0, 5, 17], "w": w[3, 4, 1], "grad": g[0, 7, 22]}[place][2] = value
    options = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)

    def both(kind):
        a, b, c = x.to(kind), w.to(kind), g.to(kind)
        return torch.conv2d(a, b, padding=1), *torch.ops.aten.convolution_backward(c, a, b, None, *options, [True, True, False])[:2]

    for found, right in zip(both(torch.float32), both(torch.float64), strict=True):
        right = right.float()  # 3e38 times a weight may leave float32's range there, too
        if place == "w" and found.shape == x.shape:  # products multiply the padding by it, oneDNN does not
            found, right = found[..., 1:-1, 1:-1], right[..., 1:-1, 1:-1]
        assert np.array_equal(np.isfinite(found.numpy()), np.isfinite(right.numpy()))
        assert np.array_equal(np.isnan(found.numpy()), np.isnan(right.numpy()))


def test_what_lies_beside_an_image_is_not_seen(torch):
    around = torch.full((5, 32, 30, 61), float("nan"))
    around[1:4] = torch.randn(3, 32, 30, 61)
    w = torch.randn(32, 32, 3, 3)
    found = torch.conv2d(around[1:4], w, padding=1)
    assert torch.isfinite(found).all()
    assert torch.equal(found, torch.conv2d(around[1:4].clone(), w, padding=1))


def test_a_forced_library_computes_these_too(torch):
    if not torch.backends.mkldnn.is_available():
        pytest.skip("no oneDNN")
    program = "import facula as torch; torch.conv2d(torch.ones(1, 64, 34, 34), torch.ones(64, 64, 3, 3))"
    for choice, library in (("auto", False), ("onednn,force", True)):
        env = dict(os.environ, FACULA_BLAS=choice, DNNL_VERBOSE="1")
        done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert (",convolution," in done.stdout) == library


def test_small_ones_are_summed_plainly(torch):
    """As PyTorch does, whose rounding networks of few pixels amplify."""
    if not torch.backends.mkldnn.is_available():
        pytest.skip("no oneDNN")
    program = "import facula as torch; torch.conv2d(torch.ones(1, 64, 16, 16), torch.ones(64, 64, 3, 3))"
    env = dict(os.environ, FACULA_BLAS="auto", DNNL_VERBOSE="1")
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and ",convolution," in done.stdout
