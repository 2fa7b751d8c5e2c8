# SPDX-License-Identifier: Apache-2.0
"""Quantiles, histograms, integrals, correlations, small constructions; views as copies."""
from opspec import E, Op, S

FLOATS = ("f32", "f64")


def quantile_samples(torch, make):
    x, q = make.distinct(4, 5), torch.tensor([0.1, 0.55, 0.9], dtype=make.dtype, device=make.device)
    yield S("flat", x, 0.3)
    yield S("dim", x, 0.5, 0)
    yield S("keepdim", x, q, dim=1, keepdim=True)
    yield S("keepdim", x, 0.7, keepdim=True).narrow()
    for how in ("lower", "higher", "midpoint", "nearest", "linear"):
        yield S(how, x, 0.35, 0, interpolation=how).narrow()
    holes = x.clone()
    holes[1, 2] = holes[3, 0] = float("nan")
    yield S("nan", holes, q, 1).but(grad=False, slope=False)
    yield S("number", make(), 0.5).narrow()


def quantile_errors(torch, make):
    yield E("RuntimeError", ("non-empty",), make(0), 0.5)
    yield E("RuntimeError", ("[0, 1]",), make(3), 1.5)
    yield E("RuntimeError", ("[0, 1]",), make(3), torch.tensor([1.5]))
    yield E("RuntimeError", ("dtype",), make(3, dtype="i64"), 0.5)
    yield E("RuntimeError", ("interpolation",), make(3), 0.5, interpolation="x")
    yield E("RuntimeError", ("1D",), make(3), make(2, 2))


def histogram_samples(torch, make):
    yield S("count", make(20), 5)
    yield S("edges", make(4, 5), torch.tensor([-2.0, 0.0, 0.5, 2.0], dtype=make.dtype, device=make.device))
    yield S("weight", make(6), 3, range=(-1.0, 2.0), weight=make(6, low=0.5, high=1.5), density=True)
    yield S("one value", torch.ones(3, dtype=make.dtype, device=make.device), 2).narrow()


def boxes(torch, make):
    yield S("counts", make(9, 2), [3, 4])
    yield S("one count", make(2, 5, 3), 2)
    yield S("edges", make(9, 2), [torch.tensor(e, dtype=make.dtype, device=make.device) for e in ([-2.0, 0.0, 0.5, 2.0], [-3.0, 3.0])])
    yield S("weight", make(6, 2), 3, range=(-1.0, 2.0, -2.0, 1.0), weight=make(6, low=0.5, high=1.5), density=True)
    yield S("no point", make(0, 2), 2, range=(0.0, 1.0, 0.0, 1.0)).narrow()


def box_errors(torch, make):
    yield E("RuntimeError", ("2 dimensions",), make(3), 2)
    yield E("RuntimeError", ("size of bins",), make(3, 2), [2])
    yield E("RuntimeError", ("4 elements", "3"), make(3, 2), 2, range=(0.0, 1.0, 2.0))
    yield E("RuntimeError", ("weight",), make(3, 2), 2, weight=make(4))
    yield E("RuntimeError", ("bins",), make(3, 2), [2, 0])


def lines(torch, make):
    yield S("plain", make(3, 4))
    yield S("dim", make(3, 4), dx=0.5, dim=0)
    yield S("places", make(3, 4), make(4))
    yield S("places", make(3, 4), make(3, 4)).narrow()


def gradients(torch, make):
    x = make(4, 5)
    yield S("plain", x)
    yield S("spacing", x, spacing=2.0, dim=1)
    yield S("spacing", x, spacing=(0.5, 2.0), edge_order=2).narrow()
    yield S("places", x, spacing=(torch.tensor([0.0, 1.0, 3.0, 4.0], dtype=make.dtype, device=make.device),), dim=0, edge_order=2).narrow()


def covariances(torch, make):
    yield S("rows", make(3, 5))
    yield S("vector", make(5))
    yield S("correction", make(2, 4), correction=0)
    yield S("weights", make(2, 4), fweights=make.ints([1, 2, 1, 3]), aweights=make(4, dtype="f64" if make.name in ("f64", "c128") else "f32", low=0.5, high=1.5)).but(wide=False)


def copies(torch, make):
    x = make(4, 5)
    for name, args in (("expand", (x[:1], (4, 5))), ("permute", (x, (1, 0))), ("narrow", (x, 1, 1, 2)), ("select", (x, 0, 1)), ("slice", (x, 1, 0, 3, 2)), ("split", (x, 2)), ("split_with_sizes", (x, (1, 3))),
                       ("squeeze", (x[:1],)), ("squeeze", (x[:1], 0)), ("t", (x,)), ("transpose", (x, 0, 1)), ("unbind", (x,)), ("unfold", (x, 1, 2, 1)), ("unsqueeze", (x, 1)), ("view", (x, (5, 4))),
                       ("as_strided", (x, (2, 2), (1, 2))), ("diagonal", (x,)), ("alias", (x,))):
        yield S(name, name + "_copy", *args).but(wide=name == "permute", grad=name in ("permute", "split"))


def scatters(torch, make):
    yield S("select", "select_scatter", make(3, 4), make(4), 0, 1)
    yield S("slice", "slice_scatter", make(3, 4), make(3, 2), 1, 1, 3)
    yield S("diagonal", "diagonal_scatter", make(3, 4), make(3))
    yield S("as_strided", "as_strided_scatter", make(3, 4), make(2, 2), (2, 2), (1, 2)).narrow().but(slope=False)  # PyTorch gives what was overwritten the gradient


