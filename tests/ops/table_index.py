# SPDX-License-Identifier: Apache-2.0
"""Reading and writing by index: gather and scatter, masks, embeddings, and every form of x[...]."""
import numpy as np
from opspec import ALL, FLOATS, INTS, STRUCTURAL, E, Op, S

MIN64 = -2**63
OUT = ("out of",)


def gather_samples(torch, make):
    yield S("contiguous", make(3, 4), 1, make.ints([[0, 3], [1, 1], [2, 0]]))
    yield S("dim", make(3, 4), 0, make.ints([[0, 2, 1, 1]]))
    yield S("negative", make(2, 3, 2), -1, make.ints([[[1], [0], [1]], [[0], [0], [1]]])).narrow()
    yield S("strided", make(3, 4, layout="transposed"), 1, make.ints([[0, 3], [1, 1], [2, 0]])).narrow()
    yield S("strided", make(3, 4, layout="step"), 0, make.ints([[0, 1], [2, 1], [0, 0], [1, 1]]).t()).narrow()
    yield S("scalar", make(), 0, make.ints(0)).narrow()
    yield S("vector", make(5), 0, make.ints([4, 4, 0])).narrow()
    yield S("empty", make(3, 4), 1, make.ints(np.zeros((3, 0)))).narrow()


def gather_errors(torch, make):
    yield E("RuntimeError", (*OUT, "4"), make(3, 4), 1, make.ints([[4]]))
    yield E("RuntimeError", OUT, make(3, 4), 1, make.ints([[-1]]))
    yield E("RuntimeError", OUT, make(3, 4), 1, make.ints([[MIN64]]))
    yield E("IndexError", ("2",), make(3, 4), 2, make.ints([[0]]))
    yield E("RuntimeError", ("int64",), make(3, 4), 1, make.wrap([[0.0]], "f32"))
    yield E("RuntimeError", (), make(3, 4), 1, make.ints([0]))
    yield E("RuntimeError", (), make(3, 4), 1, make.ints(np.zeros((5, 1))))


def take_along_samples(torch, make):
    yield S("contiguous", make(3, 4), make.ints([[0, 3], [1, 1], [2, 0]]), 1)
    yield S("broadcast", make(3, 4), make.ints([[0, 2]]), 1)
    yield S("flat", make(2, 3), make.ints([5, 0])).narrow()
    yield S("wrap", make(3, 4), make.ints([[-1], [1], [-4]]), 1).narrow()
    yield S("negative", make(3, 4), make.ints([[0], [1], [2]]), -1).narrow()


def scatter_samples(torch, make):
    yield S("contiguous", make(3, 4), 1, make.ints([[0, 3], [1, 2], [2, 0]]), make(3, 2))
    yield S("dim", make(3, 4), 0, make.ints([[0, 2, 1, 1]]), make(1, 4))
    yield S("larger", make(3, 4), 1, make.ints([[1], [0]]), make(3, 4)).narrow()
    yield S("strided", make(3, 4, layout="transposed"), 1, make.ints([[0, 3], [1, 2], [2, 0]]), make(3, 2, layout="transposed")).narrow()
    yield S("scalar", make(), 0, make.ints(0), make()).narrow()
    yield S("empty", make(3, 4), 1, make.ints(np.zeros((3, 0))), make(3, 4)).narrow()


def scatter_add_samples(torch, make):
    yield from scatter_samples(torch, make)
    yield S("repeated", make(2, 3), 1, make.ints([[0, 0, 0], [2, 2, 1]]), make(2, 3))
    yield S("repeated", make(3), 0, make.ints([1, 1, 1, 1, 0]), make(5)).narrow()


