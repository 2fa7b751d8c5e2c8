# SPDX-License-Identifier: Apache-2.0
"""Threads that share tensors, graphs, generators and the registry; threads that run when the interpreter exits; signals
while modes change; forked children. Values may depend on who comes first, memory never does: each program runs in a child
process, and has to end well. The same programs run under ThreadSanitizer (docs/architecture.md, Threads)."""
import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.threads

SANITIZED = os.environ.get("FACULA_SANITIZED", "")

PREAMBLE = """
import gc, os, signal, sys, threading, time
import {module} as torch
torch.set_num_threads(1)

def together(*works, seconds={seconds}):
    "Runs every function over and over, each on a thread of its own; what they raise ends the program."
    errors, end = [], time.monotonic() + seconds
    def run(work):
        try:
            while time.monotonic() < end and not errors:
                work()
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=run, args=(w,)) for w in works]
    [t.start() for t in threads]
    [t.join() for t in threads]
    if errors:
        raise errors[0]

def leaf(n=3):
    return torch.ones(n, requires_grad=True)

def race_to_free(z):
    "Three threads run backward over one graph, which the first of them frees."
    messages = []
    def run():
        try: z.backward()
        except Exception as error: messages.append(str(error))
    threads = [threading.Thread(target=run) for _ in range(3)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert all("second time" in m for m in messages), messages
"""


def program(torch, text, seconds=0.5, timeout=120, status=0):
    code = PREAMBLE.format(module=torch.__name__, seconds=seconds) + textwrap.dedent(text)
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True, timeout=timeout)
    assert done.returncode == status, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "terminate called" not in done.stderr and "FATAL" not in done.stderr and "WARNING: ThreadSanitizer" not in done.stderr, done.stderr
    return done.stdout


# --- one tensor, several threads
@pytest.mark.parametrize("n", [3, 5000])
def test_grad_beside_backward(torch, n):
    program(torch, f"""
        x = leaf({n})
        def reset(): x.grad = None
        def replace(): x.grad = torch.zeros({n})
        def read(): g = x.grad; g is None or g.shape
        def backward(): (x * 2).sum().backward()
        together(backward, backward, reset, replace, read)
    """)


def test_gradients_of_many_threads_are_added(torch):
    program(torch, """
        x, y = leaf(), leaf(5000)
        def work():
            for _ in range(200):
                (x * 2).sum().backward()
                (y * 2).sum().backward()
        threads = [threading.Thread(target=work) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert x.grad.tolist() == [1600.0] * 3 and y.grad.sum() == 1600 * 5000, (x.grad, y.grad)
    """)


@pytest.mark.parametrize("n", [3, 5000])
def test_hooks_beside_backward(torch, n):
    program(torch, f"""
        x = leaf({n})
        y = x * 2
        z = y.sum()
        node = y.grad_fn
        def change(register):
            def work():
                handles = [register(lambda *a: None) for _ in range(5)]
                for h in handles: h.remove()
            return work
        together(lambda: z.backward(retain_graph=True), lambda: (x * 3).sum().backward(), change(x.register_hook), change(y.register_hook),
                 change(x.register_post_accumulate_grad_hook), change(node.register_hook), change(node.register_prehook))
    """)


@pytest.mark.parametrize("sizes", [(3, 3), (3, 5000), (5000, 5000), (5000, 9000), (4000, 70000)])
def test_data_beside_use(torch, sizes):
    a, b = sizes
    program(torch, f"""
        x = torch.ones({a}, requires_grad=True)
        sources = [torch.ones({a}), torch.ones({b}), torch.ones(2, 1, 1, 1, 1, 1, {b} // 2)]
        w = torch.ones({a})
        def swap():
            for s in sources:
                x.data = s.clone()
                w.data = s.clone()
        def use():
            w.sum(); w + 1; w.exp()
        def record():
            try: (x * 2).sum()
            except RuntimeError: pass
        def backward():
            x.grad = None
            try: (x * x).sum().backward()
            except RuntimeError as e: assert "size" in str(e) or "shape" in str(e), e  # the other thread's size
        together(swap, use, use, record, backward)
    """)


