# SPDX-License-Identifier: Apache-2.0
"""Indices outside, masks of wrong size, windows that do not fit."""
import operator

from hostile import MAX64, MIN64, bad, equal, fine, survives


for value in (5, -6, MIN64, MAX64):
    bad(f"embedding index {value}", "IndexError", ("out of",), lambda t, v=value: t.nn.functional.embedding(t.tensor([v]), t.zeros(5, 2)), names="embedding")
    bad(f"gather index {value}", "RuntimeError|IndexError", ("out of",), lambda t, v=value: t.gather(t.zeros(5), 0, t.tensor([v])), names="gather")
    bad(f"scatter index {value}", "RuntimeError|IndexError", ("out of",), lambda t, v=value: t.zeros(5).scatter(0, t.tensor([v]), 1.0), names="scatter")
    bad(f"scatter_add index {value}", "RuntimeError|IndexError", ("out of",), lambda t, v=value: t.zeros(5).scatter_add(0, t.tensor([v]), t.ones(1)), names="scatter_add")
    bad(f"index_select index {value}", "RuntimeError|IndexError", ("out of",), lambda t, v=value: t.zeros(5).index_select(0, t.tensor([v])), names="index_select")
    bad(f"index_select of rows, index {value}", "RuntimeError|IndexError", ("out of",), lambda t, v=value: t.zeros(5, 40).index_select(0, t.tensor([v])), names="index_select")
    bad(f"index_add index {value}", "RuntimeError|IndexError", ("out of",), lambda t, v=value: t.zeros(5).index_add(0, t.tensor([v]), t.ones(1)), names="index_add")
    bad(f"getitem index {value}", "IndexError", ("out of",), lambda t, v=value: t.zeros(5)[t.tensor([v])], names="index")
    bad(f"setitem index {value}", "IndexError", ("out of",), lambda t, v=value: t.zeros(5).__setitem__(t.tensor([v]), 1.0), names="index")
    bad(f"index_put accumulate index {value}", "IndexError", ("out of",), lambda t, v=value: t.zeros(5).index_put((t.tensor([v]),), t.ones(1), True), names="index")
    bad(f"take index {value}", "IndexError", ("out of",), lambda t, v=value: t.take(t.zeros(5), t.tensor([v])), names="take")
    bad(f"cross_entropy target {value}", "IndexError", ("out of bounds",), lambda t, v=value: t.nn.functional.cross_entropy(t.zeros(1, 5), t.tensor([v])), names="target")
    bad(f"number as index {value}", "IndexError", ("out of",), lambda t, v=value: t.zeros(5)[v], names="index")
    bad(f"select {value}", "IndexError", ("out of",), lambda t, v=value: t.zeros(5).select(0, v), names="select")
bad("index over 2^63", "IndexError|OverflowError|RuntimeError|TypeError|ValueError", (), lambda t: t.zeros(5)[2**70])
fine("slice over 2^63", lambda t: equal(t.arange(3)[-2**70:2**70], t.arange(3)))
fine("slice of MIN64 and MAX64", lambda t: equal(t.arange(3)[MIN64:MAX64], t.arange(3)))
fine("slice with step MAX64", lambda t: equal(t.arange(3)[::MAX64], t.arange(1)), quirk="overflows: sizes=[-1]")
bad("mask of another size", "IndexError", ("[3]", "[5]"), lambda t: t.zeros(5)[t.tensor([True, False, True])])
bad("mask of too many dimensions", "IndexError", ("too many",), lambda t: t.zeros(2)[t.ones(2, 2, dtype=t.bool)])
bad("too many indices", "IndexError", ("too many indices", "1"), lambda t: t.zeros(5)[0, 0])
bad("index tensors that do not combine", "IndexError", ("[2]", "[3]"), lambda t: t.zeros(5, 5)[t.tensor([0, 1]), t.tensor([0, 1, 2])])
bad("negative step", "ValueError", ("step",), lambda t: t.zeros(5)[::-1])
bad("index is a dict", "TypeError|IndexError", ("dict",), lambda t: t.zeros(5)[{}])
bad("setitem of a wrong shape", "RuntimeError", ("3", "2"), lambda t: t.zeros(5).__setitem__(slice(0, 2), t.zeros(3)))
bad("delete an item", "TypeError", (), lambda t: operator.delitem(t.zeros(5), 0))
bad("scatter of two dimensions into one", "RuntimeError", (), lambda t: t.zeros(5).scatter(0, t.zeros(1, 1, dtype=t.int64), 1.0))
bad("masked_scatter with too few values", "RuntimeError", (), lambda t: t.zeros(5).masked_scatter(t.ones(5, dtype=t.bool), t.ones(2)))
bad("index tensor in a graph of 0 elements", "IndexError", (), lambda t: t.zeros(0)[t.tensor([0])])

