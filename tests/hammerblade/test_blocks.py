# SPDX-License-Identifier: Apache-2.0
"""Products and convolutions in blocks: sizes around a block's, every layout, stride and dilation; the same bits in both modes."""

import itertools

import pytest

SIZES = [(1, 1, 1), (1, 70, 1), (1, 33, 40), (1, 130, 17), (40, 67, 1), (3, 5, 31), (8, 16, 32), (9, 17, 33), (17, 3, 70), (64, 1, 48), (5, 0, 6)]


def in_both_modes(torch, make):
    """What it gives in fast and in check mode, which must be the same."""
    fast = make()
    with torch.hammerblade.mode("check", seed=4):
        check = make()
    assert all(torch.equal(a.cpu(), b.cpu()) for a, b in zip(fast, check, strict=True))
    return [t.cpu() for t in fast]


def strided(torch, t, layout):
    """On the device as it lies here."""
    return t.hammerblade_ll() if layout else t.hammerblade()


def test_products_of_every_layout(torch):
    torch.manual_seed(0)
    torch.hammerblade.tiles(2, 2)
    for (m, k, n), left, right in itertools.product(SIZES, (0, 1), (0, 1)):
        a, b, c = torch.randn(m, k), torch.randn(k, n), torch.randn(m, n)
        a, b = (t.t().contiguous().t() if turned else t for t, turned in ((a, left), (b, right)))
        ah, bh, ch = strided(torch, a, left), strided(torch, b, right), c.hammerblade()
        got = in_both_modes(torch, lambda: [ah @ bh, torch.addmm(ch, ah, bh, beta=0.5, alpha=-2)])
        for x, want in zip(got, (a.double() @ b.double(), 0.5 * c.double() - 2 * (a.double() @ b.double())), strict=True):
            torch.testing.assert_close(x.double(), want, rtol=1e-5, atol=1e-5, msg=lambda text: f"{m} x {k} x {n}, {left}, {right}: {text}")  # noqa: B023


def test_products_of_batches_and_of_every_other_number(torch):
    torch.manual_seed(0)
    a, b = torch.randn(3, 10, 40), torch.randn(3, 40, 18)
    for left, right in ((a, b), (a, b[:1].expand(3, -1, -1)), (a[:, ::2, ::2], b[:, ::2, ::3]), (a.transpose(0, 1)[:3], b.transpose(1, 2)[:, :, ::2].transpose(1, 2)[:, :40, :])):
        left, right = left, right[:, : left.shape[2], :]
        lh, rh = left.hammerblade_ll(), right.hammerblade_ll()[:, : left.shape[2], :]
        n = min(left.shape[2], right.shape[1])
        (got,) = in_both_modes(torch, lambda: [lh[:, :, :n] @ rh[:, :n]])  # noqa: B023
        torch.testing.assert_close(got, left[:, :, :n] @ right[:, :n], rtol=1e-5, atol=1e-5)


def test_rows_times_vectors_are_as_exact_as_the_cpus(torch):
    torch.manual_seed(0)
    mine = theirs = 0.0
    for m, k, n in itertools.product((1, 7, 16, 40), (3, 16, 31), (1, 8, 39)):
        c, a, b = torch.randn(m, n), torch.randn(m, k), torch.randn(k, n)
        want = torch.addmm(c, a, b)
        got = torch.addmm(c.hammerblade(), a.hammerblade(), b.hammerblade()).cpu()
        exact = torch.addmm(c.double(), a.double(), b.double())
        mine += (got - exact).square().sum().item()
        theirs += (want - exact).square().sum().item()
    assert mine <= 1.5 * theirs


# (images, channels, height, width, channels of the result, filter, keywords)
CONVOLUTIONS = [
    (2, 3, 9, 11, 5, (3, 3), {"padding": 1}),
    (1, 4, 8, 40, 33, (3, 5), {"padding": (1, 2)}),
    (1, 1, 5, 140, 2, (2, 3), {}),
    (2, 2, 7, 7, 3, (7, 7), {"padding": 3}),
    (1, 2, 12, 13, 3, (3, 3), {"stride": 2, "padding": 1}),
    (1, 2, 13, 12, 3, (2, 2), {"stride": 3}),
    (1, 2, 14, 14, 2, (3, 3), {"stride": 2, "dilation": 2, "padding": 2}),
    (1, 2, 14, 15, 2, (3, 2), {"stride": (3, 2), "dilation": (2, 3), "padding": (2, 1)}),
    (1, 2, 11, 11, 2, (1, 1), {"stride": 2}),
    (2, 5, 6, 7, 34, (1, 1), {}),
    (1, 6, 9, 9, 6, (3, 3), {"groups": 6, "padding": 1}),
    (1, 4, 6, 6, 6, (3, 3), {"groups": 2}),
    (1, 1, 40, 3, 1, (9, 3), {"dilation": (4, 1)}),
    (1, 2, 3, 90, 2, (1, 4), {"dilation": (1, 25)}),
    (1, 1, 4, 4, 1, (4, 4), {}),
    (1, 2, 5, 70, 9, (1, 3), {"padding": (2, 0)}),
]  # fmt: skip


@pytest.mark.parametrize("shape", CONVOLUTIONS, ids=str)
def test_convolutions_of_every_kind(torch, shape):
    n, c, h, w, o, filter_size, options = shape
    torch.manual_seed(0)
    torch.hammerblade.tiles(4, 2)
    x, f, b = torch.randn(n, c, h, w), torch.randn(o, c // options.get("groups", 1), *filter_size), torch.randn(o)
    F = torch.nn.functional

    def all_of(*tensors):
        leaves = [t.detach().requires_grad_() for t in tensors]
        out = F.conv2d(*leaves, **options)
        grads = torch.autograd.grad(out, leaves, torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape).to(out.device))
        return [out.detach(), *grads]

    got = in_both_modes(torch, lambda: all_of(x.hammerblade(), f.hammerblade(), b.hammerblade()))
    for name, mine, want in zip(("result", "image", "filter", "bias"), got, all_of(x.double(), f.double(), b.double()), strict=True):
        torch.testing.assert_close(mine.double(), want, rtol=1e-4, atol=1e-4, msg=lambda text: f"{name}: {text}")  # noqa: B023
