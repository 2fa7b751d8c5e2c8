# SPDX-License-Identifier: Apache-2.0
"""Factorisations, solvers and functions of matrices. Vectors that are only determined up to a sign or a phase are compared
through what is: absolute values, products."""
from opspec import E, Op, S

TYPES = ("f32", "f64", "c64", "c128")
# Condition numbers of the samples are small; the order of sums is the library's.
CLOSE = {"f32": (2e-4, 2e-4), "c64": (2e-4, 2e-4), "f64": (1e-9, 1e-9), "c128": (1e-9, 1e-9)}


def regular(torch, make, *shape, layout="contiguous"):
    """Matrices far from singular, with distinct singular values."""
    n = min(shape[-2:])
    x = make(*shape, low=-0.4, high=0.4, layout=layout)
    return x + torch.diag_embed(torch.arange(2, n + 2).to(x), dim1=-2, dim2=-1) if shape[-1] == shape[-2] else x + torch.eye(*shape[-2:]).to(x) * 2


def positive(torch, make, *shape):
    """Hermitian, with a dominant diagonal. Only sums: products would not have the same bits everywhere."""
    x = make(*shape, low=-0.2, high=0.2)
    return x + x.mH + torch.diag_embed(torch.arange(2, shape[-1] + 2).to(x))


def hermitian(name, **options):
    """An operator that reads one triangle, as a function of whole matrices."""
    return lambda torch, a, **kwargs: getattr(torch.linalg, name)(a + a.mH, **options, **kwargs)


def square(torch, make, kind=regular):
    yield S("matrix", kind(torch, make, 3, 3))
    yield S("batch", kind(torch, make, 2, 2, 2))
    yield S("batch", kind(torch, make, 2, 1, 3, 3)).narrow().but(grad=False)
    yield S("one", kind(torch, make, 1, 1)).narrow()
    if kind is regular:
        yield S("strided", kind(torch, make, 3, 3).mT).narrow()
        yield S("empty", make(0, 0)).narrow().but(grad=False, slope=False)
        yield S("empty", make(0, 3, 3)).narrow().but(grad=False, slope=False)


def any_shape(torch, make):
    for m, n in ((3, 3), (4, 2), (2, 4)):
        yield S(f"{m} by {n}", regular(torch, make, m, n)).but(wide=m != 3)
    yield S("batch", regular(torch, make, 2, 3, 2)).narrow()
    yield S("strided", regular(torch, make, 2, 3).mT).narrow()
    yield S("empty", make(2, 0, 3)).narrow().but(grad=False, slope=False)


def bad(op_words, torch, make, *more):
    yield E("RuntimeError", ("square", "2 by 3"), make(2, 3), *more)
    yield E("RuntimeError", ("at least 2 dimensions",), make(3), *more)
    yield E("NotImplementedError", ("Long",), make(2, 2, dtype="i64"), *more)
    yield E("NotImplementedError", ("Half",), make(2, 2, dtype="f16"), *more)


def square_errors(*singular):
    def errors(torch, make):
        yield from bad("", torch, make)
        for type, words in singular:
            yield E(type, words, torch.zeros(2, 2))
            yield E(type, ("Batch element 1", *words), torch.stack([torch.eye(2), torch.zeros(2, 2)]))
    return errors


def solve_samples(torch, make):
    yield S("matrix", regular(torch, make, 3, 3), make(3, 2))
    yield S("vector", regular(torch, make, 3, 3), make(3))
    yield S("vectors", regular(torch, make, 2, 3, 3), make(2, 3)).narrow()
    yield S("batch", regular(torch, make, 2, 2, 2), make(2, 2, 3)).narrow()
    yield S("broadcast", regular(torch, make, 2, 2), make(3, 2, 1)).narrow()
    yield S("broadcast", regular(torch, make, 2, 1, 2, 2), make(3, 2, 1)).narrow().but(grad=False)
    yield S("right", regular(torch, make, 3, 3), make(2, 3), left=False)
    yield S("empty", make(0, 0), make(0, 2)).narrow().but(grad=False, slope=False)


def solve_errors(torch, make):
    yield from bad("", torch, make, make(2))
    yield E("_LinAlgError", ("singular",), torch.zeros(2, 2), torch.ones(2))
    yield E("RuntimeError", ("2x2", "3x2"), make(2, 2), make(3, 2))
    yield E("RuntimeError", ("dtype",), make(2, 2, dtype="f32"), make(2, 2, dtype="f64"))


