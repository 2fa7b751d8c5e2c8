# SPDX-License-Identifier: Apache-2.0
"""Unary, binary and ternary pointwise operators, comparisons, activations, casts and copies."""
import numpy as np
from opspec import ALL, COMPLEX, EXTRA_DTYPES, FLOATS, REAL, E, Op, S

BIG = (70, 1001)


# ---- unary -----------------------------------------------------------------------------------------------

def unary_samples(low, high, kinks, *args, **kwargs):
    def samples(torch, make):
        def call(label, x):
            return S(label, x, *args, **kwargs)
        yield call("contiguous", make(3, 5, low=low, high=high))
        yield call("strided", make(3, 4, low=low, high=high, layout="transposed")).narrow()
        yield call("strided", make(2, 3, 2, low=low, high=high, layout="offset")).narrow()
        yield call("strided", make(2, 5, low=low, high=high, layout="step")).but(wide=make.is_half)
        yield call("expanded", make(3, 4, low=low, high=high, layout="expanded")).narrow()
        yield call("channels_last", make(2, 3, 2, 2, low=low, high=high, layout="channels_last")).narrow().but(grad=False)
        yield call("scalar", make(low=low, high=high)).narrow()
        yield call("empty", make(0, 3)).narrow()
        yield call("vector", make(67, low=low, high=high)).but(wide=make.is_half, grad=False, slope=False)
        if make.is_float or kinks:
            yield call("special", make.special()).but(grad=False, slope=False)
        if kinks and not make.is_bool and not make.is_complex:
            yield call("kinks", make.kinks()).but(grad=False)
    return samples


def unary_errors(name, *args, **kwargs):
    def errors(torch, make):
        yield E("TypeError", ("must be Tensor", "str"), "text", *args, **kwargs)
        yield E("TypeError", ("must be Tensor", "NoneType"), None, *args, **kwargs)
    return errors


def unary_big(low, high, *args, **kwargs):
    return lambda torch, make: ((make(*BIG, low=low, high=high), *args), kwargs)


# name, low, high, forms (m method, i in-place, o out=, g gradient, 2 second gradient, k has kinks), aliases
UNARY = [
    ("abs", -3, 3, "miog2k", ("absolute",)),
    ("neg", -3, 3, "miog2", ("negative",)),
    ("positive", -3, 3, "mg2", ()),
    ("exp", -3, 3, "miog2", ()),
    ("exp2", -3, 3, "miog2", ("special.exp2",)),
    ("expm1", -2, 2, "miog2", ("special.expm1",)),
    ("log", 0.1, 5, "miog2", ()),
    ("log2", 0.1, 5, "miog2", ()),
    ("log10", 0.1, 5, "miog2", ()),
    ("log1p", -0.9, 4, "miog2", ("special.log1p",)),
    ("sqrt", 0.1, 5, "miog2", ()),
    ("rsqrt", 0.1, 5, "miog2", ()),
    ("square", -3, 3, "miog2", ()),
    ("reciprocal", 0.2, 4, "miog2", ()),
    ("sin", -4, 4, "miog2", ()),
    ("cos", -4, 4, "miog2", ()),
    ("tan", -1.2, 1.2, "miog2", ()),
    ("asin", -0.9, 0.9, "miog2", ("arcsin",)),
    ("acos", -0.9, 0.9, "miog2", ("arccos",)),
    ("atan", -3, 3, "miog2", ("arctan",)),
    ("sinh", -3, 3, "miog2", ()),
    ("cosh", -3, 3, "miog2", ()),
    ("tanh", -3, 3, "miog2", ("nn.functional.tanh",)),
    ("asinh", -3, 3, "miog2", ("arcsinh",)),
    ("acosh", 1.2, 5, "miog2", ("arccosh",)),
    ("atanh", -0.9, 0.9, "miog2", ("arctanh",)),
    ("erf", -2, 2, "miog2", ("special.erf",)),
    ("erfc", -2, 2, "miog2", ("special.erfc",)),
    ("erfinv", -0.9, 0.9, "miog2", ("special.erfinv",)),
    ("sigmoid", -4, 4, "miog2", ("special.expit", "nn.functional.sigmoid")),
    ("logit", 0.1, 0.9, "miog2", ("special.logit",)),
    ("floor", -3, 3, "miog2k", ()),
    ("ceil", -3, 3, "miog2k", ()),
    ("round", -3, 3, "miog2k", ("special.round",)),
    ("trunc", -3, 3, "miog2k", ("fix",)),
    ("frac", -3, 3, "miog2k", ()),
    ("sign", -3, 3, "miog2k", ()),
    ("sgn", -3, 3, "miog2k", ()),
    ("signbit", -3, 3, "mok", ()),
    ("isnan", -3, 3, "mk", ()),
    ("isinf", -3, 3, "mk", ()),
    ("isfinite", -3, 3, "mk", ()),
    ("isposinf", -3, 3, "mok", ()),
    ("isneginf", -3, 3, "mok", ()),
    ("isreal", -3, 3, "mk", ()),
    ("logical_not", -3, 3, "miok", ()),
    ("bitwise_not", -3, 3, "mio", ()),
    ("conj_physical", -3, 3, "miog2", ()),
    ("angle", -3, 3, "mog2k", ()),
    ("lgamma", 0.2, 5, "miog2", ("special.gammaln",)),
    ("digamma", 0.2, 5, "miog2", ("special.digamma", "special.psi")),
    ("nan_to_num", -3, 3, "miog2k", ()),
    ("deg2rad", -90, 90, "miog2", ()),
    ("rad2deg", -3, 3, "miog2", ()),
    ("sinc", -3, 3, "miog2k", ("special.sinc",)),
    ("i0", -3, 3, "miog2", ("special.i0",)),
    ("relu", -3, 3, "mig2k", ("nn.functional.relu",)),
]

