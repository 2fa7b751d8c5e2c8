# SPDX-License-Identifier: Apache-2.0
"""Subclasses and modes: __torch_function__ and __torch_dispatch__, as in PyTorch."""
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.threads


def log_class(torch):
    class Logged(torch.Tensor):
        seen = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})
    return Logged


def test_subclass_survives_operators(torch):
    cls = type("Mine", (torch.Tensor,), {})
    x = torch.ones(2, 3).as_subclass(cls)
    for y in (x + 1, 1 - x, x[0], x.sum(), torch.add(x, x), x.to(torch.float64), x.T, x.unbind(0)[1], torch.cat([x, x])):
        assert type(y) is cls
    assert type(x.shape) is torch.Size and type(x.max(1)[1]) is cls
    assert repr(x[0]) == "Mine([1., 1., 1.])"
    assert type(x.detach().as_subclass(torch.Tensor)) is torch.Tensor


def test_super_sees_properties_and_methods(torch):
    cls = log_class(torch)
    x = torch.ones(2, 3).as_subclass(cls)
    cls.seen.clear()
    x.shape, x.dim(), x.size(0), x + 1, torch.abs(x), x[0]
    x.requires_grad = False
    x[0] = 1
    want = [torch.Tensor.shape.__get__, torch.Tensor.dim, torch.Tensor.size, torch.Tensor.add, torch.abs,
            torch.Tensor.__getitem__, torch.Tensor.requires_grad.__set__, torch.Tensor.__setitem__]
    assert [f == w for f, w in zip(cls.seen, want)] == [True] * len(want), cls.seen


def test_unrelated_subclasses_do_not_mix(torch):
    a, b = (torch.ones(2).as_subclass(type(n, (torch.Tensor,), {})) for n in "AB")
    with pytest.raises(TypeError, match="Multiple dispatch failed"):
        torch.add(a, b)
    child = torch.ones(2).as_subclass(type("C", (type(a),), {}))
    assert type(a + child) is type(child) and type(child + a) is type(child)


def test_objects_that_are_no_tensors(torch):
    class Lazy:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func, types, args, kwargs
    x = Lazy()
    func, types, args, kwargs = torch.add(torch.ones(2), x, alpha=2)
    assert func is torch.add and tuple(types) == (Lazy,) and args[1] is x and kwargs == {"alpha": 2}
    assert torch.cat([torch.ones(1), x])[0] is torch.cat
    assert torch.overrides.is_tensor_like(x) and torch.overrides.has_torch_function((x,))
    assert not torch.overrides.has_torch_function((torch.ones(1),))


def test_disabled(torch):
    cls = log_class(torch)
    x = torch.ones(2).as_subclass(cls)
    cls.seen.clear()
    with torch._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is torch.Tensor
    plain = type("Plain", (torch.Tensor,), {"__torch_function__": torch._C._disabled_torch_function_impl})
    assert type(torch.ones(2).as_subclass(plain) + 1) is torch.Tensor
    assert cls.seen == []


def test_function_mode(torch):
    seen = []

    class Log(torch.overrides.TorchFunctionMode):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((self.name, func))
            return func(*args, **(kwargs or {}))
    x = torch.ones(2)
    with Log("outer"), Log("inner"):
        y = torch.add(x, 1)
        with torch._C.DisableTorchFunctionSubclass():
            x.mul(2)
    assert y.tolist() == [2, 2]
    assert seen == [("inner", torch.add), ("outer", torch.add), ("inner", torch.Tensor.mul), ("outer", torch.Tensor.mul)]

    class Fails(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise KeyError("inside")
    with pytest.raises(KeyError):
        with Fails():
            torch.add(x, 1)
    torch.add(x, 1)
    assert len(seen) == 4


def test_handle_torch_function(torch):
    def double(x):
        if torch.overrides.has_torch_function_unary(x):
            return torch.overrides.handle_torch_function(double, (x,), x)
        return x * 2
    cls = log_class(torch)
    x = torch.ones(2).as_subclass(cls)
    cls.seen.clear()
    assert type(double(x)) is cls and cls.seen[0] is double
    assert double(torch.ones(1)).item() == 2


def wrapper_class(torch):
    class Wrapper(torch.Tensor):
        calls = []

        @staticmethod
        def __new__(cls, inner):
            out = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)
            out.inner = inner
            return out
        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.calls.append(str(func))
            out = func(*[a.inner if isinstance(a, cls) else a for a in args], **(kwargs or {}))
            return cls(out) if isinstance(out, torch.Tensor) else out
    return Wrapper


