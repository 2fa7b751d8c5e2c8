# SPDX-License-Identifier: Apache-2.0
"""Python's operators beside what is no tensor, and addr, whose types are promoted as of any operator of elements."""

import operator


class Other:
    """Answers every operator that its left side leaves to it."""


def _answer(name):
    return lambda self, other: name


for _name in "and or xor lshift rshift add sub mul truediv floordiv mod pow matmul".split():
    setattr(Other, f"__r{_name}__", _answer(_name))
for _name in "lt le gt ge eq ne".split():
    setattr(Other, f"__{_name}__", _answer(_name))

BINARY = "and_ or_ xor lshift rshift add sub mul truediv floordiv mod pow matmul lt le gt ge eq ne".split()
IN_PLACE = "iand ior ixor ilshift irshift iadd isub imul itruediv ifloordiv imod ipow imatmul".split()
RIGHTS = {"another": lambda: Other(), "a text": lambda: "a", "a list": lambda: [1, 2], "None": lambda: None, "an int": lambda: 2}

CASES = {}
for _name in BINARY + IN_PLACE:
    for _right, _make in RIGHTS.items():
        CASES[f"{_name} with {_right}"] = lambda t, f=getattr(operator, _name), make=_make: f(t.tensor([1, 2]), make())
for _name in "and or xor lshift rshift add sub mul truediv floordiv mod pow matmul lt le gt ge eq ne".split():
    for _form in (f"__{_name}__", f"__i{_name}__", f"__r{_name}__"):
        if _form[2] in "ir" and _name in ("lt", "le", "gt", "ge", "eq", "ne") or _form in ("__imatmul__", "__rtruediv__"):
            continue
        CASES[f"{_form} of another"] = lambda t, f=_form: getattr(t.tensor([1, 2]), f)(Other()) is NotImplemented
CASES["numbers beside @"] = lambda t: t.ones(2) @ 1.5
CASES["__rdiv__"] = lambda t: t.tensor([1.0, 2.0]).__rdiv__(3)
CASES["__div__"] = lambda t: t.tensor([1.0, 2.0]).__div__(4)
CASES["__idiv__"] = lambda t: t.tensor([1.0, 2.0]).__idiv__(4)

TYPES = ("bool", "uint8", "int8", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
FACTORS = {"beta=2": {"beta": 2}, "beta=2.0": {"beta": 2.0}, "beta=True": {"beta": True}, "alpha=2.0": {"alpha": 2.0}, "alpha=False": {"alpha": False},
           "beta=0": {"beta": 0}, "alpha=0": {"alpha": 0}, "beta=1j": {"beta": 1j}}  # fmt: skip


def made(t, name, *numbers):
    return t.tensor(numbers).to(getattr(t, name))


def addr(t, first, second, third, **factors):
    return t.addr(made(t, first, 1, 0, 1), made(t, second, 1, 2), made(t, third, 3, 0, 1), **factors)


def addr_gradients(t, first, second, third, which, **factors):
    leaves = [made(t, name, *numbers).requires_grad_(i in which) for i, (name, numbers) in enumerate(((first, (1, 2)), (second, (3, 4)), (third, (5, 6))))]
    (t.addr(*leaves, **factors) * t.tensor([[1, 2], [3, 4]])).sum().backward()
    return [x.grad for x in leaves]


for _i, _a in enumerate(TYPES):
    for _j, _b in enumerate(TYPES):
        _c = TYPES[(_i * 2 + _j * 5) % len(TYPES)]
        CASES[f"addr of {_a}, {_b}, {_c}"] = lambda t, names=(_a, _b, _c): addr(t, *names)
        CASES[f"addr of {_a} into {_b}"] = lambda t, a=_a, b=_b: addr(t, a, a, a, out=t.empty(0, dtype=getattr(t, b)))
        CASES[f"addr_ of {_a} into {_b}"] = lambda t, a=_a, b=_b: t.ones(2, 3, dtype=getattr(t, b)).addr_(made(t, a, 1, 2), made(t, a, 3, 0, 1))
    for _name, _factors in FACTORS.items():
        CASES[f"addr of {_a}, {_name}"] = lambda t, a=_a, k=_factors: addr(t, a, a, a, **k)
CASES["addr of NaN, beta=0"] = lambda t: t.addr(t.tensor([float("nan")]), t.ones(1), t.ones(1), beta=0)
CASES["addr of a transposed matrix"] = lambda t: t.addr(t.ones(3, 2).T, t.ones(2), t.ones(3))
CASES["addr of too much"] = lambda t: t.addr(t.ones(2), t.ones(1), t.ones(1))
CASES["addr of a matrix for a vector"] = lambda t: t.addr(t.ones(3, 3), t.ones(3, 1), t.ones(1))
CASES["addr_ that would grow"] = lambda t: t.ones(2).addr_(t.ones(2), t.ones(2))
CASES["addr, gradients"] = lambda t: addr_gradients(t, "float32", "float32", "float32", (0, 1, 2), beta=0.5, alpha=2.0)
CASES["addr, gradients with complex numbers"] = lambda t: addr_gradients(t, "float32", "complex64", "float32", (0, 1, 2))
