# SPDX-License-Identifier: Apache-2.0
"""Operators that have a kernel of their own, called with what their callers would never give them: every one reads memory
by sizes, types and indices that it must not take on trust, the ones behind torch.ops as much as the public ones."""
from hostile import MAX64, MIN64, bad, survives

inf, nan = float("inf"), float("nan")
ABSENT = "absent from PyTorch"


def op(t, name, *arguments):
    return getattr(t.ops.aten, name)(*arguments)


def refuses(name, type, words, run):
    """PyTorch checks less here, and may crash: only Facula is held to it."""
    bad(name, type, words, run, quirk="reads what it is given")


# ---- normalisation: statistics, masks, products of sizes --------------------------------------------------------------------
def layer(t, grad=(2, 3), input=(2, 3), shape=(3,), mean=(2, 1), rstd=(2, 1), weight=(3,), mask=(True, True, True), dtype=None):
    return op(t, "native_layer_norm_backward", t.ones(grad), t.ones(input, dtype=dtype), list(shape), t.ones(mean), t.ones(rstd),
              None if weight is None else t.ones(weight), None, list(mask))


def rms(t, grad=(2, 3), input=(2, 3), shape=(3,), rstd=(2, 1), weight=(3,), mask=(True, True), dtype=None):
    return op(t, "_fused_rms_norm_backward", t.ones(grad), t.ones(input, dtype=dtype), list(shape), t.ones(rstd), t.ones(weight), list(mask))


def padded(t, grad=(1, 2, 6), sizes=(1, 2, 3), pad=(1, 2), mode=0):
    return t.ops.facula.pad_edges_backward(t.ones(grad), list(sizes), list(pad), mode)


def batch(t, grad=(2, 3, 4), input=(2, 3, 4), weight=(3,), running=(3,), saved=(3,), train=True, mask=(True, True, True)):
    make = lambda s: None if s is None else t.ones(s)
    return op(t, "native_batch_norm_backward", t.ones(grad), t.ones(input), make(weight), make(running), make(running), make(saved), make(saved),
              train, 1e-5, list(mask))


def group(t, grad=(2, 4, 3), input=(2, 4, 3), mean=(2, 2), rstd=(2, 2), weight=(4,), n=2, c=4, hxw=3, groups=2, mask=(True, True, True)):
    return op(t, "native_group_norm_backward", t.ones(grad), t.ones(input), t.ones(mean), t.ones(rstd), None if weight is None else t.ones(weight),
              n, c, hxw, groups, list(mask))


for name, run in {"layer_norm": layer, "batch_norm": batch, "group_norm": group}.items():
    for mask in ((), (True,), (True, True), (True,) * 4):
        refuses(f"{name} backward with a mask of {len(mask)}", "RuntimeError|TypeError", "3", lambda t, f=run, m=mask: f(t, mask=m))
    for grad in ((), (1,), (2, 3, 4, 5), (2, 30)):
        refuses(f"{name} backward of a gradient {list(grad)}", "RuntimeError", "shape", lambda t, f=run, g=grad: f(t, grad=g))
for statistics in ((), (1,), (0,), (3,), (2, 2)):
    refuses(f"layer_norm backward with mean {list(statistics)}", "RuntimeError", "statistics", lambda t, s=statistics: layer(t, mean=s))
    refuses(f"layer_norm backward with rstd {list(statistics)}", "RuntimeError", "statistics", lambda t, s=statistics: layer(t, rstd=s))
for statistics in ((), (1,), (0,), (2,), (5,)):
    refuses(f"batch_norm backward with saved {list(statistics)}", "RuntimeError", "statistics", lambda t, s=statistics: batch(t, saved=s))
    refuses(f"batch_norm backward with running {list(statistics)}", "RuntimeError", "elements", lambda t, s=statistics: batch(t, running=s, train=False))
    refuses(f"batch_norm backward with weight {list(statistics)}", "RuntimeError", "elements", lambda t, s=statistics: batch(t, weight=s))
    refuses(f"group_norm backward with mean {list(statistics)}", "RuntimeError", "statistics", lambda t, s=statistics: group(t, mean=s))
    refuses(f"group_norm backward with rstd {list(statistics)}", "RuntimeError", "statistics", lambda t, s=statistics: group(t, rstd=s))
