# SPDX-License-Identifier: Apache-2.0
"""Binary pointwise operators and comparisons."""
from opspec import ALL, FLOATS, REAL, E, Op, S

BIG = (70, 1001)


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
                 tol=NUMBER_ROUNDED if name in ("add", "sub", "rsub", "xlogy", "pow") else {},
                 errors=binary_errors(name), big=binary_big(row), operator=row[5], aliases=row[6],
                 names={"float_power": ("pow",), "isclose": ("eq", "sub")}.get(name, ()), quirks=BINARY_QUIRKS.get(name, {}))

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
            for n in (0, 2, -1, 3, float("inf"), *(() if make.is_half else (0.5,))):  # the root of -inf is NaN or inf by dtype
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


OPS = list(binary_ops())
