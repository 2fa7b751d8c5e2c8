# SPDX-License-Identifier: Apache-2.0
"""Python objects that change or lie while they are converted, operators beyond usual limits, bindings given other things."""
import gc

import numpy as np
from hostile import MAX64, bad, equal, fine, survives

ORDINARY = (RuntimeError, ValueError, TypeError, IndexError, MemoryError, OverflowError, KeyError, AttributeError)  # the last two: the object's own


def survives_all(name, calls, make):
    """Each call may raise an ordinary exception, or work."""
    def run(t):
        for call, f in calls.items():
            try:
                f(t, make())
            except ORDINARY:
                pass
            except BaseException as error:
                if isinstance(error, AssertionError) and "Torch not compiled with CUDA enabled" in str(error):
                    continue  # a number is a device, too
                raise AssertionError(f"{call} raised {type(error).__name__}: {error}") from error
    fine(name, run, seconds=120)


# ---- sequences that change while they are read -------------------------------------------------------------


class Item:
    """An index that does something to its list when it is read."""

    def __init__(self, act, value=1):
        self.act, self.value = act, value

    def __index__(self):
        self.act()
        gc.collect(1)  # what was just dropped is young
        return self.value

    def __float__(self):
        return float(self.__index__())

    dtype = "float64"  # numbers of NumPy have one


def shrinking(n=50):
    """A list whose first item, when it is read, throws all others away."""
    items = []
    items.append(Item(items.clear))
    items.extend(Item(lambda: None) for _ in range(n))
    return items


def growing():
    items = []
    items.append(Item(lambda: items.extend([1] * 10000) if len(items) < 100 else None))
    return items


def replacing():
    items = []
    items.extend([Item(lambda: items.__setitem__(slice(None), [object() for _ in range(len(items))]))] + [Item(lambda: None) for _ in range(40)])
    return items


SEQUENCES = {
    "zeros": lambda t, s: t.zeros(s), "view": lambda t, s: t.zeros(1).view(s), "sum": lambda t, s: t.zeros(1, 1).sum(s), "permute": lambda t, s: t.zeros(1, 1).permute(s), "expand": lambda t, s: t.zeros(1).expand(s),
    "tensor": lambda t, s: t.tensor(s), "tensor of floats": lambda t, s: t.tensor(s, dtype=t.float32), "tensor of lists": lambda t, s: t.tensor([s, s]), "index": lambda t, s: t.zeros(2, 2)[s], "index by lists": lambda t, s: t.zeros(4, 4)[[s, [0]]], "setitem": lambda t, s: t.zeros(60).__setitem__(slice(None), s),
    "interpolate": lambda t, s: t.nn.functional.interpolate(t.zeros(1, 1, 4), scale_factor=s), "wrapper": lambda t, s: t.Tensor._make_wrapper_subclass(t.Tensor, s), "Size": lambda t, s: t.Size(s), "ops": lambda t, s: t.ops.aten.zeros(s), "out": lambda t, s: t.zeros(s, out=t.empty(0)),
    "pad": lambda t, s: t.nn.functional.pad(t.zeros(1, 1), s), "index_put_": lambda t, s: t.zeros(3).index_put_(s, t.zeros(1)), "randint": lambda t, s: t.randint(0, 2, s), "stack": lambda t, s: t.stack(s),
}
for name, make in {"shrinks": shrinking, "grows": growing, "changes": replacing}.items():
    survives_all(f"a list that {name} while it is read", SEQUENCES, make)


def lists_are_dropped(t):
    """out= of two results, given as a list that another argument empties."""
    outs = [t.empty(3), t.empty(3, dtype=t.int64)]
    t.sort(t.tensor([3.0, 1.0, 2.0]), Item(outs.clear, 0), out=outs)


survives("out= list emptied by another argument", lists_are_dropped)


class Length(list):
    def __len__(self):
        return 2**62

    def __getitem__(self, i):
        return 1

    def __iter__(self):
        raise ValueError("no")


class Endless:
    """A sequence that says another length each time."""

    n = 0

    def __len__(self):
        self.n += 1
        return self.n * 3

    def __getitem__(self, i):
        return float(range(100)[i])


class BadLength:
    def __len__(self):
        return -1  # noqa: PLE0303

    def __getitem__(self, i):
        return 1


for name, make in {"a list that lies about its length": lambda: Length([1, 2]), "a sequence of changing length": Endless, "a negative length": BadLength}.items():
    survives_all(name, {**SEQUENCES, "cat": lambda t, s: t.cat(s), "nested": lambda t, s: t.tensor([s, s])}, make)


class Wild:
    """Whatever it is asked for fails."""

    def fail(self, *args, **kwargs):
        raise KeyError("wild")

    __index__ = __int__ = __float__ = __bool__ = __len__ = __getitem__ = __iter__ = __array__ = __complex__ = __hash__ = __eq__ = fail


