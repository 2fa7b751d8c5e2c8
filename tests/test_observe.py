# SPDX-License-Identifier: Apache-2.0
"""torch.dispatch.observe and torch.dispatch.route: what a program is told of its own calls."""

import os
import subprocess
import sys
import threading

import pytest

pytestmark = [pytest.mark.usefixtures("facula_only"), pytest.mark.threads]


@pytest.fixture
def watch(torch):
    """watch(events, **options): a list that fills with what happens until the test ends."""
    started = []

    def start(events="all", **options):
        seen = []
        started.append(torch.dispatch.observe(seen.append, events, **options))
        started[-1].start()
        return seen

    yield start
    for watching in started:
        watching.stop()


def names(seen, kind, phase="begin"):
    return [e.name for e in seen if (e.kind, e.phase) == (kind, phase)]


def test_a_call_from_its_begin_to_its_end(torch):
    told = []

    def see(event):
        told.append((event.kind, event.phase, event.args, event.kwargs, event.result if event.phase == "end" else None))

    x = torch.ones(2)
    with torch.dispatch.observe(see):
        y = torch.add(x, x, alpha=2)
    assert [t[:2] for t in told] == [("call", "begin"), ("kernel", "begin"), ("kernel", "end"), ("call", "end")]
    for _, phase, args, kwargs, result in told:
        assert args[0] is x and args[1] is x and kwargs == {"alpha": 2}
        assert (result is y) if phase == "end" else result is None


def test_arguments_are_read_in_the_observer(torch, watch):
    seen = watch("call")
    x = torch.ones(2) + 1
    assert seen[0].name == "aten::ones" and x.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="event.args was not read while the event was told: read it in the observer"):
        seen[0].args


def test_in_place_arguments_before_and_after(torch):
    values = []
    x = torch.ones(1)
    with torch.dispatch.observe(lambda e: values.append(e.args[0].tolist()), "kernel"):
        x.add_(1)
    assert values == [[1.0], [2.0]]


def test_what_happens_below_a_call(torch, watch):
    a, big = torch.ones(128, 128), torch.ones(5000)
    seen = watch()
    torch.mm(a, a)
    (big + 1).sum()
    torch.zeros(10)
    call = next(e for e in seen if e.kind == "call" and e.name == "aten::mm")
    launch = next(e for e in seen if e.kind == "launch" and e.name == "matmul")
    assert launch.call_id == call.call_id and launch.product == (1, 128, 128, 128)
    assert launch.bytes == 3 * 128 * 128 * 4 and str(launch.device) == "cpu"
    for library in (e for e in seen if e.kind == "library"):  # where one is installed
        assert library.product == (1, 128, 128, 128) and library.call_id == call.call_id
    assert ("map", "add") in {(e.name, e.text) for e in seen if e.kind == "launch"}
    assert ("reduce", "sum") in {(e.name, e.text) for e in seen if e.kind == "launch"}
    taken = [e for e in seen if e.kind == "allocate"]
    assert taken[0].bytes == 128 * 128 * 4 and taken[0].address and taken[0].phase == "once"
    freed = [e for e in seen if e.kind == "free"]
    assert {e.storage for e in freed} <= {e.storage for e in taken}
    assert next(e for e in seen if e.kind == "fill").bytes == 40
    assert [e.time_ns for e in seen] == sorted(e.time_ns for e in seen)  # in the order in which it happened


def test_parents_and_paths(torch, watch):
    seen = watch("call")
    torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3))
    ends = {e.name: e for e in seen if e.phase == "end"}
    linear = ends["aten::linear"]
    children = [e.name for e in ends.values() if e.parent_id == linear.call_id]
    assert linear.path == "composite" and children


def test_backward_is_joined_to_forward(torch, watch):
    x = torch.ones(3, requires_grad=True)
    seen = watch(("call", "range"))
    x.sin().sum().backward()
    forward = next(e.call_id for e in seen if e.name == "aten::sin")
    node = next(e for e in seen if e.kind == "range" and e.name == "SinBackward0")
    assert node.forward_id == forward and node.text == "backward"
    assert [e.parent_id for e in seen if e.name == "aten::cos"] == [node.call_id] * 2


def test_an_exception_ends_its_call(torch, watch):
    seen = watch()
    with pytest.raises(RuntimeError):
        torch.ones(2) + torch.ones(3)
    assert sum({"begin": 1, "end": -1, "once": 0}[e.phase] for e in seen) == 0
    added = [e for e in seen if e.name == "aten::add.Tensor"]
    assert added[-1].phase == "end" and added[-1].failed and "must match the size" in added[-1].error
    assert not any(e.failed or e.error for e in seen if e.name == "aten::ones")