# Functions of nn.functional: path, positional arguments, low, high, forms (K: inplace= keyword)
ACTIVATIONS = [
    ("relu6", (), -8, 8, "g2kK"),
    ("gelu", (), -4, 4, "g2"),
    ("gelu", dict(approximate="tanh"), -4, 4, "g2"),
    ("silu", (), -4, 4, "g2K"),
    ("leaky_relu", (), -3, 3, "g2kK"),
    ("leaky_relu", (0.2,), -3, 3, "g2kK"),
    ("elu", (), -3, 3, "g2kK"),
    ("elu", (0.7,), -3, 3, "g2kK"),
    ("selu", (), -3, 3, "g2kK"),
    ("celu", (), -3, 3, "g2kK"),
    ("celu", (0.5,), -3, 3, "g2kK"),
    ("softplus", (), -4, 4, "g2k"),
    ("softplus", (2.0, 5.0), -4, 4, "g2k"),
    ("hardtanh", (), -3, 3, "g2kK"),
    ("hardtanh", (-0.5, 2.0), -3, 3, "g2kK"),
    ("hardswish", (), -5, 5, "g2kK"),
    ("hardsigmoid", (), -5, 5, "g2kK"),
    ("mish", (), -4, 4, "g2K"),
    ("logsigmoid", (), -4, 4, "g2"),
    ("threshold", (0.5, -1.0), -3, 3, "g2kK"),
    ("softsign", (), -3, 3, "g2k"),
    ("tanhshrink", (), -3, 3, "g2"),
    ("hardshrink", (), -3, 3, "g2k"),
    ("softshrink", (), -3, 3, "g2k"),
]

ACTIVATION_QUIRKS = {"hardsigmoid": {"gradgradcheck": "has no second derivative"},
                     "logsigmoid": {"meta": "the CPU kernel alone always returns contiguous results"}}

# Reasons for a looser comparison.
TOLERANCES = {
    # Rounding of the argument: tan grows like 1/x^2 near its poles; gamma functions near theirs.
    "tan": {"f32": (1e-5, 1e-5)},
    "digamma": {"f32": (1e-5, 2e-5)},
    "lgamma": {"f32": (1e-5, 1e-5)},
    "i0": {"f32": (3e-6, 1e-5)},
}


