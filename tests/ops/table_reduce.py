# SPDX-License-Identifier: Apache-2.0
"""Reductions, softmax, scans and sorts."""
from opspec import ALL, COMPLEX, FLOATS, INTS, REAL, E, Op, S

F = "nn.functional."
BIG = (70, 1001)
INF = float("inf")
# Sums in 16 bits: PyTorch rounds after other groups of terms than a fixed tree does.
HALF_SUM = {"f16": (4e-3, 4e-3), "bf16": (2e-2, 2e-2)}


def dims_samples(low=None, high=None, many=True, whole=True, first=(), long_halfs=True, **kwargs):
    """A reduction over no, one, several, negative dimensions, kept or not; first: arguments before dim."""
    def samples(torch, make):
        def x(*shape, **kw):
            return make(*shape, low=low, high=high, **kw)
        if whole:
            yield S("contiguous", x(3, 4), *first, **kwargs)
            yield S("strided", x(3, 4, layout="transposed"), *first, **kwargs).narrow()
            yield S("scalar", x(), *first, **kwargs).narrow()
            yield S("vector", x(133), *first, **kwargs).but(wide=make.is_half and long_halfs, grad=False, slope=False)
        yield S("dim", x(2, 3, 4), *first, 1, **kwargs)
        yield S("dim", x(2, 3, 4), *first, -1, **kwargs).narrow()
        yield S("dim", x(2, 3, 4), *first, dim=0, **kwargs).narrow()
        yield S("keepdim", x(2, 3, 4), *first, 1, keepdim=True, **kwargs)
        yield S("strided", x(3, 4, layout="transposed"), *first, 1, **kwargs).narrow()
        yield S("strided", x(3, 4, layout="step"), *first, 0, **kwargs).narrow().but(grad=False)
        yield S("expanded", x(3, 4, layout="expanded"), *first, 0, **kwargs).narrow().but(grad=False)
        yield S("channels_last", x(2, 3, 2, 2, layout="channels_last"), *first, 1, **kwargs).narrow().but(grad=False)
        yield S("scalar", x(), *first, 0, **kwargs).narrow()
        yield S("long", x(3, 70), *first, 1, **kwargs).narrow().but(grad=False, slope=False)
        yield S("long", x(70, 3), *first, 0, **kwargs).narrow().but(grad=False, slope=False)
        yield S("empty", x(0, 3), *first, 1, **kwargs).narrow()
        if many:
            yield S("dims", x(2, 3, 4), *first, (0, 2), **kwargs)
            yield S("dims", x(2, 3, 4), *first, (0, -1), keepdim=True, **kwargs).narrow()
            yield S("dims", x(2, 3, 2, 2, layout="channels_last"), *first, (2, 3), **kwargs).narrow().but(grad=False)
        if make.is_float:
            yield S("special", make.special()[:, None], *first, 1, **kwargs).but(grad=False, slope=False)
            if whole:
                yield S("special", make.special(), *first, **kwargs).but(grad=False, slope=False)
    return samples


def dim_errors(*first, many=True, **kwargs):
    def errors(torch, make):
        yield E("IndexError", ("Dimension out of range", "3"), make(2, 3), *first, 3, **kwargs)
        yield E("IndexError", ("Dimension out of range", "-4"), make(2, 3), *first, -4, **kwargs)
        if many:
            yield E("RuntimeError", ("dim", "multiple times"), make(2, 3), *first, (1, 1), **kwargs)
            yield E("RuntimeError", ("dim", "multiple times"), make(2, 3), *first, (0, -2), **kwargs)
        yield E("TypeError", (), make(2, 3), *first, "x", **kwargs)
    return errors


def dim_big(*args, **kwargs):
    return lambda torch, make: ((make(*BIG), *args), kwargs)


def then(*generators):
    return lambda torch, make: (s for g in generators for s in g(torch, make))


def empty_whole(*args, **kwargs):
    return lambda torch, make: [S("empty", make(0, 3), *args, **kwargs).narrow()]


def sum_kinds(torch, make):
    yield S("dtype", make(2, 3), dtype=torch.float64).but(grad=False)
    yield S("dtype", make(2, 3), 1, dtype=torch.float32).but(grad=False)
    yield S("empty", make(0, 3), 0).narrow()
    yield S("empty", make(2, 0, 3)).narrow()
    if make.is_half:
        yield S("many", make(2048, low=0.5, high=1.0)).but(grad=False, slope=False)


