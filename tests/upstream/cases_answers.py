# SPDX-License-Identifier: Apache-2.0
"""Calls whose answers PyTorch's own tests found wrong, and their siblings: values, types, strides, what is written."""

import copy

import numpy as np

HALVES = ("float16", "bfloat16")


def grid(t):
    return t.arange(12.0).reshape(3, 4)


def indexed(t, index):
    written = t.zeros(3, 4)
    written[index] = 1
    return grid(t)[index], written


def into_columns(t, function):
    """out= that is every row's middle: what it lies in, and whether the result is it."""
    whole = t.full((3, 4), 9.0)
    out = whole.narrow(1, 1, 2)
    result = function(out)
    return whole, list(out.shape), list(out.stride()), result is out


def second_derivative(t, function, x):
    x = x.clone().requires_grad_()
    y = function(x)
    (g,) = t.autograd.grad((y * t.arange(1.0, y.numel() + 1, dtype=y.dtype)).sum(), x, create_graph=True)
    return t.autograd.grad((g * t.arange(2.0, g.numel() + 2, dtype=y.dtype)).sum(), x)[0]


def eigenvector_gradient(t, uplo, complex_numbers=False):
    a = t.tensor([[2.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 1.0]], dtype=t.float64)
    if complex_numbers:
        i = 1j * t.tensor([[0.0, 1.0, 0.5], [-1.0, 0.0, 0.2], [-0.5, -0.2, 0.0]], dtype=t.float64)
        a = a + i
    a.requires_grad_()
    _, v = t.linalg.eigh(a, uplo)
    (v.abs() ** 2)[0, 0].backward()
    return a.grad


def embedding_gradient(t):
    weight, index = t.ones(4, 2, requires_grad=True), t.tensor([1, 2])
    t.nn.functional.embedding(index, weight, sparse=True).sum().backward()
    index.fill_(3)
    return weight.grad._indices(), weight.grad._values()


def gradient_by_private_name(t):
    p = t.ones(2, requires_grad=True)
    p._grad = t.full((2,), 3.0)
    given = p.grad.tolist()
    p._grad = None
    return given, p.grad is None, p._grad is None


def copied_together(t, make):
    a = t.zeros(3)
    first, second = copy.deepcopy(make(a))
    tensor, storage = (first, second) if isinstance(first, t.Tensor) else (second, first)
    tensor.fill_(5)
    return storage.data_ptr() == tensor.untyped_storage().data_ptr(), a


def narrow_into_wide(t, function, name, wide):
    h = t.tensor([0.1, 1 / 3, 1000.3], dtype=getattr(t, name))
    k = t.tensor([0.2, 2 / 3, 0.001], dtype=getattr(t, name))
    return function(h, k, t.empty(3, dtype=getattr(t, wide)))


def in_place_on_views(t, make):
    view, value = make(t.ones(2, 3)), t.ones(3, requires_grad=True)
    view.mul_(value)
    return view.requires_grad


