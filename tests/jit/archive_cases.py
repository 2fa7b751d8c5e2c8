# SPDX-License-Identifier: Apache-2.0
"""Modules and functions whose archives record_archives.py takes down from PyTorch, with inputs. Scripted ones are compiled by
PyTorch only; traced ones are made here, too."""
# ruff: noqa

import enum
from typing import Dict, Final, List, NamedTuple, Optional, Tuple, Union

import torch
from torch import Tensor, nn


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Pair(NamedTuple):
    left: Tensor
    right: int


class Counter:
    def __init__(self, start: int):
        self.count = start
        self.seen: List[int] = []

    def add(self, n: int) -> int:
        self.count += n
        self.seen.append(n)
        return self.count


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.act = nn.ReLU()
        self.rest = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 5))

    def forward(self, x):
        y = self.act(self.norm(self.conv(x)))
        return self.rest(y)


class Flow(nn.Module):
    limit: Final[int]

    def __init__(self):
        super().__init__()
        self.limit = 4
        self.weight = nn.Parameter(torch.arange(3.0))
        self.register_buffer("offset", torch.ones(3))
        self.names = {"a": 1, "b": 2}

    def forward(self, x, n: int, flag: Optional[bool] = None):
        out = x
        for i in range(n):
            if i > self.limit:
                break
            if i % 2 == 0:
                out = out + self.weight * i
            else:
                out = out - self.offset
        k = 0
        while k < 3:
            k += 1
            if k == 2:
                continue
            out = out * 1.5
        if flag is not None and flag:
            out = -out
        for key in self.names.keys():
            out = out + self.names[key]
        assert out.dim() == 1, "one dimension"
        return out, k, [i * i for i in range(3)]


class Objects(nn.Module):
    def __init__(self):
        super().__init__()
        self.color = Color.GREEN
        self.numbers = [1, 2, 3]
        self.reals = [0.5]
        self.flags = [True, False]
        self.tensors = [torch.ones(2), torch.zeros(2)]
        self.words = ["a", "bé"]
        self.table = {"x": torch.full((2,), 3.0)}
        self.big = 2**40
        self.tuple = (1, "two", (3.0,))
        self.device = torch.device("cpu")

    def forward(self, x: Tensor, pair: Pair) -> Tuple[Tensor, int, List[int], Pair, str, Dict[str, int]]:
        counter = Counter(self.numbers[0])
        total = counter.add(5) + counter.add(self.big)
        if self.color is Color.GREEN:
            x = x + self.table["x"]
        made = Pair(x + pair.left + self.tensors[0], pair.right + len(self.words))
        text = "{} {}".format(self.words[0], self.tuple[1])
        return made.left, total, counter.seen, made, text, {"k": self.numbers[-1]}


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.again = self.first
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2)])
        self.named = nn.ModuleDict({"a": nn.Sigmoid(), "b": nn.Identity()})
        self.tied = nn.Linear(2, 2)
        self.tied.weight = self.first.weight

    def forward(self, x):
        x = self.again(self.first(x))
        for layer in self.layers:
            x = layer(x)
        for _, layer in self.named.items():
            x = layer(x)
        return self.tied(x)


class Unions(nn.Module):
    def __init__(self):
        super().__init__()
        self.maybe: Optional[Tensor] = None

    def forward(self, x: Union[int, str], y: Optional[Tensor] = None) -> int:
        m = self.maybe
        if m is not None:
            return int(m.sum())
        if isinstance(x, int):
            n = x + 1
        else:
            n = len(x)
        if y is not None:
            n += int(y.sum())
        return n

    @torch.jit.export
    def other(self, x: Tensor, scale: float = 2.0) -> Tensor:
        return x * scale


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.value = torch.ones(2)
        self.training = False

    @torch.jit.export
    def __getstate__(self) -> Tuple[Tensor, bool]:
        return self.value * 2, self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[Tensor, bool]):
        self.value = state[0] + 1
        self.training = state[1]

    def forward(self, x):
        return x + self.value


def function(x: Tensor, n: int = 2):
    constant = torch.tensor([1.0, 2.0])
    return x * n + constant, torch.max(x, 0)


def looped(x: Tensor, n: int):
    total = torch.zeros_like(x)
    for i in range(n):
        total += x * i
    return total


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)
        self.out = nn.Linear(8, 3)

    def forward(self, ids):
        x = self.embed(ids)
        y, _ = self.attention(x, x, x, need_weights=False)
        return self.out(self.norm(x + torch.nn.functional.gelu(y)))


