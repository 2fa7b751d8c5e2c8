# SPDX-License-Identifier: Apache-2.0
"""Special functions with loops: Bessel functions, incomplete gamma functions, orthogonal polynomials."""
from opspec import E, Op, S
from table_unary import unary_big, unary_errors, unary_samples

TYPES = ("f32", "f64", "i64", "bool")  # PyTorch has no kernels for 16 bits
WIDE = {"f32": (3e-5, 1e-5)}  # PyTorch computes float32 in float32, we in float64

# name, low, high (where PyTorch's are exact: beyond, tests/test_special.py), whether there is a derivative
UNARY = [
    ("erfcx", -2, 4, True),
    ("ndtri", 0.05, 0.95, True),
    ("i0e", -4, 4, True),
    ("i1e", -4, 4, True),
    ("bessel_j0", -4.8, 4.8, True),
    ("bessel_j1", -4.8, 4.8, True),
    ("bessel_y0", 0.1, 4.8, True),
    ("bessel_y1", 0.1, 4.8, True),
    ("modified_bessel_i0", -4, 4, True),
    ("modified_bessel_i1", -4, 4, True),
    ("modified_bessel_k0", 0.1, 6, True),
    ("modified_bessel_k1", 0.1, 6, True),
    ("scaled_modified_bessel_k0", 0.1, 6, False),
    ("scaled_modified_bessel_k1", 0.1, 6, False),
    ("spherical_bessel_j0", -9, 9, False),
    ("airy_ai", -2, 2, False),
]
POLYNOMIALS = [
    *(f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"),
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
]  # fmt: skip


def gamma_samples(torch, make):
    for label, a, x in (("small", (0.1, 2), (0.1, 2)), ("below", (5, 60), (1, 30)), ("above", (1, 30), (5, 60)), ("large", (2e4, 3e4), (2e4, 3e4))):
        if label != "large" or make.name == "f64":
            yield S(label, make(3, 4, low=a[0], high=a[1]), make(3, 4, low=x[0], high=x[1])).but(grad=False, slope=False)
    yield S("broadcast", make(3, 1, low=0.5, high=5), make(4, low=0.5, high=5)).narrow()
    yield S("strided", make(3, 4, low=0.5, high=5, layout="transposed"), make(3, 4, low=0.5, high=5, layout="step")).narrow()
    inf, nan = float("inf"), float("nan")
    edges = [0.0, 0.0, 1.0, 1.0, -1.0, 1.0, inf, 2.0, inf, 0.0], [0.0, 1.0, 0.0, -1.0, 1.0, inf, 2.0, nan, inf, inf]
    yield S("edges", *(torch.tensor(x, dtype=make.dtype, device=make.device) for x in edges)).but(grad=False, slope=False)
    yield S("empty", make(0), make(0)).narrow()


def gamma_errors(torch, make):
    yield E("TypeError", ("Tensor", "float"), make(2), 2.0)
    yield E("NotImplementedError", ("igamma", "Long"), make(2, dtype="i64"), make(2, dtype="i64"), )
    yield E("RuntimeError", ("3", "2"), make(3), make(2))


def zeta_samples(torch, make):
    yield S("contiguous", make(3, 4, low=1.5, high=9), make(3, 4, low=0.5, high=9)).but(slope=False, grad=False)
    yield S("broadcast", make(3, 1, low=2, high=9), make(4, low=1, high=9)).narrow().but(slope=False, grad=False)
    yield S("number", make(4, low=2, high=9), 2).but(slope=False, grad=False)
    yield S("number first", 2.5, make(4, low=1, high=9))
    if make.is_float:
        yield S("below zero", 3, make(4, low=1, high=9) - 9.5).narrow().but(grad=False)
    yield S("empty", make(0), make(0)).narrow()


def polynomial_samples(torch, make):
    degrees = make(3, 4, low=0, high=12).floor() if make.is_float else make(3, 4, low=0, high=9)
    x = make(3, 4, low=-2, high=2)
    yield S("contiguous", x, degrees)
    yield S("inside", make(3, 4, low=-0.99, high=0.99), degrees)
    yield S("number", x, 5)
    yield S("number first", 0.7, degrees)
    yield S("broadcast", make(3, 1, low=-2, high=2), degrees).narrow()
    edges = [1.0, -1.0, 0.0, 1.0, -1.0, 0.5], [7.0, 8.0, 9.0, -1.0, 3.7, 0.0]
    yield S("edges", *(torch.tensor(x, dtype=make.dtype, device=make.device) for x in edges)).narrow()
    yield S("empty", make(0), make(0)).narrow()


def without_edges(samples):
    """PyTorch's K of the smallest numbers overflow, as Ai of large ones."""
    return lambda torch, make: (s for s in samples(torch, make) if s.label != "special")


def special_ops():
    for name, low, high, slope in UNARY:
        samples = unary_samples(low, high, False)
        yield Op("special." + name, without_edges(samples) if "_k" in name or name == "airy_ai" else samples, dtypes=TYPES, group="special", out=1, grad=slope,
                 tol=WIDE, errors=unary_errors(name), names=("special_" + name,), big=unary_big(low, high))
    for name in ("igamma", "igammac"):
        yield Op(name, gamma_samples, dtypes=("f32", "f64"), group="special", method=name, inplace=name + "_", out=1, tol=WIDE,
                 gradgrad=False, aliases=("special.gammainc" + name[6:],), errors=gamma_errors if name == "igamma" else None,
                 grad_args=(1,))  # PyTorch has none of the first
    yield Op("special.zeta", zeta_samples, dtypes=TYPES, group="special", out=1, tol=WIDE, grad_args=(1,))
    for name in POLYNOMIALS:
        yield Op("special." + name, polynomial_samples, dtypes=TYPES, group="special", out=1, grad=False, tol=WIDE)


OPS = list(special_ops())
