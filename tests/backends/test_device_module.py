# SPDX-License-Identifier: Apache-2.0
"""torch.<device> and torch.accelerator, made from a device's record."""
import threading

import facula as torch
import pytest
from backend_tools import library, run_python

pytestmark = pytest.mark.threads


def test_devices(example):
    module = torch.example
    assert module.is_available() and module.is_initialized() and module.device_count() == 2 and module.current_device() == 0
    with module.device(1):
        assert module.current_device() == 1
        assert torch.ones(2, device=example).device == torch.device("example:1") == torch.ones(2).to(example).device
        there = []
        thread = threading.Thread(target=lambda: there.append(module.current_device()))  # another thread has its own
        thread.start()
        thread.join()
        assert there == [0]
        x = torch.ones(3, device=example, requires_grad=True)
        (x * 2).sum().backward()  # its worker takes over the thread's choices
        assert x.grad.device == torch.device("example:1")
    assert module.current_device() == 0
    module.set_device("example:1")
    assert module.current_device() == 1
    module.set_device(0)
    with module.device_of(torch.ones(1, device="example:1")):
        assert module.current_device() == 1
    with module.device_of(torch.ones(1)):
        assert module.current_device() == 0
    with pytest.raises(RuntimeError, match="example: device 7 does not exist, there are 2"):
        module.set_device(7)
    with pytest.raises(ValueError, match="expected a device of type 'example', got 'cpu'"):
        module.set_device("cpu")
    assert "memory apart" in module.get_device_name(1) and module.get_device_properties("example:1").index == 1
    assert "map" in module.get_device_capability()["families"]


def test_memory(example):
    module = torch.example
    module.empty_cache()
    module.reset_peak_memory_stats()
    before = module.memory_allocated()
    x = torch.empty(1000, dtype=torch.uint8, device=example)
    assert module.memory_allocated() == before + 1000 and module.max_memory_allocated() == before + 1000
    block = next(b for b in module.memory_snapshot() if b["address"] == x.data_ptr())
    assert block["allocated_size"] == 1000 and block["total_size"] == 1024 and block["state"] == "active_allocated"
    address = x.data_ptr()
    del x
    assert module.memory_allocated() == before and module.memory_reserved() >= before + 1024
    assert next(b for b in module.memory_snapshot() if b["address"] == address)["state"] == "inactive"
    module.reset_peak_memory_stats()
    assert module.max_memory_allocated() == before
    stats = module.memory_stats()
    assert stats["allocated_bytes.all.current"] == before and module.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["current"] == before
    assert "Allocated memory" in module.memory_summary()
    module.empty_cache()
    assert all(b["state"] != "inactive" for b in module.memory_snapshot())


def test_methods(example):
    x = torch.ones(2).example()
    assert x.is_example and x.device == torch.device("example:0") and not x.cpu().is_example and torch.ones(2).example(1).device.index == 1
    layer = torch.nn.Linear(2, 2).example("example:1")
    assert layer.bias.device == torch.device("example:1")
    assert torch.Tensor.example.__doc__ == "The tensor on a device of type 'example'."


def test_pytorchs_way_to_name_a_device(example):
    torch.utils.rename_privateuse1_backend(example)
    torch.utils.generate_methods_for_privateuse1_backend()
    assert torch.ones(1).example().is_example
    with pytest.raises(RuntimeError, match="Expected one of cpu"):
        torch.utils.rename_privateuse1_backend("no_such_device")


def test_the_cpu_has_a_record():
    held = torch.ones(100)
    assert torch.backends.devices()[0] == "cpu" and torch.backends.memory_stats("cpu")["current"] >= held.nbytes
    assert torch.zeros(3, device="cpu:0").device == torch.zeros(3).device and (torch.zeros(3, device="cpu:0") + torch.zeros(3)).shape == (3,)


def test_calls_on_devices_let_other_threads_run():
    """A device that waits for another Python thread: with the interpreter's lock held it would wait for ever."""
    reached, go = threading.Event(), threading.Event()

    class Waiting(torch.backends.Backend):
        name = "waiting"

        def supports(self, query):
            return query.family == "map" and query.opcode == "add"

        def map(self, call):
            reached.set()
            assert go.wait(30)
            call.out.numpy()[...] = 7

    x = torch.ones(1, device=torch.backends.register(Waiting()))
    thread = threading.Thread(target=lambda: (reached.wait(30), go.set()))
    thread.start()
    assert (x + x).item() == 7
    thread.join()


ACCELERATOR = """
import facula as torch, sys
acc = torch.accelerator
assert acc.current_accelerator() is None and not acc.is_available()
torch.load_backend(sys.argv[1])
assert str(acc.current_accelerator()) == "example" and acc.is_available() and acc.device_count() == 2
with acc.device_index(1):
    assert acc.current_device_index() == 1 and torch.empty(1, device="example").device.index == 1
acc.set_device_index("example:1")
assert acc.current_device_idx() == 1
acc.set_device_index(0)
x = torch.empty(100, device="example")
assert acc.memory_allocated() == 400 and acc.max_memory_allocated() == 400 and acc.memory_reserved() == 448 and acc.max_memory_reserved() == 448
acc.reset_peak_memory_stats(), acc.reset_accumulated_memory_stats(), acc.empty_cache(), acc.empty_host_cache(), acc.synchronize()
assert acc.memory_stats()["allocated_bytes.all.current"] == 400 and acc.current_stream().stream_id == 0
acc.manual_seed_all(3)
assert torch.example.initial_seed() == 3
assert torch.get_device_module() is torch.example
try:
    acc.set_device_index("cpu")
except ValueError as e:
    assert "cpu doesn't match the current accelerator example" in str(e)
try:
    acc.Graph()
except RuntimeError as e:
    assert "Graph is not supported on device type: example" in str(e)
else:
    raise AssertionError
"""


def test_accelerator():
    done = run_python("-c", ACCELERATOR, library("example"))
    assert done.returncode == 0, done.stderr


def test_a_backend_of_the_environment_is_introduced():
    done = run_python("-c", "import facula as torch; print(torch.ones(2).example().is_example, torch.example.device_count())", FACULA_BACKENDS=library("example"))
    assert done.stdout == "True 2\n", done.stderr