def scatter_errors(torch, make):
    yield E("RuntimeError", (*OUT, "4"), make(3, 4), 1, make.ints([[4]]), make(1, 1))
    yield E("RuntimeError", OUT, make(3, 4), 1, make.ints([[-1]]), make(1, 1))
    yield E("RuntimeError", OUT, make(3, 4), 1, make.ints([[MIN64]]), make(1, 1))
    yield E("IndexError", ("2",), make(3, 4), 2, make.ints([[0]]), make(1, 1))
    yield E("RuntimeError", ("int64",), make(3, 4), 1, make.wrap([[0.0]], "f32"), make(1, 1))
    yield E("RuntimeError", (), make(3, 4), 1, make.ints(np.zeros((3, 3))), make(2, 2))
    yield E("RuntimeError", ("dtype",), make(3, 4, dtype="f32"), 1, make.ints([[0]]), make(1, 1, dtype="f64"))


def scatter_value(torch, make):
    yield S("number", make(3, 4), 1, make.ints([[0, 3], [1, 2], [2, 0]]), 1)
    yield S("number", make(3, 4), 0, make.ints([[0, 2, 1, 1]]), value=2).narrow()


def scatter_reduced(torch, make):
    for how in ("add", "multiply"):
        yield S(how, make(2, 3), 1, make.ints([[0, 0], [2, 2]]), make(2, 2), reduce=how)


def select_samples(torch, make):
    yield S("contiguous", make(3, 4), 1, make.ints([2, 0, 0, 3]))
    yield S("dim", make(3, 4), 0, make.ints([1, 1]))
    yield S("negative", make(2, 3, 2), -2, make.ints([2, 0])).narrow()
    yield S("int32", make(3, 4), 0, make.ints([1, 2], "i32")).narrow()
    yield S("strided", make(3, 4, layout="transposed"), 1, make.ints([2, 0])).narrow()
    yield S("strided", make(3, 4, layout="step"), 0, make.ints([2, 0])).narrow()
    yield S("vector", make(5), 0, make.ints([4, 0])).narrow()
    yield S("scalar", make(), 0, make.ints([0])).narrow()
    yield S("one", make(3, 4), 0, make.ints(1)).narrow()
    yield S("empty", make(3, 4), 0, make.ints([])).narrow()
    yield S("empty", make(0, 4), 1, make.ints([1, 2])).narrow()


def select_errors(torch, make):
    yield E("IndexError|RuntimeError", OUT, make(3, 4), 0, make.ints([3]))
    yield E("IndexError|RuntimeError", OUT, make(3, 4), 0, make.ints([-1]))
    yield E("IndexError|RuntimeError", OUT, make(3, 4), 1, make.ints([MIN64]))
    yield E("IndexError", ("Dimension out of range", "2"), make(3, 4), 2, make.ints([0]))
    yield E("IndexError|RuntimeError", (), make(3, 4), 0, make.ints([[0, 1]]))
    yield E("RuntimeError|IndexError", (), make(3, 4), 0, make.wrap([0.0], "f32"))


def index_add_samples(torch, make):
    yield S("contiguous", make(3, 4), 0, make.ints([0, 2]), make(2, 4))
    yield S("repeated", make(3, 4), 1, make.ints([1, 1, 0]), make(3, 3))
    yield S("alpha", make(3, 4), 0, make.ints([0, 2]), make(2, 4), alpha=2).but(wide=not make.is_bool)
    yield S("vector", make(4), 0, make.ints([3, 3]), make(2)).narrow()
    yield S("strided", make(3, 4, layout="transposed"), 1, make.ints([1, 3]), make(3, 2, layout="transposed")).narrow()
    yield S("empty", make(3, 4), 0, make.ints([]), make(0, 4)).narrow()


def index_copy_samples(torch, make):
    yield S("contiguous", make(3, 4), 0, make.ints([0, 2]), make(2, 4))
    yield S("dim", make(3, 4), 1, make.ints([3, 0]), make(3, 2))
    yield S("vector", make(4), 0, make.ints([3, 1]), make(2)).narrow()


def index_add_errors(torch, make):
    yield E("IndexError|RuntimeError", OUT, make(3, 4), 0, make.ints([3]), make(1, 4))
    yield E("IndexError|RuntimeError", OUT, make(3, 4), 0, make.ints([-1]), make(1, 4))
    yield E("RuntimeError|IndexError", (), make(3, 4), 0, make.ints([0, 1]), make(1, 4))
    yield E("RuntimeError|IndexError", (), make(3, 4), 0, make.ints([0]), make(1, 3))
    yield E("RuntimeError", (), make(3, 4, dtype="f32"), 0, make.ints([0]), make(1, 4, dtype="f64"))