@pytest.mark.parametrize("n", [100, 5000])
def test_geometry_beside_use(torch, n):
    """Operators that put another storage, sizes or strides in a tensor's place; the last line may find one of another thread's."""
    program(torch, f"""
        x = torch.ones({n})
        other = torch.ones(2 * {n})
        def lend():
            x.set_()
            x.set_(other[:{n}])
            x.data = torch.ones({n})
        def turn():
            x.resize_(40, {n} // 10)
            x.t_()
            x.unsqueeze_(0)
            x.squeeze_()
            x.resize_as_(other)
        def lenient(work):
            def run():
                try: work()
                except (IndexError, RuntimeError): pass  # of sizes that another thread has changed
            return run
        together(lenient(lend), lenient(turn), lambda: x.sum(), lambda: x + 1, seconds=1.0)
    """)


def test_a_change_of_geometry_may_call_back(torch):
    """An observer computes, while a change lets no other use begin."""
    program(torch, """
        x, big = torch.ones(5000), torch.ones(5000)
        seen = []
        with torch.dispatch.observe(lambda e: seen.append(big.sum().item())):
            x.resize_(9000)
            x.set_()
        assert set(seen) == {5000.0}
    """)


def test_history_beside_use(torch):
    program(torch, """
        x, t, base = leaf(5000), torch.ones(5000), torch.ones(5000) * 1
        view = base[:4000]
        def flip():
            t.requires_grad_(True)
            t.requires_grad_(False)
        def write():
            with torch.no_grad(): base.add_(1)
            base.detach_()
            base.mul_(x)
        def read():
            view.grad_fn, base.grad_fn, view.requires_grad, (t * x).sum().backward()
        def retain():
            y = x * 2
            y.retain_grad()
            s = y.sum()
            del y
            s.backward()
        def tolerant(f):
            def work():
                try: f()
                except RuntimeError: pass  # a version that moved
            return work
        together(flip, tolerant(write), tolerant(read), tolerant(read), retain)
    """)


def test_several_backwards_over_one_graph(torch):
    program(torch, """
        x = leaf(2000)
        y = ((x * x).exp().sum() + (x * 3).relu().sum()) * 2
        def free():
            z = (x * x * x).sum()
            race_to_free(z)
        together(lambda: y.backward(retain_graph=True), lambda: y.backward(retain_graph=True), free)
    """)


def test_a_custom_function_in_threads(torch):
    program(torch, """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * 2
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                return g * 2 + x * 0
        x = leaf(2000)
        y = Double.apply(x).sum()
        def free():
            z = Double.apply(x).sum()
            race_to_free(z)
        together(lambda: y.backward(retain_graph=True), lambda: y.backward(retain_graph=True), free)
    """)


def test_generators_shared_by_threads(torch):
    program(torch, """
        g = torch.Generator()
        def seed(): g.manual_seed(3); torch.manual_seed(4)
        def state(): g.set_state(g.get_state()); torch.set_rng_state(torch.get_rng_state())
        def draw(): torch.rand(5000, generator=g); torch.randn(5000); torch.randperm(3000, generator=g); torch.rand(3)
        together(seed, state, draw, draw)
    """)


def test_tensors_dropped_on_other_threads(torch):
    program(torch, """
        import queue, weakref
        q = queue.Queue(100)
        def make():
            x = torch.ones(2000, requires_grad=True)
            x.note, x.grad = [x.shape], torch.ones(2000)
            r = weakref.ref(x)
            y = x * 2
            del x
            try: q.put((y, r), timeout=0.1)
            except queue.Full: pass
        def drop():
            try: y, r = q.get(timeout=0.1)
            except queue.Empty: return
            x = r()
            z = y.sum()
            del y
            z.backward()
            if x is not None: x.sum(), x.note
        together(make, make, drop, drop)
    """)


def test_a_weak_reference_outlives_the_graph(torch):
    """Python lets go of a leaf, the graph keeps it, a weak reference brings it back, the graph goes."""
    program(torch, """
        import weakref
        x = leaf()
        y, r = x * 2, weakref.ref(x)
        del x
        x = r()
        del y
        gc.collect()
        (x * 3).sum().backward()
        assert x.grad.tolist() == [3.0] * 3
        del x
        assert r() is None
    """)


