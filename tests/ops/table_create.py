# SPDX-License-Identifier: Apache-2.0
"""Making tensors: from nothing, like another one, from Python and NumPy values."""
import numpy as np
from opspec import ALL, EXTRA_DTYPES, FLOATS, INTS, STRUCTURAL, E, Op, S

ONE = ("f32",)  # rows whose samples name their dtypes themselves
DTYPE_NAMES = (*ALL, *EXTRA_DTYPES)


def sized(value=()):
    """Factories that take a shape."""
    def samples(torch, make):
        yield S("contiguous", (2, 3), *value)
        if not value:
            yield S("varargs", 2, 3)
            yield S("varargs", 4)
        yield S("scalar", (), *value)
        yield S("empty", (0, 3), *value)
        yield S("list", [2, 2], *value)
        yield S("size", torch.Size((1, 2)), *value)
        for name in DTYPE_NAMES:
            yield S(name, (2, 3), *value, dtype=make.dtype_of(name))
        yield S("device", (2,), *value, device="cpu")
        yield S("meta", (2,), *value, device="meta", dtype=torch.float32).but(label="device")
        yield S("grad", (2,), *value, requires_grad=True)
    return lambda torch, make: (s for s in samples(torch, make) if s.kwargs.get("device") != "meta")


def sized_errors(value=()):
    def errors(torch, make):
        yield E("RuntimeError", ("negative",), (2, -1), *value)
        yield E("RuntimeError", ("overflow",), (2**62, 2**62), *value)
        yield E("TypeError", (), ("a",), *value)
        yield E("TypeError", (), (1.5,), *value)
        yield E("TypeError", ("dtype",), (2,), *value, dtype="float")
        yield E("RuntimeError", ("nosuch",), (2,), *value, device="nosuch")
    return errors


def likes(*value):
    def samples(torch, make):
        yield S("contiguous", make(2, 3), *value)
        for layout in ("transposed", "step", "offset", "expanded"):
            yield S("strided", make(2, 3, layout=layout), *value).narrow()
        yield S("channels_last", make(2, 3, 2, 2, layout="channels_last"), *value).narrow()
        yield S("format", make(2, 3, 2, 2, layout="channels_last"), *value, memory_format=torch.contiguous_format).narrow()
        yield S("scalar", make(), *value).narrow()
        yield S("empty", make(0, 3), *value).narrow()
        for name in DTYPE_NAMES:
            yield S(name, make(2), *value, dtype=make.dtype_of(name))
    return samples


def like_errors(*value):
    return lambda torch, make: [E("TypeError", ("Tensor",), (2, 3), *value), E("TypeError", (), None, *value)]


def new_samples(*value):
    def samples(torch, make):
        yield S("contiguous", make(1), (2, 3), *value)
        if not value:
            yield S("varargs", make(1), 2, 3)
        yield S("dtype", make(1), (2,), *value, dtype=torch.float64)
    return samples


def arange_samples(torch, make):
    for args in ((5,), (1, 4), (1, 10, 3), (5, 0, -2), (0,), (3, 3), (0.0, 1.0, 0.25), (1.0, 2.5), (0, 1, 0.3), (-3, 3), (10, 0, -2.5), (2**40, 2**40 + 3), (True,)):
        yield S("arguments", *args)
    for name in INTS + FLOATS:
        yield S(name, 0, 6, 2, dtype=make.dtype_of(name))
    yield S("keywords", start=1, end=4)
    yield S("long", 0, 100, 1, dtype=torch.float32)
    yield S("long", 0.0, 1.0, 0.01)


def arange_errors(torch, make):
    yield E("RuntimeError", ("step", "nonzero"), 0, 3, 0)
    yield E("RuntimeError", ("bound", "step"), 0, 3, -1)
    yield E("RuntimeError", (), 3, 0)
    yield E("RuntimeError", (), 0, float("inf"))
    yield E("RuntimeError", (), float("nan"))
    yield E("TypeError", ("str",), "a")


def spaced(name):
    def samples(torch, make):
        for args in ((0, 1, 5), (-2, 3, 7), (3, -3, 4), (1, 2, 1), (1, 2, 0), (0.5, 0.5, 3), (0, 10, 33)):
            yield S("arguments", *args)
        for kind in INTS + FLOATS:
            yield S(kind, 0, 4, 5, dtype=make.dtype_of(kind))
        if name == "logspace":
            yield S("base", 0, 3, 4, 2)
            yield S("base", 0, 3, 4, base=3.0)
    return samples


def spaced_errors(torch, make):
    yield E("RuntimeError", ("steps", "non-negative"), 0, 1, -1)
    yield E("TypeError", ("steps",), 0, 1)


