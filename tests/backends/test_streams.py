# SPDX-License-Identifier: Apache-2.0
"""Streams, events, counters and memory information of a backend that has them; clear errors of one that has not."""
import threading

import facula as torch
import pytest

pytestmark = pytest.mark.threads

backends = torch.backends


def test_calls_carry_the_stream(hostile):
    name = hostile("streams")
    x = torch.ones(3).to(name)
    before = backends.counters(name)["maps_on_streams"]
    x + x
    assert backends.counters(name)["maps_on_streams"] == before
    s, other = backends.Stream(name), backends.Stream(name)
    with s:
        with backends.stream(other):
            x + x
        y = x + x
        seen = []
        thread = threading.Thread(target=lambda: seen.append((x + x).cpu().tolist()))  # another thread has its own
        thread.start()
        thread.join()
    x + x
    assert backends.counters(name)["maps_on_streams"] == before + 2 and seen == [[2, 2, 2]] and y.cpu().tolist() == [2, 2, 2]
    event = s.record_event()
    assert event.query() and not backends.Event(name).query()
    other.wait_event(event)
    with pytest.raises(RuntimeError, match="event_wait: waits for nothing"):
        other.wait_event(backends.Event(name))
    s.synchronize()
    assert backends.counters(name)["open"] == 3
    del s, other, event
    assert backends.counters(name)["open"] == 0


def test_memory_is_reused_within_a_stream_only(hostile):
    name = hostile("stream_memory")
    s = backends.Stream(name)
    with s:
        address = torch.empty(100, device=name).data_ptr()
    assert torch.empty(100, device=name).data_ptr() != address
    with s:
        assert torch.empty(100, device=name).data_ptr() == address


def test_memory_info(hostile, example):
    assert backends.memory_info(hostile("info")) == (1, 2)
    with pytest.raises(NotImplementedError, match="backend 'example' does not tell its free memory"):
        backends.memory_info(example)


def test_pinned_memory(hostile, example):
    name = hostile("pinned")
    x = backends.empty_pinned(2, 3, device=name, dtype=torch.int32)
    assert x.shape == (2, 3) and x.dtype == torch.int32 and x.device.type == "cpu" and backends.counters(name)["open"] == 1
    assert x.fill_(5).to(name).cpu().tolist() == [[5] * 3] * 2
    del x
    assert backends.counters(name)["open"] == 0
    assert backends.empty_pinned((0, 2), device=name).shape == (0, 2)
    with pytest.raises(NotImplementedError, match="backend 'example' has no pinned memory"):
        backends.empty_pinned(2, device=example)


def test_without_streams(example):
    with pytest.raises(NotImplementedError, match="backend 'example' has no streams"):
        backends.Stream(example)
    backends.synchronize(example)
    backends.synchronize("cpu")  # nothing is pending there
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        backends.synchronize("cuda")


def test_streams_and_events_under_pytorchs_names(hostile):
    name = hostile("names")
    module = torch.get_device_module(name)
    s = torch.Stream(device=name)
    assert (s.device.type, s.device_index, s.native_handle) == (name, 0, s.stream_id) and not s.is_capturing()
    assert module.current_stream() == module.default_stream() and module.current_stream().stream_id == 0
    with module.stream(s):
        assert module.current_stream() == s != module.default_stream()
        start, end = module.Event(enable_timing=True), torch.Event(device=name)
        start.record()
    end.record(s)
    end.synchronize()
    assert s.query() and start.elapsed_time(end) == 2.5
    other = module.Stream()
    other.wait_stream(s)
    end.wait(other)
    module.set_stream(other)
    assert module.current_stream() == other
    module.set_stream(module.default_stream())
    with pytest.raises(RuntimeError, match="event_synchronise: was never recorded"):
        module.Event().synchronize()
    with module.stream(None):
        assert module.current_stream().stream_id == 0
