# SPDX-License-Identifier: Apache-2.0
"""Modules that the script compiler meets: what it makes of them is recorded from PyTorch (record_script_modules.py)."""
# ruff: noqa

from typing import Dict, List, Optional, Tuple

import torch
from torch import nn

CASES: list = []


def case(*args):
    def add(cls):
        CASES.append((cls, args))
        return cls

    return add


def fails(cls):
    CASES.append((cls, None))
    return cls


def t(*size):
    return torch.arange(float(torch.Size(size).numel())).reshape(size) - 2


def helper(x, by: int = 2):
    return x * by


@case(t(2, 3))
class Empty(nn.Module):
    def forward(self, x):
        return x


@case(t(3))
class Attributes(nn.Module):
    final: torch.jit.Final[int]
    lst: List[int]
    opt: Optional[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.final = 4
        self.f = 2.5
        self.i = 7
        self.b = True
        self.lst = []
        self.opt = None
        self.s = "text"
        self.pair = (1, "a")
        self.d = {"a": 1}
        self.nothing = None

    def forward(self, x):
        x = x + self.final + self.f + self.i
        if self.b:
            x = x + self.d["a"]
        opt = self.opt
        if opt is not None:
            x = x + opt
        if self.nothing is not None:
            x = x + self.nothing
        self.lst.append(self.pair[0])
        return x, len(self.lst), self.s


@case(t(3))
class Constants(nn.Module):
    __constants__ = ["k", "shape", "name"]

    def __init__(self):
        super().__init__()
        self.k = 3
        self.shape = [1, 3]
        self.name = "n"

    def forward(self, x):
        if self.name == "n":
            return x.reshape(self.shape) * self.k
        return self.never(x)


@case(t(2))
class Parameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.register_parameter("bias", None)
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("none", None)
        self.register_buffer("scratch", torch.ones(1), persistent=False)

    def forward(self, x):
        x = x * self.weight - self.mean + self.scratch
        if self.bias is not None:
            x = x + self.bias
        return x


@case(t(3))
class Helpers(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 2

    def inner(self, x, by: int = 3):
        return x * by + self.k

    @staticmethod
    def plain(x):
        return x - 1

    def forward(self, x):
        return self.plain(self.inner(self.inner(x), by=1)) + helper(x)


@case(t(3))
class SetsAttributes(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        self.count += 1
        self.total = self.total + x
        return self.total * self.count


class Scale(nn.Module):
    def __init__(self, by: int = 2):
        super().__init__()
        self.by = by

    def forward(self, x):
        return x * self.by


@case(t(3))
class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Scale(2)
        self.b = Scale(3)

    def forward(self, x):
        return self.b(self.a(x)) + self.a.by


@case(t(3))
class Loops(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Scale(2), Scale(3)])
        self.named = nn.ModuleDict({"x": Scale(4), "y": Scale(5)})
        self.seq = nn.Sequential(Scale(1), Scale(2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        for i, layer in enumerate(self.layers):
            x = layer(x) + i
        for name, layer in self.named.items():
            x = layer(x)
        for name in self.named.keys():
            x = x + len(name)
        for name in self.named:
            x = x + 1
        for layer in self.named.values():
            x = layer(x)
        for a, b in zip(self.layers, self.seq):
            x = a(b(x))
        x = self.seq(x) + len(self.layers) + len(self.seq)
        if "x" in self.named:
            x = x + 1
        return self.layers[0](x) + self.layers[-1](x) + self.named["y"](x) + self.seq[1](x)


@case(t(3))
class Children(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Scale(2)
        self.seq = nn.Sequential(Scale(3))

    def forward(self, x):
        for child in self.children():
            x = child(x)
        for name, child in self.named_children():
            x = child(x) + len(name)
        n = 0
        for name, m in self.named_modules():
            n += 1
        for m in self.modules():
            n += 1
        return x, n


@case(t(2))
class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.ones(2)), nn.Parameter(torch.zeros(2))])

    def forward(self, x):
        for w in self.weights:
            x = x + w
        return x + self.weights[1]


@case(t(3))
class Properties(nn.Module):
    def __init__(self):
        super().__init__()
        self.i = 3

    @property
    def double(self) -> int:
        return self.i * 2

    @double.setter
    def double(self, v: int):
        self.i = v // 2

    def forward(self, x):
        self.double = 10
        return x + self.double


@case(t(3))
class Exported(nn.Module):
    def forward(self, x):
        return x

    @torch.jit.export
    def other(self, x: int) -> int:
        return self.third(x) + 1

    def third(self, x: int):
        return x * 3

    def never(self, x):
        return undefined_name(x)


@case(t(3))
class NotCompiled(nn.Module):
    @torch.jit.ignore
    def python(self, x, k: int) -> torch.Tensor:
        return x + eval("k")

    @torch.jit.unused
    def gone(self, x: int) -> int:
        return [i for i in range(x) if i][0]

    def forward(self, x):
        if self.training:
            return self.python(x, 2)
        return x + self.gone(2)


@case(t(3))
class Functions(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = torch.relu
        self.fn = helper
        self.compiled = torch.jit.script(helper)

    def forward(self, x):
        return self.compiled(self.fn(self.act(x)), 3)


@case(t(3))
class Training(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.0)

    def forward(self, x):
        if self.training and self.drop.training:
            return self.drop(x)
        return x


@case(t(3))
class HasAttributes(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = 1

    def forward(self, x):
        if hasattr(self, "a"):
            x = x + self.a
        if hasattr(self, "nope"):
            x = x + self.nope
        return x + getattr(self, "a")


@case(t(3), None)
class Optionals(nn.Module):
    def __init__(self):
        super().__init__()
        self.maybe = None
        self.layer = None
        self.there = Scale(3)

    def forward(self, x, y: Optional[torch.Tensor] = None) -> Tuple[torch.Tensor, Dict[str, int]]:
        if y is None:
            y = x
        if self.layer is not None:
            x = self.layer(x)
        if self.there is not None:
            x = self.there(x)
        return x + y, {"a": 1}


@case(t(2, 2))
class WithLinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Identity())
        for p in self.parameters():
            nn.init.ones_(p)

    def forward(self, x):
        return self.net(x)


@case(t(2))
class Attribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.jit.Attribute({}, Dict[str, int])

    def forward(self, x):
        self.table["n"] = 3
        return x + self.table["n"]


def double_input(self, inputs: Tuple[torch.Tensor]) -> Tuple[torch.Tensor]:
    return (inputs[0] * 2,)


def add_ten(self, inputs: Tuple[torch.Tensor], out: torch.Tensor) -> torch.Tensor:
    return out + 10


@case(t(2))
class Hooks(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Scale(3)
        self.inner.register_forward_pre_hook(double_input)
        self.inner.register_forward_hook(add_ten)

    def forward(self, x):
        return self.inner(x)


# --- what is refused
@fails
class NoAttribute(nn.Module):
    def forward(self, x):
        return self.nope(x)


@fails
class UntypedAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.o = object()

    def forward(self, x):
        return self.o


@fails
class EmptyList(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = []

    def forward(self, x):
        return self.e


@fails
class BadHelper(nn.Module):
    def helper(self, x):
        return x + undefined_name

    def forward(self, x):
        return self.helper(x)


@fails
class BadInner(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = NoAttribute()

    def forward(self, x):
        return self.inner(x)


@fails
class IndexedByVariable(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Scale()])

    def forward(self, x, i: int):
        return self.layers[i](x)


@fails
class OutOfRange(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Scale()])

    def forward(self, x):
        return self.layers[4](x)


@fails
class UnknownKey(nn.Module):
    def __init__(self):
        super().__init__()
        self.named = nn.ModuleDict({"a": Scale()})

    def forward(self, x):
        return self.named["b"](x)


@fails
class NewAttribute(nn.Module):
    def forward(self, x):
        self.k = 3
        return x


@fails
class WrongType(nn.Module):
    def __init__(self):
        super().__init__()
        self.i = 3

    def forward(self, x):
        self.i = "a"
        return x


@fails
class SetsConstant(nn.Module):
    __constants__ = ["i"]

    def __init__(self):
        super().__init__()
        self.i = 3

    def forward(self, x):
        self.i = 4
        return x


@fails
class InvalidConstant(nn.Module):
    __constants__ = ["o"]

    def __init__(self):
        super().__init__()
        self.o = object()

    def forward(self, x):
        return x


@fails
class CallsItself(nn.Module):
    def forward(self, x):
        return self.forward(x)


@fails
class IteratesOverItself(nn.Module):
    def forward(self, x):
        for m in self:
            x = m(x)
        return x


@fails
class Subscripts(nn.Module):
    def forward(self, x):
        return self[0](x)


@fails
class WrongArgument(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Scale()

    def forward(self, x):
        return self.inner(3)