def unary_ops():
    for name, low, high, forms, aliases in UNARY:
        yield Op(name, unary_samples(low, high, "k" in forms), group="unary", aliases=aliases,
                 method=name if "m" in forms else None, inplace=name + "_" if "i" in forms else None,
                 out=int("o" in forms), grad="g" in forms, gradgrad="2" in forms, tol=TOLERANCES.get(name, {}),
                 errors=unary_errors(name), big=None if name == "bitwise_not" else unary_big(low, high),
                 operator={"neg": "neg", "positive": "pos", "bitwise_not": "invert", "abs": "abs"}.get(name))
    # Forms with arguments of their own.
    yield Op("round.decimals", unary_samples(-30, 30, False, decimals=1), "round", FLOATS, group="unary", method="round",
             inplace="round_", out=1, tol={"f16": (2e-3, 1e-5)})  # one unit of binary16 after scaling twice
    yield Op("logit.eps", unary_samples(0, 1, False, 0.2), "logit", FLOATS, group="unary", method="logit", inplace="logit_",
             out=1, grad=False)
    yield Op("nan_to_num.values", unary_samples(-3, 3, True, 1.0, 2.0, -2.0), "nan_to_num", FLOATS, group="unary",
             method="nan_to_num", inplace="nan_to_num_", out=1)
    for name in ("conj", "real", "imag"):
        dtypes = COMPLEX if name == "imag" else ALL
        yield Op(name, unary_samples(-3, 3, False), dtypes=dtypes, group="unary", view=name == "real",
                 call="Tensor#" + name if name in ("real", "imag") else None, method=name if name == "conj" else None,
                 aliases=("real",) if name == "real" else ())


def activation_ops():
    for name, params, low, high, forms in ACTIVATIONS:
        args, kwargs = ((), params) if isinstance(params, dict) else (params, {})
        unique = name if not params else f"{name}.args"
        yield Op(unique, unary_samples(low, high, "k" in forms, *args, **kwargs), "nn.functional." + name, FLOATS + ("i64",),
                 group="activation", inplace="inplace=" if "K" in forms else None, gradgrad="2" in forms,
                 big=unary_big(low, high, *args, **kwargs), quirks=ACTIVATION_QUIRKS.get(name, {}))

    def prelu(torch, make):
        yield S("contiguous", make(2, 3, 4), make(3, low=0.1, high=0.5))
        yield S("one", make(2, 3), make(1))
        yield S("strided", make(4, 3, layout="transposed"), make(3)).narrow()
        yield S("vector", make(5), make(1)).narrow()
        yield S("kinks", make.kinks(), make(1)).narrow().but(grad=False)
        yield S("empty", make(0, 3), make(3)).narrow()

    def prelu_errors(torch, make):
        yield E("RuntimeError", ("3", "2"), make(2, 3), make(2))

    yield Op("prelu", prelu, "nn.functional.prelu", FLOATS, group="activation", errors=prelu_errors)

    def glu(torch, make):
        yield S("contiguous", make(3, 4))
        yield S("dim", make(4, 3), 0)
        yield S("strided", make(2, 6, layout="transposed")).narrow()

    def glu_errors(torch, make):
        yield E("RuntimeError", ("3",), make(2, 3))
        yield E("IndexError", ("5",), make(2, 4), 5)

    yield Op("glu", glu, "nn.functional.glu", FLOATS, group="activation", errors=glu_errors)


# ---- binary ----------------------------------------------------------------------------------------------