@pytest.mark.usefixtures("facula_only")
def test_operators_defined_beside_calls(torch):
    program(torch, """
        lib, numbers = torch.library.Library("threads", "FRAGMENT"), iter(range(10**9))
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x * 2, "CPU")
        big = torch.ones(5000)
        def define():
            n = next(numbers)
            lib.define(f"f.o{n}(Tensor x, int[] a{n}) -> Tensor")
            lib.define(f"g{n}(Tensor x) -> Tensor")
            lib.impl(f"g{n}", lambda x: x + 1, "CPU")
            lib.impl("f", lambda x: x * 2, "CPU")
            assert getattr(torch.ops.threads, f"g{n}")(big)[0] == 2
        def call(): assert torch.ops.threads.f.default(big)[0] == 2; big + 1
        def read(): torch.ops.threads.f.overloads(); torch._C._overloads("threads::f"); torch._C._operator_names()
        together(define, call, call, read)
    """)


@pytest.mark.usefixtures("facula_only")
def test_layers_and_observers_beside_calls(torch):
    program(torch, """
        from facula.dispatch import layer, observe
        big, x = torch.ones(5000), leaf(5000)
        def layered():
            with layer("twice", lambda op, args, kwargs, go_on: go_on(*args, **kwargs)):
                (x * 2).sum().backward()
        def observed():
            seen = []
            with observe(lambda *a: seen.append(a)):
                with observe(lambda *a: None): big + 1
                (x * 2).sum().backward()
            assert seen
        def call(): big + 1; (x * 3).sum().backward()
        together(layered, observed, observed, call, call)
    """)


@pytest.mark.usefixtures("facula_only")
def test_observers_left_in_any_order_and_on_any_thread(torch):
    program(torch, """
        from facula.dispatch import observe
        x, seen = torch.ones(3), {name: [] for name in "abc"}
        a, b, c = (observe(seen[name].append, "call") for name in "abc")
        a.start(); b.start(); c.start()
        try: b.start(); raise SystemExit("no error")
        except RuntimeError as e: assert "watching already" in str(e)
        a.stop()
        a.stop()
        x + 1
        t = threading.Thread(target=b.stop); t.start(); t.join()
        x + 1
        del c
        gc.collect()
        x + 1
        assert [len(seen[name]) for name in "abc"] == [0, 2, 4]
    """)


@pytest.mark.usefixtures("facula_only")
def test_observers_of_the_process_come_and_go_beside_calls(torch):
    program(torch, """
        from facula.dispatch import observe, route
        big, x = torch.ones(5000), leaf(5000)
        def observed():
            seen = []
            with observe(seen.append, "all", process=True):
                (x * 2).sum().backward()
            assert {e.kind for e in seen} >= {"call", "kernel", "launch", "allocate", "range"}
        def routed():
            with route(lambda op, args, kwargs, go_on: go_on(*args, **kwargs), process=True): big + 1
        def replaced(): x.data = torch.ones(5000)
        def call(): big + 1; (x * 3).sum().backward()
        together(observed, observed, routed, replaced, call, call)
    """)


# --- threads that run when the interpreter exits
WORK = {
    "operators": "torch.ones(5000) + 1",
    "small operators": "torch.ones(3) + 1",
    "backward": "(x * 2).exp().sum().backward()",
    "backward with hooks": "y = x * 2; y.register_hook(lambda g: sum(range(200)) and None); y.sum().backward()",
    "a Function": "F.apply(x).sum().backward()",
    "saved tensors": "\nwith torch.autograd.graph.saved_tensors_hooks(lambda t: sum(range(200)) and t, lambda t: t): (x * x).sum().backward()",
    "a subclass": "(s + 1).exp()",
    "a mode": "\nwith M(): x.exp().sum().backward()",
    "numpy": "torch.from_numpy(numpy.ones(5000)).add_(1)",
    "an index": "torch.ones(5000).reshape(I())",
}


@pytest.mark.parametrize("work", WORK)
def test_exit_beside_threads(torch, work):
    loop = textwrap.indent(f"while True:\n{textwrap.indent(WORK[work].strip(), '    ')}", "            ").strip()
    for pause in (0.0, 0.02, 0.11):
        program(torch, f"""
        import atexit, numpy
        from torch.utils._python_dispatch import TorchDispatchMode
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x): return x * 2
            @staticmethod
            def backward(ctx, g): return g * sum(range(200)) / sum(range(200)) * 2
        class S(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                sum(range(200))
                return super().__torch_function__(func, types, args, kwargs or {{}})
        class M(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                sum(range(200))
                return func(*args, **(kwargs or {{}}))
        class I:
            def __index__(self): return 5000 + 0 * sum(range(200))
        x, s = leaf(5000), torch.ones(5000).as_subclass(S)
        def run():
            {loop}
        for _ in range(6): threading.Thread(target=run, daemon=True).start()
        time.sleep({pause})
        """.replace("from torch.utils", f"from {torch.__name__}.utils"))