class Arithmetic(nn.Module):
    def forward(self, x, n):
        return x / n, torch.div(x, 3), torch.full((2,), 3), torch.linspace(0.0, 1.0, 5), torch.logspace(0.0, 1.0, 3)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.up = nn.Upsample(scale_factor=2.0)

    def forward(self, x):
        y = self.encoder(x)
        with torch.no_grad():
            z, weights = self.attention(x, x, x)
            y = y + self.encoder(x)
        return y, z, weights, self.up(x), torch.as_tensor([0.5, 1.5], dtype=torch.float64)


def inputs(name):
    torch.manual_seed(1)
    return {
        "Layers": (torch.randn(2, 3, 8),),
        "Small": (torch.randn(2, 3, 5, 5),),
        "Flow": (torch.ones(3), 7, True),
        "Objects": (torch.ones(2), Pair(torch.ones(2), 3)),
        "Shared": (torch.randn(3, 2),),
        "Unions": ("abc", torch.ones(2)),
        "Stateful": (torch.ones(2),),
        "function": (torch.ones(2), 3),
        "looped": (torch.ones(2), 4),
        "Transformer": (torch.arange(5)[None],),
        "Arithmetic": (torch.tensor([7, -7]), torch.tensor([2, 2])),
    }[name]


SCRIPTED = {"Layers": Layers, "Flow": Flow, "Objects": Objects, "Shared": Shared, "Unions": Unions, "Stateful": Stateful, "Small": Small, "function": function, "looped": looped}
TRACED = {"Small": Small, "Shared": Shared, "Transformer": Transformer, "Arithmetic": Arithmetic}


def made(name, cls):
    torch.manual_seed(0)
    return cls().eval() if isinstance(cls, type) else cls


# Archives put together by hand: a module whose data.pkl says only `training`.

DATA = b"\x80\x02c__torch__\nM\nq\x00)\x81}(X\x08\x00\x00\x00trainingq\x01\x88ub."
CLASS = "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"


def forged(code, version="3", data=DATA, constants=b"\x80\x02).", extra=(), without=()):
    """The bytes of an archive with these records."""
    import io
    import zipfile

    buffer = io.BytesIO()
    records = [("data.pkl", data), ("code/__torch__.py", code), ("constants.pkl", constants), ("version", version + "\n"), ("byteorder", "little"), *extra]
    with zipfile.ZipFile(buffer, "w") as z:
        for name, content in records:
            if name not in without:
                z.writestr("m/" + name, content)
    return buffer.getvalue()


def forward(body, arguments="", result="Tensor"):
    return CLASS + f"  def forward(self: __torch__.M{arguments}) -> {result}:\n" + "".join(f"    {line}\n" for line in body.splitlines())


# What operators meant in older versions: (version, code, inputs)
OLD = {
    f"{name}_{version}": (str(version), forward(body, arguments), args)
    for name, versions, body, arguments, args in [
        ("div_tensors", (1, 3, 4), "return torch.div(x, y)", ", x: Tensor, y: Tensor", (torch.tensor([7, -7, 6]), torch.tensor([2, 2, 4]))),
        ("div_floats", (3, 4), "return torch.div(x, y)", ", x: Tensor, y: Tensor", (torch.tensor([7.0, -7.0]), torch.tensor([2, 2]))),
        ("div_int", (3, 4), "return torch.div(x, 2)", ", x: Tensor", (torch.tensor([7, -7]),)),
        ("div_float", (3, 4), "return torch.div(x, 2.)", ", x: Tensor", (torch.tensor([7, -7]),)),
        ("div_in_place", (3, 4), "return torch.div_(x, y)", ", x: Tensor, y: Tensor", (torch.tensor([7.0, -7.0]), torch.tensor([2, 2]))),
        ("div_in_place_int", (3,), "return torch.div_(x, 2)", ", x: Tensor", (torch.tensor([7, -7]),)),
        ("div_numbers", (3, 4), "return torch.tensor(torch.div(x, 2))", ", x: int", (7,)),
        ("full_int", (4, 5), "return torch.full([2], 3)", "", ()),
        ("full_dtype", (4, 5), "return torch.full([2], 3, dtype=3)", "", ()),
        ("linspace_steps", (7,), "return torch.linspace(0, 1, None)", "", ()),
        ("linspace", (7, 8), "return torch.linspace(0, 1, 5)", "", ()),
        ("logspace_steps", (8,), "return torch.logspace(0, 1, None)", "", ()),
        ("logspace", (8, 9), "return torch.logspace(0, 1, 3, 2.)", "", ()),
        ("gelu", (9, 10), "return torch.gelu(x)", ", x: Tensor", (torch.tensor([-1.0, 0.5]),)),
    ]
    for version in versions
}
