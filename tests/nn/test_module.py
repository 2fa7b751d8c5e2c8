# SPDX-License-Identifier: Apache-2.0
"""nn.Module: members, calls and hooks, conversion, state. Every test holds for PyTorch as well (--module torch)."""
import copy
import gc
import io
import pickle
import warnings
import weakref
from collections import OrderedDict

import pytest

pytestmark = pytest.mark.not_sanitized


@pytest.fixture(scope="session")
def nn(torch):
    return torch.nn


@pytest.fixture
def net(torch, nn):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))


# --- members


def test_assignment_registers(torch, nn):
    m = nn.Module()
    m.p = nn.Parameter(torch.ones(2))
    m.b = nn.Buffer(torch.zeros(2))
    m.hidden = nn.Buffer(torch.zeros(3), persistent=False)
    m.register_buffer("later", None)
    m.sub = nn.Linear(1, 1)
    m.plain = 3
    assert list(m._parameters) == ["p"] and list(m._buffers) == ["b", "hidden", "later"] and list(m._modules) == ["sub"]
    assert list(m.state_dict()) == ["p", "b", "sub.weight", "sub.bias"]
    assert type(m.b) is torch.Tensor and isinstance(m.b, nn.Buffer) and not isinstance(m.p, nn.Buffer)
    m.b = torch.ones(2)  # a tensor may replace a buffer
    assert m.b.tolist() == [1, 1] and "b" in m._buffers
    m.p = None
    assert m.p is None and "p" in m._parameters and list(m.parameters()) == [m.sub.weight, m.sub.bias]
    m.sub = nn.Parameter(torch.ones(1))  # another kind takes the name over
    assert list(m._parameters) == ["p", "sub"] and not m._modules
    del m.sub, m.b, m.plain
    assert not hasattr(m, "sub") and not hasattr(m, "b") and not hasattr(m, "plain")


@pytest.mark.parametrize(("value", "error", "text"), [
    ("tensor", TypeError, "cannot assign 'torch.FloatTensor' as parameter 'p' (torch.nn.Parameter or None expected)"),
    (3, TypeError, "cannot assign 'int' as parameter 'p' (torch.nn.Parameter or None expected)"),
])  # fmt: skip
def test_a_parameter_is_replaced_by_parameters_only(torch, nn, value, error, text):
    m = nn.Module()
    m.p = nn.Parameter(torch.ones(1))
    with pytest.raises(error) as e:
        m.p = torch.ones(1) if value == "tensor" else value
    assert str(e.value) == text


def raised(call):
    with pytest.raises(Exception) as e:
        call()
    return type(e.value).__name__, e.value.args[0]


def test_what_cannot_be_registered(torch, nn):
    m = nn.Module()
    m.taken = 1
    m.sub, m.b = nn.ReLU(), nn.Buffer(torch.ones(1))
    leaf = nn.Parameter(torch.ones(1))
    assert raised(lambda: m.register_parameter("a.b", leaf)) == ("KeyError", 'parameter name can\'t contain "."')
    assert raised(lambda: m.register_parameter("", leaf)) == ("KeyError", 'parameter name can\'t be empty string ""')
    assert raised(lambda: m.register_parameter(3, leaf)) == ("TypeError", "parameter name should be a string. Got int")
    assert raised(lambda: m.register_parameter("taken", leaf)) == ("KeyError", "attribute 'taken' already exists")
    assert raised(lambda: m.register_parameter("p", torch.ones(1))) == (
        "TypeError", "cannot assign 'torch.FloatTensor' object to parameter 'p' (torch.nn.Parameter or None required)")  # fmt: skip
    assert raised(lambda: m.register_buffer("x", 3)) == ("TypeError", "cannot assign 'int' object to buffer 'x' (torch Tensor or None required)")
    assert raised(lambda: m.register_buffer("taken", None)) == ("KeyError", "attribute 'taken' already exists")
    assert raised(lambda: m.add_module("x", 3)) == ("TypeError", "int is not a Module subclass")
    assert raised(lambda: m.add_module("a.b", m)) == ("KeyError", 'module name can\'t contain ".", got: a.b')
    assert raised(lambda: setattr(m, "sub", 3)) == ("TypeError", "cannot assign 'int' as child module 'sub' (torch.nn.Module or None expected)")
    assert raised(lambda: setattr(m, "b", 3)) == (
        "TypeError", "cannot assign 'int' as buffer 'b' (torch.nn.Buffer, torch.Tensor or None expected)")  # fmt: skip
    assert raised(lambda: m.missing) == ("AttributeError", "'Module' object has no attribute 'missing'")
    assert raised(lambda: m(1)) == ("NotImplementedError", 'Module [Module] is missing the required "forward" function')
    assert raised(lambda: nn.Module(1)) == ("TypeError", "Module.__init__() takes 1 positional argument but 2 were given")
    assert raised(lambda: nn.Module(x=1)) == ("TypeError", "Module.__init__() got an unexpected keyword argument 'x'")

    class Early(nn.Module):
        def __init__(self, value):
            self.x = value

    assert raised(lambda: Early(leaf)) == ("AttributeError", "cannot assign parameters before Module.__init__() call")
    assert raised(lambda: Early(m)) == ("AttributeError", "cannot assign module before Module.__init__() call")
    assert raised(lambda: Early(1).y)[0] == "AttributeError"
    assert raised(lambda: Early(1)(2)) == ("AttributeError", "'Early' object has no attribute '_backward_hooks'")


