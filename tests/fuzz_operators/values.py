# SPDX-License-Identifier: Apache-2.0
"""Arguments as Python text. A value knows how to write itself and which simpler values may stand in for it."""
from dataclasses import dataclass, replace

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
          "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "complex32")  # fmt: skip
ITEM = dict(zip(DTYPES, (1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 2, 4, 8, 1, 1, 4)))
NUMPY = {"bool": "bool_", "float16": "float16", "float32": "float32", "float64": "float64", "complex64": "complex64", "int64": "int64",
         "int32": "int32", "uint8": "uint8", "int16": "int16", "int8": "int8"}  # fmt: skip
FLOATING = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
LAYOUTS = ("contiguous", "transposed", "step", "offset", "expanded", "overlapping", "channels_last", "misaligned", "readonly",
           "sparse", "sparse_csr", "repeated")
LARGE = 2**31  # no tensor of so many elements is made, except without memory

# Text that a program needs before it may use a name.
HELPERS = {
    "Sub)": "class Sub(torch.Tensor):\n    pass\n",
    "Int(": "class Int(int):\n    pass\n",
    "List(": "class List(list):\n    pass\n",
    "Tuple(": "class Tuple(tuple):\n    pass\n",
    "Index(": "class Index:\n    def __init__(self, n):\n        self.n = n\n    def __index__(self):\n        return self.n\n",
    "clearing(": "def clearing(n):\n    items = []\n    class Item:\n        dtype = None\n        def __index__(self):\n            items.clear()\n            return 1\n"
                 "    items += [Item() for _ in range(n)]\n    return items\n",
    "growing(": "def growing(n):\n    items = []\n    class Item:\n        dtype = None\n        def __index__(self):\n            items.extend([1] * 100)\n"
                "            return 1\n    items += [Item() for _ in range(n)]\n    return items\n",
    "Liar(": "class Liar:\n    def __init__(self, n):\n        self.n = n\n    def __len__(self):\n        return self.n\n"
             "    def __getitem__(self, i):\n        if not isinstance(i, int) or i > 9:\n            raise IndexError(i)\n        return 1\n",
    "Angry(": "class Mischief(Exception):\n    pass\nclass Angry:\n    def refuse(self, *_):\n        raise Mischief\n"
              "    __index__ = __len__ = __getitem__ = __float__ = __bool__ = __iter__ = __eq__ = __hash__ = refuse\n",
    "nudged(": "def nudged(x, by):\n    return x * (1 + by * (torch.arange(x.numel()) % 2 * 2 - 1).reshape(x.shape).to(x.dtype))\n",
    "np.": "import numpy as np\n",
    "mmap.": "import mmap\n",
}  # fmt: skip


def helpers(text):
    """What a program with this text must say first."""
    return "".join(helper for name, helper in HELPERS.items() if name in text)


@dataclass(frozen=True)
class Literal:
    text: str

    def simpler(self):
        for text in ("1", "0"):
            if self.text != text and self.text.lstrip("-").replace("2**", "").replace("+", "").replace("-", "").isdigit():
                yield Literal(text)


@dataclass(frozen=True)
class Items:
    """A list or tuple; `wrap` is what stands around the brackets ("List")."""
    items: tuple
    brackets: str = "[]"
    wrap: str = ""

    @property
    def text(self):
        comma = "," if self.brackets == "()" and len(self.items) == 1 else ""
        text = self.brackets[0] + ", ".join(x.text for x in self.items) + comma + self.brackets[1]
        return f"{self.wrap}({text})" if self.wrap else text

    def simpler(self):
        for i, item in enumerate(self.items):
            yield replace(self, items=self.items[:i] + self.items[i + 1:])
            for other in item.simpler():
                yield replace(self, items=(*self.items[:i], other, *self.items[i + 1:]))


@dataclass(frozen=True)
class Alias:
    """Another argument's memory: its name, and what is done to it."""
    of: int
    change: str = ""

    @property
    def text(self):
        return name_of(self.of) + self.change

    def simpler(self):
        if self.change:
            yield replace(self, change="")


def name_of(position):
    return chr(ord("a") + position) if position < 26 else f"x{position}"


