# SPDX-License-Identifier: Apache-2.0
"""Matrix products, linear layers, einsum."""
from opspec import ALL, COMPLEX, FLOATS, INTS, E, Op, S

NUMBERS = INTS + FLOATS + COMPLEX
# Products in 16 bits: the order of sums and where they round are the library's business.
PRODUCT = {"f16": (5e-3, 5e-3), "bf16": (3e-2, 3e-2)}


def products(a, b):
    """Two-operand products with operands in every memory order."""
    def samples(torch, make):
        yield S("contiguous", make(*a), make(*b))
        for la, lb in (("transposed", "contiguous"), ("contiguous", "transposed"), ("transposed", "transposed"), ("offset", "step"), ("step", "offset")):
            yield S("strided", make(*a, layout=la), make(*b, layout=lb)).narrow()
        yield S("expanded", make(*a, layout="expanded"), make(*b, layout="expanded")).narrow().but(grad=False)
    return samples


def then(*generators):
    return lambda torch, make: (s for g in generators for s in g(torch, make))


def pairs(*shapes):
    """(label, shape, shape, ...)."""
    return lambda torch, make: [S(label, *(make(*s) for s in rest)).but(wide=label == "contiguous", grad=label != "long", slope=label != "long") for label, *rest in shapes]


def pair_errors(*cases):
    def errors(torch, make):
        for kind, words, *shapes in cases:
            yield E(kind, words, *(make(*s) for s in shapes))
        yield E("RuntimeError", (), make(*cases[0][2], dtype="f32"), make(*cases[0][3], dtype="f64"))
        yield E("TypeError", ("str",), make(*cases[0][2]), "x")
    return errors


matmul_shapes = pairs(("vectors", (3,), (3,)), ("matrix", (2, 3), (3,)), ("matrix", (3,), (3, 2)), ("contiguous", (2, 3), (3, 4)), ("batch", (2, 3, 2), (2, 2, 3)),
                      ("batch", (2, 3, 2), (2, 3)), ("batch", (2, 3), (2, 3, 2)), ("batch", (2, 1, 3, 2), (2, 2, 3)), ("batch", (2, 2, 3), (3,)), ("batch", (3,), (2, 3, 2)),
                      ("empty", (0, 3), (3, 2)), ("empty", (2, 0), (0, 3)), ("empty", (2, 0, 3), (2, 3, 1)), ("empty", (0,), (0,)), ("long", (5, 70), (70, 6)), ("long", (33, 17), (17, 35)))


def add_samples(c, a, b):
    def samples(torch, make):
        n, m = (2, 3) if make.is_int else (0.5, -1.5)
        yield S("contiguous", make(*c), make(*a), make(*b))
        yield S("factors", make(*c), make(*a), make(*b), beta=n, alpha=m)
        yield S("zero", make(*c), make(*a), make(*b), beta=0).narrow()
        yield S("broadcast", make(c[-1]), make(*a), make(*b)).narrow().but(inplace=False)
        yield S("broadcast", make(1), make(*a), make(*b)).narrow().but(inplace=False)
        yield S("strided", make(*c, layout="transposed"), make(*a, layout="transposed"), make(*b)).narrow()
        yield S("strided", make(*c), make(*a), make(*b, layout="transposed"), alpha=2).narrow()
        if make.is_float:
            yield S("nan", make(*c) * float("nan"), make(*a), make(*b), beta=0).narrow().but(grad=False, slope=False)
        empty = [0 if i == len(a) - 1 else n for i, n in enumerate(a)]
        yield S("empty", make(*c), make(*empty), make(*[0 if i == max(len(b) - 2, 0) else n for i, n in enumerate(b)])).narrow()
    return samples


def addmm_errors(torch, make):
    yield E("RuntimeError", ("2", "3", "4"), make(2, 2), make(2, 3), make(4, 2))
    yield E("RuntimeError", ("5",), make(5), make(2, 3), make(3, 2))
    yield E("RuntimeError", (), make(2, 2), make(2, 3, 1), make(3, 2))
    yield E("RuntimeError", ("dtype",), make(2, 2, dtype="f32"), make(2, 3, dtype="f32"), make(3, 2, dtype="f64"))