def test_attributes_are_found_in_every_kind_of_class(torch, nn):
    class Wrapper(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(super().__getattr__("inner"), name)

    w = Wrapper()
    assert w.weight is w.inner.weight and w.in_features == 2 and not hasattr(w, "nothing")

    class Broken(nn.Module):
        @property
        def value(self):
            return self.not_there

        @property
        def worse(self):
            raise ValueError("inside")

    assert raised(lambda: Broken().value) == ("AttributeError", "'Broken' object has no attribute 'value'")
    assert raised(lambda: Broken().worse) == ("ValueError", "inside")

    class Later(nn.Linear):
        pass

    m = Later(1, 1)
    Later.__getattr__ = lambda self, name: "answered"
    assert m.whatever == "answered"
    del Later.__getattr__
    assert m.weight.shape == (1, 1) and not hasattr(m, "whatever")

    seen, own = [], nn.Module.__getattr__
    try:  # as torch.fx does while it traces
        nn.Module.__getattr__ = lambda self, name: seen.append(name) or own(self, name)
        assert nn.Linear(1, 1).bias.shape == (1,) and "bias" in seen
    finally:
        nn.Module.__getattr__ = own
    assert nn.Linear(1, 1).bias.shape == (1,)

    class Both(dict, nn.Module):
        def __init__(self):
            dict.__init__(self)
            nn.Module.__init__(self)

    both = Both()
    both.layer = nn.ReLU()
    assert both.layer is both._modules["layer"]

    class Odd(str):
        __slots__ = ()

        def __eq__(self, other):
            m._parameters = {}
            gc.collect()
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    getattr(m, Odd("weight"), None)
    m = nn.Module()
    m.__dict__["_parameters"] = 3  # no dictionary
    assert raised(lambda: m.x)[0] in ("AttributeError", "TypeError")


def test_paths(torch, nn, net):
    assert net.get_submodule("2.1") is net[2][1] and net.get_submodule("") is net
    assert net.get_parameter("2.1.weight") is net[2][1].weight and net.get_buffer("1.running_var") is net[1].running_var
    new = nn.Linear(4, 5)
    net.set_submodule("2.1", new)
    assert net[2][1] is new
    assert raised(lambda: net.get_submodule("2.7")) == ("AttributeError", "Sequential has no attribute `7`")
    assert raised(lambda: net.get_submodule("0.weight")) == ("AttributeError", "`weight` is not an nn.Module")
    assert raised(lambda: net.get_parameter("1.running_var")) == ("AttributeError", "`running_var` is not an nn.Parameter")
    assert raised(lambda: net.get_buffer("0.weight")) == ("AttributeError", "`weight` is not a buffer")
    assert raised(lambda: net.set_submodule("9", new, strict=True)) == ("AttributeError", "Sequential has no attribute `9`")
    assert raised(lambda: net.set_submodule("", new)) == ("ValueError", "Cannot set the submodule without a target name!")


def test_walks(torch, nn):
    shared = nn.Linear(1, 1)
    m = nn.Sequential(shared, nn.Sequential(shared, nn.BatchNorm1d(1)), None)
    assert [n for n, _ in m.named_modules()] == ["", "0", "1", "1.1"]
    assert [n for n, _ in m.named_modules(remove_duplicate=False, prefix="x")] == ["x", "x.0", "x.1", "x.1.0", "x.1.1"]
    assert [n for n, _ in m.named_parameters()] == ["0.weight", "0.bias", "1.1.weight", "1.1.bias"]
    assert [n for n, _ in m.named_parameters(prefix="y", remove_duplicate=False)] == [
        "y.0.weight", "y.0.bias", "y.1.0.weight", "y.1.0.bias", "y.1.1.weight", "y.1.1.bias"]  # fmt: skip
    assert [n for n, _ in m.named_buffers(recurse=False)] == [] and len(list(m.buffers())) == 3
    assert [n for n, _ in m.named_children()] == ["0", "1"] and list(m.children())[0] is shared
    memo = {shared}
    assert [n for n, _ in m.named_modules(memo=memo)] == ["", "1", "1.1"] and len(memo) == 4
    seen = []
    assert m.apply(lambda x: seen.append(type(x).__name__)) is m
    assert seen == ["Linear", "Linear", "BatchNorm1d", "Sequential", "Sequential"]


def test_dir_and_repr(torch, nn, net):
    assert {"weight", "forward", "training", "_parameters"} <= set(dir(net[0])) and not any(n.isdigit() for n in dir(net))
    assert repr(net) == """Sequential(
  (0): Linear(in_features=3, out_features=4, bias=True)
  (1): BatchNorm1d(4, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
  (2): Sequential(
    (0): ReLU()
    (1): Linear(in_features=4, out_features=2, bias=True)
  )
)"""

    class Two(nn.Module):
        def extra_repr(self):
            return "first\nsecond"

    assert repr(Two()) == "Two(\n  first\n  second\n)" and repr(nn.Module()) == "Module()"


# --- calls and hooks


def test_forward_hooks_order_and_arguments(torch, nn):
    log = []

    class Add(nn.Module):
        def forward(self, x, y=0):
            log.append(("forward", x, y))
            return x + y

    def pre(name, result=None):
        def hook(module, args, *kwargs):
            log.append((name, args, *kwargs))
            return result

        return hook

    def post(name, result=None):
        def hook(module, args, *rest):
            log.append((name, args, *rest))
            return result

        return hook

    m = Add()
    glob = nn.modules.module
    handles = [
        m.register_forward_pre_hook(pre("pre", 2)),
        m.register_forward_pre_hook(pre("pre first"), prepend=True),
        m.register_forward_pre_hook(pre("pre kwargs", ((3,), {"y": 10})), with_kwargs=True),
        m.register_forward_hook(post("post", 50)),
        m.register_forward_hook(post("post first"), prepend=True, with_kwargs=True),
        glob.register_module_forward_pre_hook(pre("global pre")),
        glob.register_module_forward_hook(post("global post"), with_kwargs=True),
    ]
    try:
        assert m(1, y=5) == 50
    finally:
        for h in handles:
            h.remove()
            h.remove()
    assert log == [
        ("global pre", (1,)), ("pre first", (1,)), ("pre", (1,)), ("pre kwargs", (2,), {"y": 5}), ("forward", 3, 10),
        ("global post", (3,), {"y": 10}, 13), ("post first", (3,), {"y": 10}, 13), ("post", (3,), 13),
    ]  # fmt: skip
    assert m(1, y=5) == 6 and not m._forward_hooks_with_kwargs and not m._forward_pre_hooks_with_kwargs
    with m.register_forward_hook(post("once", 7)):
        assert m(1) == 7
    assert m(1) == 1
    m.register_forward_pre_hook(lambda *_: 3, with_kwargs=True)
    assert raised(lambda: m(1)) == ("RuntimeError", "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got 3.")


def test_hooks_that_are_always_called(nn):
    log = []

    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("forward")

    m = Fails()
    m.register_forward_hook(lambda *a: log.append(a[1:]))
    m.register_forward_hook(lambda *a: log.append(a[1:]), always_call=True)
    m.register_forward_hook(lambda *a: log.append(a[1:]), always_call=True, with_kwargs=True)

    def worse(*a):
        raise KeyError("hook")

    m.register_forward_hook(worse, always_call=True)
    with pytest.warns(UserWarning, match="``always_call=True`` raised an exception that was silenced"), pytest.raises(ValueError, match="forward"):
        m(1)
    assert log == [((1,), None), ((1,), {}, None)]


def test_full_backward_hooks(torch, nn):
    log = []

    class Mix(nn.Module):
        def forward(self, x, n, y):
            return x * 2, y * 3

    def show(grads):
        return [None if g is None else g.tolist() for g in grads]

    m = Mix()
    m.register_full_backward_hook(lambda mod, gi, go: log.append(("hook", show(gi), show(go))))
    m.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 10, None, gi[2]))
    m.register_full_backward_hook(lambda mod, gi, go: log.append(("first", show(gi))), prepend=True)
    m.register_full_backward_pre_hook(lambda mod, go: log.append(("pre", show(go))))
    m.register_full_backward_pre_hook(lambda mod, go: (go[0], go[1] + 1))
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    a, b = m(x, "n", y)
    (a.sum() + b.sum() * 2).backward()
    assert log == [
        ("pre", [[1, 1], [2, 2]]), ("first", [[2, 2], None, [9, 9]]), ("hook", [[2, 2], None, [9, 9]], [[1, 1], [3, 3]]),
    ]  # fmt: skip
    assert x.grad.tolist() == [20, 20] and y.grad.tolist() == [9, 9]
    assert m._backward_hooks and raised(lambda: m.register_backward_hook(print))[0] == "RuntimeError"

    bad = nn.ReLU()
    bad.register_full_backward_hook(lambda mod, gi, go: (gi[0], gi[0]))
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 2, but expected 1"):
        bad(torch.ones(1, requires_grad=True)).sum().backward()


