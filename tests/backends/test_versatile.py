# SPDX-License-Identifier: Apache-2.0
"""What a backend may do beyond families: operators by name of every kind, reports, functions, exact memory."""
import sys
import types

import facula
import facula as torch
import pytest
from backend_tools import library

pytestmark = pytest.mark.threads


@pytest.fixture
def versatile():
    """The versatile backend's device type; its counts start anew."""
    sys.modules.setdefault("versatile_names", types.SimpleNamespace(__all__=["answer"], answer=42))
    name = facula.load_backend(library("versatile"))
    torch.backends.call(name, "offer")
    return name


def on(name, values):
    return torch.tensor(values).to(name)


def test_a_single_device_has_no_index(versatile):
    x = torch.ones(2, device=versatile)
    assert str(x.device) == "versatile" and repr(x.device) == "device(type='versatile')" and x.device.index is None
    assert torch.ones(2, device="versatile:0").device == x.device and (x + torch.ones(2, device="versatile:0")).device == x.device
    assert torch.backends.devices().count("versatile") == 1
    with pytest.raises(RuntimeError, match="'versatile:1' does not exist: backend 'versatile' has 1 device"):
        torch.ones(2, device="versatile:1")


def test_exact_memory(versatile):
    before = torch.backends.counters(versatile)
    x = torch.empty(7, dtype=torch.uint8, device=versatile)
    y = torch.empty(1001, dtype=torch.uint8, device=versatile)
    assert torch.backends.counters(versatile)["live_bytes"] - before["live_bytes"] == 1008
    del x, y
    assert torch.backends.counters(versatile)["live_bytes"] == before["live_bytes"]
    for _ in range(3):
        torch.empty(5, device=versatile)
    assert torch.backends.counters(versatile)["allocations"] - before["allocations"] == 5
    assert torch.backends.memory_stats(versatile)["cached"] == 0


def test_in_place(versatile):
    x = on(versatile, [-1.0, 2.0])
    address, version = x.data_ptr(), x._version
    assert x.relu_() is x and x.data_ptr() == address and x.cpu().tolist() == [0, 2] and x._version == version + 1
    assert torch.backends.fallback_counts() == {}


def test_out(versatile):
    x, out = on(versatile, [[0.0, 0.0]]), torch.empty(0, device=versatile)
    assert torch.exp(x, out=out) is out and out.cpu().tolist() == [[2, 2]]  # its own idea of exp
    with pytest.warns(UserWarning, match="resize"):
        torch.exp(x, out=torch.empty(7, device=versatile))


def test_size_by_data(versatile):
    x = on(versatile, [[0.0, 3.0], [5.0, 0.0]])
    for _ in range(2):
        found = torch.nonzero(x)
        assert found.device == x.device and found.dtype == torch.int64 and found.cpu().tolist() == [[0, 1], [1, 0]]
    assert torch.nonzero(on(versatile, [0.0])).shape == (0, 1)
    assert torch.backends.fallback_counts() == {}


def test_lists(versatile):
    a, b = torch._foreach_neg([on(versatile, [1.0]), on(versatile, [[2.0], [3.0]])])
    assert a.cpu().tolist() == [-1] and b.cpu().tolist() == [[-2], [-3]] and b.device.type == versatile


def test_views(versatile):
    x = on(versatile, [[1.0, 2.0], [3.0, 4.0]])
    d = torch.diagonal(x)
    assert d.cpu().tolist() == [1, 4] and d.untyped_storage().data_ptr() == x.untyped_storage().data_ptr() and d._is_view()
    d.relu_()
    first, second = torch.unbind(x)
    assert second.cpu().tolist() == [3, 4] and second.data_ptr() == x.data_ptr() + 8
    assert x._version == 1


def test_numbers_and_absent_results(versatile):
    assert torch.equal(on(versatile, [1.0]), on(versatile, [2.0])) is True  # it counts elements
    x = on(versatile, [[1.0, 2.0]])
    args = (x, x, [2], x[:, :1], x[:, :1], x[0], x[0])
    grads = torch.ops.aten.native_layer_norm_backward(*args, [True, False, True])
    assert grads[0].cpu().tolist() == [[3, 3]] and grads[1] is None and grads[2].cpu().tolist() == [3, 3]


def test_claims_change_while_running(versatile):
    x = on(versatile, [1.0])
    assert torch.sigmoid(x).item() == 0.75
    x + x
    torch.backends.call(versatile, "withdraw")
    assert next(b for b in torch.backends.backends() if b["name"] == versatile)["operators"] == ["aten::relu_"]
    assert torch.sigmoid(x).item() == pytest.approx(0.7310586) and (x + x).item() == 2
    assert set(torch.backends.fallback_counts()) == {("aten::sigmoid", versatile), ("aten::add.Tensor", versatile)}
    torch.backends.call(versatile, "offer")
    torch.backends.reset_fallback_counts()
    asked = torch.backends.counters(versatile)["questions"]
    assert torch.sigmoid(x).item() == 0.75 and (x + x).item() == (x + x).item() == 2
    assert torch.backends.counters(versatile)["questions"] == asked + 1 and torch.backends.fallback_counts() == {}