def linear_samples(torch, make):
    yield S("contiguous", make(4, 3), make(2, 3), make(2))
    yield S("no bias", make(4, 3), make(2, 3))
    yield S("no bias", make(4, 3), make(2, 3), None).narrow()
    yield S("vector", make(3), make(2, 3), make(2)).narrow()
    yield S("batch", make(2, 2, 3), make(2, 3), make(2))
    yield S("batch", make(2, 2, 3), make(2, 3)).narrow()
    yield S("batch", make(2, 1, 2, 3), make(4, 3), make(4)).narrow()
    yield S("one", make(4, 3), make(3)).narrow()
    yield S("strided", make(4, 3, layout="transposed"), make(2, 3, layout="transposed"), make(2)).narrow()
    yield S("strided", make(2, 4, 3, layout="transposed"), make(2, 3), make(2)).narrow()
    yield S("empty", make(0, 3), make(2, 3), make(2)).narrow()
    yield S("empty", make(4, 0), make(2, 0), make(2)).narrow()
    yield S("long", make(7, 65), make(33, 65), make(33)).but(grad=False, slope=False, wide=make.is_half)


def linear_errors(torch, make):
    yield E("RuntimeError", ("4x3", "5x2"), make(4, 3), make(2, 5), make(2))
    yield E("RuntimeError", (), make(4, 3), make(2, 3), make(5))
    yield E("RuntimeError", (), make(4, 3, dtype="f32"), make(2, 3, dtype="f64"))
    yield E("TypeError", ("weight",), make(4, 3), None)


EQUATIONS = [
    ("contiguous", "ij,jk->ik", (2, 3), (3, 4)), ("contiguous", "bij,bjk->bik", (2, 2, 3), (2, 3, 2)), ("trace", "ii->", (3, 3)), ("diagonal", "ii->i", (3, 3)),
    ("transpose", "ij->ji", (2, 3)), ("sum", "ij->", (2, 3)), ("sum", "ij->j", (2, 3)), ("outer", "i,j->ij", (2,), (3,)), ("dot", "i,i->", (3,), (3,)), ("dot", "i,i", (3,), (3,)),
    ("implicit", "ij,jk", (2, 3), (3, 2)), ("implicit", "ba", (2, 3)), ("pointwise", "ij,ij->ij", (2, 3), (2, 3)), ("ellipsis", "...ij,...jk->...ik", (2, 2, 3), (2, 3, 2)), ("ellipsis", "...i->...", (2, 3, 2)),
    ("ellipsis", "i...,i->...", (3, 2), (3,)), ("three", "ij,jk,kl->il", (2, 3), (3, 2), (2, 2)), ("attention", "bhqd,bhkd->bhqk", (1, 2, 2, 3), (1, 2, 3, 3)), ("broadcast", "bij,bjk->bik", (1, 2, 3), (2, 3, 2)),
    ("spaces", " i j , j k -> i k ", (2, 3), (3, 2)), ("one", "ij,kj->ik", (2, 1), (3, 1)), ("upper", "Ab,bC->AC", (2, 3), (3, 2)),
]


def einsum_samples(torch, make):
    for label, equation, *shapes in EQUATIONS:
        yield S(label, equation, *(make(*s) for s in shapes)).but(wide=label == "contiguous")
    yield S("list", "ij,jk->ik", [make(2, 3), make(3, 2)]).narrow()
    yield S("strided", "ij,jk->ik", make(2, 3, layout="transposed"), make(3, 2, layout="transposed")).narrow()
    yield S("empty", "ij,jk->ik", make(2, 0), make(0, 3)).narrow()


def einsum_errors(torch, make):
    yield E("RuntimeError", ("3", "4"), "ij,jk->ik", make(2, 3), make(4, 2))
    yield E("RuntimeError", (), "ij,jk->ik", make(2, 3))
    yield E("RuntimeError", (), "ij->ijk", make(2, 3))
    yield E("RuntimeError", (), "ij->ii", make(2, 3))
    yield E("RuntimeError", (), "i", make(2, 3))
    yield E("RuntimeError", (), "i1->i", make(2, 3))
    yield E("RuntimeError", (), "ij-k", make(2, 3))