def all_dims(torch, make):
    yield S("none", make(2, 3), dim=None).narrow()
    yield S("none", make(2, 3), dim=()).narrow()


def none_dims(torch, make):
    yield S("none", make(2, 3), dim=None, keepdim=True).narrow()


def mean_errors(torch, make):
    yield from dim_errors()(torch, make)
    yield E("RuntimeError", ("mean", "Long"), make(2, 3, dtype="i64"))
    yield E("RuntimeError", ("Bool",), make(2, 3, dtype="bool"))


def extreme_samples(torch, make):
    yield S("contiguous", make.distinct(3, 4)).but(wide=not make.is_bool)
    yield S("dim", make.distinct(2, 3, 4), 1).but(wide=not make.is_bool)
    yield S("dim", make.distinct(2, 3, 4), -1).narrow()
    yield S("keepdim", make.distinct(2, 3, 4), 0, keepdim=True).narrow()
    yield S("strided", make.distinct(3, 4, layout="transposed"), 1).narrow()
    yield S("vector", make(133)).but(wide=make.is_half, grad=False, slope=False)
    yield S("long", make(3, 70), 1).narrow().but(grad=False, slope=False)
    yield S("scalar", make()).narrow()
    yield S("scalar", make(), 0).narrow()
    yield S("empty", make(0, 3), 1).narrow()
    if make.is_bool:
        yield S("contiguous", make.mask(3, 4), 1)
    if make.is_float:
        yield S("special", make.special()).but(grad=False, slope=False)
        yield S("special", make.special()[:, None], 1).but(grad=False, slope=False)


def ties(torch, make):
    yield S("ties", make.ints([[2, 2, 1], [0, 3, 3]], "i64").to(make.dtype), 1).but(grad=False, wide=make.name in ("f32", "f64", "i64"))


def whole_ties(torch, make):
    yield S("ties", make.ints([[2, 3, 1], [0, 3, 3]], "i64").to(make.dtype)).but(grad=False, wide=make.name in ("f32", "f64", "i64"))


def extreme_errors(torch, make):
    yield E("IndexError", ("Dimension out of range", "2"), make(2, 3), 2)
    yield E("RuntimeError|IndexError", (), make(0, 3), 0)
    yield E("RuntimeError", (), make(0))
    yield E("NotImplementedError|RuntimeError", ("ComplexFloat",), make(3, dtype="c64"))


def other_samples(torch, make):
    yield S("contiguous", make(3, 4), make(3, 4)).narrow()
    yield S("broadcast", make(3, 1), make(4)).narrow()


def arg_samples(torch, make):
    yield from extreme_samples(torch, make)
    yield from ties(torch, make)


def var_samples(torch, make):
    yield S("contiguous", make(3, 4))
    yield S("dim", make(2, 3, 4), 1)
    yield S("dims", make(2, 3, 4), (0, 2)).narrow()
    yield S("keepdim", make(2, 3, 4), 1, keepdim=True).narrow()
    yield S("biased", make(3, 4), 1, unbiased=False)
    yield S("biased", make(3, 4), False).narrow()
    yield S("correction", make(3, 4), 1, correction=0)
    yield S("correction", make(3, 4), (0, 1), correction=2).narrow()
    yield S("correction", make(3, 4), dim=None, correction=0, keepdim=True).narrow()
    yield S("strided", make(3, 4, layout="transposed"), 1).narrow()
    yield S("channels_last", make(2, 3, 2, 2, layout="channels_last"), (0, 2, 3)).narrow().but(grad=False)
    yield S("long", make(3, 70, low=10, high=12), 1).narrow().but(grad=False, slope=False)
    yield S("shifted", make(3, 70, low=1000, high=1001), 1).narrow().but(grad=False, slope=False)
    yield S("one", make(1), 0).narrow().but(grad=False, slope=False)
    yield S("empty", make(0, 3), 0).narrow().but(grad=False, slope=False)
    yield S("empty", make(2, 0), 0).narrow().but(grad=False)


def var_errors(torch, make):
    yield E("IndexError", ("Dimension out of range", "4"), make(2, 3), 4)
    yield E("RuntimeError", ("floating point",), make(2, 3, dtype="i64"))


