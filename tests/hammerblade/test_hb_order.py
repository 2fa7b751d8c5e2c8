# SPDX-License-Identifier: Apache-2.0
"""Scans, sorts and searches of the device against the CPU: any shape, layout and dimension, NaN, equal elements, four meshes,
both modes. Nothing may fall back to the CPU (conftest.py makes that an error)."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_hb_operators import MESHES, check

TYPES = ["float32", "int32", "int64", "uint8", "bool"]


def numbers(torch, dtype, *shape, seed=0, special=True):
    """Many of them equal; floats with NaN, infinities and both zeros."""
    random = np.random.default_rng(seed)
    values = random.integers(-4, 5, shape)
    if dtype == "float32":
        values = (values / 4).astype(dtype)
        if special:
            odd = random.random(shape)
            values = np.select([odd < 0.05, odd < 0.08, odd < 0.11, odd < 0.2], [np.nan, np.inf, -np.inf, -0.0], values).astype(dtype)
    return torch.from_numpy(np.asarray(abs(values) if dtype == "uint8" else values).astype(dtype))


def equal(torch, got, want, what=""):
    for g, w in zip(got, want, strict=True):
        assert g.is_hammerblade and g.dtype == w.dtype and g.shape == w.shape, what
        assert torch.equal(g.cpu().nan_to_num(77.0), w.nan_to_num(77.0)), what


def orders(torch, x, dim):
    """All that is exact."""
    yield from x.sort(dim)
    yield from x.sort(dim=dim, descending=True, stable=True)
    yield x.argsort(dim)
    if x.size(dim):
        yield from x.topk((x.size(dim) + 1) // 2, dim)
        yield from x.topk(min(x.size(dim), 3), dim)
        yield from x.topk(x.size(dim) // 2, dim, largest=False)
    yield from x.cummax(dim)
    yield from x.cummin(dim)
    if not x.is_floating_point():
        yield x.cumsum(dim)
        yield x.cumprod(dim)


@pytest.mark.quick(emulated=False)  # which does more of them below
@pytest.mark.parametrize("dtype", TYPES)
def test_case(torch, dtype):
    for shape in [(5,), (300,), (3, 65), (2, 3, 7)]:
        x = numbers(torch, dtype, *shape)
        for layout in (x, x.transpose(0, -1)):
            equal(torch, list(orders(torch, layout.hammerblade_ll(), 0)), list(orders(torch, layout, 0)), f"{dtype} {shape}")


@pytest.mark.parametrize("mesh", MESHES, ids=lambda m: f"{m[0]}x{m[1]}")
def test_orders_equal_the_cpu(torch, mesh):
    torch.hammerblade.tiles(*mesh)
    for dtype, shape in itertools.product(TYPES, [(5,), (1000,), (3, 333), (40, 7), (2, 3, 65), (1,), (4, 0), (200, 2, 2)]):
        x = numbers(torch, dtype, *shape)
        for dim in range(x.dim()):
            for layout in (x, x.transpose(0, -1), torch.stack([x, x], -1)[..., 1]):
                at = min(dim, layout.dim() - 1)
                equal(torch, list(orders(torch, layout.hammerblade_ll(), at)), list(orders(torch, layout, at)), f"{dtype} {shape} {at}")


@settings(deadline=None, max_examples=20, derandomize=True)
@given(st.data(), st.lists(st.integers(1, 9), min_size=1, max_size=4), st.sampled_from(TYPES), st.sampled_from(MESHES))
def test_any_layout(torch, draw, shape, dtype, mesh):
    torch.hammerblade.tiles(*mesh)
    shape[draw.draw(st.integers(0, len(shape) - 1))] *= draw.draw(st.sampled_from([1, 40]))
    x = numbers(torch, dtype, *shape, seed=draw.draw(st.integers(0, 99))).permute(draw.draw(st.permutations(range(len(shape)))))
    dim = draw.draw(st.integers(0, len(shape) - 1))
    equal(torch, list(orders(torch, x.hammerblade_ll(), dim)), list(orders(torch, x, dim)))


@pytest.mark.parametrize("mesh", MESHES, ids=lambda m: f"{m[0]}x{m[1]}")
def test_running_sums_of_floats_and_gradients(torch, mesh):
    torch.hammerblade.tiles(*mesh)
    for shape, dim in [((300,), 0), ((4, 70), 1), ((70, 4), 0), ((2, 3, 5), 1)]:
        x = torch.from_numpy(np.random.default_rng(1).uniform(0.5, 1.5, shape).astype(np.float32))
        for name in ["cumsum", "cumprod", "logcumsumexp"]:
            check(torch, lambda t, n=name, d=dim: getattr(t, n)(d), x.clone())
        for function in [lambda t, d=dim: t.sort(d)[0], lambda t, d=dim: t.topk(2, d)[0], lambda t, d=dim: t.cummax(d)[0], lambda t, d=dim: t.kthvalue(2, d)[0], lambda t, d=dim: t.median(d)[0]]:
            check(torch, function, x.clone())
    special = torch.tensor([1.0, float("inf"), 2.0, float("-inf"), 1.0, float("nan"), 3.0])
    for name in ["cumsum", "cumprod", "logcumsumexp"]:
        for length in range(1, 8):
            torch.testing.assert_close(getattr(special[:length].hammerblade(), name)(0).cpu(), getattr(special[:length], name)(0), equal_nan=True)


def test_sums_keep_what_rounding_loses(torch):
    x = torch.from_numpy(np.random.default_rng(2).uniform(-1, 1, 100_000).astype(np.float32))
    exact = np.cumsum(x.numpy().astype(np.float64))
    for mesh in MESHES:
        torch.hammerblade.tiles(*mesh)
        assert np.abs(x.hammerblade().cumsum(0).cpu().numpy() - exact).max() < 2e-5


@pytest.mark.parametrize("seed", [1, 2])
def test_check_mode_finds_nothing_wrong(torch, seed):
    torch.hammerblade.tiles(4, 2)
    x = numbers(torch, "float32", 3, 150)
    with torch.hammerblade.mode("check", seed=seed):
        got = [*orders(torch, x.hammerblade(), 1), *orders(torch, x.hammerblade(), 0), torch.searchsorted(torch.arange(9.0).hammerblade(), x.hammerblade()), x.hammerblade().nonzero()]
        sums = x.nan_to_num(0, 0, 0).hammerblade().cumsum(1)
    equal(torch, got, [*orders(torch, x, 1), *orders(torch, x, 0), torch.searchsorted(torch.arange(9.0), x), x.nonzero()])
    torch.testing.assert_close(sums.cpu(), x.nan_to_num(0, 0, 0).cumsum(1))


def test_searches(torch):
    for mesh, dtype, right in itertools.product(MESHES, ["float32", "int32", "int64"], [False, True]):
        torch.hammerblade.tiles(*mesh)
        lines, values = numbers(torch, dtype, 3, 40).sort(1)[0], numbers(torch, dtype, 3, 7, seed=1)
        for s, v in [(lines, values), (lines[1], values), (lines[0, :0], values), (lines, values[:, ::2])]:
            equal(torch, [torch.searchsorted(s.hammerblade(), v.hammerblade(), right=right)], [torch.searchsorted(s, v, right=right)])
    equal(torch, [torch.bucketize(values.hammerblade(), lines[0].hammerblade())], [torch.bucketize(values, lines[0])])


def found(torch, x):
    yield x.nonzero()
    yield from x.nonzero(as_tuple=True)
    yield x[x.bool()]
    yield x.masked_select(x.bool()[:1])
    yield from torch.unique(x, return_inverse=True, return_counts=True)
    yield from torch.unique_consecutive(x.flatten(), return_inverse=True, return_counts=True)
    yield x.flatten().mode(0)[0]
    yield x.double().flatten().quantile(0.5) if x.device.type == "cpu" else x.flatten().float().quantile(0.5).double()


def test_results_whose_size_the_data_decide(torch):
    for mesh, dtype, shape in itertools.product(MESHES, ["float32", "int64", "int32"], [(0,), (1,), (7, 9), (2, 3, 50)]):
        torch.hammerblade.tiles(*mesh)
        for x in [numbers(torch, dtype, *shape, special=False), torch.zeros(shape, dtype=getattr(torch, dtype))]:
            if x.numel():
                equal(torch, list(found(torch, x.hammerblade())), list(found(torch, x)), f"{dtype} {shape}")
            else:
                assert x.hammerblade().nonzero().shape == (0, 1)
