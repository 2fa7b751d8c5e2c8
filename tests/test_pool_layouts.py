"""Pooling in both layouts: odd sizes, widths beside a vector's, strides, dilations, NaN and infinities, against windows taken
one by one."""

import math
import random

import pytest

import facula as torch
from facula.nn import functional as F

TYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]


def largest(x, kernel, stride, padding, dilation, place):
    """The first of a window's largest elements, or its last NaN, and where it is in its plane."""
    best, at = -math.inf, None
    height, width = len(x), len(x[0])
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            y, c = place[0] * stride[0] - padding[0] + i * dilation[0], place[1] * stride[1] - padding[1] + j * dilation[1]
            if 0 <= y < height and 0 <= c < width:
                if at is None:
                    at = y * width + c
                v = x[y][c]
                if v > best or v != v:
                    best, at = v, y * width + c
    return best, at


def case(chance, dtype):
    kernel = [chance.randint(1, 4) for _ in range(2)]
    size = [chance.randint(1, 9), chance.choice([1, 3, 8, 15, 16, 17, 33])]
    x = torch.randint(-9, 9, (2, chance.choice([1, 3, 8, 15, 16, 17, 40]), *size)).abs() if dtype == torch.uint8 else torch.randint(-9, 9, (2, chance.choice([1, 3, 8, 15, 16, 17, 40]), *size))
    x = x.to(dtype)
    if dtype.is_floating_point:
        x[torch.rand(x.shape) < 0.1] = math.nan
        x[torch.rand(x.shape) < 0.3] = -math.inf
    return x, kernel, [chance.randint(1, 3) for _ in range(2)], [chance.randint(0, k // 2) for k in kernel], [chance.randint(1, 2) for _ in range(2)]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_max_pool_is_the_largest_of_each_window(dtype):
    torch.manual_seed(0)
    chance, done = random.Random(str(dtype)), 0
    while done < 12:
        x, kernel, stride, padding, dilation = case(chance, dtype)
        span = [s + 2 * p - d * (k - 1) for s, p, d, k in zip(x.shape[2:], padding, dilation, kernel)]
        if min(span) < 1:
            continue
        done += 1
        values, places = F.max_pool2d(x, kernel, stride, padding, dilation, return_indices=True)
        last = F.max_pool2d(x.to(memory_format=torch.channels_last), kernel, stride, padding, dilation, return_indices=True)
        assert last[0].is_contiguous(memory_format=torch.channels_last)
        assert torch.equal(values.double().nan_to_num(77), last[0].double().nan_to_num(77)) and torch.equal(places, last[1])
        planes = x.double().tolist()
        n, c = chance.randrange(x.shape[0]), chance.randrange(x.shape[1])
        for y in range(values.shape[2]):
            for z in range(values.shape[3]):
                want, at = largest(planes[n][c], kernel, stride, padding, dilation, (y, z))
                if at is None:
                    continue  # a window between the elements
                got = values[n, c, y, z].double().item()
                assert (got == want or (got != got and want != want)) and places[n, c, y, z].item() == at


@pytest.mark.parametrize("pool", ["max", "avg", "adaptive"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_both_layouts_have_the_same_bits(pool, dtype):
    torch.manual_seed(1)
    chance = random.Random(pool)
    for _ in range(12):
        x, kernel, stride, padding, _ = case(chance, torch.int32)
        x = torch.randn(x.shape, dtype=torch.float64).to(dtype)
        if min(s + 2 * p - k for s, p, k in zip(x.shape[2:], padding, kernel)) < 0:
            continue
        run = {"max": lambda t: F.max_pool2d(t, kernel, stride, padding), "avg": lambda t: F.avg_pool2d(t, kernel, stride, padding, count_include_pad=False),
               "adaptive": lambda t: F.adaptive_avg_pool2d(t, (3, 2))}[pool]  # fmt: skip
        a, b = x.clone().requires_grad_(), x.to(memory_format=torch.channels_last).requires_grad_()
        y, z = run(a), run(b)
        assert torch.equal(y, z)
        g = torch.randn(y.shape).to(dtype)
        y.backward(g)
        z.backward(g.to(memory_format=torch.channels_last))
        assert torch.equal(a.grad, b.grad)