def eye_samples(torch, make):
    for args in ((3,), (2, 4), (4, 2), (0,), (0, 3)):
        yield S("arguments", *args)
    for name in ALL:
        yield S(name, 2, 3, dtype=make.dtype_of(name))


def data_samples(torch, make):
    nan, inf = float("nan"), float("inf")
    for value in (1, 2.5, True, 1 + 2j, [1, 2, 3], [1.5, 2], [True, False], [1, True], [1, 2.5, True], [[1, 2], [3, 4]], [[1.0], [2.0]], [], [[]], [[], []],
                  (1, 2), [(1, 2), (3, 4)], [nan, inf, -inf], 2**62, [0, -1], [1 + 1j, 2], range(3), 1e300, -0.0, [2**31, 1]):
        yield S("values", value)
    for name in ALL:
        yield S(name, [0, 1, 2, 3], dtype=make.dtype_of(name))
        yield S(name + ".cast", [0.5, 1.75, 2.0], dtype=make.dtype_of(name))
    for kind in (np.float32, np.float64, np.int64, np.int32, np.uint8, np.bool_, np.float16, np.complex64):
        yield S("numpy", np.array([[0, 1], [2, 3]]).astype(kind))
        yield S("numpy scalar", np.ones((), kind)[()])
    yield S("numpy strided", np.arange(12).reshape(3, 4)[:, ::2])
    yield S("numpy strided", np.arange(12.0).reshape(3, 4).T)
    yield S("numpy list", [np.float32(1.5), np.float32(2.5)])
    yield S("numpy list", [np.array([1, 2]), np.array([3, 4])])
    yield S("tensors", [make.ints(1), make.ints(2)])
    yield S("tensors", [make.wrap(1.5, "f64"), make.wrap(2.5, "f64")])
    yield S("grad", [1.0, 2.0], requires_grad=True)
    yield S("device", [1.0, 2.0], device="cpu", dtype=torch.float64)


def data_errors(torch, make):
    yield E("ValueError", ("expected sequence of length 2", "got 1"), [[1, 2], [3]])
    yield E("ValueError|TypeError", (), [[1, 2], 3])
    yield E("TypeError|ValueError|RuntimeError", (), "text")
    yield E("TypeError|ValueError|RuntimeError", (), [1, "a"])
    yield E("RuntimeError|TypeError", (), [None])
    yield E("ValueError|RuntimeError|OverflowError", ("overflow",), 2**70)
    yield E("ValueError|RuntimeError|OverflowError", ("overflow",), [2**64])
    yield E("RuntimeError", ("uint8", "overflow"), 300, dtype=torch.uint8)
    yield E("RuntimeError|TypeError", (), object())
    yield E("TypeError", ("object",), np.array([None, 1]))
    yield E("TypeError", (), np.array(["a", "b"]))
    yield E("RuntimeError", ("gradients",), [1, 2], requires_grad=True)
    yield E("RuntimeError|TypeError|ValueError", (), {"a": 1})
    yield E("TypeError", ("dtype",), [1], dtype="x")


def as_samples(torch, make):
    yield S("list", [1, 2])
    yield S("number", 2.5)
    yield S("tensor", make(2, 3))
    yield S("cast", make(2, 3), dtype=torch.float64)
    yield S("numpy", np.arange(6.0).reshape(2, 3))
    yield S("numpy", np.arange(6).reshape(2, 3)[:, ::2])


def numpy_samples(torch, make):
    for kind in (np.bool_, np.uint8, np.int8, np.int16, np.int32, np.int64, np.float16, np.float32, np.float64, np.complex64, np.complex128, np.uint16, np.uint32, np.uint64):
        yield S(np.dtype(kind).name, np.array([[0, 1], [2, 3]]).astype(kind))
    yield S("strided", np.arange(12.0).reshape(3, 4)[:, ::2])
    yield S("transposed", np.arange(12.0).reshape(3, 4).T)
    yield S("scalar", np.array(2.5))
    yield S("empty", np.zeros((0, 3)))


def numpy_errors(torch, make):
    yield E("ValueError", ("negative",), np.arange(4)[::-1])
    yield E("TypeError|ValueError", (), np.arange(4.0).astype(">f8"))
    yield E("TypeError", (), np.array([None]))
    yield E("TypeError", ("list",), [1, 2])
    yield E("TypeError|ValueError", (), np.zeros(3, dtype="datetime64[s]"))


def fills(*value):
    return lambda torch, make: [S("contiguous", make(2, 3), *value)]


def triangles(torch, make):
    for args in ((3, 3), (3, 4, 1), (4, 3, -1), (0, 3)):
        yield S("arguments", *args)