def test_backward_hooks_without_inputs_that_need_gradients(torch, nn):
    log = []
    m = nn.Linear(2, 1)
    m.register_full_backward_hook(lambda mod, gi, go: log.append((gi, go[0].tolist())))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        m(torch.ones(1, 2)).sum().backward()
    assert log == [((None,), [[1]])]
    with torch.no_grad():
        m(torch.ones(1, 2))
    assert len(log) == 1


def test_hooks_of_all_modules(torch, nn, net):
    log = []
    glob = nn.modules.module
    handles = [
        glob.register_module_full_backward_hook(lambda mod, gi, go: log.append(("back", type(mod).__name__))),
        glob.register_module_full_backward_pre_hook(lambda mod, go: log.append(("pre", type(mod).__name__))),
    ]
    try:
        net(torch.randn(3, 3, requires_grad=True)).sum().backward()
    finally:
        for h in handles:
            h.remove()
    assert log[:4] == [("pre", "Sequential"), ("pre", "Sequential"), ("pre", "Linear"), ("back", "Linear")]
    assert sorted(log) == sorted([(k, n) for k in ("back", "pre") for n in ("Sequential", "Linear", "BatchNorm1d", "ReLU", "Linear", "Sequential")])


def test_calls_find_forward_where_it_is(torch, nn):
    class Plain(nn.Module):
        def forward(self, *args, **kwargs):
            return args, kwargs

    class Static(nn.Module):
        forward = staticmethod(lambda x: x + 1)

    class Called(Plain):
        def __call__(self, *args):
            return "called", super().__call__(*args)

    class Strict(Plain):
        def __getattribute__(self, name):
            return (lambda *a: "own") if name == "forward" else super().__getattribute__(name)

    m = Plain()
    assert m() == ((), {}) and m(1, a=2) == ((1,), {"a": 2}) and m(*range(20)) == (tuple(range(20)), {})
    assert Static()(1) == 2 and Called()(3) == ("called", ((3,), {})) and Strict()(4) == "own"
    m.forward = lambda x: -x
    assert m(5) == -5
    del m.forward
    handle = m.register_forward_hook(lambda module, args, result: "hooked")
    assert m(1) == "hooked"
    handle.remove()
    assert m(1) == ((1,), {})
    original = nn.Module.__call__
    try:
        nn.Module.__call__ = lambda self, *args: ("patched", original(self, *args))
        assert m(1) == ("patched", ((1,), {}))
    finally:
        nn.Module.__call__ = original
    assert m(1) == ((1,), {})

    class Unready(nn.Module):
        def __init__(self):
            pass

        def forward(self, x):
            return x

    with pytest.raises(AttributeError, match="_backward_hooks"):
        Unready()(1)

    class Deep(nn.Module):
        def forward(self, x):
            return self(x)

    with pytest.raises(RecursionError):
        Deep()(1)