class WildInt(int):
    __index__ = __int__ = __float__ = __bool__ = __eq__ = __hash__ = Wild.fail


class WildFloat(float):
    __float__ = __int__ = __bool__ = __eq__ = Wild.fail


class WildFunction:
    @classmethod
    def __torch_function__(cls, *args, **kwargs):
        raise KeyError("wild")


class WildProperty:
    @property
    def __torch_function__(self):
        raise KeyError("wild")


class WildMeta(type):
    def __getattribute__(cls, name):
        if name == "__torch_function__":
            raise KeyError("wild")
        return super().__getattribute__(name)


class WildClass(metaclass=WildMeta):
    __torch_function__ = 3


CALLS = {
    "add": lambda t, o: t.zeros(2) + o, "radd": lambda t, o: o + t.zeros(2), "zeros": lambda t, o: t.zeros(o), "zeros of a list": lambda t, o: t.zeros([o]), "sum": lambda t, o: t.zeros(2).sum(o), "keepdim": lambda t, o: t.zeros(2).sum(0, keepdim=o), "index": lambda t, o: t.zeros(2)[o],
    "index of a tuple": lambda t, o: t.zeros(2, 2)[o, 0], "slice": lambda t, o: t.zeros(2)[o:], "setitem": lambda t, o: t.zeros(2).__setitem__(0, o), "tensor": lambda t, o: t.tensor(o), "tensor of a list": lambda t, o: t.tensor([o]), "tensor of int64": lambda t, o: t.tensor([o], dtype=t.int64),
    "tensor of uint8": lambda t, o: t.tensor([o], dtype=t.uint8), "tensor of bool": lambda t, o: t.tensor([o], dtype=t.bool), "full": lambda t, o: t.full((2,), o), "full of int8": lambda t, o: t.full((2,), o, dtype=t.int8), "dropout": lambda t, o: t.nn.functional.dropout(t.zeros(2), o), "cat": lambda t, o: t.cat([o]),
    "to": lambda t, o: t.zeros(2).to(o), "dtype": lambda t, o: t.zeros(2, dtype=o), "device": lambda t, o: t.zeros(2, device=o), "eq": lambda t, o: t.zeros(2) == o, "clamp": lambda t, o: t.zeros(2).clamp(o), "arange": lambda t, o: t.arange(o) if not isinstance(o, int) else None, "pow": lambda t, o: t.ones(2, dtype=t.int64) ** o,
    "norm": lambda t, o: t.zeros(2).norm(o), "einsum": lambda t, o: t.einsum(o, t.zeros(2)), "manual_seed": lambda t, o: t.Generator().manual_seed(o), "set_state": lambda t, o: t.Generator().set_state(o), "view": lambda t, o: t.zeros(2).view(o, -1), "ops": lambda t, o: t.ops.aten.add(t.zeros(2), o), "requires_grad": lambda t, o: t.zeros(2, requires_grad=o),
    "is_contiguous": lambda t, o: t.zeros(2).is_contiguous(memory_format=o), "size": lambda t, o: t.zeros(2).size(o), "data": lambda t, o: setattr(t.zeros(2), "data", o), "grad": lambda t, o: setattr(t.zeros(2), "grad", o), "wrapper": lambda t, o: t.Tensor._make_wrapper_subclass(t.Tensor, (2,), memory_format=o), "out": lambda t, o: t.neg(t.zeros(2), out=o),
}
for name, make in {"an object that fails": Wild, "an int that fails": lambda: WildInt(2), "a float that fails": lambda: WildFloat(2), "an override that fails": WildFunction, "an override that is a failing property": WildProperty, "an override that fails to be found": WildClass,
                   "what calls itself numpy.bool": lambda: type("numpy.bool", (), {"__bool__": Wild.fail, "dtype": 1, "__index__": Wild.fail})(), "a huge int": lambda: 10**400, "a huge negative int": lambda: -10**400, "NaN": lambda: float("nan"), "inf": lambda: float("inf"), "numpy NaN": lambda: np.float64("nan"),
                   "numpy bool": lambda: np.bool_(True), "numpy uint64": lambda: np.uint64(2**64 - 1), "numpy array": lambda: np.zeros(3, dtype=object), "a type": lambda: int, "a module": lambda: gc, "a surrogate": lambda: "\ud800", "numpy void": lambda: np.void(b"ab"), "numpy datetime": lambda: np.datetime64("2020")}.items():
    survives_all(name, CALLS, make)