refuses("batch_norm backward without saved statistics", "RuntimeError", "statistics", lambda t: batch(t, saved=None))
refuses("batch_norm backward without running statistics", "RuntimeError", "running_mean", lambda t: batch(t, running=None, train=False))
for input in ((), (0,), (3,)):
    refuses(f"batch_norm backward of {list(input)}", "RuntimeError", "2 dimensions", lambda t, s=input: batch(t, grad=s, input=s))
refuses("rms_norm backward with other statistics", "RuntimeError", "statistics", lambda t: rms(t, rstd=(3,)))
refuses("rms_norm backward of another gradient", "RuntimeError", "grad_out", lambda t: rms(t, grad=(2, 4)))
refuses("rms_norm backward of another weight", "RuntimeError", "weight", lambda t: rms(t, weight=(2,)))
refuses("rms_norm backward with three flags", "RuntimeError", "output_mask", lambda t: rms(t, mask=(True,) * 3))
bad("rms_norm backward of integers", "NotImplementedError|RuntimeError", (), lambda t: rms(t, dtype=t.int8))
refuses("pad backward of another gradient", "RuntimeError", "gradient of size", lambda t: padded(t, grad=(1, 2, 5)))
refuses("pad backward of huge widths", "RuntimeError", (), lambda t: padded(t, pad=(MAX64, MAX64)))
refuses("pad backward of huge sizes", "RuntimeError", (), lambda t: padded(t, sizes=(1, 2, MAX64)))
refuses("pad backward in no mode", "RuntimeError", "mode", lambda t: padded(t, mode=3))
refuses("pad in no mode", "RuntimeError", "mode", lambda t: t.ops.facula.pad_edges(t.ones(1, 2, 3), [1, 1], -1))
refuses("replication pad of a huge width", "RuntimeError|MemoryError", (), lambda t: t.ops.facula.pad_edges(t.ones(1, 2, 3), [MAX64 // 8, 0], 1))
refuses("layer_norm backward of another shape", "RuntimeError", "normalized_shape", lambda t: layer(t, shape=(4,)))
refuses("layer_norm backward of no shape", "RuntimeError", "normalized_shape", lambda t: layer(t, shape=()))
refuses("layer_norm backward of another weight", "RuntimeError", "weight", lambda t: layer(t, weight=(2,)))
bad("layer_norm backward of integers", "NotImplementedError|RuntimeError", (), lambda t: layer(t, dtype=t.int8))
for sizes in ((2, 4, 4), (2**62, 4, 3), (2, 2**62, 2**62), (-2, -4, 3), (0x3333333333333334, 5, 1), (2, 4, -3), (2**32, 2**32, 2**32), (2**63 - 1, 0, 0)):
    refuses(f"group_norm backward of {sizes}", "RuntimeError", (), lambda t, s=sizes: group(t, n=s[0], c=s[1], hxw=s[2]))
    refuses(f"group_norm of {sizes}", "RuntimeError", (), lambda t, s=sizes: t.native_group_norm(t.ones(2, 4, 3), None, None, *s, 2, 1e-5))
refuses("group_norm whose sizes wrap", "RuntimeError", (), lambda t: t.native_group_norm(t.ones(4), None, None, 1, 5, 0x3333333333333334, 1, 1e-5))
for groups in (0, -1, 3, MIN64, MAX64):
    refuses(f"group_norm of {groups} groups", "RuntimeError", (), lambda t, g=groups: t.native_group_norm(t.ones(2, 4, 3), None, None, 2, 4, 3, g, 1e-5))
    refuses(f"group_norm backward of {groups} groups", "RuntimeError", (), lambda t, g=groups: group(t, groups=g))
survives("group_norm of no channels and many groups", lambda t: t.native_group_norm(t.ones(4, 0, 3), None, None, 4, 0, 3, 2**62, 1e-5))
survives("layer_norm of many empty rows", lambda t: t.native_layer_norm(t.ones(1, 1, 0).expand(2**31, 2**31, 0), [0], None, None, 1e-5))
survives("batch_norm of many empty images", lambda t: t.native_batch_norm(t.ones(1, 0, 1).expand(2**31, 0, 2**40), None, None, None, None, True, 0.1, 1e-5))

# ---- indices ------------------------------------------------------------------------------------------------------------------
i0 = lambda t: t.zeros(3, dtype=t.int64)
for name, arguments in {
    "no index": lambda t: ([], [], [], []),
    "sizes missing": lambda t: ([i0(t)], [0], [], [1]),
    "strides missing": lambda t: ([i0(t)], [0], [4], []),
    "dims missing": lambda t: ([i0(t)], [], [4], [1]),
    "an index of another length": lambda t: ([i0(t), i0(t)[:1]], [0, 1], [4, 4], [4, 1]),
    "int32": lambda t: ([i0(t).int()], [0], [4], [1]),
    "bool": lambda t: ([i0(t).bool()], [0], [4], [1]),
    "a negative stride": lambda t: ([i0(t)], [0], [4], [-1]),
    "a negative size": lambda t: ([i0(t)], [0], [MIN64], [1]),
    "a reach over 2^63": lambda t: ([i0(t), i0(t)], [0, 1], [2**40, 2**40], [2**40, 1]),
}.items():
    bad(f"_linear_index with {name}", "RuntimeError|TypeError", (), lambda t, a=arguments: op(t, "_linear_index", *a(t)), quirk=ABSENT)
bad("_linear_index out of bounds", "IndexError", "4", lambda t: op(t, "_linear_index", [t.tensor([4])], [0], [4], [1]), quirk=ABSENT)
for name, run in {
    "mixed item sizes": lambda t: op(t, "_masked_scatter_", t.zeros(4, dtype=t.float64), t.ones(4, dtype=t.bool), t.ones(4, dtype=t.int8)),
    "a mask of bytes": lambda t: op(t, "_masked_scatter_", t.zeros(4), t.ones(4, dtype=t.int64), t.ones(4)),
    "a longer mask": lambda t: op(t, "_masked_scatter_", t.zeros(4), t.ones(9, dtype=t.bool), t.ones(9)),
    "a short source": lambda t: op(t, "_masked_scatter_", t.zeros(4), t.ones(4, dtype=t.bool), t.ones(3)),
    "repeated memory": lambda t: op(t, "_masked_scatter_", t.zeros(1).expand(4), t.ones(4, dtype=t.bool), t.ones(4)),
}.items():
    bad(f"_masked_scatter_ with {name}", "RuntimeError", (), run, quirk=ABSENT)
bad("embedding backward of another length", "RuntimeError", (), lambda t: op(t, "embedding_dense_backward", t.ones(2, 3), t.zeros(5, dtype=t.int64), 4, -1, False))
bad("embedding backward of a number", "RuntimeError|IndexError", (), lambda t: op(t, "embedding_dense_backward", t.tensor(1.0), i0(t), 4, -1, False), quirk="returns")
for index in (4, -1, MIN64, MAX64):
    refuses(f"embedding backward at {index}", "RuntimeError|IndexError", "out of bounds",
            lambda t, i=index: op(t, "embedding_dense_backward", t.ones(1, 3), t.tensor([i]), 4, -1, False))
refuses("embedding backward of fewer rows than none", "RuntimeError", "negative", lambda t: op(t, "embedding_dense_backward", t.ones(3, 3), i0(t), -1, -1, False))
for name, run in {
    "another length": lambda t: op(t, "_as_strided", t.ones(4), [2], [1], 0, [1, 1], 0),
    "no stride": lambda t: op(t, "_as_strided", t.ones(4), [2], [1], 0, [], 0),
    "a huge stride": lambda t: op(t, "_as_strided", t.ones(4), [2], [1], 0, [2**62], 0),
    "a negative offset": lambda t: op(t, "_as_strided", t.ones(4), [2], [1], 0, [1], -7),
}.items():
    bad(f"_as_strided with {name} of self", "RuntimeError", "self", run, quirk=ABSENT)
bad("unfold backward of other windows", "RuntimeError|IndexError", (), lambda t: op(t, "unfold_backward", t.ones(4, 2), [4], 0, 2, 1), quirk="reads what it is given")
refuses("unfold backward of endless windows", "RuntimeError", "size", lambda t: op(t, "unfold_backward", t.zeros(1).expand(1, 2**40), [0], 0, 2**40, 1))
refuses("unfold backward by no step", "RuntimeError", "step", lambda t: op(t, "unfold_backward", t.ones(3, 2), [4], 0, 2, 0))

# ---- losses -------------------------------------------------------------------------------------------------------------------
def nll(t, self, target=None, grad=None, total=None, reduction=1, name="nll_loss_backward"):
    return op(t, name, t.ones(()) if grad is None else grad, self, i0(t) if target is None else target, None, reduction, -100,
              t.ones(()) if total is None else total)


for dtype in ("int8", "int64", "bool", "complex64"):
    bad(f"nll_loss backward of {dtype}", "RuntimeError|NotImplementedError", (), lambda t, d=dtype: nll(t, t.ones(3, 5).to(getattr(t, d))))
bad("nll_loss backward out of bounds", "IndexError", "out of bounds", lambda t: nll(t, t.ones(3, 5), t.tensor([0, 1, 5])))
bad("nll_loss backward of another target", "ValueError|RuntimeError", (), lambda t: nll(t, t.ones(3, 5), t.zeros(7, dtype=t.int64)))
refuses("nll_loss backward of another gradient", "RuntimeError", "grad_output", lambda t: nll(t, t.ones(3, 5), grad=t.ones(2), reduction=0))
refuses("nll_loss backward of no total", "RuntimeError", (), lambda t: nll(t, t.ones(3, 5), total=t.ones(0)))
refuses("nll_loss backward reduced otherwise", "RuntimeError", "reduction", lambda t: nll(t, t.ones(3, 5), reduction=7))


def cross_entropy_gradient(t, **given):
    """The gradient of cross_entropy of rows, with some of its arguments replaced."""
    fit = {"grad": t.ones(()), "self": t.ones(3, 5), "target": i0(t), "weight": None, "reduction": 1, "ignore": -100, "total": t.ones(()), "terms": t.ones(3, 2)}
    return t.ops.facula.cross_entropy_rows_backward(*{**fit, **given}.values())


for name, given in {
    "terms of other rows": lambda t: {"terms": t.ones(2, 2)}, "terms of another type": lambda t: {"terms": t.ones(3, 2).double()}, "no terms": lambda t: {"terms": t.ones(0)},
    "terms that do not lie side by side": lambda t: {"terms": t.ones(2, 3).t()}, "integers": lambda t: {"self": t.ones(3, 5).int()}, "half types": lambda t: {"self": t.ones(3, 5).half()},
    "no classes": lambda t: {"self": t.ones(3, 0)}, "pictures": lambda t: {"self": t.ones(3, 5, 2)}, "another gradient": lambda t: {"grad": t.ones(2), "reduction": 0}, "a wide gradient": lambda t: {"grad": t.ones(()).double()},
    "no total": lambda t: {"total": t.ones(0)}, "other targets": lambda t: {"target": t.zeros(7, dtype=t.int64)}, "other weights": lambda t: {"weight": t.ones(4)},
    "a class that is none": lambda t: {"target": t.tensor([0, 5, 1])}, "another reduction": lambda t: {"reduction": 7},
}.items():
    refuses(f"cross_entropy_rows backward of {name}", "RuntimeError|ValueError|IndexError", (), lambda t, g=given: cross_entropy_gradient(t, **g(t)))
for size in ((), (2,), (1, 3), (3, 3)):
    refuses(f"softmax backward of a gradient {list(size)}", "RuntimeError|IndexError", (),
            lambda t, s=size: op(t, "_softmax_backward_data", t.ones(s), t.ones(2, 3), 1, t.float32))

# ---- pooling ------------------------------------------------------------------------------------------------------------------
def max_back(t, grad=(1, 2, 2), input=(1, 4, 4), indices=(1, 2, 2), value=0, kernel=(2, 2), stride=(2, 2), padding=(0, 0), dilation=(1, 1), dtype="int64"):
    return op(t, "max_pool2d_with_indices_backward", t.ones(grad), t.ones(input), list(kernel), list(stride), list(padding), list(dilation), False,
              t.full(indices, value).to(getattr(t, dtype)))


for value in (16, -1, MIN64, MAX64):
    refuses(f"max_pool2d backward from place {value}", "RuntimeError", "out of range", lambda t, v=value: max_back(t, value=v))
for dtype in ("int32", "bool", "float32"):
    refuses(f"max_pool2d backward with {dtype} indices", "RuntimeError|NotImplementedError", (), lambda t, d=dtype: max_back(t, dtype=d))
for size in ((), (1,), (1, 1, 2), (1, 3, 3), (2, 2, 2), (1, 1, 2, 2)):
    refuses(f"max_pool2d backward of a gradient {list(size)}", "RuntimeError", (), lambda t, s=size: max_back(t, grad=s))
    refuses(f"max_pool2d backward with indices {list(size)}", "RuntimeError", (), lambda t, s=size: max_back(t, indices=s))
refuses("max_pool2d backward of no image", "RuntimeError", (), lambda t: max_back(t, input=(), grad=(), indices=()))
for name, value in {"kernel": (0, -1, MIN64, MAX64), "stride": (0, -1, MIN64, MAX64), "padding": (-1, MIN64, MAX64), "dilation": (0, -1, MIN64, MAX64)}.items():
    for v in value:
        bad(f"max_pool2d backward with {name} {v}", "RuntimeError", (), lambda t, n=name, v=v: max_back(t, **{n: (v, v)}))
for length in (0, 3):
    bad(f"max_pool2d backward with a kernel of {length}", "RuntimeError", (), lambda t, n=length: max_back(t, kernel=(2,) * n))
for size in ((), (1,), (1, 3, 3), (2, 2, 2)):
    refuses(f"avg_pool2d backward of a gradient {list(size)}", "RuntimeError", (),
            lambda t, s=size: op(t, "avg_pool2d_backward", t.ones(s), t.ones(1, 4, 4), [2, 2], [2, 2], [0, 0], False, True, None))
    refuses(f"adaptive_avg_pool2d backward of a gradient {list(size)}", "RuntimeError", (),
            lambda t, s=size: op(t, "_adaptive_avg_pool2d_backward", t.ones(s), t.ones(1, 2, 4, 4)))
refuses("adaptive_avg_pool2d backward of another batch", "RuntimeError", (), lambda t: op(t, "_adaptive_avg_pool2d_backward", t.ones(3, 2, 2, 2), t.ones(1, 2, 4, 4)))
refuses("adaptive_avg_pool2d backward of another type", "RuntimeError", (), lambda t: op(t, "_adaptive_avg_pool2d_backward", t.ones(1, 2, 2, 2).double(), t.ones(1, 2, 4, 4)))
bad("avg_pool2d divided by nothing", "RuntimeError", "zero", lambda t: t.ops.aten.avg_pool2d(t.ones(1, 4, 4), [2, 2], [2, 2], [0, 0], False, True, 0))
survives("avg_pool2d of the least integer by -1", lambda t: t.ops.aten.avg_pool2d(t.full((1, 1, 1), MIN64), [1, 1], [1, 1], [0, 0], False, True, -1), quirk="SIGFPE")
survives("avg_pool2d backward of the least integer by -1", quirk="SIGFPE",
         run=lambda t: op(t, "avg_pool2d_backward", t.full((1, 1, 1), MIN64), t.full((1, 1, 1), 1), [1, 1], [1, 1], [0, 0], False, True, -1))
for dtype in ("uint8", "int8", "int16", "int32", "bool"):
    bad(f"avg_pool2d of {dtype} over 256", "NotImplementedError|RuntimeError", "avg_pool2d", lambda t, d=dtype: t.nn.functional.avg_pool2d(t.ones(1, 16, 16).to(getattr(t, d)), 16))
for dtype in ("uint8", "int8", "int64"):
    bad(f"adaptive_avg_pool2d of {dtype} over 256", "NotImplementedError|RuntimeError", "adaptive_avg_pool2d",
        lambda t, d=dtype: op(t, "_adaptive_avg_pool2d", t.ones(1, 32, 32).to(getattr(t, d)), [2, 2]))
for size in ((), (5,), (1, 2, 3), (-1, 2), (MIN64, 1)):
    refuses(f"adaptive_avg_pool2d to {size}", "RuntimeError", "output_size", lambda t, s=size: op(t, "_adaptive_avg_pool2d", t.ones(1, 4, 4), list(s)))
for size in ((), (4,), (4, 4), (1, 1, 1, 4, 4), (1, 0, 4), (0, 4, 4)):
    refuses(f"adaptive_avg_pool2d of {list(size)}", "RuntimeError", (), lambda t, s=size: op(t, "_adaptive_avg_pool2d", t.ones(s), [5, 5]))
refuses("adaptive_avg_pool2d to places that wrap", "RuntimeError", (), lambda t: op(t, "_adaptive_avg_pool2d", t.ones(1, 1, 8), [1, 2**61]))
for name, arguments in {"kernel": (2**62, 2), "dilation": (2, MAX64), "padding": (MAX64, 1), "stride": (MIN64, 0)}.items():
    for v in arguments:
        survives(f"im2col with {name} {v}", lambda t, n=name, v=v: t.nn.functional.unfold(t.ones(1, 1, 4, 4), **{"kernel_size": 2, "kernel_size" if n == "kernel" else n: v}))
        survives(f"col2im with {name} {v}", lambda t, n=name, v=v: t.nn.functional.fold(t.ones(1, 4, 9), (4, 4), **{"kernel_size": 2, "kernel_size" if n == "kernel" else n: v}))

# ---- resizing -----------------------------------------------------------------------------------------------------------------
for rank, kinds in {1: ("nearest1d", "_nearest_exact1d", "linear1d"), 2: ("nearest2d", "_nearest_exact2d", "bilinear2d"), 3: ("nearest3d", "_nearest_exact3d", "trilinear3d")}.items():
    for kind in kinds:
        name = f"_upsample{kind}" if kind[0] == "_" else f"upsample_{kind}"
        flags = (False,) if "linear" in kind else ()
        call = lambda t, dims, size, n=name, f=flags, r=rank, **k: op(t, n, t.ones((1, 1) + (2,) * dims), list(size), *f, *k.get("scales", (None,) * r))
        for dims in (0, 1, 2, 3, 4):
            for length in (0, 1, 2, 3, 4):
                if not dims == length == rank:
                    bad(f"{name} of {dims} dimensions to {length}", "RuntimeError|IndexError", (), lambda t, d=dims, n=length, c=call: c(t, d, (3,) * n))
        for size in (0, -1, MIN64):
            bad(f"{name} to size {size}", "RuntimeError", (), lambda t, s=size, c=call, r=rank: c(t, r, (s,) * r))
        for scale in (0.0, -1.0, 5e-324, 1e300, inf, nan):
            survives(f"{name} by {scale}", lambda t, s=scale, c=call, r=rank: c(t, r, (3,) * r, scales=(s,) * r), quirk="reads outside")

# ---- convolution --------------------------------------------------------------------------------------------------------------
def conv_back(t, grad=(1, 2, 3, 3), input=(1, 2, 4, 4), weight=(2, 2, 2, 2), bias=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), transposed=False,
              output_padding=(0, 0), groups=1, mask=(True, True, True), dtype="float32"):
    return op(t, "convolution_backward", t.ones(grad).to(getattr(t, dtype)), t.ones(input), t.ones(weight), bias, list(stride), list(padding), list(dilation), transposed,
              list(output_padding), groups, list(mask))


for mask in ((), (True,), (True, True), (True,) * 4):
    refuses(f"convolution backward with a mask of {len(mask)}", "RuntimeError|TypeError", "3", lambda t, m=mask: conv_back(t, mask=m))
for size in ((), (1, 2, 3), (1, 2, 4, 4), (1, 3, 3, 3), (2, 2, 3, 3), (1, 2, 3, 3, 3)):
    refuses(f"convolution backward of a gradient {list(size)}", "RuntimeError", "grad_output", lambda t, s=size: conv_back(t, grad=s))
for dtype in ("float64", "int64", "float16"):
    refuses(f"convolution backward of a {dtype} gradient", "RuntimeError", "scalar type", lambda t, d=dtype: conv_back(t, dtype=d))
for name, values in {"stride": (0, -1, MIN64, MAX64), "padding": (-1, MIN64, MAX64), "dilation": (0, -1, MIN64, MAX64), "output_padding": (-1, MIN64, MAX64)}.items():
    for v in values:
        for transposed in (False, True):
            if (name, v, transposed) not in (("stride", MAX64, False), ("output_padding", MAX64, False)):  # one place, and not looked at
                refuses(f"convolution backward with {name} {v}{' transposed' * transposed}", "RuntimeError", (),
                        lambda t, n=name, v=v, b=transposed: conv_back(t, transposed=b, **{n: (v, v)}))
for groups in (0, -1, 3, MAX64, MIN64):
    refuses(f"convolution backward of {groups} groups", "RuntimeError", "groups", lambda t, g=groups: conv_back(t, groups=g))
survives("convolution of empty channels and an endless kernel", lambda t: t.convolution(t.ones(1, 0, 1, 1), t.ones(1, 0, 1, 1).expand(1, 0, 2**40, 2**40), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1))

# ---- numbers that wrap, and loops that nothing bounds -----------------------------------------------------------------------------
for order in (MAX64, MAX64 - 1, 2**32, 1000):
    survives(f"polygamma of order {order}, differentiated", lambda t, n=order: t.polygamma(n, t.ones(2, requires_grad=True)).sum().backward(), quirk="overflows")
    survives(f"polygamma_ of order {order}, differentiated", lambda t, n=order: (t.ones(2, requires_grad=True) * 1).polygamma_(n).sum().backward(), quirk="overflows")


for name in ("tril_indices", "triu_indices"):
    call = lambda t, *a, n=name: getattr(t, n)(*a)
    for rows, columns in ((2**40, 0), (0, 2**40), (MAX64, 0), (0, MAX64)):
        survives(f"{name}({rows}, {columns})", lambda t, r=rows, c=columns, f=call: f(t, r, c))
    survives(f"{name} far off", lambda t, f=call: f(t, 2**40, 2**40, -(2**40) if name == "tril_indices" else 2**40))
    bad(f"{name} too many", "RuntimeError|MemoryError", (), lambda t, f=call: f(t, 2**40, 2**40))
for name, run in {
    "chunk": lambda t: t.zeros(0).chunk(2**40),
    "chunk of many": lambda t: t.zeros(1).expand(2**40).chunk(2**40),
    "split": lambda t: t.zeros(1).expand(2**40).split(1),
    "unbind": lambda t: t.zeros(1).expand(2**40).unbind(),
    "hsplit": lambda t: t.zeros(0).hsplit(2**40),
    "vsplit": lambda t: t.zeros(0, 1).vsplit(2**40),
    "dsplit": lambda t: t.zeros(1, 1, 0).dsplit(2**40),
    "tensor_split": lambda t: t.zeros(4).tensor_split(2**40),
    "tensor_split by a tensor": lambda t: t.zeros(4).tensor_split(t.tensor(2**40)),
}.items():
    bad(f"{name} into more pieces than memory holds", "RuntimeError|MemoryError", "memory", run, quirk="goes on until memory is used up")
bad("repeat_interleave by a huge tensor", "RuntimeError|MemoryError", (), lambda t: t.repeat_interleave(t.tensor([2**60, 2**60])))
bad("repeat_interleave that wraps", "RuntimeError|MemoryError", (), lambda t: t.repeat_interleave(t.tensor([MAX64, MAX64])))
bad("bincount to a huge number", "RuntimeError|MemoryError", (), lambda t: t.bincount(t.tensor([2**60])))
bad("randperm of too many", "RuntimeError|MemoryError", (), lambda t: t.randperm(2**60))
bad("linspace of too many", "RuntimeError|MemoryError", (), lambda t: t.linspace(0, 1, 2**60))
bad("vander of too many", "RuntimeError|MemoryError", (), lambda t: t.vander(t.ones(2), 2**60))
survives("unfold of an endless view", lambda t: t.zeros(1).expand(2**40).unfold(0, 2, 1))
survives("diag_embed far off", lambda t: t.zeros(0).diag_embed(2**40))
for name, run in {
    "adaptive_avg_pool2d to endless rows of nothing": lambda t: op(t, "_adaptive_avg_pool2d", t.ones(1, 4, 4), [2**40, 0]),
    "adaptive_avg_pool2d backward of endless rows of nothing": lambda t: op(t, "_adaptive_avg_pool2d_backward", t.ones(1, 2**40, 0), t.ones(1, 4, 4)),
    "batch_norm backward of endless images without channels": lambda t: batch(t, (2**30, 0, 2**20), (2**30, 0, 2**20), (0,), (0,), (0,)),
    "unfold backward of endless windows of nothing": lambda t: t.zeros(0, 2**40, requires_grad=True).unfold(1, 2**40, 1).sum().backward(),
    "diff of endless order of nothing": lambda t: t.diff(t.zeros(2**40, 0), 2**62, 0),
    "diff of endless order": lambda t: t.diff(t.zeros(4), 2**62, 0),
    "diff of endless order of sizes": lambda t: t.diff(t.zeros(2, 2**40, device="meta"), 2**31),
}.items():
    survives(name, run, quirk="goes through all of it")
bad("real fft of nothing", "RuntimeError", "data points", lambda t: op(t, "_fft_r2c", t.ones(1, 0), [1], 1, True), quirk="asks its library")
for device in ("cpu", "null", "meta"):
    refuses(f"resample backward along a dimension that is not there ({device})", "RuntimeError|IndexError", "resample",
            lambda t, d=device: t.ops.facula.resample_backward(t.ones(()).to(d), 65, *[t.ones(()).to(d)] * 2, 1))
survives("combinations of more elements than there are", lambda t: t.combinations(t.ones(0), 2**62), quirk="makes a list of them")