def test_old_backward_hooks(torch, nn):
    log = []
    m = nn.ReLU()
    m.register_backward_hook(lambda mod, gi, go: log.append((mod is m, len(gi), go[0].tolist())))
    x = torch.ones(2, requires_grad=True) * 1
    m(x).sum().backward()
    assert log == [(True, 1, [1, 1])]
    assert raised(lambda: m.register_full_backward_hook(print)) == (
        "RuntimeError", "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them.")  # fmt: skip


def test_registration_hooks(torch, nn):
    glob = nn.modules.module
    log = []
    handles = [
        glob.register_module_parameter_registration_hook(lambda m, n, v: log.append(("p", n))),
        glob.register_module_buffer_registration_hook(lambda m, n, v: log.append(("b", n))),
        glob.register_module_module_registration_hook(lambda m, n, v: log.append(("m", n)) or nn.Identity()),
    ]
    try:
        m = nn.Module()
        m.p, m.sub = nn.Parameter(torch.ones(1)), nn.ReLU()
        m.register_buffer("b", torch.ones(1))
    finally:
        for h in handles:
            h.remove()
    assert log == [("p", "p"), ("m", "sub"), ("b", "b")] and isinstance(m.sub, nn.Identity)


def test_hooks_keep_nothing_alive(torch, nn):
    m = nn.Linear(2, 2)
    m.register_full_backward_hook(lambda *_: None)
    m(torch.ones(1, 2, requires_grad=True)).sum().backward()
    handle, gone = m.register_forward_hook(print), weakref.ref(m)
    del m
    for _ in range(3):  # what nodes of the graph held is given up when the next call ends
        torch.ones(1) + 1
        gc.collect()
    assert gone() is None
    handle.remove()