# name, (low, high) of each argument, numbers allowed as second argument, forms (as above; c comparison), operator
BINARY = [
    ("add", (-3, 3), (-3, 3), 2.5, "miog2", "add", ()),
    ("sub", (-3, 3), (-3, 3), 2.5, "miog2", "sub", ("subtract",)),
    ("rsub", (-3, 3), (-3, 3), 2.5, "g2", None, ()),
    ("mul", (-3, 3), (-3, 3), 2.5, "miog2", "mul", ("multiply",)),
    ("div", (-3, 3), (0.5, 4), 2.5, "miog2", "truediv", ("divide", "true_divide")),
    ("floor_divide", (-9, 9), (1, 4), 2.5, "mio", "floordiv", ()),
    ("remainder", (-9, 9), (1, 4), 2.5, "miog2", "mod", ()),
    ("fmod", (-9, 9), (1, 4), 2.5, "miog2", None, ()),
    ("pow", (0.2, 3), (0, 3), 2, "miog2", "pow", ()),
    ("float_power", (0.2, 3), (0, 3), 2.5, "mog2", None, ()),
    ("atan2", (-3, 3), (0.5, 3), None, "miog2", None, ("arctan2",)),
    ("maximum", (-3, 3), (-3, 3), None, "mog2k", None, ()),
    ("minimum", (-3, 3), (-3, 3), None, "mog2k", None, ()),
    ("fmax", (-3, 3), (-3, 3), None, "mog2k", None, ()),
    ("fmin", (-3, 3), (-3, 3), None, "mog2k", None, ()),
    ("hypot", (0.5, 3), (0.5, 3), None, "miog2", None, ()),
    ("copysign", (-3, 3), (-3, 3), -2.0, "miog2", None, ()),
    ("nextafter", (-3, 3), (-3, 3), None, "mio", None, ()),
    ("logaddexp", (-3, 3), (-3, 3), None, "mog2", None, ()),
    ("logaddexp2", (-3, 3), (-3, 3), None, "mog2", None, ()),
    ("xlogy", (-3, 3), (0.2, 3), 2.5, "miog2", None, ("special.xlogy",)),
    ("bitwise_and", (0, 9), (0, 9), 6, "mio", "and_", ()),
    ("bitwise_or", (0, 9), (0, 9), 6, "mio", "or_", ()),
    ("bitwise_xor", (0, 9), (0, 9), 6, "mio", "xor", ()),
    ("bitwise_left_shift", (-9, 9), (0, 4), 2, "mio", "lshift", ()),
    ("bitwise_right_shift", (-9, 9), (0, 4), 2, "mio", "rshift", ()),
    ("logical_and", (-1, 2), (-1, 2), None, "mio", None, ()),
    ("logical_or", (-1, 2), (-1, 2), None, "mio", None, ()),
    ("logical_xor", (-1, 2), (-1, 2), None, "mio", None, ()),
    ("eq", (-1, 2), (-1, 2), 1, "miok", "eq", ()),
    ("ne", (-1, 2), (-1, 2), 1, "miok", "ne", ("not_equal",)),
    ("lt", (-1, 2), (-1, 2), 1, "miok", "lt", ("less",)),
    ("le", (-1, 2), (-1, 2), 1, "miok", "le", ("less_equal",)),
    ("gt", (-1, 2), (-1, 2), 1, "miok", "gt", ("greater",)),
    ("ge", (-1, 2), (-1, 2), 1, "miok", "ge", ("greater_equal",)),
    ("gcd", (0, 30), (0, 30), None, "mio", None, ()),
    ("lcm", (1, 9), (1, 9), None, "mio", None, ()),
    ("heaviside", (-1, 2), (-1, 2), None, "mio", None, ()),
    ("ldexp", (-3, 3), (-3, 3), None, "miog2", None, ()),
    ("isclose", (-1, 1), (-1, 1), None, "mk", None, ()),
]
META_STRIDES = {"meta": "its meta function is a Python decomposition that returns other strides than the kernel"}
BINARY_QUIRKS = {"floor_divide": META_STRIDES, "copysign": META_STRIDES, "xlogy": META_STRIDES,
                 "pow": {"meta": "bool ** True is bool on the CPU and int64 on meta"}}
# Whether a number (a 0-d tensor, alpha) is itself rounded to 16 bits before the arithmetic differs by path in PyTorch.
NUMBER_ROUNDED = {"f16": (2e-3, 1e-3), "bf16": (1.6e-2, 1e-2)}
SAFE_SPECIAL = {"floor_divide", "remainder", "fmod", "div"}  # integer division by zero is an error: test_errors


