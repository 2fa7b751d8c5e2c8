# SPDX-License-Identifier: Apache-2.0
"""The null device: programs run without arithmetic, and it counts what they ask for."""
import os

import facula as torch
import pytest

pytestmark = pytest.mark.threads


def difference(work):
    before = torch.backends.counters("null")
    work()
    return {k: v - before[k] for k, v in torch.backends.counters("null").items() if v != before[k]}


def test_counts():
    x = torch.zeros(10, 10, device="null")

    def work():
        y = torch.tanh(x + x)
        y.cpu()

    counts = difference(work)
    assert counts["map_calls"] == 2 and counts["bytes_to_host"] == 400
    assert torch.backends.fallback_counts().get(("aten::tanh", "null"), 0) == 0


def test_reads_zero():
    assert torch.ones(3, device="null").cpu().tolist() == [0, 0, 0]


@pytest.mark.skipif(os.environ.get("FACULA_SANITIZED") == "thread", reason="ThreadSanitizer keeps the addresses for itself")
def test_memory_that_no_machine_has():
    """Only address space is used: a dry run of something huge costs nothing."""
    x = torch.empty(1 << 40, dtype=torch.uint8, device="null")
    y = x.view(1 << 20, 1 << 20) + 1
    assert y.shape == (1 << 20, 1 << 20)
    del x, y
    torch.backends.empty_cache("null")


def test_backward_dry_run():
    x = torch.zeros(4, device="null", requires_grad=True)
    y = (torch.exp(x) * x).cos()
    counts = difference(lambda: y.backward(torch.ones(4, device="null")))
    assert counts["map_calls"] > 3 and x.grad.shape == (4,)