def triangular_samples(torch, make):
    for upper in (False, True):
        for left in (True, False):
            for unit in (False, True):
                yield S("all forms", regular(torch, make, 3, 3), make(3, 2) if left else make(2, 3), upper=upper, left=left, unitriangular=unit).but(wide=left, grad=upper != unit)
    yield S("broadcast", regular(torch, make, 2, 1, 2, 2), make(3, 2, 1), upper=False).narrow().but(grad=False)
    yield S("strided", regular(torch, make, 2, 2).mT, make(2, 3, layout="transposed"), upper=True).narrow()


def triangle(torch, make):
    return regular(torch, make, 3, 3).tril()


def pivots(torch, make, *values):
    return torch.tensor(values, dtype=torch.int32, device=make.device)


def reflections(torch, make, *shape):
    return make(*shape, low=-0.5, high=0.5), make(*shape[:-2], shape[-1], low=0.5, high=1.5)


def lu(torch, make):
    for left in (True, False):
        for adjoint in (False, True):
            b = make(3, 2) if left else make(2, 3)
            yield S("all forms", regular(torch, make, 3, 3), pivots(torch, make, 2, 3, 3), b, left=left, adjoint=adjoint)
    yield S("broadcast", regular(torch, make, 2, 2), pivots(torch, make, 2, 2), make(3, 2, 1)).narrow()


def lstsq_samples(torch, make):
    yield S("tall", regular(torch, make, 4, 2), make(4, 3))
    yield S("wide", regular(torch, make, 2, 4), make(2, 1))
    yield S("batch", regular(torch, make, 2, 3, 2), make(2, 3, 1)).narrow()
    yield S("vectors", regular(torch, make, 2, 3, 2), make(2, 3)).narrow()
    for driver in ("gels", "gelsd", "gelss", "gelsy"):
        yield S("driver", regular(torch, make, 4, 2), make(4, 1), driver=driver).narrow()


def norm_samples(orders):
    def samples(torch, make):
        x = regular(torch, make, 3, 2)
        for ord in orders:
            yield S(f"{ord}", x, ord)
            yield S(f"{ord}", make(2, 3, 2), ord, dim=(0, 2), keepdim=True).narrow().but(grad=False)
    return samples


def norm_any(torch, make):
    yield S("flat", make(2, 3, 2))
    yield S("flat", make(2, 3), keepdim=True).narrow()
    yield S("vector", make(4), 3)
    yield S("vector", make(4, 2), float("inf"), 0).narrow()
    yield S("matrix", regular(torch, make, 2, 3), "nuc")
    yield S("matrix", make(2, 3), "fro").narrow()
    yield S("dtype", make(2, 3, dtype="f32"), dtype=torch.float64).narrow().but(grad=False, slope=False)


def powers(torch, make):
    for n in (0, 1, 2, 5, -2):
        yield S(f"{n}", regular(torch, make, 2, 2), n).but(grad=n in (2, -2))


def exponentials(torch, make):
    yield S("matrix", make(3, 3))
    yield S("batch", make(2, 2, 2) * torch.tensor([[[0.01]], [[4.0]]]).to(make.device, make.dtype)).but(grad=False)
    yield S("zero", make(2, 2) * 0).narrow()
    yield S("one", make(1, 1)).narrow()


def vectors(torch, make):
    yield S("vector", make(3), make(3))
    yield S("batch", make(2, 3), make(2, 3))
    yield S("broadcast", make(2, 1, 3), make(1, 2, 3)).narrow()


def determined(name, pick):
    """The results of an operator that are unique."""
    return lambda torch, *args, **kwargs: pick(getattr(torch.linalg, name)(*args, **kwargs))