def binary_samples(row):
    name, (la, ha), (lb, hb), number, forms, _, _ = row
    integer_only = name.startswith("bitwise_")

    def samples(torch, make):
        def a(*shape, **kw):
            return make(*shape, low=la, high=ha, **kw)

        def b(*shape, **kw):
            return make(*shape, low=lb, high=hb, **kw)
        yield S("contiguous", a(3, 5), b(3, 5))
        yield S("broadcast", a(3, 1), b(4))
        yield S("broadcast", a(2, 1, 3), b(4, 1)).narrow().but(inplace=False)
        yield S("scalar", a(2, 3), b()).but(grad=False)
        yield S("scalar", a(), b(3)).narrow()
        yield S("scalar", a(), b())
        yield S("strided", a(3, 4, layout="transposed"), b(3, 4))
        yield S("strided", a(3, 4, layout="transposed"), b(3, 4, layout="transposed")).narrow()
        yield S("strided", a(2, 5, layout="offset"), b(2, 5, layout="step")).narrow().but(grad=False)
        yield S("expanded", a(3, 4), b(3, 4, layout="expanded")).narrow()
        yield S("expanded", a(3, 4, layout="expanded"), b(3, 4)).narrow().but(grad=False)
        yield S("channels_last", a(2, 3, 2, 2, layout="channels_last"), b(2, 3, 2, 2, layout="channels_last")).narrow().but(grad=False)
        yield S("channels_last", a(2, 3, 2, 2, layout="channels_last"), b(3, 1, 1)).narrow().but(grad=False)
        yield S("empty", a(0, 3), b(3)).narrow()
        yield S("empty", a(2, 0), b(2, 1)).narrow()
        yield S("vector", a(67), b(67)).but(wide=make.is_half, grad=False, slope=False)
        if number is not None:
            whole = make.is_int or make.is_bool or integer_only
            yield S("number", a(2, 4), int(number) if whole else number)
            yield S("number", a(2, 4, layout="step"), 3).narrow().but(grad=False)
            if not integer_only:
                yield S("promote", a(2, 3), 1.5).but(grad=False)
            yield S("promote", a(2, 3), True).but(grad=False) if not name.endswith("shift") else S("number", a(3), 1)
        # Mixed types: the other argument is an integer, a float or a bool tensor.
        yield S("promote", a(2, 3), b(2, 3, dtype="i32")).but(grad=False)
        if not integer_only and name not in ("gcd", "lcm", "nextafter", "heaviside"):
            yield S("promote", a(2, 3), b(2, 3, dtype="f32")).but(grad=False)
            yield S("promote", a(2, 3), b(dtype="f64")).but(grad=False)
        if name == "ldexp" and make.is_half:
            return  # PyTorch multiplies by a power of two that overflows 16 bits
        if (make.is_float or ("k" in forms and not make.is_complex)) and name not in SAFE_SPECIAL or make.is_float:
            special = make.special(moderate=name in SAFE_SPECIAL)  # PyTorch's vector and scalar fmod differ for huge quotients
            yield S("special", special[:, None], special[None, :]).but(grad=False, slope=False, inplace=False)
        if "k" in forms and not make.is_bool:
            k = make.kinks() if not make.is_complex else make.special()
            yield S("kinks", k[:, None], k[None, :]).but(grad=False, inplace=False, wide=make.name in ("f32", "f64", "i64"))
    return samples


def binary_errors(name):
    def errors(torch, make):
        dtype = "i64" if name.startswith("bitwise") or name in ("gcd", "lcm") else "f32"
        yield E("RuntimeError", ("3", "4", "dimension 1"), make(2, 3, dtype=dtype), make(2, 4, dtype=dtype))
        yield E("RuntimeError", ("5", "2"), make(5, dtype=dtype), make(2, dtype=dtype))
        yield E("TypeError", ("str",), make(2, dtype=dtype), "text")
        yield E("TypeError", (), make(2, dtype=dtype), None)
        yield E("TypeError", (), make(2, dtype=dtype))
        if dtype == "i64" and name.startswith("bitwise"):
            yield E("NotImplementedError|RuntimeError", ("Float",), make(2, dtype="f32"), make(2, dtype="f32"))
    return errors


def binary_big(row):
    def big(torch, make):
        kind = "i64" if row[0].startswith("bitwise") or row[0] in ("gcd", "lcm") else "f32"
        (la, ha), (lb, hb) = row[1], row[2]
        return (make(*BIG, low=la, high=ha, dtype=kind), make(BIG[1], low=lb, high=hb, dtype=kind)), {}
    return big