# --- what is done to all of it


def test_conversion_keeps_parameters(torch, nn, net):
    before = list(net.parameters())
    net(torch.randn(3, 3)).sum().backward()
    grads = [p.grad for p in before]
    assert net.double() is net and all(a is b for a, b in zip(before, net.parameters()))
    assert all(p.dtype == torch.float64 and p.grad.dtype == torch.float64 for p in net.parameters())
    assert all(a is p.grad for a, p in zip(grads, before))
    assert net[1].num_batches_tracked.dtype == torch.int64 and net[1].running_mean.dtype == torch.float64
    for change, want in (
        (lambda: net.half(), torch.float16), (lambda: net.float(), torch.float32), (lambda: net.to(torch.bfloat16), torch.bfloat16),
        (lambda: net.to("cpu", torch.float64), torch.float64), (lambda: net.to(torch.ones(1)), torch.float32),
        (lambda: net.to(device="cpu", dtype=torch.float64, non_blocking=True), torch.float64), (lambda: net.bfloat16(), torch.bfloat16),
        (lambda: net.type(torch.float32), torch.float32), (lambda: net.cpu(), torch.float32),
    ):  # fmt: skip
        assert change() is net and net[0].weight.dtype == want
    assert raised(lambda: net.to(torch.int32)) == (
        "TypeError", "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int32")  # fmt: skip
    for wrong in ((1, 2, 3, 4, 5), ("cpu", "cpu")):
        with pytest.raises((TypeError, RuntimeError)):
            net.to(*wrong)