def index_reduce_samples(torch, make):
    for how in ("prod", "mean", "amax", "amin"):
        yield S(how, make(3, 4), 0, make.ints([0, 2]), make(2, 4), how)
        yield S(how + " repeated", make(3, 4), 1, make.ints([1, 1, 0]), make(3, 3), how).narrow()
        yield S(how + " alone", make(3, 4), 0, make.ints([2, 2]), make(2, 4), how, include_self=False).narrow()
    yield S("vector", make(4), 0, make.ints([3, 3]), make(2), "prod").narrow()
    yield S("strided", make(3, 4, layout="transposed"), 1, make.ints([1, 3]), make(3, 2, layout="transposed"), "amax").narrow()
    yield S("empty", make(3, 4), 0, make.ints([]), make(0, 4), "mean").narrow()


def index_reduce_errors(torch, make):
    yield E("RuntimeError", ("reduce", "sum"), make(3, 4), 0, make.ints([0]), make(1, 4), "sum")
    yield from (E(e.type, e.words, *e.args, "prod") for e in index_add_errors(torch, make))


def index_fill_samples(torch, make):
    yield S("number", make(3, 4), 0, make.ints([0, 2]), 1)
    yield S("tensor", make(3, 4), 1, make.ints([3]), make()).narrow()


def masked_fill_samples(torch, make):
    yield S("contiguous", make(3, 4), make.mask(3, 4), 1)
    yield S("number", make(3, 4), make.mask(3, 4), 2 if make.is_int or make.is_bool else -2.5)
    yield S("broadcast", make(3, 4), make.mask(4), 1)
    yield S("broadcast", make(2, 3, 4), make.mask(3, 1), 0).narrow()
    yield S("broadcast", make(4), make.mask(3, 4), 1).narrow().but(inplace=False)
    yield S("tensor", make(3, 4), make.mask(3, 4), make())
    yield S("strided", make(3, 4, layout="transposed"), make.mask(3, 4), 1).narrow()
    yield S("expanded", make(3, 4, layout="expanded"), make.mask(3, 4), 1).narrow().but(grad=False)
    yield S("infinite", make(3, 4), make.mask(3, 4), float("-inf")).but(grad=False)
    yield S("empty", make(0, 4), make.mask(4), 1).narrow()


def masked_fill_errors(torch, make):
    yield E("RuntimeError", ("bool",), make(3), make.ints([0, 1, 0]), 1)
    yield E("RuntimeError", ("3", "4"), make(3), make.mask(4), 1)
    yield E("RuntimeError", ("0",), make(3), make.mask(3), make(3))
    yield E("TypeError", ("str",), make(3), make.mask(3), "x")


def masked_select_samples(torch, make):
    yield S("contiguous", make(3, 4), make.mask(3, 4))
    yield S("broadcast", make(3, 4), make.mask(4))
    yield S("broadcast", make(4), make.mask(3, 1)).narrow()
    yield S("strided", make(3, 4, layout="transposed"), make.mask(3, 4)).narrow()
    yield S("none", make(3), make.ints([0, 0, 0]).bool()).narrow()
    yield S("scalar", make(), make.ints(1).bool()).narrow()
    yield S("empty", make(0, 3), make.mask(3)).narrow()


def masked_scatter_samples(torch, make):
    yield S("contiguous", make(3, 4), make.mask(3, 4), make(12))
    yield S("broadcast", make(3, 4), make.mask(4), make(3, 4)).narrow()


def nonzero_samples(torch, make):
    yield S("contiguous", make(3, 4, low=-1, high=2))
    yield S("vector", make(6, low=-1, high=2))
    yield S("strided", make(3, 4, low=-1, high=2, layout="transposed")).narrow()
    yield S("scalar", make(low=1, high=2)).narrow()
    yield S("scalar", make() * 0 if not make.is_bool else make()).narrow()
    yield S("empty", make(0, 3)).narrow()