CASES = {
    # --- sizes are sizes
    "Tensor of a Size": lambda t: list(t.Tensor(t.ones(4, 4).size()).shape),
    "DoubleTensor of a Size": lambda t: list(t.DoubleTensor(t.Size([2, 3])).shape),
    "Tensor of a Size without dimensions": lambda t: list(t.Tensor(t.Size([])).shape),
    "Tensor of a tuple": lambda t: t.Tensor((2, 3)),
    "new of a Size": lambda t: list(t.ones(4).new(t.Size([2, 3])).shape),
    # --- what a list means as an index
    "list of two numbers that are tensors": lambda t: indexed(t, [t.tensor(1), t.tensor(0)]),
    "list of arrays": lambda t: indexed(t, [np.array([0, 1]), np.array([1, 0])]),
    "list of an int and a number that is a tensor": lambda t: indexed(t, [0, t.tensor(1)]),
    "list of an array without dimensions": lambda t: indexed(t, [np.array(1), 0]),
    "list of lists": lambda t: indexed(t, [[0, 1], [1, 0]]),
    "list of tensors": lambda t: indexed(t, [t.tensor([0, 1]), t.tensor([1, 0])]),
    "list with a slice": lambda t: indexed(t, [slice(0, 1), 1]),
    "list with None": lambda t: grid(t)[[None, 1]],
    "list with Ellipsis": lambda t: indexed(t, [..., 1]),
    "list of truth values": lambda t: indexed(t, [True, False, True]),
    "list of truth values that are tensors": lambda t: grid(t)[[t.tensor(True), t.tensor(False), t.tensor(True)]],
    "list of ranges": lambda t: indexed(t, [range(2), range(2)]),
    "list of tuples": lambda t: indexed(t, [(0, 1), (1, 2)]),
    "list of NumPy's numbers": lambda t: indexed(t, [np.int64(1), np.int64(0)]),
    "range": lambda t: indexed(t, range(2)),
    "list of a tensor and an int": lambda t: indexed(t, [t.tensor([0, 1]), 2]),
    "empty list": lambda t: indexed(t, []),
    "list of a list of tensors": lambda t: indexed(t, [[t.tensor(1), t.tensor(0)]]),
    # --- out= through strides
    "arange into columns": lambda t: into_columns(t, lambda out: t.arange(0, 6, out=out)),
    "arange by halves into columns": lambda t: into_columns(t, lambda out: t.arange(0, 3, 0.5, out=out)),
    "range into columns": lambda t: into_columns(t, lambda out: t.range(0, 5, out=out)),
    "linspace into columns": lambda t: into_columns(t, lambda out: t.linspace(0, 1, 6, out=out)),
    "linspace of tensors into columns": lambda t: into_columns(t, lambda out: t.linspace(t.tensor(0.0), t.tensor(1.0), 6, out=out)),
    "logspace into columns": lambda t: into_columns(t, lambda out: t.logspace(0, 1, 6, out=out)),
    "eye into columns": lambda t: into_columns(t, lambda out: t.eye(3, 2, out=out)),
    "full into columns": lambda t: into_columns(t, lambda out: t.full((3, 2), 3.0, out=out)),
    "zeros into columns": lambda t: into_columns(t, lambda out: t.zeros(3, 2, out=out)),
    "cat into columns": lambda t: into_columns(t, lambda out: t.cat([t.ones(1, 2), t.zeros(2, 2)], out=out)),
    "mm into columns": lambda t: into_columns(t, lambda out: t.mm(grid(t), grid(t)[:2].T, out=out)),
    "cumsum into columns": lambda t: into_columns(t, lambda out: t.cumsum(grid(t)[:, :2], 0, out=out)),
    "sort into columns": lambda t: into_columns(t, lambda out: t.sort(-grid(t)[:, :2], 0, out=(out, t.empty(3, 2, dtype=t.int64)))[0]),
    "gather into columns": lambda t: into_columns(t, lambda out: t.gather(grid(t), 1, t.tensor([[1, 0], [2, 3], [0, 0]]), out=out)),
    "index_select into columns": lambda t: into_columns(t, lambda out: t.index_select(grid(t), 1, t.tensor([3, 1]), out=out)),
    "take into columns": lambda t: into_columns(t, lambda out: t.take(grid(t), t.tensor([[1, 0], [2, 3], [0, 0]]), out=out)),
    "tril into columns": lambda t: into_columns(t, lambda out: t.tril(grid(t)[:, 1:3], out=out)),
    "addmm into columns": lambda t: into_columns(t, lambda out: t.addmm(t.ones(2), grid(t), grid(t)[:2].T, out=out)),
    "sum into columns": lambda t: into_columns(t, lambda out: t.sum(t.ones(3, 2, 4), 2, out=out)),
    "amax into columns": lambda t: into_columns(t, lambda out: t.amax(grid(t).view(3, 2, 2), 2, out=out)),
    "arange into a transposed matrix": lambda t: t.arange(6, out=t.empty(2, 3, dtype=t.int64).T),
    # --- where tensors choose the form
    "tensor_split at the indices of a tensor": lambda t: t.tensor_split(t.arange(8), t.tensor([3])),
    "tensor_split into as many as a tensor says": lambda t: t.tensor_split(t.arange(8), t.tensor(3)),
    "method tensor_split": lambda t: t.arange(8).tensor_split(t.tensor([3])),
    "tensor_split at several": lambda t: t.arange(8).tensor_split(t.tensor([3, 5])),
    "split by a tensor of one number": lambda t: t.split(t.arange(8), t.tensor([3])),
    "reshape by a tensor of one number": lambda t: list(t.arange(8).reshape(t.tensor([8])).shape),
    # --- derivatives
    "logcumsumexp, second derivative": lambda t: second_derivative(t, lambda x: t.logcumsumexp(x, 0), t.tensor([0.1, 0.5, -0.3, 0.9], dtype=t.float64)),
    "logcumsumexp of a matrix, second derivative": lambda t: second_derivative(
        t, lambda x: t.logcumsumexp(x, 1).flatten(), t.arange(6.0, dtype=t.float64).view(2, 3)
    ).flatten(),
    "eigh, gradient of vectors": lambda t: eigenvector_gradient(t, "L"),
    "eigh of the upper half, gradient of vectors": lambda t: eigenvector_gradient(t, "U"),
    "eigh of complex numbers, gradient of vectors": lambda t: eigenvector_gradient(t, "L", True),
    # --- what shares memory
    "sparse gradient after the indices changed": embedding_gradient,
    "_grad": gradient_by_private_name,
    "deepcopy of a tensor and its storage": lambda t: copied_together(t, lambda a: [a, a.storage()]),
    "deepcopy of a storage and its tensor": lambda t: copied_together(t, lambda a: [a.storage(), a]),
    "deepcopy of a tensor and its bytes": lambda t: copied_together(t, lambda a: [a, a.untyped_storage()]),
    # --- histories that in-place operators may not change
    "mul_ of a part of unbind": lambda t: in_place_on_views(t, lambda x: x.unbind()[0]),
    "mul_ of a part of split": lambda t: in_place_on_views(t, lambda x: x.split(1)[0]),
    "mul_ of a part of chunk": lambda t: in_place_on_views(t, lambda x: x.chunk(2)[0]),
    "mul_ of a row": lambda t: in_place_on_views(t, lambda x: x[0]),
}

