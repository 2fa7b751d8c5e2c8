# SPDX-License-Identifier: Apache-2.0
"""where, clamp, lerp, addcmul; casts and copies."""
import numpy as np
from opspec import ALL, COMPLEX, EXTRA_DTYPES, FLOATS, REAL, E, Op, S
from table_unary import unary_big

BIG = (70, 1001)


# ---- where, clamp, lerp, addcmul -------------------------------------------------------------------------

def where_samples(torch, make):
    yield S("contiguous", make.mask(3, 4), make(3, 4), make(3, 4))
    yield S("broadcast", make.mask(3, 1), make(4), make(2, 1, 1))
    yield S("scalar", make.mask(3), make(), make(3)).narrow()
    yield S("scalar", make.mask(), make(), make()).narrow()
    yield S("number", make.mask(2, 3), make(2, 3), 1).but(out=False)
    yield S("number", make.mask(2, 3), 2.5, make(2, 3)).but(grad=False, out=False)
    yield S("number", make.mask(2, 3), 1, 0).but(grad=False, out=False)
    yield S("number", make.mask(2, 3), 1.5, 0).narrow().but(grad=False, out=False)
    yield S("promote", make.mask(2, 3), make(2, 3), make(2, 3, dtype="f32")).but(grad=False)
    yield S("promote", make.mask(2, 3), make(2, 3), make(2, 3, dtype="i32")).but(grad=False)
    yield S("strided", make.mask(3, 4), make(3, 4, layout="transposed"), make(3, 4, layout="step")).narrow()
    yield S("expanded", make.mask(3, 4), make(3, 4, layout="expanded"), make(3, 4)).narrow().but(grad=False)
    yield S("empty", make.mask(0, 3), make(0, 3), make(3)).narrow()
    if make.is_float:
        n = make.special().numel()
        yield S("special", make.mask(n), make.special(), make(n)).but(grad=False, slope=False)


def where_errors(torch, make):
    yield E("RuntimeError", ("3", "4"), make.mask(3), make(4), make(4))
    yield E("RuntimeError|TypeError", ("bool", "Float"), make(3), make(3), make(3))
    yield E("TypeError", (), make.mask(3), make(3), "x")


def clamp_samples(torch, make):
    lo, hi = (1, 5) if make.is_int or make.is_bool else (-1.0, 1.5)
    x = make.kinks() if not make.is_complex and not make.is_bool else make(6)
    yield S("contiguous", make(3, 4), lo, hi)
    yield S("number", make(3, 4), min=lo)
    yield S("number", make(3, 4), max=hi)
    yield S("number", make(3, 4), hi, lo).but(grad=False)
    yield S("promote", make(3, 4), 0, 2.5).but(grad=False)
    yield S("kinks", x, 0 if make.is_int else -1.0, 2).but(grad=False, wide=make.is_float)
    yield S("strided", make(3, 4, layout="transposed"), lo, hi).narrow()
    yield S("scalar", make(), lo, hi).narrow()
    yield S("empty", make(0), lo, hi).narrow()
    yield S("vector", make(67), lo, hi).narrow().but(grad=False, slope=False)
    if make.is_float:
        yield S("special", make.special(), -2.0, 2.0).but(grad=False, slope=False)
        yield S("special", make.special(), float("nan")).but(grad=False, slope=False)


def clamp_tensor_samples(torch, make):
    yield S("contiguous", make(3, 4), make(3, 4, low=-2, high=0), make(3, 4, low=0, high=2))
    yield S("broadcast", make(3, 4), make(4, low=-2, high=0), make(3, 1, low=0, high=2))
    yield S("min", make(3, 4), min=make(4))
    yield S("max", make(3, 4), max=make(4))
    yield S("scalar", make(3), make(), make()).narrow().but(grad=False)
    yield S("promote", make(3), make(3, dtype="f32"), make(3, dtype="i32")).but(grad=False)
    yield S("empty", make(0), make(0), make(1)).narrow()
    if make.is_float:
        yield S("special", make.special()[:, None], make.special()[None, :], make(1)).but(grad=False, slope=False, inplace=False)
        yield S("kinks", make.kinks()[:, None], make.kinks()[None, :]).narrow().but(grad=False, inplace=False)


def clamp_errors(torch, make):
    yield E("RuntimeError", ("min", "max"), make(3))
    yield E("RuntimeError", ("3", "4"), make(3), make(4))
    yield E("TypeError", (), make(3), "a")


def one_bound(tensor):
    def samples(torch, make):
        bound = make(4) if tensor else 1
        yield S("contiguous", make(3, 4), bound)
        yield S("promote", make(3, 4), make(4, dtype="f32") if tensor else 0.5).but(grad=False)
        yield S("empty", make(0), make(1) if tensor else 1).narrow()
        if make.is_float:
            yield S("special", make.special(), make.special() if tensor else 0.5).but(grad=False, slope=False)
    return samples