F = lambda t: t.nn.functional
bad("conv2d kernel larger than input", "RuntimeError", ("Kernel size", "input size"), lambda t: F(t).conv2d(t.zeros(1, 1, 2, 2), t.zeros(1, 1, 3, 3)))
for what, args in {"stride 0": (None, 0), "stride -1": (None, -1), "padding -1": (None, 1, -1), "dilation 0": (None, 1, 0, 0), "dilation -1": (None, 1, 0, -1), "groups 0": (None, 1, 0, 1, 0), "groups -1": (None, 1, 0, 1, -1), "groups 3": (None, 1, 0, 1, 3)}.items():
    bad(f"conv2d {what}", "RuntimeError", (what.split()[0],), lambda t, a=args: F(t).conv2d(t.zeros(1, 2, 4, 4), t.zeros(2, 2, 2, 2), *a))
bad("conv2d huge padding", "RuntimeError|MemoryError", (), lambda t: F(t).conv2d(t.zeros(1, 1, 2, 2), t.zeros(1, 1, 1, 1), None, 1, 2**40))
bad("conv2d padding that overflows", "RuntimeError|MemoryError", (), lambda t: F(t).conv2d(t.zeros(1, 1, 2, 2), t.zeros(1, 1, 1, 1), None, 1, 2**62))
survives("conv2d huge stride", lambda t: F(t).conv2d(t.zeros(1, 1, 4, 4), t.zeros(1, 1, 2, 2), None, 2**62))
survives("conv2d huge dilation", lambda t: F(t).conv2d(t.zeros(1, 1, 4, 4), t.zeros(1, 1, 2, 2), None, 1, 0, 2**62))
bad("conv2d empty kernel", "RuntimeError", (), lambda t: F(t).conv2d(t.zeros(1, 1, 4, 4), t.zeros(1, 1, 0, 0)))
survives("conv2d without channels", lambda t: F(t).conv2d(t.zeros(1, 0, 4, 4), t.zeros(2, 0, 1, 1)))
for what, args in {"kernel 0": (0, 1), "stride 0": (2, 0), "stride -1": (2, -1), "padding too large": (2, 1, 2), "padding -1": (2, 1, -1), "dilation 0": (2, 1, 0, 0), "kernel larger than input": (9,), "kernel -1": (-1, 1)}.items():
    bad(f"max_pool2d {what}", "RuntimeError", (), lambda t, a=args: F(t).max_pool2d(t.zeros(1, 1, 4, 4), *a))
survives("max_pool2d huge kernel", lambda t: F(t).max_pool2d(t.zeros(1, 1, 4, 4), 2**62))
survives("max_pool2d huge dilation", lambda t: F(t).max_pool2d(t.zeros(1, 1, 4, 4), 2, 1, 0, 2**62))
bad("layer_norm over nothing", "RuntimeError", (), lambda t: F(t).layer_norm(t.zeros(2, 3), ()))
bad("batch_norm of one value", "ValueError", ("more than 1 value",), lambda t: F(t).batch_norm(t.zeros(1, 3), None, None, training=True))