WIDE = {
    "add": lambda t, h, k, out: t.add(h, k, out=out),
    "mul": lambda t, h, k, out: t.mul(h, k, out=out),
    "sub a number": lambda t, h, k, out: t.sub(h, 0.1, out=out),
    "sin": lambda t, h, k, out: t.sin(h, out=out),
    "atan2": lambda t, h, k, out: t.atan2(h, k, out=out),
    "lerp": lambda t, h, k, out: t.lerp(h, k, 0.3, out=out),
    "addcmul": lambda t, h, k, out: t.addcmul(h, k, h, out=out),
    "pow": lambda t, h, k, out: t.pow(h, 1.3, out=out),
    "where": lambda t, h, k, out: t.where(h > k, h, k, out=out),
    "copy_": lambda t, h, k, out: out.copy_(h),
}
for _name, _function in WIDE.items():
    for _narrow, _wide in (("float16", "float32"), ("float16", "float64"), ("bfloat16", "float32"), ("float32", "float64")):
        CASES[f"{_name} of {_narrow} into {_wide}"] = lambda t, f=_function, n=_narrow, w=_wide: narrow_into_wide(
            t, lambda h, k, out: f(t, h, k, out), n, w
        )
CASES["add of int8 into int64"] = lambda t: t.add(t.tensor([100], dtype=t.int8), t.tensor([100], dtype=t.int8), out=t.empty(1, dtype=t.int64))

NUMBERS = {
    "add": lambda t, x, s: x + s,
    "sub": lambda t, x, s: x - s,
    "number - x": lambda t, x, s: s - x,
    "mul": lambda t, x, s: x * s,
    "div": lambda t, x, s: x / s,
    "number / x": lambda t, x, s: s / x,
    "div floor": lambda t, x, s: t.div(x, s, rounding_mode="floor"),
    "div trunc": lambda t, x, s: t.div(x, s, rounding_mode="trunc"),
    "//": lambda t, x, s: x // s,
    "number // x": lambda t, x, s: s // x,
    "fmod": lambda t, x, s: t.fmod(x, s),
    "remainder": lambda t, x, s: x % s,
    "number % x": lambda t, x, s: s % x,
    "pow": lambda t, x, s: x.abs() ** abs(s),
    "number ** x": lambda t, x, s: abs(s) ** (x / 4),
    "lt": lambda t, x, s: x < s,
    "eq": lambda t, x, s: x == s,
    "ge": lambda t, x, s: x >= s,
    "add alpha": lambda t, x, s: t.add(x, x, alpha=s),
    "mul by a float64 number that is a tensor": lambda t, x, s: t.mul(x, t.tensor(s, dtype=t.float64)),
    "a float64 number that is a tensor times x": lambda t, x, s: t.mul(t.tensor(s, dtype=t.float64), x),
    "hypot": lambda t, x, s: t.hypot(x, t.tensor(s, dtype=t.float64)),
    "add int64": lambda t, x, s: t.add(x, t.full_like(x, 2049, dtype=t.int64)),
    "mul int64": lambda t, x, s: t.mul(x, t.full_like(x, 2049, dtype=t.int64)),
    "lerp": lambda t, x, s: t.lerp(x, x * 2, s),
    "clamp": lambda t, x, s: t.clamp(x, s, s + 1),
    "addcmul value": lambda t, x, s: t.addcmul(x, x, x, value=s),
    "where": lambda t, x, s: t.where(x > 0, x, s),
    "hardshrink": lambda t, x, s: t.nn.functional.hardshrink(x, abs(s)),
    "threshold": lambda t, x, s: t.nn.functional.threshold(x, s, s),
    "softshrink": lambda t, x, s: t.nn.functional.softshrink(x, abs(s)),
}
for _name, _function in NUMBERS.items():
    for _type in HALVES:
        CASES[f"{_type}: {_name}"] = lambda t, f=_function, d=_type: [
            f(t, t.tensor([5.3, -7.1, 100.0, 0.1, 3.3, -2.7] * 32, dtype=getattr(t, d)), s)[:6] for s in (0.1, 3.3, -7.7)
        ]
