# SPDX-License-Identifier: Apache-2.0
"""The names of the PyTorch port: devices, moves, printing, profiler, kernel logger, route, fallback."""

import json
import re

import pytest

pytestmark = pytest.mark.not_sanitized


def test_device(torch):
    assert repr(torch.device("hammerblade")) == "device(type='hammerblade')"
    assert str(torch.empty(2, device="hammerblade").device) == "hammerblade"
    assert torch.empty(2, device="hammerblade").device == torch.device("hammerblade")
    assert torch.has_hammerblade and torch.hb_emul_on and torch.backends.hammerblade.is_built()
    torch.hammerblade.init()
    assert torch.hammerblade.is_available() and torch.hammerblade.device_count() == 1
    assert torch.hammerblade.current_device() == 0 and torch.hammerblade.has_half is False
    torch.hb_trace_enable()
    torch.hb_trace_disable()


def test_moves(torch):
    x = torch.randn(3, 4)
    y = x.hammerblade()
    assert y.is_hammerblade and not x.is_hammerblade and torch.equal(y.cpu(), x)
    assert torch.equal(x.to("hammerblade").to("cpu"), x) and y.type() == "torch.hammerblade.FloatTensor"
    model = torch.nn.Linear(4, 2).hammerblade()
    assert all(p.is_hammerblade for p in model.parameters())
    assert model(y).shape == (3, 2)


def test_llcopy_keeps_the_layout(torch):
    x = torch.arange(24.0).reshape(4, 6).t()[1:, ::2]
    y = x.hammerblade_ll()
    assert y.stride() == x.stride() and y.storage_offset() == x.storage_offset() and torch.equal(y.cpu(), x)
    assert y.untyped_storage().nbytes() == 96
    assert torch.equal((y + 1).cpu(), x + 1)


def test_printing(torch):
    assert repr(torch.tensor([1.0, 2.0], device="hammerblade")) == "tensor([1., 2.], device='hammerblade')"
    assert torch.tensor([2.5], device="hammerblade").item() == 2.5
    with pytest.raises(RuntimeError):
        torch.ones(2, device="hammerblade").item()


def test_counters_and_memory(torch):
    before = torch.hammerblade.counters()
    x = torch.ones(1000, device="hammerblade")
    y = x + x
    after = torch.hammerblade.counters()
    assert after["launches"] > before["launches"] and after["allocated_bytes"] >= 8000
    assert after["tiles"] - before["tiles"] == 128 * (after["launches"] - before["launches"])
    del x, y
    assert torch.hammerblade.counters()["allocated_bytes"] <= before["allocated_bytes"]
    free, total = torch.hammerblade.mem_get_info()
    assert 0 < free <= total


def test_kernel_logger(torch):
    logger = torch.hammerblade.kernel_logger
    logger.clear()
    logger.enable()
    a = torch.tensor([1.0, 2.0]).hammerblade()
    _ = a + a
    _ = a + a
    logger.disable()
    logged = json.loads(logger.json())
    logger.clear()
    assert {"tensorlib_add", "tensorlib_add#2"} <= set(logged), list(logged)
    assert [given["storage"] if isinstance(given, dict) else given for given in logged["tensorlib_add"]] == [[2, 4], [1, 2], [1, 2], 1]


def test_the_kernel_log_of_the_ports_readme(torch):
    """Printing brings a tensor back, which is no kernel: the log has "only the tensor add"."""
    logger = torch.hammerblade.kernel_logger
    x, y = torch.rand(2, 2).hammerblade(), torch.rand(2, 2).hammerblade()
    logger.clear()
    for function, name in [(torch.add, "tensorlib_add"), (torch.mul, "tensorlib_mul")]:
        logger.enable()
        str(function(x, y))
        logger.disable()
        str(x - y)
        assert list(json.loads(logger.json())) == [name]
        logger.clear()


def test_profiler_and_fallback(torch):
    profiler = torch.hammerblade.profiler
    profiler.enable()
    x = torch.ones(8).hammerblade()
    _ = x + x
    profiler.disable()
    assert "aten::add" in profiler.stats(key=["ExecTime"])
    raw = profiler.stats(key=["ExecTime-Raw"])
    assert "@OFFLOAD_KERNEL@__tensorlib_add" in raw, raw
    m = torch.ones(384, 384).hammerblade()
    with torch.profiler.profile() as p, profiler.region():
        m @ m
    rows = {e.key: e for e in p.key_averages()}
    kernel = rows["tensorlib_matmul"]  # 113 million operations are not done in 100 microseconds
    assert 100 < kernel.device_time_total == rows["aten::mm"].device_time_total < rows["aten::mm"].cpu_time_total
    raw = profiler.stats(key=["ExecTime-Raw"])
    assert float(re.search(r"Node\(@OFFLOAD_KERNEL@__tensorlib_matmul : ([0-9.]+)\)", raw).group(1)) > 100, raw
    profiler.fallback.enable()
    assert profiler.fallback.is_enabled()
    assert torch.equal((x.double() * 2).cpu(), torch.full((8,), 2.0, dtype=torch.float64))
    profiler.fallback.disable()
    assert not profiler.fallback.is_enabled()
    with pytest.raises(RuntimeError, match="mul.Scalar is not implemented for HB, and Fallback is not enabled"):
        x.double() * 2


def test_route_to_the_device(torch):
    route = torch.hammerblade.profiler.route
    x, y = torch.ones(2, 3), torch.full((2, 3), 2.0)
    data = [{"offload": True, "signature": "aten::add.Tensor"}]
    before = torch.hammerblade.counters()["launches"]
    try:
        route.set_route_from_json(data)
        torch.hammerblade.profiler.enable()
        z = torch.add(x, y)
        torch.hammerblade.profiler.disable()
    finally:
        route.reset()
    assert torch.equal(z, x + y) and torch.hammerblade.counters()["launches"] > before


def test_events_name_the_kernels(torch):
    seen = []
    x = torch.ones(4, device="hammerblade")
    with torch.dispatch.observe(lambda e: seen.append(e.name), ["launch"]):
        _ = x.exp()
    assert "tensorlib_exp" in seen, seen


def test_accesses_are_observed_in_check_mode(torch):
    x = torch.arange(100.0).hammerblade()
    with torch.hammerblade.mode("check"), torch.hammerblade.accesses() as seen:
        _ = x.exp()
    assert (seen.loads, seen.stores) == (100, 100)
    with torch.hammerblade.accesses() as seen:
        _ = x.exp()
    assert (seen.loads, seen.stores) == (0, 0)  # fast mode looks at nothing
