# SPDX-License-Identifier: Apache-2.0
"""Depthwise convolutions have a kernel of their own in float32; in float64 they are matrix products: both must agree.

Widths leave every remainder of a vector, images are cut into several bands, and the number of threads changes no bit.
"""

import numpy as np
import pytest


def gradients(torch, x, w, b, g, options):
    inputs = [t.clone().requires_grad_() for t in (x, w, b)]
    y = (torch.conv2d if x.dim() == 4 else torch.conv1d)(*inputs, **options)
    g = torch.ones_like(y) if g is None else g.to(y.dtype)
    return y.detach(), *torch.autograd.grad(y, inputs, g)


# channels, multiplier, and per dimension: size, kernel, stride, padding, dilation
CASES = [
    *[(3, 1, (9, 3, 1, 1, 1), (width, 3, 1, 1, 1)) for width in (*range(24, 42), 64, 70)],
    (2, 3, (12, 3, 1, 2, 1), (33, 3, 1, 0, 1)),
    (2, 1, (300, 3, 1, 1, 1), (50, 3, 1, 1, 1)),
    (2, 1, (40, 3, 1, 3, 2), (45, 3, 1, 2, 3)),
    (16, 1, (300, 5, 1, 2, 1), (301, 7, 1, 6, 2)),
    (16, 2, (260, 3, 2, 1, 1), (263, 3, 2, 1, 1)),
    (8, 1, (400, 2, 3, 0, 2), (400, 5, 3, 9, 2)),
    (8, 1, (150000, 9, 1, 4, 1)),
    (1, 1, (4, 3, 1, 5, 1), (30, 3, 1, 5, 1)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees_with_products(torch, case):
    channels, times, *axes = case
    torch.manual_seed(0)
    sizes, kernel = [a[0] for a in axes], [a[1] for a in axes]
    options = {"stride": [a[2] for a in axes], "padding": [a[3] for a in axes], "dilation": [a[4] for a in axes], "groups": channels}
    x, w, b = torch.randn(2, channels, *sizes), torch.randn(channels * times, 1, *kernel), torch.randn(channels * times)
    expected = gradients(torch, x.double(), w.double(), b.double(), None, options)
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    try:
        torch.use_deterministic_algorithms(True)
        for n in (1, 2, 3):
            torch.set_num_threads(n)
            found = gradients(torch, x, w, b, None, options)
            if n == 1:
                first = found
            for name, value, same, right in zip(("y", "x", "w", "b"), found, first, expected):
                assert np.array_equal(value.numpy(), same.numpy()), (name, n)
                scale = abs(right.numpy()).max()
                assert abs(value.numpy() - right.numpy()).max() < 2e-5 * scale, (name, n)
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(strict)


def test_what_lies_beside_an_image_is_not_seen(torch):
    """Neighbours of the image in memory are NaN: none may reach a result, not even times zero."""
    around = torch.full((1, 4, 30, 61), float("nan"))
    around[0, 1:3] = torch.randn(2, 30, 61)
    x = around[:, 1:3].detach().requires_grad_()
    w = torch.randn(2, 1, 3, 3, requires_grad=True)
    y = torch.conv2d(x, w, stride=1, groups=2)
    y.sum().backward()
    for t in (y, x.grad, w.grad):
        assert bool(torch.isfinite(t).all())