def test_a_layer_that_answers(torch, watch):
    x, seen = torch.ones(2), watch("call")
    with torch.dispatch.layer("zero", lambda op, args, kwargs, go_on: args[0]):
        x.neg()
    assert [e.path for e in seen if e.name == "aten::neg"][-1] == "layer"


def test_threads_and_the_process(torch, watch):
    mine, everyone = watch("call"), watch("call", process=True)
    x = torch.ones(2)
    del mine[:], everyone[:]
    thread = threading.Thread(target=x.neg)
    thread.start()
    thread.join()
    assert not mine and names(everyone, "call") == ["aten::neg"]
    assert everyone[0].thread != threading.get_native_id()


def test_observers_come_and_go_while_eight_threads_work(torch, watch):
    """Each event reaches those that look: one that always does sees every call, once."""
    everyone, done = watch("call", process=True), threading.Event()

    def work():
        x = torch.ones(3, requires_grad=True)
        for _ in range(40):
            (x * 2).sum().backward()

    def come_and_go():
        while not done.is_set():
            with torch.dispatch.observe(lambda event: event.name, "all", process=True):
                torch.profiler.profile(record_shapes=True, profile_memory=True).__enter__().__exit__()

    threads = [threading.Thread(target=work) for _ in range(8)]
    visitor = threading.Thread(target=come_and_go)
    for thread in (*threads, visitor):
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    visitor.join()
    of_workers = [e for e in everyone if e.thread != visitor.native_id]
    sums = [e for e in of_workers if e.name == "aten::sum" and e.phase == "begin"]
    assert len(sums) == 8 * 40 and len({e.call_id for e in sums}) == 8 * 40 and len({e.thread for e in sums}) == 8
    assert sum({"begin": 1, "end": -1, "once": 0}[e.phase] for e in of_workers) == 0


def test_unknown_events(torch):
    for events in ("calls", ("call", "kernels"), ()):
        with pytest.raises(ValueError, match="observe: events are some of call, kernel, .* or 'all'; got"):
            torch.dispatch.observe(print, events)
    with pytest.raises(TypeError, match="expected a function of one event, got int"):
        torch.dispatch.observe(3)


def test_an_interrupt_inside_of_an_observer_is_the_programs(torch):
    hook, sys.unraisablehook = sys.unraisablehook, lambda info: None

    def interrupted(event):
        raise KeyboardInterrupt

    try:
        with pytest.raises(KeyboardInterrupt):
            with torch.dispatch.observe(interrupted, "call"):
                torch.ones(1)
            for _ in range(1000):
                pass
    finally:
        sys.unraisablehook = hook


FORK = """
import os, facula as torch
here, there = [], []
a, b = torch.dispatch.observe(here.append, process=True), torch.dispatch.observe(there.append, process=True, children=True)
a.start(); b.start()
child = os.fork()
torch.ones(2)
if not child:
    os._exit(0 if not here and len(there) >= 4 else 1)
assert os.waitpid(child, 0)[1] == 0
assert len(here) >= 4 and len(there) >= 4
"""


def test_a_fork(torch):
    subprocess.run([sys.executable, "-c", FORK], check=True, env=dict(os.environ), timeout=60)


def test_launches_copies_and_fallbacks_of_a_backend(torch, watch):
    x = torch.ones(4).to("null")
    seen = watch()
    (x + 1).to("cpu")
    torch.fft.rfft(x)
    copy = next(e for e in seen if e.kind == "copy" and e.phase == "end")
    assert (str(copy.source), str(copy.device), copy.bytes, copy.path) == ("null:0", "cpu", 16, None)
    ends = {e.name: e for e in seen if e.kind == "kernel" and e.phase == "end"}
    assert ends["aten::add.Scalar"].path == "family" and str(ends["aten::add.Scalar"].device) == "null:0"
    launch = next(e for e in seen if e.kind == "launch")
    assert (launch.name, launch.text, str(launch.device), launch.bytes) == ("map", "add", "null:0", 32)
    assert ends["aten::_fft_r2c"].path == "fallback"