def rows():
    g = dict(group="factor", dtypes=TYPES, tol=CLOSE, strides=False, library=True)
    singular = square_errors(("_LinAlgError", ("singular",)))
    yield Op("linalg.inv", square, out=1, errors=singular, **g)
    yield Op("inverse", square, method="inverse", out=1, **dict(g, dtypes=("f64",)))
    yield Op("linalg.inv_ex", square, **g)
    yield Op("linalg.det", square, out=1, errors=square_errors(), **g)
    yield Op("det", square, method="det", **dict(g, dtypes=("f64",)))
    yield Op("linalg.slogdet", square, out=2, errors=square_errors(), **g)
    yield Op("logdet", lambda torch, make: square(torch, make, positive), method="logdet", **g)
    yield Op("linalg.solve", solve_samples, out=1, errors=solve_errors, **g)
    yield Op("linalg.solve_ex", solve_samples, **dict(g, dtypes=("f64",)))
    yield Op("linalg.solve_triangular", triangular_samples, out=1, errors=lambda torch, make: [E("RuntimeError", ("2x2", "3x2"), make(2, 2), make(3, 2), upper=True)], **g)
    yield Op("triangular_solve", lambda torch, make: [S("matrix", make(3, 2), regular(torch, make, 3, 3)), S("transposed", make(3, 2), regular(torch, make, 3, 3), upper=False, transpose=True)], method="triangular_solve", **dict(g, dtypes=("f64",)))
    yield Op("linalg.cholesky", lambda torch, make: square(torch, make, positive), out=1, errors=square_errors(("_LinAlgError", ("positive-definite",))), **dict(g, grad=False))
    yield Op("linalg.cholesky.whole", square, hermitian("cholesky"), **g)
    yield Op("linalg.cholesky_ex", square, hermitian("cholesky_ex", upper=True), **g)
    yield Op("cholesky_solve", lambda torch, make: [S("lower", make(3, 2), triangle(torch, make)), S("upper", make(3, 2), triangle(torch, make).mT, upper=True).narrow()], method="cholesky_solve", out=1, grad_args=(0,),
             errors=lambda torch, make: [E("RuntimeError", ("2 by 2", "3 by 1"), make(3, 1), make(2, 2)), E("RuntimeError", ("2 dimensions",), make(3), make(2, 2))], **g)
    yield Op("cholesky_inverse", lambda torch, make: [S("lower", triangle(torch, make))], method="cholesky_inverse", out=1, **dict(g, grad=False, dtypes=("f32", "f64")))
    yield Op("linalg.lu_factor", any_shape, out=2, errors=lambda torch, make: [E("RuntimeError", ("U[1,1] is zero",), torch.zeros(2, 2)), E("RuntimeError", ("pivoting",), make(2, 2), pivot=False)], **g)
    yield Op("linalg.lu", any_shape, out=3, **g)
    yield Op("linalg.lu_solve", lu, out=1, errors=lambda torch, make: [E("RuntimeError", ("int32",), make(2, 2), torch.ones(2, dtype=torch.int64), make(2, 1))], **g)
    yield Op("lu_unpack", lambda torch, make: [S(f"{m} by {n}", make(2, m, n), pivots(torch, make, (2, 2), (1, 2))) for m, n in ((2, 2), (3, 2), (2, 3))], out=3, **g)
    yield Op("linalg.qr", any_shape, out=2, errors=lambda torch, make: [E("RuntimeError", ("mode",), make(2, 2), mode="x")], **g)
    yield Op("linalg.qr.modes", lambda torch, make: [S(mode, regular(torch, make, 4, 2), mode=mode) for mode in ("complete", "r")], "linalg.qr", **dict(g, grad=False))
    yield Op("geqrf", any_shape, method="geqrf", **dict(g, grad=False))
    yield Op("linalg.householder_product", lambda torch, make: [S("matrix", *reflections(torch, make, 4, 3)), S("batch", *reflections(torch, make, 2, 3, 2))], out=1, aliases=("orgqr",), **g)
    yield Op("ormqr", lambda torch, make: [S(f"{left}{t}", *reflections(torch, make, 3, 2), make(3, 2) if left else make(2, 3), left, t) for left in (True, False) for t in (True, False)], method="ormqr", **g)
    yield Op("linalg.svd", any_shape, determined("svd", lambda r: (r[0].abs(), r[1], r[2].abs())), errors=lambda torch, make: [E("_LinAlgError", ("non-finite",), torch.full((2, 2), float("nan")))], **dict(g, grad=False))
    yield Op("linalg.svd.reduced", any_shape, lambda torch, a: (lambda u, s, vh: (s, u[..., :1] @ vh[..., :1, :]))(*torch.linalg.svd(a, full_matrices=False)), **dict(g, dtypes=("f32", "f64")))
    yield Op("linalg.svdvals", any_shape, out=1, **g)
    yield Op("svd", any_shape, lambda torch, a: (lambda u, s, v: u * s.unsqueeze(-2) @ v.mH)(*torch.svd(a)), **dict(g, grad=False))
    yield Op("linalg.eigh", square, lambda torch, a, **k: (lambda w, v: (w, v.abs()))(*torch.linalg.eigh(a + a.mH, **k)), errors=lambda torch, make: [E("RuntimeError", ("UPLO",), make(2, 2), UPLO="X")], **g)
    yield Op("linalg.eigvalsh", square, hermitian("eigvalsh"), **g)
    yield Op("linalg.eig", lambda torch, make: [S("matrix", positive(torch, make, 3, 3)), S("batch", positive(torch, make, 2, 2, 2))], lambda torch, a: (lambda w, v: (w * v @ torch.linalg.inv(v)))(*torch.linalg.eig(a)), errors=lambda torch, make: [E("RuntimeError", ("NaN",), torch.full((2, 2), float("nan")))], **g)
    yield Op("linalg.eigvals", lambda torch, make: [S("matrix", regular(torch, make, 3, 3))], lambda torch, a: torch.linalg.eigvals(a).abs().sort().values, **g)
    yield Op("linalg.lstsq", lstsq_samples, gradgrad=False, errors=lambda torch, make: [E("RuntimeError", ("driver",), make(3, 2), make(3, 1), driver="x"), E("RuntimeError", ("size(-2)",), make(3, 2), make(4, 2)),
             E("RuntimeError", ("dtype",), make(3, 2, dtype="f32"), make(3, 2, dtype="f64"))], **dict(g, meta=False))
    yield Op("linalg.pinv", any_shape, out=1, gradgrad=False, **g)
    yield Op("linalg.pinv.forms", lambda torch, make: [S("hermitian", positive(torch, make, 3, 3), hermitian=True), S("rtol", make(3, 2), rtol=0.9), S("rcond", make(3, 2), 0.9), S("atol", make(2, 2), atol=torch.tensor(0.5, device=make.device))], "linalg.pinv", **dict(g, grad=False))
    yield Op("linalg.matrix_rank", lambda torch, make: [S("full", make(3, 2)), S("tol", make(3, 2), 2.0), S("hermitian", positive(torch, make, 3, 3), hermitian=True), S("rtol", make(2, 3, 2), rtol=0.7)], **dict(g, grad=False, dtypes=("f64", "c128")))
    yield Op("linalg.cond", lambda torch, make: [S(f"{p}", regular(torch, make, 3, 3), p) for p in (None, 1, -1, 2, -2, float("inf"), "fro", "nuc")], gradgrad=False, errors=lambda torch, make: [E("ValueError", ("3",), make(2, 2), 3)], **g)
    yield Op("linalg.matrix_norm", norm_samples((1, -1, 2, -2, float("inf"), float("-inf"), "fro", "nuc")), gradgrad=False,
             errors=lambda torch, make: [E("RuntimeError", ("3",), make(2, 2), 3), E("RuntimeError", ("different",), make(2, 2), "fro", dim=(0, 0))], **g)
    yield Op("linalg.norm", norm_any, gradgrad=False, errors=lambda torch, make: [E("RuntimeError", ("1D or 2D",), make(2, 2, 2), "nuc"), E("RuntimeError", ("length 1 or 2",), make(2, 2, 2), dim=(0, 1, 2))], **g)
    yield Op("nuclear_norm", any_shape, gradgrad=False, **dict(g, dtypes=("f64",)))
    yield Op("linalg.matrix_power", powers, out=1, errors=lambda torch, make: [E("RuntimeError", ("square",), make(2, 3), 2)], **g)
    yield Op("linalg.matrix_exp", exponentials, errors=lambda torch, make: [E("RuntimeError", ("square",), make(2, 3))], **g)
    yield Op("linalg.ldl_factor", lambda torch, make: [S("matrix", positive(torch, make, 3, 3)), S("hermitian", positive(torch, make, 3, 3), hermitian=True)], **dict(g, grad=False))
    yield Op("linalg.ldl_solve", lambda torch, make: [S("matrix", triangle(torch, make), pivots(torch, make, 1, 2, 3), make(3, 2))], **dict(g, grad=False))
    yield Op("linalg.tensorinv", lambda torch, make: [S("matrix", regular(torch, make, 6, 6).reshape(2, 3, 3, 2), ind=2)], errors=lambda torch, make: [E("RuntimeError", ("prod",), make(2, 3))], **dict(g, dtypes=("f64",), gradgrad=False))
    yield Op("linalg.tensorsolve", lambda torch, make: [S("matrix", regular(torch, make, 6, 6).reshape(2, 3, 3, 2), make(2, 3)), S("dims", regular(torch, make, 6, 6).reshape(6, 3, 2), make(6), dims=(0,))], **dict(g, dtypes=("f64",), gradgrad=False))
    yield Op("linalg.cross", vectors, out=1, errors=lambda torch, make: [E("RuntimeError", ("3",), make(2), make(2)), E("RuntimeError", ("dimensions",), make(3), make(2, 3))], **dict(g, dtypes=TYPES + ("i64",)))
    yield Op("cross", vectors, method="cross", errors=lambda torch, make: [E("RuntimeError", ("size 3",), make(2), make(2))], **dict(g, dtypes=("f64",)))
    yield Op("linalg.vecdot", vectors, out=1, **g)


OPS = list(rows())