def take_samples(torch, make):
    yield S("contiguous", make(3, 4), make.ints([[0, 11], [5, -1]]))
    yield S("strided", make(3, 4, layout="transposed"), make.ints([0, 7])).narrow()


def put_samples(torch, make):
    yield S("one", make(3, 4), (make.ints([0, 2]),), make(2, 4))
    yield S("two", make(3, 4), (make.ints([0, 2]), make.ints([1, 1])), make(2))
    yield S("broadcast", make(3, 4), (make.ints([[0], [2]]), make.ints([1, 3])), make()).narrow()
    yield S("mask", make(3, 4), (make.ints([1, 0, 1]).bool(),), make(4)).narrow()
    yield S("accumulate", make(3, 4), (make.ints([1, 1, 0]),), make(3, 4), True)
    yield S("accumulate", make(3), (make.ints([1, 1, 1, -1]),), make(4), accumulate=True).narrow()


def put_errors(torch, make):
    yield E("IndexError", ("3",), make(3, 4), (make.ints([3]),), make(1, 4))
    yield E("IndexError", (), make(3, 4), (make.ints([MIN64]),), make(1, 4))
    yield E("IndexError", (), make(3), (make.ints([0]), make.ints([0])), make(1))
    yield E("RuntimeError|IndexError", (), make(3, 4), (make.ints([0, 1]),), make(3, 4))
    yield E("IndexError", (), make(3, 4), (make.mask(4),), make(4))


def embedding_samples(torch, make):
    yield S("contiguous", make.ints([[0, 2], [4, 2]]), make(5, 3))
    yield S("vector", make.ints([1, 1, 1]), make(5, 3)).narrow()
    yield S("int32", make.ints([1, 4], "i32"), make(5, 3)).narrow()
    yield S("padding", make.ints([0, 2, 1]), make(5, 3), padding_idx=2).narrow().but(grad=False)
    yield S("padding", make.ints([0, 4, 1]), make(5, 3), padding_idx=-1).narrow().but(grad=False)
    yield S("frequency", make.ints([1, 1, 2]), make(5, 3), scale_grad_by_freq=True).narrow().but(grad=False)
    yield S("scalar", make.ints(3), make(5, 3)).narrow()
    yield S("strided", make.ints([[0, 2], [4, 2]]).t(), make(5, 3, layout="transposed")).narrow()
    yield S("empty", make.ints([]), make(5, 3)).narrow().but(grad=False)


def embedding_errors(torch, make):
    yield E("IndexError", OUT, make.ints([5]), make(5, 3))
    yield E("IndexError", OUT, make.ints([-1]), make(5, 3))
    yield E("IndexError", OUT, make.ints([MIN64]), make(5, 3))
    yield E("RuntimeError", ("Float",), make.wrap([1.0], "f32"), make(5, 3))
    yield E("RuntimeError", ("2-D",), make.ints([1]), make(5))


# ---- x[index] --------------------------------------------------------------------------------------------