# --- routes
def test_a_route_answers_or_stands_aside(torch):
    asked = []

    def route(op, args, kwargs, go_on):
        asked.append(op.name())
        if op.name() == "aten::neg":
            return args[0] + 0  # what a route calls is not routed
        if op.name() == "aten::exp":
            return go_on(*args, **kwargs) * 2
        return NotImplemented

    x = torch.zeros(2, requires_grad=True)
    with torch.dispatch.route(route):
        y = x.exp()
        z = x.neg()
        x.sin()
    assert asked == ["aten::exp", "aten::neg", "aten::sin"]
    assert y.tolist() == [2.0, 2.0] and z.tolist() == [0.0, 0.0]
    z.sum().backward()
    assert x.grad.tolist() == [-1.0, -1.0]  # the operator's own derivative
    assert x.exp().tolist() == [1.0, 1.0]


def test_a_route_that_answers_wrongly(torch):
    with torch.dispatch.route(lambda op, args, kwargs, go_on: 3):
        with pytest.raises(TypeError, match="the route must return a Tensor, not int"):
            torch.ones(2).neg()
    with torch.dispatch.route(lambda op, args, kwargs, go_on: 1 / 0):
        with pytest.raises(ZeroDivisionError):
            torch.ones(2).neg()


def test_what_an_observer_calls_does_not_change_the_path(torch):
    paths = []

    def see(event):
        torch.linalg.svd(torch.ones(2, 2)), torch.ones(2, device="null").exp().cpu()
        if event.phase == "end":
            paths.append((event.kind, event.path))

    x = torch.ones(2)
    with torch.dispatch.observe(see):
        x.exp()
    assert paths == [("kernel", "family"), ("call", "family")]


def test_the_device_of_what_a_call_makes(torch):
    seen = []
    torch.set_default_device("null")
    try:
        with torch.dispatch.observe(lambda e: seen.append((e.name, e.phase, e.device.type)), "call"):
            torch.randn(3)
    finally:
        torch.set_default_device(None)
    assert seen[0] == ("aten::randn", "begin", "cpu") and seen[-1] == ("aten::randn", "end", "null")


def test_memory_that_leaves_without_an_operator_is_told(torch):
    x, told = torch.arange(6.0), []

    def see(event):
        told.append((event.name, event.address - event.address % 1, event.storage, event.bytes))

    with torch.dispatch.observe(see, "expose"):
        x.numpy()
        x.data_ptr()
        x.untyped_storage()
        x.__dlpack__()
        x.tolist()
        made = torch.tensor([1.0, 2.0])
        x.data = torch.zeros(6)
    storage = [name for name, _, s, _ in told if s == told[0][2]]
    assert storage == ["lent", "data_ptr", "data_ptr", "lent", "read"]
    assert ("filled", made.data_ptr(), made._storage_id(), 8) in told and told[-1][0] == "data"


def test_memory_of_others_is_told(torch):
    numpy, told = pytest.importorskip("numpy"), []
    with torch.dispatch.observe(lambda e: told.append((e.name, e.address, e.bytes)), "expose"):
        array = numpy.ones(5)
        torch.from_numpy(array)
    assert told == [("made outside", array.ctypes.data, 40)]


def test_launches_say_what_they_read_and_write(torch):
    a, b = torch.ones(4, 6), torch.ones(6, 5)
    seen = []
    with torch.dispatch.observe(lambda e: seen.append(e) if e.phase == "end" else None, ("launch", "fill", "copy", "library")):
        c = a.t() + 1
        a.zero_()
        d = b[:, ::2].clone()
        p = a @ b
        torch.nn.functional.conv2d(torch.ones(1, 2, 8, 8), torch.ones(3, 2, 3, 3))
    by = {}
    for e in seen:
        by.setdefault((e.kind, e.name), []).append(e.operands)
    add = by["launch", "map"][0]
    assert add[-1] == (c.data_ptr(), torch.float32, add[-1][2], add[-1][3], "w") and add[0][0] == a.data_ptr() and add[0][4] == "r"
    assert by["fill", "fill"][0] == [(a.data_ptr(), torch.float32, (4, 6), (24, 4), "w")]
    (source, target), = by["copy", "copy"][:1]
    assert source[:2] == (b.data_ptr(), torch.float32) and 8 in source[3] and target[0] == d.data_ptr()
    product = by["launch", "matmul"][0]
    assert [o[0] for o in product] == [a.data_ptr(), b.data_ptr(), p.data_ptr()] and product[2][2:] == ((1, 4, 5), (product[2][3][0], 20, 4), "w")
    convolutions = [o for (kind, name), all in by.items() if "convolution" in name for o in all]
    assert all([x[4] for x in o] == ["r", "r", "w"] for o in convolutions)