def big(*shapes):
    return dict(library=True, big=lambda torch, make: (tuple(make(*s) for s in shapes), {}))


def rows():
    g = dict(group="linalg", dtypes=NUMBERS, tol=PRODUCT)
    yield Op("mm", then(products((2, 3), (3, 4)), pairs(("empty", (0, 3), (3, 2)), ("empty", (2, 0), (0, 3)), ("long", (17, 70), (70, 9)), ("row", (1, 3), (3, 1)))), method="mm", out=1, **big((301, 257), (257, 190)),
             errors=pair_errors(("RuntimeError", ("2x3", "4x2"), (2, 3), (4, 2)), ("RuntimeError", (), (2, 3, 1), (3, 2))), **g)
    yield Op("bmm", then(products((2, 2, 3), (2, 3, 2)), pairs(("empty", (0, 2, 3), (0, 3, 2)), ("empty", (2, 2, 0), (2, 0, 3)), ("long", (3, 9, 33), (3, 33, 5)))), method="bmm", out=1, **big((6, 90, 65), (6, 65, 70)),
             errors=pair_errors(("RuntimeError", ("2, 3",), (2, 2, 3), (2, 4, 2)), ("RuntimeError", (), (2, 3), (3, 2)), ("RuntimeError", (), (2, 2, 3), (3, 3, 2))), **g)
    yield Op("matmul", then(matmul_shapes, products((2, 3), (3, 2))), method="matmul", out=1, operator="matmul", quirks={"out": "a strided out= for a batch times a matrix is refused"},
             errors=pair_errors(("RuntimeError", ("2x3", "4x2"), (2, 3), (4, 2)), ("RuntimeError", (), (3,), (4,)), ("RuntimeError", ("1D",), (), (3,)), ("RuntimeError", ("2", "3"), (2, 2, 3), (3, 3, 2))), **g)
    yield Op("mv", then(products((2, 3), (3,)), pairs(("empty", (2, 0), (0,)), ("long", (9, 70), (70,)))), method="mv", out=1, **big((500, 301), (301,)),
             errors=pair_errors(("RuntimeError", ("2", "3", "4"), (2, 3), (4,)), ("RuntimeError", (), (3,), (3,))), **g)
    yield Op("dot", then(products((3,), (3,)), pairs(("empty", (0,), (0,)), ("long", (133,), (133,)))), method="dot", out=1, **big((100_001,), (100_001,)),
             errors=pair_errors(("RuntimeError", ("3", "4"), (3,), (4,)), ("RuntimeError", ("1D",), (2, 2), (2,))), **g)
    yield Op("outer", products((2,), (3,)), dtypes=ALL, group="linalg", method="outer", out=1, errors=pair_errors(("RuntimeError", ("2",), (2, 2), (3,))))
    yield Op("addmm", add_samples((2, 4), (2, 3), (3, 4)), method="addmm", inplace="addmm_", out=1, errors=addmm_errors, **g)
    yield Op("addmv", add_samples((2,), (2, 3), (3,)), method="addmv", inplace="addmv_", out=1, **g)
    yield Op("baddbmm", add_samples((2, 2, 2), (2, 2, 3), (2, 3, 2)), method="baddbmm", inplace="baddbmm_", out=1,
             errors=lambda torch, make: [E("RuntimeError", (), make(2, 2, 2), make(2, 2, 3), make(2, 4, 2)), E("RuntimeError|IndexError", (), make(2, 2), make(2, 3), make(3, 2))], **g)
    yield Op("linear", linear_samples, "nn.functional.linear", group="linalg", dtypes=FLOATS + COMPLEX + ("i64",), tol=PRODUCT, errors=linear_errors, **big((4000, 65), (33, 65), (33,)))
    yield Op("einsum", einsum_samples, errors=einsum_errors, **dict(g, dtypes=FLOATS + COMPLEX + ("i64",)))


OPS = list(rows())