def norm_samples(torch, make):
    yield S("contiguous", make(3, 4))
    for p in (1, 2, 3, INF, -INF, 0, 0.5):
        yield S("p", make(3, 4), p).but(wide=p in (1, 2), grad=p not in (0,))
        yield S("p", make(3, 4), p, 1).narrow().but(grad=p not in (0,))
    yield S("fro", make(3, 4), "fro").narrow()
    yield S("fro", make(3, 4), "fro", 1).narrow()
    yield S("dims", make(2, 3, 4), 2, (0, 2)).narrow()
    yield S("keepdim", make(2, 3, 4), 2, 1, True).narrow()
    yield S("strided", make(3, 4, layout="transposed"), 2, 1).narrow()
    yield S("zero", make(2, 3) * 0, 2).narrow().but(grad=False)
    yield S("zero", make(2, 3) * 0, 1, 1).narrow().but(grad=False)
    yield S("scalar", make()).narrow()
    yield S("empty", make(0, 3), 2, 1).narrow()
    yield S("empty", make(0), 2).narrow()


def norm_errors(torch, make):
    yield E("IndexError", ("Dimension out of range", "2"), make(2, 3), 2, 2)
    yield E("RuntimeError", ("Long",), make(2, 3, dtype="i64"))


def softmax_samples(torch, make):
    yield S("contiguous", make(3, 5), 1)
    yield S("dim", make(3, 5), 0)
    yield S("dim", make(2, 3, 4), 1).narrow()
    yield S("dim", make(2, 3, 4), -2).narrow()
    yield S("strided", make(3, 5, layout="transposed"), 1).narrow()
    yield S("strided", make(3, 5, layout="step"), 0).narrow()
    yield S("channels_last", make(2, 3, 2, 2, layout="channels_last"), 1).narrow().but(grad=False)
    yield S("long", make(3, 133), 1).but(wide=make.is_half, grad=False, slope=False)
    yield S("long", make(133, 5), 0).narrow().but(grad=False, slope=False)
    yield S("large", make(2, 5, low=-200, high=200), 1).but(grad=False, slope=False)
    yield S("scalar", make(), 0).narrow()
    yield S("empty", make(0, 3), 1).narrow()
    yield S("empty", make(2, 0), 1).narrow()
    yield S("dtype", make(2, 3), 1, dtype=torch.float64).but(grad=False)
    if make.is_float:
        yield S("masked", make.wrap([[-INF, 1.0, -INF], [-INF, -INF, -INF], [INF, 1.0, 2.0]]), 1).but(grad=False, slope=False)


def softmax_errors(torch, make):
    yield E("IndexError", ("Dimension out of range", "2"), make(2, 3), 2)
    yield E("TypeError", ("str",), make(2, 3), "x")


def scan_samples(torch, make):
    yield S("contiguous", make(3, 4), 1)
    yield S("dim", make(3, 4), 0)
    yield S("dim", make(2, 3, 4), -2).narrow()
    yield S("strided", make(3, 4, layout="transposed"), 1).narrow()
    yield S("strided", make(3, 4, layout="step"), 0).narrow()
    yield S("expanded", make(3, 4, layout="expanded"), 0).narrow().but(grad=False)
    yield S("scalar", make(), 0).narrow()
    yield S("empty", make(0, 3), 0).narrow()
    yield S("empty", make(3, 0), 1).narrow()
    yield S("dtype", make(2, 3), 1, dtype=torch.float64).but(grad=False, inplace=False)
    if make.is_float:
        yield S("special", make.special(), 0).but(grad=False, slope=False)


def scan_zeros(torch, make):
    yield from scan_samples(torch, make)
    yield S("zeros", make.ints([[2, 0, 3], [0, 0, 4]]).to(make.dtype), 1).narrow().but(grad=False)


def sort_samples(torch, make):
    yield S("contiguous", make.distinct(3, 4))
    yield S("dim", make.distinct(3, 4), 0)
    yield S("descending", make.distinct(3, 4), 1, True)
    yield S("descending", make.distinct(2, 3, 2), dim=1, descending=True).narrow()
    yield S("stable", make.ints([3, 1, 3, 1, 2, 2]).to(make.dtype), stable=True).but(grad=False)
    yield S("stable", make.ints([3, 1, 3, 1, 2, 2]).to(make.dtype), dim=0, descending=True, stable=True).but(grad=False)
    yield S("strided", make.distinct(3, 4, layout="transposed"), 1).narrow()
    yield S("long", make.distinct(70)).narrow().but(grad=False, slope=False)
    yield S("scalar", make()).narrow()
    yield S("empty", make(0, 3), 0).narrow()
    yield S("empty", make(3, 0)).narrow()
    if make.is_float:
        yield S("special", make.special(), stable=True).but(grad=False, slope=False)
        yield S("special", make.special(), dim=0, descending=True, stable=True).but(grad=False, slope=False)