def rows():
    g = dict(group="numeric", strides=False)
    f = dict(g, dtypes=FLOATS)
    yield Op("quantile", quantile_samples, method="quantile", out=1, errors=quantile_errors, meta=False, **f)
    yield Op("nanquantile", quantile_samples, method="nanquantile", out=1, errors=quantile_errors, meta=False, **f)
    yield Op("histc", lambda torch, make: [S("count", make(20), 5), S("range", make(20), 4, -1, 2), S("one value", torch.ones(3, dtype=make.dtype, device=make.device), 4), S("ends", torch.arange(5, dtype=make.dtype, device=make.device), 4, 0, 4)], method="histc", out=1, grad=False, meta=False,
             errors=lambda torch, make: [E("RuntimeError", ("bins",), make(3), 0), E("RuntimeError", ("max",), make(3), 3, 2, 1), E("RuntimeError", ("finite",), make(3) / 0, 3)], **f)
    yield Op("histogram", histogram_samples, method="histogram", grad=False, meta=False, errors=lambda torch, make: [E("RuntimeError", ("bins",), make(3), 0), E("RuntimeError", ("one dimension",), make(3), make(2, 2))], **f)
    yield Op("trapezoid", lines, aliases=("trapz",), errors=lambda torch, make: [E("RuntimeError", ("one `x` value",), make(3), make(4))], **dict(g, dtypes=FLOATS + ("c128",)))
    yield Op("cumulative_trapezoid", lines, **f)
    yield Op("gradient", gradients, gradgrad=False, errors=lambda torch, make: [E("RuntimeError", ("edge_order",), make(3), edge_order=3), E("RuntimeError", ("edge_order+1",), make(1))], **f)
    yield Op("cov", covariances, method="cov", meta=False, errors=lambda torch, make: [E("RuntimeError", ("3 dimensions",), make(2, 2, 2)), E("RuntimeError", ("2 != 3",), make(2, 3), fweights=make.ints([1, 2]))], **dict(g, dtypes=FLOATS + ("c128", "i64")))
    yield Op("histogramdd", boxes, grad=False, meta=False, sharing=False, errors=box_errors, **f)
    yield Op("frexp", lambda torch, make: [S("contiguous", make(3, 5)), S("strided", make(3, 4, layout="transposed")).narrow(), S("special", make.special()).but(grad=False, slope=False), S("empty", make(0))],
             method="frexp", out=2, errors=lambda torch, make: [E("RuntimeError", ("floating-point",), make(2, dtype="i64"))], **dict(f, dtypes=("f16", "bf16", *FLOATS)))
    yield Op("norm_except_dim", lambda torch, make: [S("first", make(3, 2, 4)), S("middle", make(3, 2, 4), 2, 1), S("all", make(3, 2), 1, -1)], **f)
    yield Op("corrcoef", lambda torch, make: [S("rows", make(3, 5)), S("vector", make(4)).but(grad=False, slope=False), S("one row", make(1, 4)).but(grad=False, slope=False)], method="corrcoef", meta=False, **dict(g, dtypes=FLOATS + ("c128",)))
    yield Op("combinations", lambda torch, make: [S("pairs", make(4)), S("three", make(4), 3), S("repeated", make(3), 2, True), S("none", make(3), 0).but(grad=False, slope=False)], meta=False,
             errors=lambda torch, make: [E("RuntimeError", ("1D",), make(2, 2)), E("RuntimeError", ("-1",), make(2), -1)], **dict(g, dtypes=FLOATS + ("i64",)))
    yield Op("block_diag", lambda torch, make: [S("blocks", make(2, 3), make(3), make(), make(1, 2))], errors=lambda torch, make: [E("RuntimeError", ("2 or fewer",), make(1, 1, 1))], **dict(g, dtypes=FLOATS + ("i64", "bool")))
    yield Op("diagflat", lambda torch, make: [S("flat", make(2, 2), 1), S("number", make())], method="diagflat", **dict(g, dtypes=FLOATS + ("i64",)))
    yield Op("renorm", lambda torch, make: [S("2", make(3, 4), 2, 0, 1.0), S("1", make(3, 4), 1, 1, 2.0), S("inf", make(3, 4), float("inf"), 0, 2.0).but(grad=False, slope=False)], method="renorm", inplace="renorm_", gradgrad=False,
             errors=lambda torch, make: [E("RuntimeError", ("2 dimensions",), make(3), 1, 0, 1.0)], **f)
    yield Op("mvlgamma", lambda torch, make: [S("3", make(4, low=2, high=5), 3)], method="mvlgamma", inplace="mvlgamma_", errors=lambda torch, make: [E("RuntimeError", ("greater",), make(3), 0)], **f)
    yield Op("nonzero_static", lambda torch, make: [S("cut", make(3, 4), size=2), S("filled", make(2, 2), size=9, fill_value=7)], grad=False, meta=False, **dict(g, dtypes=FLOATS + ("i64", "bool")))
    yield Op("unravel_index", lambda torch, make: [S("plane", make.ints([5, 7]), (2, 4)), S("line", make.ints([[1], [2]]), 4)], grad=False, errors=lambda torch, make: [E("ValueError", ("integer",), make(2), (2, 4))], **dict(g, dtypes=("f32",)))
    yield Op("view copies", copies, lambda torch, name, *args: getattr(torch, name)(*args), **dict(g, dtypes=FLOATS + ("i64",)))
    yield Op("scatter copies", scatters, lambda torch, name, *args: getattr(torch, name)(*args), **dict(g, dtypes=FLOATS + ("i64",)))


OPS = list(rows())