def complex_parts(torch, make):
    yield S("contiguous", make(2, 3), make(2, 3))
    yield S("broadcast", make(2, 1), make(3)).narrow()


def back_to_numpy(torch, x):
    a = x.numpy()
    return [a.dtype.name, a.shape, tuple(s // a.itemsize for s in a.strides), a.tolist()]


def rows():
    c = dict(group="create", grad=False, meta=False, dtypes=ONE)
    for name in ("zeros", "ones"):
        yield Op(name, sized(), errors=sized_errors(), **c)
    yield Op("empty", sized(), values=False, errors=sized_errors(), **c)
    yield Op("full", sized((1,)), errors=sized_errors((1,)), **c)
    yield Op("full.number", lambda torch, make: [S("values", (2,), v) for v in (1, 2.5, True, 1 + 2j, float("nan"))] + [S("dtype", (2,), 1.0, dtype=torch.int64), S("tensor", (2,), make(()).sum())], "full", **c)
    yield Op("empty_strided", lambda torch, make: [S("contiguous", (2, 3), (3, 1)), S("strided", (2, 3), (1, 2)), S("expanded", (2, 3), (0, 1)), S("dtype", (2,), (3,), dtype=torch.int64)],
             values=False, errors=lambda torch, make: [E("RuntimeError", (), (2, 3), (1,)), E("RuntimeError", (), (2,), (-1,)), E("RuntimeError", (), (-2,), (1,))], **c)
    yield Op("range", lambda torch, make: [S("plain", 1, 4), S("step", 0, 4, 1.5), S("down", 3.0, -1.0, -0.5), S("one", 2, 2), S("dtype", 0, 7, 3, dtype=torch.int64)],
             errors=lambda torch, make: [E("RuntimeError", ("step",), 0, 3, 0), E("RuntimeError", ("step sign",), 0, 3, -1)], **c)
    yield Op("arange", arange_samples, errors=arange_errors, **c)
    for name in ("linspace", "logspace"):
        # Powers of a number: PyTorch's 16- and 32-bit pow rounds on the way.
        yield Op(name, spaced(name), errors=spaced_errors, tol={"f32": (2e-6, 1e-5)} if name == "logspace" else {}, **c)
    yield Op("eye", eye_samples, errors=lambda torch, make: [E("RuntimeError", ("-1",), -1), E("RuntimeError", ("-1",), 2, -1)], **c)
    yield Op("tensor", data_samples, errors=data_errors, **c)
    yield Op("as_tensor", as_samples, **c)
    yield Op("asarray", as_samples, **c)
    yield Op("scalar_tensor", lambda torch, make: [S("values", v) for v in (1, 2.5, True)] + [S("dtype", 3, dtype=torch.int32)], **c)
    yield Op("from_numpy", numpy_samples, errors=numpy_errors, **c)
    for name in ("tril_indices", "triu_indices"):
        yield Op(name, triangles, **c)

    like = dict(group="create", grad=False, dtypes=STRUCTURAL)
    for name in ("zeros_like", "ones_like"):
        yield Op(name, likes(), errors=like_errors(), **like)
    yield Op("empty_like", likes(), values=False, errors=like_errors(), **like)
    yield Op("full_like", likes(1), errors=like_errors(1), **like)
    for name in ("new_zeros", "new_ones"):
        yield Op(name, new_samples(), "Tensor." + name, **like)
    yield Op("new_empty", new_samples(), "Tensor.new_empty", values=False, **like)
    yield Op("new_full", new_samples(1), "Tensor.new_full", **like)
    yield Op("new_tensor", lambda torch, make: [S("list", make(1), [1, 0]), S("dtype", make(1), [1.5, 2.0], dtype=torch.float64)], "Tensor.new_tensor", **dict(like, meta=False))
    yield Op("complex", complex_parts, dtypes=("f32", "f64"), group="create", out=1, errors=lambda torch, make: [E("RuntimeError", ("Float", "Double"), make(2, dtype="f32"), make(2, dtype="f64"))])
    yield Op("polar", lambda torch, make: [S("contiguous", make(2, 3, low=0.5, high=2), make(2, 3))], dtypes=("f32", "f64"), group="create", out=1)
    yield Op("numpy", lambda torch, make: [S("contiguous", make(2, 3)), S("strided", make(2, 3, layout="transposed")), S("expanded", make(2, 3, layout="expanded")), S("scalar", make()), S("empty", make(0, 2))],
             back_to_numpy, [d for d in ALL if d != "bf16"], group="create", grad=False, meta=False)


OPS = list(rows())