def index_forms(torch, make):
    """(label, shape, index): every kind of index and their mixtures."""
    i, b = make.ints, lambda v: make.wrap(np.array(v, bool), "bool")
    yield "int", (3, 4), 1
    yield "int", (3, 4), -1
    yield "int", (3, 4), (2, -3)
    yield "int", (3,), 2
    yield "slice", (5, 4), slice(1, 4)
    yield "slice", (5, 4), slice(None)
    yield "slice", (5, 4), slice(None, None, 2)
    yield "slice", (5, 4), slice(-3, None)
    yield "slice", (5, 4), slice(1, 100)
    yield "slice", (5, 4), slice(4, 2)
    yield "slice", (5, 4), (slice(1, 4, 2), slice(None, 3, 2))
    yield "slice", (5, 4), (slice(None), 2)
    yield "slice", (5, 4), (1, slice(1, 3))
    yield "none", (3, 4), None
    yield "none", (3, 4), (None, 1)
    yield "none", (3, 4), (slice(None), None, slice(1, 3))
    yield "none", (), None
    yield "ellipsis", (2, 3, 4), Ellipsis
    yield "ellipsis", (2, 3, 4), (Ellipsis, 1)
    yield "ellipsis", (2, 3, 4), (0, Ellipsis, slice(1, 3))
    yield "ellipsis", (2, 3, 4), (Ellipsis, None)
    yield "ellipsis", (2, 3), (0, 1, Ellipsis)
    yield "ellipsis", (), Ellipsis
    yield "empty", (2, 3), ()
    yield "tensor", (4, 3), i([0, 2, -1])
    yield "tensor", (4, 3), i([[0, 2], [1, 3]])
    yield "tensor", (4, 3), i(2)
    yield "tensor", (4, 3), i([])
    yield "tensor", (4, 3), i([1, 3], "i32")
    yield "tensors", (4, 3), (i([0, 2]), i([1, -1]))
    yield "tensors", (4, 3), (i([[0], [2]]), i([1, 2]))
    yield "tensors", (4, 3), (i([0, 2]), 1)
    yield "tensors", (2, 3, 4), (i([0, 1]), slice(None), i([1, 3]))
    yield "tensors", (2, 3, 4), (slice(None), i([0, 2]), i([1, 3]))
    yield "tensors", (2, 3, 4), (slice(None), i([0, 2]))
    yield "tensors", (2, 3, 4), (Ellipsis, i([0, 2]))
    yield "tensors", (2, 3, 4), (i([0, 1]), None, i([1, 2]))
    yield "tensors", (2, 3, 4), (0, i([0, 2]), slice(1, 3))
    yield "tensors", (2, 3, 4), (0, slice(None), i([0, 2]))
    yield "tensors", (2, 3, 4), (i([0, 1]), 1, i([1, 2]))
    yield "mask", (4,), b([1, 0, 1, 1])
    yield "mask", (2, 3), b([[1, 0, 1], [0, 1, 0]])
    yield "mask", (3, 4), b([1, 0, 1])
    yield "mask", (3, 4), (slice(None), b([1, 0, 1, 0]))
    yield "mask", (2, 3, 2), (b([[1, 0, 1], [0, 1, 0]]), 1)
    yield "mask", (2, 3, 2), (Ellipsis, b([1, 0]))
    yield "mask", (3, 4), (b([1, 0, 1]), i([2, 3]))
    yield "mask", (3, 4), b([0, 0, 0])
    yield "mask", (3,), b(True)
    yield "mask", (3,), b(False)
    yield "bool", (3,), True
    yield "bool", (3,), False
    yield "bool", (2, 3), (True, 1)
    yield "list", (4, 3), [0, 2]
    yield "list", (4, 3), ([0, 2], [1, 1])
    yield "list", (4, 3), [True, False, True, False]
    yield "range", (4, 3), range(1, 3)
    yield "numpy", (4, 3), np.array([2, 0])
    yield "numpy", (4, 3), np.int64(2)
    yield "number", (4, 3), i(1)


def getitem_samples(torch, make):
    for label, shape, index in index_forms(torch, make):
        meta = label not in ("mask", "bool", "list", "number", "numpy", "range") and "empty" not in label
        yield S(label, make(*shape), index).but(wide=label in ("slice", "tensor", "mask"), meta=meta and no_scalar_tensor(torch, index))
    yield S("repeated", make(4, 3), make.ints([1, 1, -3]))
    for label, shape, index in index_forms(torch, make):
        if label in ("slice", "tensors", "mask", "int", "none") and len(shape) > 1:
            yield S("strided." + label, make(*shape, layout="transposed"), index).narrow().but(grad=False, meta=False)


def no_scalar_tensor(torch, index):
    """An integer tensor without dimensions is read as a number: the meta device has none."""
    parts = index if isinstance(index, tuple) else (index,)
    return not any(isinstance(p, torch.Tensor) and (p.dim() == 0 or p.dtype == torch.bool) for p in parts)


def setitem(torch, x, index, value):
    x = x.clone()
    x[index] = value
    return x