@dataclass(frozen=True)
class Tensor:
    shape: tuple = (2,)
    dtype: str = "float32"
    layout: str = "contiguous"
    fill: str = "linspace"   # linspace: from low to high; values: as listed; else a number for all elements
    low: object = 0.5
    high: object = 2.0
    values: tuple = ()
    device: str = "cpu"
    grad: str = ""           # "leaf", "inner" (a result that needs a gradient)
    wrap: str = ""           # "Sub": of a subclass; "inference"
    nudge: float = 0.0       # every element is moved by so much of itself, up and down in turn

    @property
    def count(self):
        n = 1
        for size in self.shape:
            n *= size
        return n

    def filled(self, shape):
        """A contiguous tensor on the CPU."""
        n = 1
        for size in shape:
            n *= size
        dtype = f"torch.{self.dtype}"
        if self.fill == "values" and n == len(self.values):
            return f"torch.tensor({list(self.values)}, dtype={dtype}).reshape({list(shape)})"
        if self.fill in ("linspace", "values") and n > 0:
            low, high = self.low, self.high
            if self.fill == "values":
                low, high = (min(self.values), max(self.values)) if self.values else (0, 1)
            if low == high:
                return f"torch.full({list(shape)}, {low!r}, dtype={dtype})"
            return f"torch.linspace({low!r}, {high!r}, {n}).reshape({list(shape)}).to({dtype})"
        if self.fill in ("linspace", "values"):
            return f"torch.empty({list(shape)}, dtype={dtype})"
        return f"torch.full({list(shape)}, {self.fill}, dtype={dtype})"

    def laid_out(self):
        shape, rank = self.shape, len(self.shape)
        if self.layout == "transposed":
            if rank > 1:
                return self.filled((shape[-1], *shape[1:-1], shape[0])) + ".transpose(0, -1)"
            return self.filled((2 * shape[0],)) + "[::2]" if rank else self.filled((3,)) + "[1]"
        if self.layout == "step":
            return self.filled((*shape[:-1], 2 * shape[-1])) + "[..., ::2]" if rank else self.filled((3,)) + "[1]"
        if self.layout == "offset":
            return self.filled([n + 2 for n in shape]) + "[" + ", ".join(["1:-1"] * rank) + "]" if rank else self.filled((3,)) + "[1]"
        if self.layout == "expanded" and rank:
            return self.filled((1, *shape[1:])) + f".expand({list(shape)})"
        if self.layout == "overlapping" and rank and self.count:
            return self.filled((sum(shape),)) + f".as_strided({list(shape)}, {[1] * rank})"
        if self.layout == "channels_last" and rank in (4, 5):
            return self.filled(shape) + f".contiguous(memory_format=torch.channels_last{'_3d' if rank == 5 else ''})"
        if self.layout == "as transposed" and rank > 1:  # the same values as contiguous
            return self.filled(shape) + ".transpose(0, -1).contiguous().transpose(0, -1)"
        if self.layout in ("as step", "as transposed") and rank:
            return f"torch.stack([{self.filled(shape)}] * 2, -1).flatten(-2)[..., ::2]"
        if self.layout.startswith("as "):
            return f"torch.stack([{self.filled(shape)}] * 3, -1)[..., 1]"
        if self.layout == "misaligned" and self.dtype in NUMPY and self.count:
            size = self.count * ITEM[self.dtype]
            return f"torch.from_numpy(np.ones({size + 1}, np.uint8)[1:].view(np.{NUMPY[self.dtype]})).reshape({list(shape)})"
        if self.layout == "readonly" and self.count:
            size = self.count * ITEM[self.dtype]
            return f"torch.frombuffer(mmap.mmap(-1, {size}, access=mmap.ACCESS_READ), dtype=torch.{self.dtype}).reshape({list(shape)})"
        if self.layout == "sparse_csr" and rank == 2:
            return self.filled(shape) + ".to_sparse_csr()"
        if self.layout.startswith("sparse") and rank and self.count:
            return self.filled(shape) + ".to_sparse()"
        if self.layout == "repeated" and rank and self.count:  # sparse, with three entries for one element
            return f"torch.sparse_coo_tensor(torch.zeros({rank}, 3, dtype=torch.int64), torch.ones(3, dtype=torch.{self.dtype}), {list(shape)})"
        return self.filled(shape)

    @property
    def text(self):
        if self.count >= LARGE or any(n >= LARGE for n in self.shape):  # sizes that only a tensor without memory has
            device = self.device if self.count else "cpu"
            text = f"torch.empty({list(self.shape)}, dtype=torch.{self.dtype}, device='{device if self.count == 0 else 'meta'}')"
        else:
            text = self.laid_out()
            text = (f"nudged({text}, {self.nudge})" if self.nudge else text) + (f".to('{self.device}')" if self.device != "cpu" else "")
        if self.wrap == "Sub":
            text += ".as_subclass(Sub)"
        elif self.wrap == "inference":
            text = f"torch.inference_mode()(lambda: {text}.clone())()"
        if self.grad and self.dtype in FLOATING:
            text += ".detach().requires_grad_()" + (".clone()" if self.grad == "inner" else "")
        return text

    def simpler(self):
        plain = Tensor()
        for field in ("wrap", "grad", "device", "layout", "dtype"):
            if getattr(self, field) != getattr(plain, field):
                yield replace(self, **{field: getattr(plain, field)})
        if self.fill != "1":
            yield replace(self, fill="1", values=())
        for i, size in enumerate(self.shape):
            yield replace(self, shape=self.shape[:i] + self.shape[i + 1:], fill="1", values=())
            for other in (0, 1, 2):
                if other < size:
                    yield replace(self, shape=(*self.shape[:i], other, *self.shape[i + 1:]), fill="1", values=())


def literal(x):
    return Literal(repr(x))


def from_python(torch, x):
    """The value of a valid argument, as it was seen in a call. None: it cannot be written down."""
    if isinstance(x, torch.Tensor):
        x = x.detach()
        dtype, shape = str(x.dtype).split(".")[-1], tuple(x.shape)
        if dtype not in DTYPES:
            return None
        value = Tensor(shape, dtype)
        if not x.numel() or x.device.type == "meta":
            return value
        x = x.to("cpu")
        if x.is_complex():
            return value
        numbers = [v for v in x.reshape(-1).to(torch.float64 if x.is_floating_point() else x.dtype).tolist()]
        if not x.is_floating_point() and len(numbers) <= 64:
            return replace(value, fill="values", values=tuple(numbers))
        finite = [v for v in numbers if abs(v) < 1e30] or [0.0]
        return replace(value, low=float(min(finite)), high=float(max(finite)))
    if isinstance(x, (list, tuple)):
        items = tuple(from_python(torch, item) for item in x)
        return None if None in items else Items(items, "()" if isinstance(x, tuple) else "[]")
    if x is None or isinstance(x, (bool, int, str)):
        return literal(x)
    if isinstance(x, float):
        return Literal(repr(x) if abs(x) < 1e400 and x == x else f"float('{x}')")
    if isinstance(x, complex):
        return literal(x)
    if isinstance(x, (torch.dtype, torch.layout, torch.memory_format)):
        return literal(x)
    if isinstance(x, torch.device):
        return Literal(f"'{x}'")
    return None