bad("tensor of tensors", "ValueError", ("only one element tensors can be converted to Python scalars",), lambda t: t.tensor([t.zeros(2), t.zeros(5)]))
bad("tensor of tensors of one size", "ValueError", ("only one element tensors can be converted to Python scalars",), lambda t: t.tensor([t.zeros(2), t.zeros(2)]))
fine("tensor of one-element tensors", lambda t: equal(t.tensor([t.ones(1), t.tensor(2), 3.0]), t.tensor([1.0, 2.0, 3.0])))
bad("is_contiguous of a number", "TypeError", ("memory_format",), lambda t: t.zeros(2).is_contiguous(memory_format=3))
bad("generator state on meta", "TypeError", ("RNG state must be a torch.ByteTensor",), lambda t: t.Generator().set_state(t.zeros(5056, dtype=t.uint8, device="meta")))
bad("generator state too short", "RuntimeError", ("5056", "50"), lambda t: t.Generator().set_state(t.zeros(50, dtype=t.uint8)))


def strided_state(t):
    g = t.Generator().manual_seed(3)
    wide = g.get_state().unsqueeze(1).expand(-1, 2).contiguous()
    h = t.Generator()
    h.set_state(wide[:, 0].contiguous())
    assert t.rand(3, generator=g).tolist() == t.rand(3, generator=h).tolist()


fine("generator state of a view", strided_state)

# ---- operators that users define ---------------------------------------------------------------------------


def defined(t, name, schema, kernel):
    t.library.define(f"hostile::{name}", schema)
    t.library.impl(f"hostile::{name}", "CPU", kernel)
    return getattr(t.ops.hostile, name)


def many_results(t):
    for n in (2, 8, 9, 40, 64):
        f = defined(t, f"results{n}", "(Tensor x) -> (" + ", ".join(["Tensor"] * n) + ")", lambda x, n=n: tuple(x + i for i in range(n)))
        assert [y.item() for y in f(t.tensor(1.0))] == [1.0 + i for i in range(n)]


def many_arguments(t):
    for n in (24, 25, 40, 64):
        f = defined(t, f"arguments{n}", "(Tensor x, " + ", ".join(f"int a{i}" for i in range(1, n)) + ") -> Tensor", lambda x, *a: x + sum(a))
        assert f(t.tensor(0), *range(1, n)).item() == n * (n - 1) // 2


def many_lists(t):
    kinds = [f"Tensor[] t{i}" for i in range(8)] + [f"int[] i{i}" for i in range(9)] + [f"float[] f{i}" for i in range(3)] + [f"bool[] b{i}" for i in range(3)]
    f = defined(t, "lists", "(" + ", ".join(kinds) + ") -> Tensor", lambda *a: t.tensor([float(x[0]) for x in a]))
    given = [[t.tensor(float(i))] for i in range(8)] + [[10 + i] for i in range(9)] + [[0.5 + i] for i in range(3)] + [[i == 1] for i in range(3)]
    assert f(*given).tolist() == [*range(8), *range(10, 19), 0.5, 1.5, 2.5, 0, 1, 0]


fine("an operator with many results", many_results)
fine("an operator with many arguments", many_arguments)
fine("an operator with many lists", many_lists, quirk="takes no lists of bools by these names")
for name, schema in {"65 results": "(Tensor x) -> (" + ", ".join(["Tensor"] * 65) + ")", "65 arguments": "(" + ", ".join(f"int a{i}" for i in range(65)) + ") -> ()", "a result that aliases nothing": "() -> Tensor(a!)", "a view of nothing": "(Tensor x) -> Tensor(a)",
                     "a view of a list": "(Tensor(a)[] x) -> Tensor(a)", "a list of numbers by default": "(float[2] x=1.0) -> ()", "a list of strings by default": "(str[] x=[]) -> ()"}.items():
    bad(f"definition with {name}", "RuntimeError|ValueError", ("schema",), lambda t, s=schema: t.library.define("hostile::bad", s), quirk="allows it")


def second_argument(t):
    """A view or an in-place form of an argument that is not the first."""
    v = defined(t, "view2", "(int n, Tensor(a) x) -> Tensor(a)", lambda n, x: x[n:])
    x = t.arange(4.0)
    y = v(1, x)
    y.add_(1)
    assert x.tolist() == [0, 2, 3, 4]
    w = defined(t, "write2", "(int n, Tensor(a!) x) -> ()", lambda n, x: (x.add_(n), None)[1])
    before = x._version
    w(1, x)
    assert x.tolist() == [1, 3, 4, 5] and x._version > before


fine("aliases of the second argument", second_argument)
bad("a kernel that gives too few results", "RuntimeError|TypeError|ValueError", (), lambda t: defined(t, "few", "(Tensor x) -> (Tensor, Tensor)", lambda x: (x + 1,))(t.zeros(2)))
bad("a kernel that gives None", "RuntimeError|TypeError", (), lambda t: defined(t, "none", "(Tensor x) -> Tensor", lambda x: None)(t.zeros(2)))
bad("an argument beyond 64 bits", "RuntimeError|TypeError|ValueError|OverflowError", (), lambda t: t.zeros(2).sum(MAX64 + 1))
