# SPDX-License-Identifier: Apache-2.0
"""Kernels that run along rows and columns: special values, rows that end inside of a vector, results below the normal range."""

import math

import pytest

SHAPES = [(3, 1), (5, 7), (2, 64), (4, 100), (1, 1000), (300, 3)]


def by_definition(torch, x, dim):
    top = x.amax(dim, keepdim=True)
    return ((x - top).exp().sum(dim, keepdim=True).log() + top).squeeze(dim)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logsumexp(torch, shape, dtype):
    x = torch.randn(2, *shape, dtype=getattr(torch, dtype)) * 20
    for dim in range(3):
        torch.testing.assert_close(x.logsumexp(dim), by_definition(torch, x, dim))
        assert torch.equal(x.logsumexp(dim, keepdim=True).squeeze(dim), x.logsumexp(dim))
        assert torch.equal(x.transpose(1, 2).contiguous().transpose(1, 2).logsumexp(dim), x.logsumexp(dim))
    flat = x.flatten(1)
    assert torch.equal(x.logsumexp((1, 2)), flat.logsumexp(1))  # one run of dimensions is one dimension
    torch.testing.assert_close(x.logsumexp((0, 2)), x.transpose(0, 1).flatten(1).logsumexp(1))


@pytest.mark.parametrize("dim", [0, 1])
def test_logsumexp_of_special_values(torch, dim):
    inf, nan = math.inf, math.nan
    rows = torch.tensor([[-inf, -inf, -inf], [inf, 0, 1], [-inf, inf, 0], [nan, 0, inf], [-inf, 2, -inf], [1e38, -1e38, 0]])
    x = rows if dim else rows.t().contiguous()
    want = torch.tensor([-inf, inf, inf, nan, 2, 1e38])
    assert torch.equal(x.logsumexp(dim).nan_to_num(nan=-7.0), want.nan_to_num(nan=-7.0))
    assert torch.tensor(3.0).logsumexp(0) == 3 and torch.zeros(2, 0).logsumexp(1).tolist() == [-inf, -inf]


@pytest.mark.parametrize("n", [3, 16, 100])
@pytest.mark.parametrize("dtype, steps", [("float32", (87, 88, 95, 103, 103.9, 104, 110, 1e4, math.inf)), ("float64", (708, 709, 740, 745, 746, 1e5, math.inf))])
def test_softmax_below_the_normal_range(torch, n, dtype, steps):
    """What is left of exp(-step) beside ones, down to the smallest number and to 0."""
    dtype = getattr(torch, dtype)
    for step in steps:
        x = torch.zeros(2, n, dtype=dtype)
        x[:, 1] = -step
        want = torch.tensor(math.exp(-step), dtype=torch.float64) / (n - 1)
        smallest = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
        for y in (x.softmax(1)[0, 1], x.t().contiguous().softmax(0)[1, 0]):
            assert abs(y.double() - want) <= smallest + 1e-6 * want
        assert x.log_softmax(1)[0, 1].item() == pytest.approx(-step - math.log(n - 1), rel=1e-6)