# ---- counts, places and sizes that make no sense
bad("bincount of a negative number", "RuntimeError", ("negative",), lambda t: t.bincount(t.tensor([1, -1])), names="bincount")
bad("bincount of MIN64", "RuntimeError", ("negative",), lambda t: t.bincount(t.tensor([MIN64])), names="bincount")
bad("bincount of a huge number", "RuntimeError|MemoryError", (), lambda t: t.bincount(t.tensor([2**50])))
bad("bincount of floats", "RuntimeError|NotImplementedError|TypeError", (), lambda t: t.bincount(t.tensor([1.0])))
bad("bincount with weights of another size", "RuntimeError", (), lambda t: t.bincount(t.tensor([1, 2]), t.ones(3)), names="bincount")
bad("bincount with a negative minlength", "RuntimeError", ("minlength",), lambda t: t.bincount(t.tensor([1]), minlength=-1), names="bincount")
bad("one_hot of a negative class", "RuntimeError", ("non-negative",), lambda t: F(t).one_hot(t.tensor([-1])), names="one_hot")
bad("one_hot of too large a class", "RuntimeError", ("smaller than num_classes",), lambda t: F(t).one_hot(t.tensor([5]), 3), names="one_hot")
bad("one_hot of a huge class", "RuntimeError|MemoryError", (), lambda t: F(t).one_hot(t.tensor([MAX64 - 1])))
for k in (-1, 6, MAX64, MIN64):
    bad(f"topk of {k}", "RuntimeError", ("out of range",), lambda t, k=k: t.zeros(5).topk(k), names="topk")
    bad(f"kthvalue {k}", "RuntimeError|IndexError", ("out of range",), lambda t, k=k: t.zeros(5).kthvalue(k), names="kthvalue")
    bad(f"put_ index {k}", "IndexError", ("out of",), lambda t, k=k: t.zeros(5).put_(t.tensor([k if k != -1 else -6]), t.ones(1)), names="put")
    bad(f"take_along_dim index {k}", "RuntimeError|IndexError", ("out of",), lambda t, k=k: t.zeros(5).take_along_dim(t.tensor([k if k != -1 else -6]), 0), quirk="reads outside")
    bad(f"index_copy index {k}", "RuntimeError|IndexError", ("out of",), lambda t, k=k: t.zeros(5).index_copy(0, t.tensor([k if k != -1 else -6]), t.ones(1)), names="index_copy")
    bad(f"index_fill index {k}", "RuntimeError|IndexError", ("out of",), lambda t, k=k: t.zeros(5).index_fill(0, t.tensor([k if k != -1 else -6]), 1.0), names="index_fill")
    bad(f"scatter_reduce index {k}", "RuntimeError|IndexError", ("out of",), lambda t, k=k: t.zeros(5).scatter_reduce(0, t.tensor([k if k != -1 else -6]), t.ones(1), "sum"), names="scatter")
    bad(f"nll_loss target {k}", "RuntimeError|IndexError", ("out of bounds",), lambda t, k=k: F(t).nll_loss(t.zeros(1, 5), t.tensor([k if k != -1 else -6])), names="nll_loss")
bad("scatter_reduce by an unknown word", "RuntimeError", ("reduce",), lambda t: t.zeros(5).scatter_reduce(0, t.tensor([0]), t.ones(1), "median"))
bad("index_copy of another size", "RuntimeError|IndexError", (), lambda t: t.zeros(5).index_copy(0, t.tensor([0, 1]), t.ones(1)))
bad("index_add of another size", "RuntimeError|IndexError", (), lambda t: t.zeros(5).index_add(0, t.tensor([0, 1]), t.ones(1)))
bad("repeat_interleave by a negative number", "RuntimeError", ("negative",), lambda t: t.zeros(2).repeat_interleave(t.tensor([-1, 2])), names="repeat_interleave")
bad("repeat_interleave by too few", "RuntimeError", (), lambda t: t.zeros(3).repeat_interleave(t.tensor([1, 2])), names="repeat")
bad("narrow beyond the end", "RuntimeError|IndexError", ("exceeds", "3"), lambda t: t.zeros(3).narrow(0, 2, 2), names="start")
bad("unfold larger than the dimension", "RuntimeError", ("maximum size",), lambda t: t.zeros(3).unfold(0, 4, 1))
bad("unfold step 0", "RuntimeError", ("step",), lambda t: t.zeros(3).unfold(0, 1, 0))
bad("einsum of an unknown letter", "RuntimeError|ValueError", ("einsum",), lambda t: t.einsum("ij->ik", t.zeros(2, 2)))
bad("einsum of too few operands", "RuntimeError|ValueError", ("einsum",), lambda t: t.einsum("ij,jk->ik", t.zeros(2, 2)))
bad("einsum of sizes that differ", "RuntimeError|ValueError", ("einsum", "3", "2"), lambda t: t.einsum("ij,jk->ik", t.zeros(2, 3), t.zeros(2, 2)))
bad("tensordot of sizes that differ", "RuntimeError", ("3", "2"), lambda t: t.tensordot(t.zeros(2, 3), t.zeros(2, 2), 1), names="tensordot")
bad("cat of sizes that differ", "RuntimeError", ("3", "2"), lambda t: t.cat([t.zeros(2, 3), t.zeros(2, 2)]))
bad("stack of sizes that differ", "RuntimeError", ("equal size",), lambda t: t.stack([t.zeros(3), t.zeros(2)]), names="stack")
bad("cat of nothing", "RuntimeError|ValueError", ("non-empty",), lambda t: t.cat([]), names="cat")

