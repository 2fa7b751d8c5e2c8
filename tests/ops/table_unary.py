# SPDX-License-Identifier: Apache-2.0
"""Unary pointwise operators and activations."""
from opspec import ALL, COMPLEX, FLOATS, E, Op, S

BIG = (70, 1001)


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
        must = () if name == "round" else ("must be Tensor",)  # its two signatures may be told otherwise
        yield E("TypeError", (*must, "str"), "text", *args, **kwargs)
        yield E("TypeError", (*must, "NoneType"), None, *args, **kwargs)
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
    ("special.ndtr", -3, 3, "og2", ()),
    ("special.log_ndtr", -3, 3, "og2", ()),
    ("special.entr", 0.1, 3, "og2", ()),
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

ACTIVATION_QUIRKS = {"hardsigmoid": {"gradgradcheck": "has no second derivative"}}

# Reasons for a looser comparison.
TOLERANCES = {
    # Rounding of the argument: tan grows like 1/x^2 near its poles; gamma functions near theirs.
    "tan": {"f32": (1e-5, 1e-5)},
    "digamma": {"f32": (1e-5, 2e-5)},
    "lgamma": {"f32": (1e-5, 1e-5)},
    "i0": {"f32": (3e-6, 1e-5)},
    # PyTorch rounds x / (1 - x) to 16 bits on the way.
    "logit": {"f16": (2e-2, 1e-3), "bf16": (1e-1, 1e-2)},
    # PyTorch rounds the error function to 16 bits on the way.
    "special.ndtr": {"f16": (2e-2, 1e-3), "bf16": (1e-1, 1e-2)},
}


def unary_ops():
    for name, low, high, forms, aliases in UNARY:
        yield Op(name, unary_samples(low, high, "k" in forms), group="unary", aliases=aliases,
                 method=name if "m" in forms else None, inplace=name + "_" if "i" in forms else None,
                 out=int("o" in forms), grad="g" in forms, gradgrad="2" in forms, tol=TOLERANCES.get(name, {}),
                 errors=unary_errors(name), names=(name.replace(".", "_"),), big=None if name == "bitwise_not" else unary_big(low, high),
                 operator={"neg": "neg", "positive": "pos", "bitwise_not": "invert", "abs": "abs"}.get(name))
    # Forms with arguments of their own.
    yield Op("round.decimals", unary_samples(-30, 30, False, decimals=1), "round", FLOATS, group="unary", method="round",
             inplace="round_", out=1, tol={"f16": (2e-3, 1e-5)})  # one unit of binary16 after scaling twice
    yield Op("logit.eps", unary_samples(0, 1, False, 0.2), "logit", FLOATS, group="unary", method="logit", inplace="logit_",
             out=1, grad=False, tol=TOLERANCES["logit"])
    yield Op("nan_to_num.values", unary_samples(-3, 3, True, 1.0, 2.0, -2.0), "nan_to_num", FLOATS, group="unary",
             method="nan_to_num", inplace="nan_to_num_", out=1)
    for name in ("conj", "real", "imag"):
        dtypes = COMPLEX if name == "imag" else ALL
        yield Op(name, unary_samples(-3, 3, False), dtypes=dtypes, group="unary", view=name == "real", sharing=name != "conj",  # PyTorch's conj is a lazy view
                 call="Tensor#" + name if name in ("real", "imag") else None, method=name if name == "conj" else None,
                 aliases=("real",) if name == "real" else ())


def activation_ops():
    for name, params, low, high, forms in ACTIVATIONS:
        args, kwargs = ((), params) if isinstance(params, dict) else (params, {})
        unique = name if not params else f"{name}.args"
        yield Op(unique, unary_samples(low, high, "k" in forms, *args, **kwargs), "nn.functional." + name, FLOATS + ("i64",),
                 group="activation", inplace="inplace=" if "K" in forms else None, gradgrad="2" in forms,
                 big=unary_big(low, high, *args, **kwargs), quirks=ACTIVATION_QUIRKS.get(name, {}),
                 strides=name != "logsigmoid")  # its CPU kernel alone always returns contiguous results

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


OPS = [*unary_ops(), *activation_ops()]