def lerp_samples(torch, make):
    yield S("contiguous", make(3, 4), make(3, 4), 0.3)
    yield S("number", make(3, 4), make(3, 4), 0.7)
    yield S("tensor", make(3, 4), make(3, 4), make(3, 4, low=0, high=1))
    yield S("broadcast", make(3, 1), make(4), make(2, 1, 1, low=0, high=1)).but(inplace=False)
    yield S("scalar", make(3), make(3), make()).narrow().but(grad=False)
    yield S("strided", make(3, 4, layout="transposed"), make(3, 4), 0.25).narrow()
    yield S("empty", make(0), make(0), 0.5).narrow()


def lerp_errors(torch, make):
    yield E("RuntimeError", ("float", "double"), make(3, dtype="f32"), make(3, dtype="f64"), 0.5)
    yield E("RuntimeError", ("3", "4"), make(3), make(4), 0.5)


def addc_samples(low):
    def samples(torch, make):
        n = 2 if make.is_int or make.is_bool else 0.5
        def c(*shape, **kw):
            return make(*shape, low=low, high=3, **kw)
        yield S("contiguous", make(3, 4), make(3, 4), c(3, 4))
        yield S("value", make(3, 4), make(3, 4), c(3, 4), value=n)
        yield S("broadcast", make(3, 4), make(3, 1), c(4), value=n)
        yield S("promote", make(2, 3), make(2, 3, dtype="f32"), c(2, 3, dtype="f64")).but(grad=False)
        yield S("strided", make(3, 4, layout="transposed"), make(3, 4, layout="step"), c(3, 4)).narrow()
        yield S("scalar", make(), make(), c()).narrow()
        yield S("empty", make(0, 2), make(2), c(2)).narrow()
    return samples


def addc_errors(torch, make):
    yield E("RuntimeError", ("3", "4"), make(3), make(4), make(4))
    yield E("TypeError", ("value", "str"), make(3), make(3), make(3), value="x")


def big3(torch, make):
    return (make(*BIG), make(*BIG, low=0.5, high=2), make(BIG[1], low=0.5, high=2)), {}


def ternary_ops():
    yield Op("where", where_samples, group="ternary", out=1, errors=where_errors,
             method=None, big=lambda torch, make: ((make.mask(*BIG), make(*BIG), make(BIG[1])), {}))
    yield Op("where.method", lambda torch, make: [S("contiguous", make(3, 4), make.mask(3, 4), make(3, 4)),
                                                  S("number", make(3, 4), make.mask(3, 1), 0.5)], "Tensor.where", group="ternary")
    for name, aliases in (("clamp", ("clip",)),):
        yield Op(name, clamp_samples, dtypes=ALL, group="ternary", method=name, inplace=name + "_", out=1, errors=clamp_errors,
                 aliases=aliases, big=unary_big(-3, 3, -1.0, 1.0))
        yield Op(name + ".tensor", clamp_tensor_samples, name, REAL, group="ternary", method=name, inplace=name + "_", out=1)
    for name in ("clamp_min", "clamp_max"):
        yield Op(name, one_bound(False), dtypes=REAL, group="ternary", method=name, inplace=name + "_", out=1)
        yield Op(name + ".tensor", one_bound(True), name, REAL, group="ternary", method=name, inplace=name + "_", out=1)
    yield Op("lerp", lerp_samples, dtypes=FLOATS + COMPLEX, group="ternary", method="lerp", inplace="lerp_", out=1,
             errors=lerp_errors, big=lambda torch, make: ((make(*BIG), make(*BIG), 0.3), {}))
    yield Op("addcmul", addc_samples(-3), dtypes=ALL, group="ternary", method="addcmul", inplace="addcmul_", out=1,
             errors=addc_errors, big=big3)
    yield Op("addcdiv", addc_samples(0.5), dtypes=ALL, group="ternary", method="addcdiv", inplace="addcdiv_", out=1,
             errors=addc_errors, big=big3)


# ---- casts and copies ------------------------------------------------------------------------------------

def cast_samples(torch, make):
    """From this dtype to every other, on values that both can hold (the rest is undefined in C++)."""
    for target in (*ALL, *EXTRA_DTYPES):
        low = 0 if target.startswith("u") else -6 if target != "bool" else -1
        yield S(target, make(2, 9, low=low, high=7), make.dtype_of(target)).but(grad=make.is_float and target == "f64", meta=True)
    yield S("strided", make(3, 4, layout="transposed"), torch.float32).but(grad=False)
    yield S("expanded", make(3, 4, layout="expanded"), torch.float64)
    yield S("empty", make(0, 2), torch.int64)
    yield S("copy", make(2, 2), make.dtype, copy=True)
    yield S("same", make(2, 2), make.dtype)
    yield S("device", make(2, 2), "cpu").but(meta=False)
    yield S("device", make(2, 2), "cpu", torch.float64).but(meta=False)
    yield S("other", make(2, 2), make(1, dtype="f64")).but(meta=False, grad=False)
    yield S("format", make(2, 3, 2, 2), memory_format=torch.channels_last).narrow()
    if make.is_float:
        for target in ("f16", "bf16", "f32", "f64", "bool", "c64"):
            yield S("special", make.special(), make.dtype_of(target)).but(grad=False, slope=False)
        # exact halves between neighbours round to even
        ties = np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-11, 1 + 3 * 2.0**-11, 2049.0, 2051.0, 65520.0, -65519.0, 2.0**-25])
        for target in ("f16", "bf16"):
            yield S("ties", make.wrap(ties.astype(np.float32), "f32"), make.dtype_of(target)).but(grad=False, slope=False)