# ---- windows of other operators
for what, run in {
    "avg_pool2d kernel 0": lambda t: F(t).avg_pool2d(t.zeros(1, 1, 4, 4), 0), "avg_pool2d stride 0": lambda t: F(t).avg_pool2d(t.zeros(1, 1, 4, 4), 2, 0),
    "avg_pool2d stride -1": lambda t: F(t).avg_pool2d(t.zeros(1, 1, 4, 4), 2, -1), "avg_pool2d padding too large": lambda t: F(t).avg_pool2d(t.zeros(1, 1, 4, 4), 2, 1, 2),
    "avg_pool2d kernel larger than input": lambda t: F(t).avg_pool2d(t.zeros(1, 1, 4, 4), 9), "avg_pool2d divisor 0": lambda t: F(t).avg_pool2d(t.zeros(1, 1, 4, 4), 2, divisor_override=0),
    "adaptive_avg_pool2d negative output": lambda t: F(t).adaptive_avg_pool2d(t.zeros(1, 1, 4, 4), (-1, 2)),
    "adaptive_avg_pool2d of nothing": lambda t: F(t).adaptive_avg_pool2d(t.zeros(1, 1, 0, 4), (1, 2)),
    "reflect beyond the input": lambda t: F(t).pad(t.zeros(1, 1, 3), (3, 0), mode="reflect"), "circular beyond the input": lambda t: F(t).pad(t.zeros(1, 1, 3), (4, 0), mode="circular"),
    "pad that removes too much": lambda t: F(t).pad(t.zeros(3), (-2, -2)), "pad of odd length": lambda t: F(t).pad(t.zeros(3), (1,)),
    "pad of too many dimensions": lambda t: F(t).pad(t.zeros(3), (1, 1, 1, 1)), "pad of MAX64": lambda t: F(t).pad(t.zeros(3), (MAX64, MAX64)),
    "conv_transpose2d output_padding too large": lambda t: F(t).conv_transpose2d(t.zeros(1, 1, 3, 3), t.zeros(1, 1, 2, 2), None, 1, 0, 5),
    "conv_transpose2d huge stride": lambda t: F(t).conv_transpose2d(t.zeros(1, 1, 3, 3), t.zeros(1, 1, 2, 2), None, MAX64),
    "conv1d of a wrong rank": lambda t: F(t).conv1d(t.zeros(3), t.zeros(1, 1, 1)), "conv2d weights of a wrong rank": lambda t: F(t).conv2d(t.zeros(1, 1, 3, 3), t.zeros(1, 1, 1)),
    "conv2d channels that differ": lambda t: F(t).conv2d(t.zeros(1, 3, 4, 4), t.zeros(2, 2, 1, 1)), "conv2d bias of another size": lambda t: F(t).conv2d(t.zeros(1, 1, 3, 3), t.zeros(2, 1, 1, 1), t.zeros(3)),
    "group_norm groups that do not divide": lambda t: F(t).group_norm(t.zeros(1, 3, 2), 2), "layer_norm of another shape": lambda t: F(t).layer_norm(t.zeros(2, 3), (4,)),
    "dropout probability 2": lambda t: F(t).dropout(t.zeros(3), 2.0), "dropout probability -1": lambda t: F(t).dropout(t.zeros(3), -1.0),
    "glu of an odd dimension": lambda t: F(t).glu(t.zeros(3)), "cosine_similarity of sizes that differ": lambda t: F(t).cosine_similarity(t.zeros(2, 3), t.zeros(2, 2)),
    "binary_cross_entropy outside 0..1": lambda t: F(t).binary_cross_entropy(t.tensor([2.0]), t.tensor([1.0])),
}.items():
    bad(what, "RuntimeError|ValueError|IndexError|MemoryError", (), run)
fine("adaptive_avg_pool2d to nothing", lambda t: F(t).adaptive_avg_pool2d(t.zeros(1, 1, 4, 4), (0, 2)).shape == (1, 1, 0, 2) or 1 / 0)