def test_memory_format(torch, nn):
    m = nn.Conv2d(4, 6, 3).to(memory_format=torch.channels_last)
    assert m.weight.is_contiguous(memory_format=torch.channels_last) and not m.weight.is_contiguous()


def test_meta(torch, nn):
    m = nn.Linear(3, 2, device="meta")
    assert m.weight.is_meta and m(torch.empty(5, 3, device="meta")).shape == (5, 2)
    with pytest.raises(NotImplementedError, match=r"Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty\(\)"):
        m.to("cpu")
    with pytest.warns(UserWarning, match="for weight: copying from a non-meta parameter"):
        m.load_state_dict(nn.Linear(3, 2).state_dict())
    old = m.weight
    m.to_empty(device="cpu")
    assert not m.weight.is_meta and m.weight is not old and isinstance(m.weight, nn.Parameter)


def test_train_and_gradients(torch, nn, net):
    assert net.training and net.eval() is net and not net[2][1].training and net.train() is net and net[1].training
    assert raised(lambda: net.train("yes")) == ("ValueError", "training mode is expected to be boolean")
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())
    net.requires_grad_()
    net(torch.randn(2, 3)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net[0].weight.grad.abs().sum() == 0
    net.zero_grad()
    assert net[0].weight.grad is None


# --- state


def test_state_shares_memory_and_says_versions(torch, net):
    state = net.state_dict(prefix="net.")
    assert list(state)[:3] == ["net.0.weight", "net.0.bias", "net.1.weight"] and state["net.0.weight"].data_ptr() == net[0].weight.data_ptr()
    assert not state["net.0.weight"].requires_grad and net.state_dict(keep_vars=True)["0.weight"] is net[0].weight
    assert state._metadata["net.1"] == {"version": 2} and state._metadata["net"] == {"version": 1}
    into = OrderedDict(x=1)
    assert net.state_dict(destination=into) is into and "0.weight" in into
    with pytest.warns(FutureWarning):
        assert "p.0.bias" in net.state_dict({}, "p.")


def test_loading(torch, nn, net):
    other = copy.deepcopy(net)
    with torch.no_grad():
        for t in (*net.parameters(), net[1].running_mean):
            t.add_(1)
    weight = other[0].weight
    result = other.load_state_dict(net.state_dict())
    assert repr(result) == str(result) == "<All keys matched successfully>" and result.missing_keys == []
    assert other[0].weight is weight and torch.equal(weight, net[0].weight) and other[0].weight.data_ptr() != net[0].weight.data_ptr()
    state = net.state_dict()
    result = other.load_state_dict(state, assign=True)
    assert other[0].weight is not weight and other[0].weight.data_ptr() == net[0].weight.data_ptr()
    assert isinstance(other[0].weight, nn.Parameter) and other[0].weight.requires_grad and list(other.state_dict()) == list(state)
    state["bogus.x"] = state.pop("0.bias")
    result = other.load_state_dict(state, strict=False)
    assert result.missing_keys == ["0.bias"] and result.unexpected_keys == ["bogus.x"]
    assert repr(result) == "_IncompatibleKeys(missing_keys=['0.bias'], unexpected_keys=['bogus.x'])"


def test_strict_messages(torch, nn, net):
    state = net.state_dict()
    state["0.weight"], state["2.1.bias"], state["0.bias"] = torch.ones(2, 2), 3, torch.ones(1)
    state["1.extra"], state["7.x"], state["top"] = torch.ones(1), torch.ones(1), torch.ones(1)
    del state["1.running_mean"], state["2.1.weight"]
    with pytest.raises(RuntimeError) as e:
        net.load_state_dict(state)
    assert str(e.value) == (
        "Error(s) in loading state_dict for Sequential:\n"
        '\tMissing key(s) in state_dict: "1.running_mean", "2.1.weight". \n'
        '\tUnexpected key(s) in state_dict: "7.x", "top", "1.extra". \n'
        "\tsize mismatch for 0.weight: copying a param with shape torch.Size([2, 2]) from checkpoint, the shape in current model is "
        "torch.Size([4, 3]).\n"
        "\tsize mismatch for 0.bias: copying a param with shape torch.Size([1]) from checkpoint, the shape in current model is "
        "torch.Size([4]).\n"
        '\tWhile copying the parameter named "2.1.bias", expected torch.Tensor or Tensor-like object from checkpoint but received '
        "<class 'int'>"
    )
    assert raised(lambda: net.load_state_dict([1])) == ("TypeError", "Expected state_dict to be dict-like, got <class 'list'>.")


def test_old_states(torch, nn):
    m = nn.BatchNorm1d(2)
    m.num_batches_tracked += 5
    state = {k: v for k, v in nn.BatchNorm1d(2).state_dict().items() if k != "num_batches_tracked"}
    m.load_state_dict(state)  # without versions: what is missing is the module's own
    assert m.num_batches_tracked == 5
    inst = nn.InstanceNorm2d(2)
    with pytest.raises(RuntimeError, match=r'Unexpected running stats buffer\(s\) "running_mean" and "running_var" for InstanceNorm2d'):
        inst.load_state_dict(state)
    scalar = nn.Module()
    scalar.p = nn.Parameter(torch.tensor(1.0))
    scalar.load_state_dict({"p": torch.tensor([4.0])})
    assert scalar.p.item() == 4


def test_extra_state(nn):
    class Counts(nn.Module):
        count = 3

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    m = nn.Sequential(Counts())
    assert m.state_dict() == {"0._extra_state": {"count": 3}}
    m.load_state_dict({"0._extra_state": {"count": 9}})
    assert m[0].count == 9
    assert 'Missing key(s) in state_dict: "0._extra_state"' in raised(lambda: m.load_state_dict({}))[1]
    assert 'Unexpected key(s) in state_dict: "_extra_state"' in raised(lambda: nn.ReLU().load_state_dict({"_extra_state": 1}))[1]


def test_state_hooks(torch, nn):
    log = []
    m = nn.Sequential(nn.Linear(1, 1))
    inner = m[0]
    inner.register_state_dict_pre_hook(lambda mod, prefix, keep: log.append(("pre", prefix, keep)))
    inner.register_state_dict_post_hook(lambda mod, state, prefix, meta: log.append(("post", sorted(state), prefix, meta)))
    m._register_state_dict_hook(lambda mod, state, prefix, meta: {**state, "added": 1})
    state = m.state_dict()
    assert state["added"] == 1 and log == [("pre", "0.", False), ("post", ["0.bias", "0.weight"], "0.", {"version": 1})]

    def renames(mod, state, prefix, meta, strict, missing, unexpected, errors):
        log.append((mod is inner, prefix, meta, strict))
        state[prefix + "weight"] = state.pop(prefix + "old")

    inner.register_load_state_dict_pre_hook(renames)
    inner.register_load_state_dict_post_hook(lambda mod, keys: keys.missing_keys.clear())
    assert m.load_state_dict({"0.old": torch.ones(1, 1)}, strict=True).missing_keys == []
    assert inner.weight.item() == 1 and log[-1] == (True, "0.", {}, True)

    def returns(*_):
        return 1

    inner.register_state_dict_post_hook(returns)
    assert raised(m.state_dict) == ("RuntimeError", "state_dict post-hook must return None")
    assert raised(lambda: m._register_state_dict_hook(returns))[0] == "RuntimeError"


def test_copies_and_pickles(torch, nn, net):
    net[2][1].weight = net[0].weight  # shared, of another shape than Linear would have made
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert type(twin) is type(net) and list(twin.state_dict()) == list(net.state_dict())
        assert all(torch.equal(a, b) for a, b in zip(net.state_dict().values(), twin.state_dict().values()))
        assert twin[0].weight is not net[0].weight and isinstance(twin[0].weight, nn.Parameter) and twin[0].weight.requires_grad
        assert twin[0].weight is twin[2][1].weight
    shallow = copy.copy(net[0])
    assert shallow.weight is net[0].weight
    old = nn.Linear(1, 1)
    state = {k: v for k, v in old.__dict__.items() if "hooks" not in k or k in ("_forward_hooks", "_backward_hooks")}
    revived = nn.Linear.__new__(nn.Linear)
    revived.__setstate__(state)
    assert revived(torch.ones(1, 1)).shape == (1, 1) and revived.state_dict().keys() == old.state_dict().keys()
    p = pickle.loads(pickle.dumps(nn.Parameter(torch.ones(2), requires_grad=False)))
    assert isinstance(p, nn.Parameter) and not p.requires_grad
    buffer = io.BytesIO()
    pickle.Pickler(buffer).dump(nn.ReLU())


# --- parameters


def test_parameters(torch, nn):
    p = nn.Parameter(torch.ones(2))
    assert p.requires_grad and p.is_leaf and type(p + 1) is torch.Tensor and type(p.detach()) is torch.Tensor
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert nn.Parameter().shape == (0,) and not nn.Parameter(torch.ones(1), requires_grad=False).requires_grad
    with torch.no_grad():
        assert nn.Parameter(torch.ones(1)).requires_grad
    twin = copy.deepcopy(p)
    assert isinstance(twin, nn.Parameter) and twin.data_ptr() != p.data_ptr()

    class Special(torch.Tensor):
        pass

    s = nn.Parameter(torch.ones(2).as_subclass(Special))
    assert type(s) is Special and isinstance(s, nn.Parameter) and not isinstance(torch.ones(1), nn.Parameter)
    m = nn.Module()
    m.s = s
    assert list(m.parameters()) == [s] or m._parameters["s"] is s
    source = torch.ones(3)
    assert nn.Parameter(source).data_ptr() == source.data_ptr() and not source.requires_grad


def test_uninitialized(torch, nn):
    p = nn.UninitializedParameter(dtype=torch.float64)
    assert repr(p) == "<UninitializedParameter>" and nn.parameter.is_lazy(p) and not nn.parameter.is_lazy(nn.Parameter())
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        p.shape  # noqa: B018
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        p + 1
    assert isinstance(copy.deepcopy(p), nn.UninitializedParameter) and pickle.loads(pickle.dumps(p)).requires_grad
    p.materialize((2, 3))
    assert type(p) is nn.Parameter and p.shape == (2, 3) and p.dtype == torch.float64 and p.requires_grad
    b = nn.UninitializedBuffer()
    b.materialize((4,))
    assert type(b) is torch.Tensor and b.shape == (4,)


def test_lazy_modules(torch, nn):
    m = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(5))
    assert type(m[0]) is nn.LazyConv2d and m[3].has_uninitialized_params()
    lazy_state = m.state_dict()
    assert nn.parameter.is_lazy(lazy_state["3.weight"])
    torch.manual_seed(0)
    assert m(torch.ones(2, 3, 4, 4)).shape == (2, 5)
    assert type(m[0]) is nn.Conv2d and m[0].in_channels == 3 and type(m[1]) is nn.BatchNorm2d and m[3].in_features == 16
    assert not m[0]._forward_pre_hooks and not m[0]._load_state_dict_pre_hooks
    other = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(5))
    other.load_state_dict(m.state_dict())
    assert torch.equal(other[3].weight, m[3].weight) and other(torch.ones(1, 3, 4, 4)).shape == (1, 5)
    with pytest.raises(RuntimeError, match="Expected 3D .unbatched. or 4D .batched. input"):
        nn.LazyConv2d(4, 3)(torch.ones(2))


def test_no_warnings_at_construction(nn):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.Sequential(nn.Linear(2, 2), nn.Conv1d(2, 2, 1), nn.LayerNorm(2))


def test_classes_beside_module_see_attributes(nn):
    class Watches:
        def __setattr__(self, name, value):
            seen.append(name)
            super().__setattr__(name, value)

        def __delattr__(self, name):
            seen.append("-" + name)
            super().__delattr__(name)

    class Both(nn.Module, Watches):
        pass

    seen = []
    m = Both()
    seen.clear()
    m.x, m.layer = 1, nn.ReLU()
    del m.x
    assert seen == ["x", "-x"]