def binary_ops():
    for row in BINARY:
        name, forms = row[0], row[4]
        yield Op(name, binary_samples(row), group="binary", method=name if "m" in forms else None,
                 inplace=name + "_" if "i" in forms else None, out=int("o" in forms), grad="g" in forms, gradgrad="2" in forms,
                 tol=NUMBER_ROUNDED if name in ("add", "sub", "rsub", "xlogy") else {},
                 errors=binary_errors(name), big=binary_big(row), operator=row[5], aliases=row[6], quirks=BINARY_QUIRKS.get(name, {}))

    def alpha(torch, make):
        n = 3 if make.is_int or make.is_bool else 0.5
        if not make.is_bool:
            yield S("contiguous", make(2, 3), make(2, 3), alpha=n)
            yield S("broadcast", make(2, 1), make(3), alpha=-2)
            yield S("number", make(3), 2, alpha=3)
        yield S("contiguous", make(2, 3), make(2, 3), alpha=True)
        yield S("empty", make(0), make(0), alpha=2)

    def alpha_errors(torch, make):
        yield E("RuntimeError", ("alpha",), make(2, dtype="i64"), make(2, dtype="i64"), alpha=1.5)
        yield E("RuntimeError", ("alpha",), make(2, dtype="i64"), 3, alpha=2.5)
        yield E("TypeError", ("alpha", "str"), make(2), make(2), alpha="x")

    for name in ("add", "sub", "rsub"):
        yield Op(name + ".alpha", alpha, name, ALL if name == "add" else ALL[1:], group="binary", errors=alpha_errors, tol=NUMBER_ROUNDED,
                 method=None if name == "rsub" else name, inplace=None if name == "rsub" else name + "_", out=int(name != "rsub"))

    def rounding(mode):
        def samples(torch, make):
            yield S("contiguous", make(3, 5, low=-20, high=20), make(3, 5, low=1, high=5), rounding_mode=mode)
            yield S("negative", make(3, 5, low=-20, high=20), make(3, 5, low=-5, high=-1), rounding_mode=mode)
            yield S("number", make(4, low=-20, high=20), 3, rounding_mode=mode)
            yield S("number", make(4, low=-20, high=20), -2.5, rounding_mode=mode)
            yield S("broadcast", make(3, 1, low=-20, high=20), make(4, low=1, high=5), rounding_mode=mode)
            if make.is_float:
                special = make.special(moderate=True)
                yield S("special", special[:, None], special[None, :], rounding_mode=mode).but(grad=False, slope=False, inplace=False)
        return samples

    def rounding_errors(torch, make):
        yield E("RuntimeError", ("rounding_mode", "nearest"), make(2), make(2), rounding_mode="nearest")
        yield E("RuntimeError", ("ZeroDivisionError",), make(2, dtype="i64"), make.ints([1, 0]), rounding_mode="floor")
        yield E("RuntimeError", ("ZeroDivisionError",), make(2, dtype="i64"), make.ints([1, 0]), rounding_mode="trunc")

    for mode in ("floor", "trunc"):
        yield Op(f"div.{mode}", rounding(mode), "div", REAL, group="binary", method="div", inplace="div_", out=1, errors=rounding_errors)

    def scalar_base(torch, make):
        n = 2 if make.is_int or make.is_bool else 2.5
        yield S("contiguous", n, make(3, 4, low=0, high=3))
        yield S("promote", 1.5, make(3, low=0, high=3))
        yield S("special", 1, make.special() if make.is_float else make(3, low=0, high=3)).but(grad=False, slope=False)
        if make.is_float:
            yield S("special", 0.0, make.special()).but(grad=False, slope=False)

    def no_negative_power(torch, make):
        yield E("RuntimeError", ("negative integer power",), make(3, dtype="i64"), -2)

    def powers(torch, make):
        """Exponents with a formula of their own."""
        for n in (0, 1, 2, 3):
            yield S("number", make(2, 3), n)
        if make.is_float or make.is_complex:
            for n in (0.5, -0.5, -1, -2, 1.5, -1.5, 4.0):
                yield S("number", make(2, 3, low=0.3, high=3), n)
        if make.is_float:
            for n in (0, 0.5, 2, -1, 3, float("inf")):
                yield S("special", make.special(), n).but(grad=False, slope=False)
            yield S("kinks", make.kinks(), 2).but(grad=False)
            yield S("kinks", make.kinks(), 0).but(grad=False)

    yield Op("pow.number", powers, "pow", ALL, group="binary", method="pow", inplace="pow_", out=1, errors=no_negative_power)
    yield Op("pow.base", scalar_base, "pow", ALL, group="binary", out=1)

    def closeness(torch, make):
        x = make(2, 4)
        yield S("contiguous", x, x.clone(), rtol=1e-3, atol=1e-3)
        if make.is_float:
            yield S("special", make.special()[:, None], make.special()[None, :], equal_nan=True)
            yield S("kinks", make.kinks()[:, None], make.kinks()[None, :], rtol=0.6)

    def closeness_errors(torch, make):
        yield E("RuntimeError", ("rtol",), make(2), make(2), rtol=-1.0)
        yield E("RuntimeError", ("Float", "Double"), make(2, dtype="f32"), make(2, dtype="f64"))

    yield Op("isclose.args", closeness, "isclose", ALL, group="binary", grad=False, errors=closeness_errors)

    def same(torch, make):
        x = make(2, 3)
        yield S("same", x, x.clone())
        yield S("other", x, make(2, 3))
        yield S("other", x, make(3, 2))

    yield Op("equal", same, dtypes=ALL, group="binary", grad=False, meta=False, method="equal")
    yield Op("allclose", same_shape_only(same), dtypes=FLOATS, group="binary", grad=False, meta=False, method="allclose")


def same_shape_only(samples):
    return lambda torch, make: (s for s in samples(torch, make) if s.args[0].shape == s.args[1].shape)


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


OPS = [*unary_ops(), *activation_ops(), *binary_ops(), *ternary_ops(), *copy_ops()]