def setitem_samples(torch, make):
    for label, shape, index in index_forms(torch, make):
        yield S(label + ".number", make(*shape), index, 1).but(wide=label in ("slice", "tensor", "mask"), grad=False)
        target = make(*shape)
        part = target[index]
        same = make(*part.shape)
        yield S(label, target, index, same).narrow()
        yield S(label + ".scalar", target, index, make()).narrow().but(grad=False)
    yield S("broadcast", make(3, 4), slice(None), make(4)).narrow()
    yield S("broadcast", make(3, 4), (slice(None), make.ints([0, 2])), make(3, 1)).narrow()
    yield S("broadcast", make(3, 4), make.ints([0, 2]), make(4)).narrow()
    yield S("lead", make(3, 4), 0, make(1, 4)).narrow()
    yield S("cast", make(3, 4), slice(0, 2), make(2, 4, dtype="i32")).but(grad=False)
    yield S("strided", make(3, 4, layout="transposed"), (slice(None), 1), make(3)).narrow()
    yield S("repeated", make(4), make.ints([1, 1, 2]), 1).but(grad=False)


def getitem_errors(torch, make):
    x = make(3, 4)
    yield E("IndexError", ("3", "dimension 0", "size 3"), x, 3)
    yield E("IndexError", ("-4",), x, -4)
    yield E("IndexError", ("too many indices",), x, (0, 0, 0))
    yield E("IndexError", ("3", "dimension 0", "size 3"), x, make.ints([3]))
    yield E("IndexError", ("-5", "size 4"), x, (slice(None), make.ints([-5])))
    yield E("IndexError", (), x, make.ints([MIN64]))
    yield E("IndexError", ("shape", "[2]", "[3, 4]"), x, make.mask(2))
    yield E("IndexError", ("shape", "[3, 3]"), x, make.mask(3, 3))
    yield E("IndexError", ("[2]", "[3]"), x, (make.ints([0, 1]), make.ints([0, 1, 2])))
    yield E("IndexError|RuntimeError", ("long", "bool"), x, make.wrap([0.0, 1.0], "f32"))
    yield E("ValueError", ("step",), x, slice(None, None, -1))
    yield E("ValueError", ("step",), x, slice(None, None, 0))
    yield E("IndexError|TypeError", ("str",), x, "a")
    yield E("IndexError|TypeError", (), x, 1.5)
    yield E("IndexError", (), make(), 0)
    yield E("IndexError", (), make(0), 0)
    yield E("IndexError", (), x, (Ellipsis, Ellipsis, 0, 0, 0))
    yield E("TypeError|IndexError", (), x, slice("a", None))


def setitem_errors(torch, make):
    x = make(3, 4)
    yield E("IndexError", ("3",), x, 3, 1)
    yield E("RuntimeError", ("5", "4"), x, 0, make(5))
    yield E("RuntimeError|IndexError", (), x, make.ints([0, 1]), make(3, 4))
    yield E("RuntimeError|IndexError", (), x, make.wrap(np.array([1, 0, 1], bool), "bool"), make(3, 4))
    yield E("IndexError", (), x, make.ints([-4]), 1)
    yield E("TypeError", ("str",), x, 0, "a")
    yield E("ValueError", ("step",), x, slice(None, None, -1), 1)
    yield E("IndexError", ("shape",), x, make.mask(4), 1)