def sort_out(torch, make):
    return (s.but(out="stable" not in s.kwargs) for s in sort_samples(torch, make))


def sort_errors(torch, make):
    yield E("IndexError", ("Dimension out of range", "2"), make(2, 3), 2)
    yield E("TypeError", ("complex",), make(3, dtype="c64"))


def topk_samples(torch, make):
    yield S("contiguous", make.distinct(3, 5), 2)
    yield S("dim", make.distinct(4, 3), 3, 0)
    yield S("smallest", make.distinct(3, 5), 2, 1, False)
    yield S("strided", make.distinct(3, 4, layout="transposed"), 2).narrow()
    yield S("all", make.distinct(5), 5).narrow()
    yield S("none", make.distinct(5), 0).narrow().but(grad=False)
    yield S("long", make.distinct(200), 5).narrow().but(grad=False, slope=False)
    yield S("scalar", make(), 1).narrow()
    yield S("empty", make(0, 3), 2).narrow()


def topk_errors(torch, make):
    yield E("RuntimeError", ("k",), make(3), 4)
    yield E("RuntimeError", ("k",), make(3), -1)
    yield E("IndexError", ("Dimension out of range", "3"), make(3), 1, 3)


def rows():
    g = dict(group="reduce")
    yield Op("sum", then(dims_samples(), sum_kinds, all_dims, none_dims), method="sum", errors=dim_errors(), big=dim_big(), tol=HALF_SUM, **g)
    yield Op("sum.out", dims_samples(whole=False), "sum", out=1, tol=HALF_SUM, grad=False, **g)
    yield Op("mean", then(dims_samples(), all_dims, none_dims), dtypes=FLOATS + COMPLEX, method="mean", errors=mean_errors, big=dim_big(), tol=HALF_SUM, **g)
    yield Op("mean.out", dims_samples(whole=False), "mean", FLOATS, out=1, grad=False, tol=HALF_SUM, **g)
    yield Op("mean.dtype", lambda torch, make: [S("dtype", make(2, 3), dtype=torch.float32), S("dtype", make(2, 3), 1, dtype=torch.float64)],
             "mean", ALL, grad=False, **g)
    yield Op("prod", then(dims_samples(low=0.5, high=1.5, many=False, long_halfs=False), empty_whole(), lambda torch, make: [
        S("dtype", make(2, 3), dtype=torch.float64).but(grad=False), S("dtype", make(2, 3), 1, dtype=torch.float32).but(grad=False),
        S("zeros", make.ints([[2, 0, 3], [0, 0, 4], [1, 2, 3]]).to(make.dtype), 1).narrow(),
        S("zeros", make.ints([[2, 0, 3], [1, 5, 4]]).to(make.dtype)).narrow()]),
        method="prod", errors=dim_errors(many=False), big=dim_big(1), tol={"f16": (4e-3, 1e-5), "bf16": (4e-2, 1e-5)}, **g)  # as HALF_SUM
    for name in ("amax", "amin"):
        yield Op(name, then(dims_samples(), ties, whole_ties, lambda torch, make: [S("none", make(2, 3), ()).narrow()]), dtypes=REAL,
                 method=name, out=1, errors=lambda torch, make: [
                     *dim_errors()(torch, make), E("IndexError", ("dim 0", "zero"), make(0, 3), 0), E("RuntimeError", (), make(0, 3))],
                 big=dim_big(1), **g)
    for name in ("max", "min"):
        yield Op(name, then(extreme_samples, ties, whole_ties), dtypes=REAL, method=name, errors=extreme_errors, big=dim_big(1), **g)
        yield Op(name + ".other", other_samples, name, REAL, method=name, out=1, **g)
        yield Op(name + ".out", lambda torch, make: [S("contiguous", make.distinct(3, 4), 1), S("keepdim", make.distinct(3, 4), 0, True)],
                 name, FLOATS + INTS, out=2, grad=False, **g)
    for name in ("argmax", "argmin"):
        yield Op(name, arg_samples, dtypes=FLOATS + INTS, method=name, out=0, grad=False, big=dim_big(1), errors=lambda torch, make: [
            E("IndexError", ("Dimension out of range", "2"), make(2, 3), 2), E("IndexError|RuntimeError", (), make(0)),
            E("IndexError", ("dim 0", "zero"), make(0, 3), 0)], **g)
        yield Op(name + ".out", lambda torch, make: [S("contiguous", make.distinct(3, 4), 1)], name, FLOATS + INTS, out=1, grad=False, **g)
    for name in ("var", "std"):
        # PyTorch accumulates half types in another order: two roundings differ.
        yield Op(name, var_samples, dtypes=FLOATS + COMPLEX, method=name, errors=var_errors, big=dim_big(1), tol={"f16": (2e-3, 1e-4)}, **g)
        yield Op(name + ".out", lambda torch, make: [S("contiguous", make(3, 4), 1), S("correction", make(3, 4), 0, correction=0)], name, FLOATS, out=1, grad=False, tol={"f16": (2e-3, 1e-4)}, **g)
    for name in ("var_mean", "std_mean"):
        yield Op(name, var_samples, dtypes=FLOATS + COMPLEX, errors=var_errors, tol={"f16": (2e-3, 1e-4)}, **g)
    for name in ("any", "all"):
        yield Op(name, then(dims_samples(low=-1, high=2), empty_whole(), empty_whole(0), lambda torch, make: [
            S("none", make(2, 3), ()).narrow(), S("false", make(2, 3) * 0), S("true", make(2, 3) * 0 + 1)] if not make.is_bool else []),
            method=name, grad=False, errors=dim_errors(), big=dim_big(1), **g)
        yield Op(name + ".out", dims_samples(low=-1, high=2, many=False, whole=False), name, out=1, grad=False, **g)
    yield Op("logsumexp", then(dims_samples(whole=False, low=-2, high=2), lambda torch, make: [
        S("large", make(2, 5, low=-300, high=300), 1).but(grad=False),
        S("infinite", make.wrap([[-INF, 1.0], [-INF, -INF], [INF, 1.0]]), 1).but(grad=False, slope=False, wide=make.is_float)] if make.is_float else []),
        dtypes=REAL, method="logsumexp", out=1, errors=dim_errors(), big=dim_big(1), tol=HALF_SUM, **g)
    yield Op("norm", norm_samples, dtypes=FLOATS + COMPLEX, method="norm", errors=norm_errors, tol=HALF_SUM, **g)
    yield Op("count_nonzero", lambda torch, make: [S("contiguous", make(3, 4, low=-1, high=2)), S("dim", make(3, 4, low=-1, high=2), 1),
             S("dims", make(2, 3, 2, low=-1, high=2), (0, 2)), S("empty", make(0, 3))], method="count_nonzero", grad=False, **g)
    for name in ("softmax", "log_softmax"):
        yield Op(name, softmax_samples, dtypes=FLOATS, method=name, errors=softmax_errors, big=dim_big(1), aliases=(F + name, "special." + name), **g)
        yield Op(name + ".dtype", lambda torch, make: [S("dtype", make(2, 3), 1, dtype=torch.float32)], name, INTS + FLOATS, grad=False, **g)
    yield Op("softmin", lambda torch, make: [S("contiguous", make(3, 5), dim=1), S("dim", make(3, 5), dim=0)], F + "softmin", FLOATS, **g)

    g = dict(group="scan")
    yield Op("cumsum", scan_samples, method="cumsum", inplace="cumsum_", out=1, errors=dim_errors(many=False), big=dim_big(1), tol=HALF_SUM, **g)
    yield Op("cumprod", scan_zeros, method="cumprod", inplace="cumprod_", out=1, errors=dim_errors(many=False), big=dim_big(1), tol=HALF_SUM, **g)
    yield Op("sort", sort_samples, dtypes=REAL[1:], method="sort", errors=sort_errors, big=dim_big(1), **g)
    yield Op("sort.out", lambda torch, make: [S("contiguous", make.distinct(3, 4), 1), S("descending", make.distinct(3, 4), 0, True)], "sort", FLOATS + INTS, out=2, grad=False, **g)
    yield Op("sort.bool", lambda torch, make: [S("stable", make.mask(7), stable=True)], "sort", ("bool",), grad=False, **g)
    yield Op("argsort", sort_samples, dtypes=REAL[1:], method="argsort", errors=sort_errors, grad=False, names=("sort",), **g)
    yield Op("msort", lambda torch, make: [S("contiguous", make.distinct(4, 3))], dtypes=FLOATS + INTS, method="msort", **g)
    yield Op("topk", topk_samples, dtypes=FLOATS + INTS, method="topk", out=2, errors=topk_errors, big=dim_big(5), **g)


OPS = list(rows())
