# SPDX-License-Identifier: Apache-2.0
"""Devices that lack something: decomposition, counted fallback, mutation through it, views without it."""
import facula as torch
import pytest
from backend_tools import library, run_python

pytestmark = pytest.mark.threads

backends = torch.backends


@pytest.fixture(scope="module")
def bare(request):
    """A device with memory and nothing else."""

    class Bare(backends.Backend):
        name = "bare"

    return backends.register(Bare())


def test_everything_runs_and_is_counted(bare):
    x = torch.tensor([[1.0, -2.0], [3.0, 4.0]], device=bare)
    assert torch.tanh(x).cpu().tolist() == torch.tanh(x.cpu()).tolist()
    assert torch.tanh(x).device.type == "bare"
    assert backends.fallback_counts()[("aten::tanh", bare)] == 2
    backends.reset_fallback_counts()
    assert backends.fallback_counts() == {}


def test_modes(bare):
    x = torch.ones(2, device=bare)
    backends.set_fallback_mode("warn")
    with pytest.warns(UserWarning, match=r"'aten::cos' has no kernel for the 'bare' device; this operator \(and only it\) runs on the CPU"):
        torch.cos(x)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.cos(x)  # once per operator and device
    backends.set_fallback_mode("count")
    torch.sin(x)
    backends.set_fallback_mode("warn")
    with pytest.warns(UserWarning, match="'aten::sin' has no kernel"):
        torch.sin(x)  # what fell back before the mode was set is news again
    backends.set_fallback_mode("error")
    assert backends.fallback_mode() == "error"
    with pytest.raises(NotImplementedError, match="'aten::cos' has no kernel for the 'bare' device, and falling back to the CPU is switched off"):
        torch.cos(x)
    with pytest.raises(ValueError, match="expected 'count', 'warn' or 'error', got 'never'"):
        backends.set_fallback_mode("never")


def test_mutated_arguments_come_back(bare):
    x = torch.tensor([1.0, 4.0, 9.0], device=bare)
    y = x.sqrt_()
    assert y is x and x.cpu().tolist() == [1, 2, 3]
    out = torch.empty(0, device=bare)
    assert torch.neg(x, out=out) is out and out.cpu().tolist() == [-1, -2, -3]
    base = torch.zeros(3, 3, device=bare)
    base.t()[1].add_(torch.tensor([1.0, 2.0, 3.0], device=bare))  # through a view with strides
    assert base.cpu().tolist() == [[0, 1, 0], [0, 2, 0], [0, 3, 0]]


def test_views_never_fall_back(bare):
    backends.set_fallback_mode("error")
    x = torch.zeros(2, 3, device=bare)
    v = x.t()[1:].unsqueeze(0).expand(4, 2, 2)
    assert v.device.type == "bare" and v.shape == (4, 2, 2)
    assert x.view(6).data_ptr() == x.data_ptr()


def test_mixed_devices(bare, example):
    x, y = torch.ones(2, device=bare), torch.ones(2)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device, but found at least two devices, bare:0 and cpu"):
        x + y
    with pytest.raises(RuntimeError, match="same device"):
        x + torch.ones(2, device=example)
    with pytest.raises(RuntimeError, match="example:0 and example:1"):
        torch.ones(2, device="example:0") + torch.ones(2, device="example:1")
    assert (x + torch.tensor(2.0)).cpu().tolist() == [3, 3]  # a number may come from the CPU


def test_between_devices(bare, example):
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3).to("example:1")
    assert x.to("example:0").to(bare).t().to(example).cpu().tolist() == [[0, 3], [1, 4], [2, 5]]


def test_autograd_on_a_bare_device(bare):
    x = torch.tensor([1.0, 2.0], device=bare, requires_grad=True)
    (x * x).backward(torch.ones(2, device=bare))
    assert x.grad.cpu().tolist() == [2, 4] and x.grad.device.type == "bare"


def test_pointwise_decomposes_instead(example):
    backends.set_fallback_mode("error")
    x = torch.tensor([-0.75, 0.0, 0.25, 3.0])
    for f in (torch.tanh, torch.erf, torch.sigmoid, torch.ceil, torch.log1p, torch.atan, torch.sign):
        want = f(x)
        got = f(x.to(example)).cpu()
        assert ((got - want).abs() <= 1e-6 * (1 + want.abs())).tolist() == [True] * 4
    y = x.half().to(example)
    assert torch.tanh(y).dtype == torch.float16
    y.sigmoid_()
    assert y.dtype == torch.float16 and abs(y.cpu()[1].item() - 0.5) < 1e-3
    assert (torch.ones(3, dtype=torch.int64, device=example) / 4).cpu().tolist() == [0.25] * 3
    assert backends.fallback_counts() == {}


def test_host_dereference_faults(example):
    """The example's memory is closed to the host: reading it directly ends the process."""
    code = "import facula, ctypes, sys; facula.load_backend(sys.argv[1]); x = facula.ones(4, device='example'); print('made', flush=True); ctypes.string_at(x.data_ptr(), 4)"
    done = run_python("-c", code, library("example"))
    assert done.stdout.strip() == "made" and done.returncode != 0


def test_memory(example):
    backends.empty_cache("example:1")
    before = backends.memory_stats("example:1")
    x = torch.empty(1000, device="example:1")
    during = backends.memory_stats("example:1")
    assert during["current"] - before["current"] == 4000 and during["allocations"] - before["allocations"] == 1
    del x
    after = backends.memory_stats("example:1")
    assert after["current"] == before["current"] and after["cached"] >= 4000
    torch.empty(999, device="example:1")  # the same size class: served by the cache
    assert backends.memory_stats("example:1")["from_system"] == after["from_system"]
    with pytest.raises(RuntimeError, match="backend 'example', device 1, alloc of .* out of memory"):
        torch.empty(1 << 40, device="example:1", dtype=torch.uint8)
    backends.empty_cache("example:1")
    assert backends.memory_stats("example:1")["cached"] == 0


def test_numbers_stay_numbers(bare):
    """What promotes like a number on the device does so on the CPU, too."""
    boundaries = torch.tensor([1, 3, 5], dtype=torch.int32)
    assert torch.bucketize(3.5, boundaries.to(bare)).item() == torch.bucketize(3.5, boundaries).item() == 2