@pytest.mark.usefixtures("facula_only")
@pytest.mark.parametrize("work", ["with layer('l', lambda op, a, k, go_on: go_on(*a, **k)): x + 1", "with observe(lambda *a: sum(range(100))): x + 1",
                                  "torch.ops.exits.f.default(x)"])  # fmt: skip
def test_exit_beside_callbacks(torch, work):
    for pause in (0.0, 0.02, 0.11):
        program(torch, f"""
            from facula.dispatch import layer, observe
            lib = torch.library.Library("exits", "FRAGMENT")
            lib.define("f(Tensor x) -> Tensor")
            lib.impl("f", lambda x: x * sum(range(100)), "CPU")
            x = torch.ones(5000)
            def run():
                while True:
                    try:
                        {work}
                    except RuntimeError: pass  # four slots for layers
            for _ in range(6): threading.Thread(target=run, daemon=True).start()
            time.sleep({pause})
        """)


def test_work_at_exit(torch):
    """What atexit and destructors run still works, beside daemon threads."""
    out = program(torch, """
        import atexit
        x = leaf(5000)
        def run():
            while True: (torch.ones(5000) * 2).sum()
        for _ in range(3): threading.Thread(target=run, daemon=True).start()
        def late():
            y = x * 2
            y.register_hook(lambda g: None)
            y.sum().backward()
            print("late", x.grad[0].item(), flush=True)
        atexit.register(late)
    """)
    assert out.split() == ["late", "2.0"]


# --- signals
MODES = ["no_grad()", "enable_grad()", "inference_mode()", "autograd.set_detect_anomaly(False)", "autocast('cpu')", "autograd.graph.saved_tensors_hooks(id, id)"]


@pytest.mark.skipif(SANITIZED == "thread", reason="ThreadSanitizer delivers signals at points of its own")
@pytest.mark.parametrize("mode", MODES)
def test_signals_while_modes_change(torch, mode):
    """A handler that raises, thousands of times, while a mode is entered and left: it is always left."""
    program(torch, f"""
        class Now(Exception): pass
        armed = False
        def handler(*_):
            if armed: raise Now
        signal.signal(signal.SIGALRM, handler)
        state = lambda: (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu"))
        before, hits, end = state(), 0, time.monotonic() + 2
        while hits < 3000 and time.monotonic() < end:
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, 0.00002 + hits % 17 * 0.000003)
                while True:
                    with torch.{mode}: pass
            except Now:
                armed = False
                hits += 1
            assert state() == before, (hits, state())
            leaf().exp().sum()
        assert hits > 50, hits
    """)


# --- forks
@pytest.mark.skipif(SANITIZED == "thread", reason="ThreadSanitizer starts no thread in a forked child")
def test_fork_beside_threads(torch):
    program(torch, """
        import warnings
        warnings.simplefilter("ignore")
        x, stop = leaf(5000), []
        def run():
            while not stop:
                y = x * 2
                y.register_hook(lambda g: None)
                y.sum().backward()
                x.data = torch.ones(5000)
        threads = [threading.Thread(target=run) for _ in range(3)]
        [t.start() for t in threads]
        for _ in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                z = leaf(5000)
                (z * 2).exp().sum().backward()
                (x * 2).sum().backward()
                x.data = torch.zeros(3)
                os._exit(0 if z.grad is not None else 1)
            assert os.waitpid(child, 0)[1] == 0
        stop.append(1)
        [t.join() for t in threads]
    """)


@pytest.mark.skipif(SANITIZED == "thread", reason="ThreadSanitizer starts no thread in a forked child")
@pytest.mark.parametrize("before", [True, False])
def test_fork_of_a_process_that_chose_its_threads(torch, before):
    """libgomp's threads do not survive a fork: the child of a process that had some works alone, and does not wait for them."""
    program(torch, f"""
        torch.set_num_threads(2)
        if {before}:
            torch.ones(400, 4000).exp().sum()
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            torch.set_num_threads(2)
            x = torch.ones(400, 4000)
            right = torch.get_num_threads() == (1 if {before} else 2) and (x * 2).sum().item() == 3200000
            os._exit(0 if right else 1)
        assert os.waitpid(child, 0)[1] == 0
    """)