def cast_errors(torch, make):
    yield E("RuntimeError", ("nosuch",), make(2), "nosuch")
    yield E("TypeError", (), make(2), [1])


def plain(torch, make):
    yield S("contiguous", make(2, 3))
    yield S("strided", make(2, 3, layout="transposed")).narrow()
    yield S("strided", make(2, 3, layout="offset")).narrow()
    yield S("expanded", make(2, 3, layout="expanded")).narrow()
    yield S("channels_last", make(2, 3, 2, 2, layout="channels_last")).narrow()
    yield S("scalar", make()).narrow()
    yield S("empty", make(0, 2)).narrow()


def memory_formats(torch, make):
    for label, x in (("contiguous", make(2, 3, 2, 2)), ("channels_last", make(2, 3, 2, 2, layout="channels_last")),
                     ("expanded", make(2, 3, 2, 2, layout="expanded")), ("strided", make(2, 3, 2, 2, layout="step"))):
        for memory_format in (torch.contiguous_format, torch.channels_last):
            yield S(label, x, memory_format=memory_format).but(grad=False)


def with_preserve(torch, make):
    yield from plain(torch, make)
    yield from memory_formats(torch, make)
    yield S("preserve", make(2, 3, 4, layout="transposed"), memory_format=torch.preserve_format)


def copy_into(torch, x, y, **kwargs):
    return x.clone().copy_(y, **kwargs)


def copy_samples(torch, make):
    for source in ("bool", "u8", "i64", "f16", "bf16", "f32", "f64", "c64"):
        if source == "c64" and not make.is_complex:
            continue
        yield S(source, make(2, 3), make(2, 3, dtype=source, low=0, high=7)).but(grad=False)
    yield S("broadcast", make(3, 4), make(4))
    yield S("broadcast", make(3, 4), make())
    yield S("strided", make(3, 4, layout="transposed"), make(3, 4)).narrow()
    yield S("strided", make(3, 4), make(3, 4, layout="transposed")).narrow()
    yield S("strided", make(40, 40, layout="transposed"), make(40, 40)).narrow().but(grad=False, slope=False, wide=False)
    yield S("empty", make(0, 4), make(4)).narrow()


def copy_errors(torch, make):
    yield E("RuntimeError", ("3", "4"), make(2, 3), make(2, 4))
    yield E("RuntimeError", (), make(3), make(2, 3))
    yield E("TypeError", ("str",), make(3), "x")


def fill_samples(torch, make):
    yield S("number", make(2, 3), 1)
    yield S("number", make(2, 3), 2 if make.is_int or make.is_bool else 2.5)
    yield S("tensor", make(2, 3), make())
    yield S("strided", make(2, 3, layout="step"), 2).narrow()
    yield S("empty", make(0, 3), 1).narrow()


def fill_errors(torch, make):
    yield E("RuntimeError", ("0",), make(2), make(2))


def copy_ops():
    kinds = dict(group="cast", dtypes=ALL)
    yield Op("to", cast_samples, "Tensor.to", errors=cast_errors, **kinds)
    for name in ("bool", "byte", "char", "short", "int", "long", "half", "bfloat16", "float", "double", "cfloat", "cdouble"):
        yield Op(f"Tensor.{name}", lambda torch, make, u=name == "byte": [S("contiguous", make(2, 3, low=0 if u else -3, high=6)),
                                                  S("empty", make(0))], f"Tensor.{name}", **dict(kinds, grad=name in ("double", "cdouble")))
    yield Op("type", lambda torch, make: [S("dtype", make(3, low=0, high=5), torch.float64), S("name", make(3, low=0, high=5), "torch.FloatTensor"),
                                          S("name", make(3, low=0, high=5), "torch.LongTensor")],
             "Tensor.type", meta=False, **dict(kinds, grad=False))
    yield Op("type_as", lambda torch, make: [S("contiguous", make(3, low=0, high=5), make(1, dtype=d)) for d in ("f64", "i32", "bf16")],
             "Tensor.type_as", grad=False, **kinds)
    yield Op("clone", with_preserve, method="clone", **kinds)
    yield Op("contiguous", lambda torch, make: [*plain(torch, make), *memory_formats(torch, make)], "Tensor.contiguous", **kinds)
    yield Op("detach", plain, method="detach", **dict(kinds, grad=False))
    yield Op("copy_", copy_samples, copy_into, errors=copy_errors, meta=False, **kinds)
    yield Op("fill", fill_samples, inplace="fill_", errors=fill_errors, **kinds)
    yield Op("zero_", plain, lambda torch, x: x.clone().zero_(), **kinds)
    yield Op("cpu", plain, "Tensor.cpu", meta=False, **kinds)


OPS = [*ternary_ops(), *copy_ops()]
