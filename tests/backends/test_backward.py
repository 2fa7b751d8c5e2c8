# SPDX-License-Identifier: Apache-2.0
"""The backward pass of accelerators: on a worker of theirs, as if it were the caller."""
import os
import subprocess
import sys
import threading

import facula as torch
import pytest
from backend_tools import library
from facula.utils._python_dispatch import TorchDispatchMode

pytestmark = pytest.mark.threads


def spying(seen):
    """An identity that tells where its backward runs, and in which state."""

    class Spy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            seen.append((str(g.device), threading.get_ident(), torch.is_grad_enabled()))
            return g

    return Spy.apply


def test_each_device_has_a_worker(example):
    seen = []
    spy = spying(seen)
    host = torch.ones(3, requires_grad=True)
    zero, one = (spy(spy(host * 2).to(f"{example}:{i}") * 3) for i in range(2))
    (zero.cpu() + one.cpu()).sum().backward()
    assert host.grad.tolist() == [12.0] * 3
    threads = {}
    for device, thread, grad_mode in seen:
        threads.setdefault(device, set()).add(thread)
        assert not grad_mode
    here = threading.get_ident()
    assert threads["cpu"] == {here}
    (first,), (second,) = threads[f"{example}:0"], threads[f"{example}:1"]
    assert len({here, first, second}) == 3
    seen.clear()
    spy(torch.ones(1, device=f"{example}:0", requires_grad=True)).backward()
    assert seen[0][1] == first  # it stays


def test_workers_take_over_the_callers_state(example):
    seen, called = [], []
    spy = spying(seen)

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            called.append((str(func), threading.get_ident()))
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, device=example, requires_grad=True)
    y = spy(x * x).sum()
    with Mode():
        (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert seen[0][2]  # create_graph: recording is on
    assert g.requires_grad and g.cpu().tolist() == [2.0, 2.0]
    assert any(name == "aten.mul.Tensor" and thread == seen[0][1] for name, thread in called)

    packed = []
    y = spy(x * x).sum()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(threading.get_ident()) or t, lambda t: t):
        torch.autograd.grad(y, x, create_graph=True)
    assert packed and set(packed) == {seen[-1][1]}

    counts = []
    y = spy(x * x).sum()
    with torch.dispatch.layer("count", lambda op, args, kwargs, go_on: (counts.append(str(op)), go_on(*args, **kwargs))[1]):
        y.backward()
    assert "aten.mul.Tensor" in counts


def test_workers_use_the_callers_stream(hostile):
    name = hostile("streams")
    x = torch.ones(3).to(name).requires_grad_()
    y = (x * x).sum()
    before = torch.backends.counters(name)["maps_on_streams"]
    with torch.backends.Stream(name):
        y.backward()
    assert torch.backends.counters(name)["maps_on_streams"] > before


@pytest.mark.parametrize("where", ["device", "cpu"])
def test_errors_reach_the_caller(example, where):
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            raise KeyError("from the backward")

    x = torch.ones(2, device=example if where == "device" else "cpu", requires_grad=True)
    parts = [(Fails.apply(x).to(example) * i).sum() for i in range(20)]
    with pytest.raises(KeyError, match="from the backward"):
        sum(parts).backward()
    (x * 2).sum().backward()  # the worker lives on
    assert x.grad.cpu().tolist() == [2.0, 2.0]


def test_errors_of_conversion_reach_the_caller(example):
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return 2**100 if func is torch.ops.aten._local_scalar_dense.default else func(*args, **(kwargs or {}))

    y = torch.ones(2, device=example, requires_grad=True).sin().sum()
    with pytest.raises(OverflowError), torch.autograd.set_detect_anomaly(True), Mode():
        y.backward()  # looks for NaN, and is told a number that is none


def test_a_backward_inside_of_a_backward_runs_where_it_is_called(example):
    seen = []
    spy = spying(seen)

    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                for device in (f"{example}:0", f"{example}:1", "cpu"):
                    inner = g.detach().to(device).requires_grad_()
                    spy(inner * 5).sum().backward()
                    assert inner.grad.cpu().tolist() == [5.0, 5.0]
            return g

    x = torch.ones(2, device=example, requires_grad=True)
    Nested.apply(x).sum().backward()
    assert len(seen) == 3 and len({thread for _, thread, _ in seen}) == 1 and seen[0][1] != threading.get_ident()


def test_many_threads_share_a_worker(example):
    x = torch.ones(50, requires_grad=True)
    bad = []

    def work(k):
        for _ in range(20):
            (g,) = torch.autograd.grad(((x * k).to(example) * 2).cpu().sum(), x)
            if g.tolist() != [2.0 * k] * 50:
                bad.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not bad


@pytest.mark.skipif(os.environ.get("FACULA_SANITIZED") == "thread", reason="ThreadSanitizer starts no thread in a forked child")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_has_workers_of_its_own(example):
    x = torch.ones(2, device=example, requires_grad=True)
    (x * 2).sum().backward()
    pid = os.fork()
    if pid == 0:
        try:
            (x * 3).sum().backward()
            os._exit(0 if x.grad.cpu().tolist() == [5.0, 5.0] else 1)
        finally:
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.parametrize("pause", [0.0, 0.05, 0.15])
def test_exit_beside_backward(pause):
    """Workers and their callers run hooks when the interpreter exits: the process ends well."""
    code = f"""if True:
        import threading, time, facula as torch
        device = torch.load_backend({str(library("example"))!r})
        x = torch.ones(5000, device=device, requires_grad=True)
        def run():
            while True:
                y = x * 2
                y.register_hook(lambda g: sum(range(200)) and None)
                x.register_hook(lambda g: None).remove()
                (y.exp().sum() + y.cpu().sum().to(device)).backward()
        for _ in range(4): threading.Thread(target=run, daemon=True).start()
        time.sleep({pause})
        """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and not done.stderr, (done.returncode, done.stderr)


def test_a_long_chain_over_devices(example):
    x = torch.ones(1, requires_grad=True)
    y = x
    for i in range(500):
        y = (y * 1).to(example if i % 2 == 0 else "cpu")
    y.sum().backward()
    assert x.grad.item() == 1