def rows():
    g = dict(group="index")
    yield Op("gather", gather_samples, dtypes=ALL, method="gather", out=1, errors=gather_errors,
             big=lambda torch, make: ((make(70, 1001), 1, make(70, 1001, dtype="i64", low=0, high=1001)), {}), **g)
    yield Op("take_along_dim", take_along_samples, dtypes=STRUCTURAL, method="take_along_dim", out=1, errors=lambda torch, make: [
        E("RuntimeError", ("2",), make(3, 4), make.ints([0]), 1)], **g)
    yield Op("scatter", scatter_samples, dtypes=ALL, method="scatter", inplace="scatter_", out=1, errors=scatter_errors, **g)
    yield Op("scatter.value", scatter_value, "scatter", ALL, method="scatter", inplace="scatter_", out=1, **g)
    yield Op("scatter.reduce", scatter_reduced, "scatter", FLOATS + INTS, method="scatter", inplace="scatter_", grad=False, out=1, **g)
    yield Op("scatter_add", scatter_add_samples, dtypes=ALL, method="scatter_add", inplace="scatter_add_", out=1, errors=scatter_errors,
             big=lambda torch, make: ((make(70, 1001), 1, make(70, 1001, dtype="i64", low=0, high=50), make(70, 1001)), {}), **g)
    yield Op("index_select", select_samples, dtypes=ALL, method="index_select", out=1, errors=select_errors,
             big=lambda torch, make: ((make(1001, 70), 0, make(3000, dtype="i64", low=0, high=1001)), {}), **g)
    yield Op("index_reduce", index_reduce_samples, dtypes=("f32", "f64", "bf16", "i64"), method="index_reduce", inplace="index_reduce_", out=1,
             errors=index_reduce_errors, group="index")
    yield Op("index_add", index_add_samples, dtypes=ALL, method="index_add", inplace="index_add_", out=1, errors=index_add_errors,
             big=lambda torch, make: ((make(50, 100), 0, make(2000, dtype="i64", low=0, high=50), make(2000, 100)), {}), **g)
    yield Op("index_copy", index_copy_samples, dtypes=STRUCTURAL, method="index_copy", inplace="index_copy_", out=1, **g)
    yield Op("index_fill", index_fill_samples, dtypes=STRUCTURAL, method="index_fill", inplace="index_fill_", **g)
    yield Op("index_put", put_samples, dtypes=STRUCTURAL, method="index_put", inplace="index_put_", errors=put_errors, meta=False, **g)
    yield Op("masked_fill", masked_fill_samples, dtypes=ALL, method="masked_fill", inplace="masked_fill_", errors=masked_fill_errors,
             big=lambda torch, make: ((make(70, 1001), make.mask(1001), 0.5), {}), **g)
    yield Op("masked_select", masked_select_samples, dtypes=ALL, method="masked_select", out=1, meta=False, errors=lambda torch, make: [
        E("RuntimeError", ("Bool",), make(3), make(3)), E("RuntimeError", ("3", "4"), make(3), make.mask(4))],
        big=lambda torch, make: ((make(70, 1001), make.mask(70, 1001)), {}), **g)
    yield Op("masked_scatter", masked_scatter_samples, dtypes=STRUCTURAL, method="masked_scatter", inplace="masked_scatter_", **g)
    yield Op("nonzero", nonzero_samples, dtypes=ALL, method="nonzero", out=1, grad=False, meta=False,
             big=lambda torch, make: ((make(70, 1001, low=-1, high=2, dtype="i64"),), {}), **g)
    yield Op("nonzero.tuple", lambda torch, make: [S("contiguous", make(3, 4, low=-1, high=2), as_tuple=True), S("vector", make(5, low=-1, high=2), as_tuple=True)],
             "nonzero", STRUCTURAL, grad=False, meta=False, **g)
    yield Op("argwhere", nonzero_samples, dtypes=STRUCTURAL, method="argwhere", grad=False, meta=False, **g)
    yield Op("where.condition", lambda torch, make: [S("contiguous", make(3, 4, low=-1, high=2))], "where", STRUCTURAL, grad=False, meta=False, **g)
    yield Op("take", take_samples, dtypes=STRUCTURAL, method="take", errors=lambda torch, make: [
        E("IndexError", OUT, make(3, 4), make.ints([12])), E("IndexError", OUT, make(3, 4), make.ints([-13])), E("RuntimeError", (), make(3), make.wrap([0.0], "f32"))], **g)
    yield Op("embedding", embedding_samples, "nn.functional.embedding", FLOATS + ("c64",), errors=embedding_errors,
             big=lambda torch, make: ((make(100, 50, dtype="i64", low=0, high=30), make(30, 64)), {}), **g)
    yield Op("getitem", getitem_samples, lambda torch, x, index: x[index], STRUCTURAL, errors=getitem_errors, **g)
    yield Op("setitem", setitem_samples, setitem, STRUCTURAL, errors=setitem_errors, meta=False, **g)


OPS = list(rows())