def test_wrapper_subclass(torch):
    cls = wrapper_class(torch)
    x = cls(torch.arange(6.0).view(2, 3))
    y = torch.neg(x + x).sum(1)
    assert type(y) is cls and y.inner.tolist() == [-6, -24] and tuple(y.shape) == (2,)
    assert [c.split(".")[1] for c in cls.calls] == ["add", "neg", "sum"]


def test_dispatch_mode(torch):
    from importlib import import_module
    mode_class = import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode
    seen = []

    class Log(mode_class):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))
    with Log():
        torch.ones(2).neg().abs()
    assert seen[-2:] == ["aten.neg.default", "aten.abs.default"]
    n = len(seen)
    torch.ones(2).neg()
    assert len(seen) == n


def test_names_of_functions(torch):
    from importlib import import_module

    name = import_module(f"{torch.__name__}.overrides").resolve_name
    tensor = torch.Tensor
    found = [name(f) for f in (tensor.to, tensor.add, torch.add, tensor.grad.__get__, tensor.grad_fn.__get__, tensor.__deepcopy__, torch.nn.functional.relu)]
    assert found == ["torch.Tensor.to", "torch.Tensor.add", "torch.add", "torch.Tensor.grad.__get__", "torch.Tensor.grad_fn.__get__", "torch.Tensor.__deepcopy__",
                     "torch.nn.functional.relu"]  # fmt: skip


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer's frames are too large to come near any limit")
@pytest.mark.parametrize("thread", [False, True])
def test_endless_recursion_ends(torch, thread):
    """By way of C++, whatever the program allows: the stack is what ends first."""
    program = f"""
import sys, threading
import {torch.__name__} as torch
from {torch.__name__}.utils._python_dispatch import TorchDispatchMode
sys.setrecursionlimit(10 ** 6)

class T(torch.Tensor):
    @classmethod
    def __torch_function__(cls, f, types, args=(), kwargs=None):
        return torch.add(*args)

class M(TorchDispatchMode):
    def __torch_dispatch__(self, f, types, args=(), kwargs=None):
        with self:
            return f(*args)

@torch.library.custom_op("recursion::f", mutates_args=())
def f(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.recursion.f(x)

class N(torch.nn.Module):
    def forward(self, x):
        return self(x)

def with_mode():
    with M():
        torch.add(torch.ones(3), 1)

def run():
    x = torch.ones(3).as_subclass(T)
    for endless in (lambda: torch.add(x, x), with_mode, lambda: f(torch.ones(3)), lambda: N()(1)):
        try:
            endless()
        except RecursionError:
            print("ended")
    print(torch.ones(3).sum().item())

if {thread}:
    t = threading.Thread(target=run)
    t.start()
    t.join()
else:
    run()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "ended\n" * 4 + "3.0\n"), done.stderr[-2000:]


def test_beside_another_torch(torch):
    """PyTorch in the same process: its functions and tensors hand each call back. What stands for it here does so, too."""
    program = f"""
import sys, types
import {torch.__name__} as facula
torch = types.ModuleType("torch")
sys.modules["torch"] = torch

class TensorBase: pass
TensorBase.__module__ = "torch._C"

class Tensor(TensorBase):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {{}}))

def add(a, b):
    for x in (a, b):
        if type(x) is not Tensor and (r := type(x).__torch_function__(add, (type(x),), (a, b))) is not NotImplemented:
            return r
    raise TypeError("nobody adds these")

ours, theirs = facula.ones(3), Tensor()
for call in (lambda: facula.add(ours, theirs), lambda: facula.cat([ours, theirs]), lambda: add(theirs, ours), lambda: facula.nn.Linear(3, 3)(theirs)):
    try:
        call()
    except TypeError as e:
        print("refused")

class Mine(facula.Tensor): pass
print(type(facula.add(ours.as_subclass(Mine), 1)).__name__)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "refused\n" * 4 + "Mine\n"), done.stderr[-2000:]
