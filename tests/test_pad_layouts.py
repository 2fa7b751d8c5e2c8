"""Padding that repeats what is inside, in all layouts and types: place by place, and its gradient by counting."""

import random

import pytest

import facula as torch
from facula.nn import functional as F


def source(mode, at, size):
    if mode == "circular":
        return at % size
    if mode == "replicate":
        return min(max(at, 0), size - 1)
    return -at if at < 0 else at if at < size else 2 * (size - 1) - at


def case(chance, mode, dims):
    size = [chance.randint(2, 7) for _ in range(dims)]
    pad = [chance.randint(0 if mode == "circular" else -1, s - 1) for s in reversed(size) for _ in range(2)]
    x = torch.arange(2 * 5 * torch.empty(size).numel()).reshape(2, 5, *size) % 97
    places = [[source(mode, i - pad[2 * (dims - 1 - d)], size[d]) for i in range(size[d] + pad[2 * (dims - 1 - d)] + pad[2 * (dims - 1 - d) + 1])] for d in range(dims)]
    return x, pad, places


LAST = {1: torch.contiguous_format, 2: torch.channels_last, 3: torch.channels_last_3d}


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_every_place_and_what_flows_back(mode, dims):
    chance = random.Random(mode + str(dims))
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.complex64, torch.int16, torch.bool):
        x, pad, places = case(chance, mode, dims)
        x = x.to(dtype)
        want, back = x, [torch.zeros(x.shape[2 + d]) for d in range(dims)]
        for d, along in enumerate(places):
            want = want.index_select(2 + d, torch.tensor(along, dtype=torch.int64))
            back[d].index_add_(0, torch.tensor(along, dtype=torch.int64), torch.ones(len(along)))
        for t in (x, x.contiguous(memory_format=LAST[dims]), x.transpose(0, -1).contiguous().transpose(0, -1)):
            y = F.pad(t, pad, mode=mode)
            assert torch.equal(y, want)
            if y.numel() and t.is_contiguous(memory_format=LAST[dims]):
                assert y.is_contiguous(memory_format=LAST[dims])
            if not (dtype.is_floating_point or dtype.is_complex):
                continue
            t = t.clone().requires_grad_()
            y = F.pad(t, pad, mode=mode)
            y.backward(torch.full_like(y, 2))  # every place as often as it was used
            uses = torch.ones(())
            for d in range(dims):
                uses = uses.unsqueeze(-1) * back[d]
            assert torch.equal(t.grad, (2 * uses).expand(x.shape).to(dtype))


def test_sums_do_not_depend_on_the_number_of_threads():
    threads = torch.get_num_threads()
    torch.manual_seed(0)
    x, g = torch.randn(1, 3, 40, 50), torch.randn(1, 3, 60, 70)
    grads = []
    try:
        for n in (1, 2, 5):
            torch.set_num_threads(n)
            for layout in (torch.contiguous_format, torch.channels_last):
                t = x.clone(memory_format=layout).requires_grad_()
                F.pad(t, (10, 10, 10, 10), mode="replicate").backward(g.to(memory_format=layout))
                grads.append(t.grad)
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(a, grads[0]) for a in grads)


def test_a_border_that_memory_does_not_hold_is_refused():
    with pytest.raises((RuntimeError, MemoryError)):
        F.pad(torch.ones(1, 1, 2), (2**60, 2**60), mode="replicate")
    assert F.pad(torch.ones(0, 1, 2), (2**40, 0), mode="replicate").shape == (0, 1, 2**40 + 2)
