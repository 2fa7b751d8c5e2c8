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