def test_context(versatile):
    x = on(versatile, [1.0])
    x + x
    assert torch.backends.call(versatile, "last") == "aten::add.Tensor unseen 0"
    seen = []
    with torch.dispatch.observe(lambda e: seen.append(e), ["call", "launch"]):
        x + x
    assert torch.backends.call(versatile, "last") == "aten::add.Tensor seen 1"
    launches = [e for e in seen if e.kind == "launch" and e.phase == "end"]
    assert [e.name for e in launches] == ["tensorlib_add", "tensorlib_barrier", "map"]
    assert [e.device_ns for e in launches] == [1000, 500, 1500] and launches[0].bytes == 12 and launches[0].text == "1x1 tiles"
    call = next(e for e in seen if e.kind == "call" and e.phase == "end")
    assert call.device_ns == 1500 and launches[0].call_id == call.call_id


def test_functions(versatile):
    about = next(b for b in torch.backends.backends() if b["name"] == versatile)
    assert about["functions"][0] == "add(a, b): the sum of two integers"
    call = torch.backends.call
    assert call(versatile, "add", 2, 40) == 42
    made = call(versatile, "iota", 3)
    assert made.device.type == versatile and made.cpu().tolist() == [0, 1, 2]
    x = on(versatile, [1.0])
    assert call(versatile, "kinds", None, True, 3, 2.5, "text", [1, 2], [1.5], x, [x, x], torch.int8) == "0:0 2:0 3:0 4:0 6:4 8:2 9:1 1:0 10:2 7:0 "
    assert call(versatile, "elsewhere") is True
    with pytest.raises(RuntimeError, match="backend 'versatile', device 0, fail: so it is"):
        call(versatile, "fail", "so it is")
    with pytest.raises(RuntimeError, match="add: add takes two integers"):
        call(versatile, "add", 1)
    with pytest.raises(AttributeError, match="backend 'versatile' has no function 'subtract'; it has add, last"):
        call(versatile, "subtract")
    with pytest.raises(TypeError, match="takes None, bool, int, float, str"):
        call(versatile, "add", object(), 1)


@pytest.mark.parametrize("trigger", ["synchronize", "item", "cpu"])
def test_errors_that_come_later(versatile, trigger):
    x = on(versatile, [1.0])
    torch.backends.call(versatile, "later", "index 7 is out of range")
    torch.backends.call(versatile, "later", "a second one, which is not kept")
    x.add_(1)  # goes on: nothing is known yet
    with pytest.raises(IndexError, match="reported by work that was queued before: index 7 is out of range"):
        {"synchronize": lambda: torch.backends.synchronize(versatile), "item": x.item, "cpu": x.cpu}[trigger]()
    assert x.cpu().item() == 2


def test_non_blocking(versatile):
    count = lambda: torch.backends.counters(versatile)["non_blocking"]  # noqa: E731
    before = count()
    torch.ones(3).to(versatile, non_blocking=True)  # memory that may be gone before the device reads it: waits
    assert count() == before
    pinned = torch.backends.empty_pinned(3, device=versatile).fill_(2)
    x = pinned.to(versatile, non_blocking=True)
    assert count() == before + 1
    pinned.copy_(x, non_blocking=True)
    torch.backends.synchronize(versatile)
    assert count() == before + 2 and pinned.tolist() == [2, 2, 2]


def test_module(versatile):
    module = torch.versatile
    assert module is torch.get_device_module(versatile) and module.__name__ == "facula.versatile" and module.answer == 42
    assert module.is_available() and module.device_count() == 1 and module.current_device() == 0
    assert module.call("add", 1, 2) == 3 and "does everything" in module.get_device_name()
    x = torch.ones(2).versatile()
    assert x.is_versatile and not x.cpu().is_versatile and x.device.type == versatile
    layer = torch.nn.Linear(2, 1).versatile()
    assert layer.weight.device.type == versatile
    assert not hasattr(torch, "no_such_device")


def test_claims_change_while_other_threads_call(versatile):
    import threading

    x, errors, done = on(versatile, [1.0, 2.0]), [], threading.Event()

    def work():
        try:
            while not done.is_set():
                torch.sigmoid(x), x + x, torch.nonzero(x)
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for _ in range(200):
        torch.backends.call(versatile, "withdraw")
        torch.backends.call(versatile, "offer")
    done.set()
    for t in threads:
        t.join()
    assert not errors
