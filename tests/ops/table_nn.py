# SPDX-License-Identifier: Apache-2.0
"""Convolution, pooling, normalisation, losses, dropout that does nothing."""
import numpy as np
from opspec import COMPLEX, FLOATS, E, Op, S

F = "nn.functional."
# Sums in 16 bits: the order of sums and where they round are the library's business.
PRODUCT = {"f16": (5e-3, 5e-3), "bf16": (3e-2, 3e-2)}


def conv_samples(torch, make):
    def x(*shape, **kw):
        return make(*shape, low=-1, high=1, **kw)
    yield S("contiguous", x(1, 2, 4, 4), x(2, 2, 3, 3), x(2))
    yield S("no bias", x(1, 1, 4, 4), x(2, 1, 2, 2))
    yield S("unbatched", x(2, 4, 4), x(1, 2, 3, 3), x(1)).narrow()
    yield S("stride", x(1, 1, 5, 5), x(1, 1, 2, 2), None, 2).narrow()
    yield S("stride", x(1, 1, 5, 6), x(1, 1, 3, 2), x(1), stride=(2, 3)).narrow()
    yield S("padding", x(1, 1, 3, 3), x(1, 1, 3, 3), x(1), padding=1).narrow()
    yield S("padding", x(1, 1, 3, 4), x(1, 1, 2, 3), None, 1, (2, 1)).narrow()
    yield S("same", x(1, 1, 4, 4), x(1, 1, 3, 3), None, padding="same").narrow()
    yield S("same", x(1, 1, 4, 5), x(1, 1, 2, 4), None, padding="same").narrow()
    yield S("same", x(1, 1, 5, 5), x(1, 1, 2, 3), None, padding="same", dilation=2).narrow()
    yield S("valid", x(1, 1, 4, 4), x(1, 1, 3, 3), None, padding="valid").narrow()
    yield S("dilation", x(1, 1, 5, 5), x(1, 1, 2, 2), x(1), 1, 0, 2).narrow()
    yield S("dilation", x(1, 1, 5, 6), x(1, 1, 2, 2), None, dilation=(2, 3), stride=2, padding=1).narrow()
    yield S("groups", x(1, 4, 3, 3), x(4, 2, 2, 2), x(4), groups=2).narrow()
    yield S("depthwise", x(1, 3, 3, 3), x(3, 1, 2, 2), x(3), groups=3).narrow()
    yield S("depthwise", x(1, 2, 3, 3), x(4, 1, 2, 2), groups=2, padding=1).narrow()
    yield S("pointwise", x(2, 3, 2, 2), x(2, 3, 1, 1), x(2)).narrow()
    yield S("channels_last", x(1, 3, 4, 4, layout="channels_last"), x(2, 3, 3, 3), x(2)).narrow()
    yield S("channels_last", x(2, 3, 4, 4, layout="channels_last"), x(2, 3, 3, 3, layout="channels_last")).narrow().but(grad=False)
    yield S("strided", x(1, 2, 4, 4, layout="transposed"), x(1, 2, 3, 3, layout="transposed"), x(1)).narrow()
    yield S("strided", x(1, 2, 4, 4, layout="step"), x(1, 2, 3, 3, layout="offset")).narrow()
    yield S("expanded", x(2, 1, 3, 3, layout="expanded"), x(1, 1, 2, 2)).narrow().but(grad=False)
    yield S("empty", x(0, 2, 4, 4), x(2, 2, 3, 3), x(2)).narrow()
    yield S("larger", x(2, 5, 9, 8), x(7, 5, 3, 3), x(7), 2, 1).but(grad=False, slope=False, wide=make.is_half)


def conv_errors(torch, make):
    x, w = make(1, 2, 4, 4), make(2, 2, 3, 3)
    yield E("RuntimeError", ("channels", "[2, 3, 3, 3]"), x, make(2, 3, 3, 3))
    yield E("RuntimeError", ("Kernel size",), x, make(2, 2, 5, 5))
    yield E("RuntimeError", ("stride",), x, w, None, 0)
    yield E("RuntimeError", ("stride",), x, w, None, -1)
    yield E("RuntimeError", ("padding",), x, w, None, 1, -1)
    yield E("RuntimeError", ("dilation",), x, w, None, 1, 0, 0)
    yield E("RuntimeError", ("groups",), x, w, None, 1, 0, 1, 3)
    yield E("RuntimeError", ("groups",), x, w, None, 1, 0, 1, 0)
    yield E("RuntimeError", ("bias",), x, w, make(3))
    yield E("RuntimeError", (), make(4, 4), w)
    yield E("RuntimeError", (), x, make(2, 2, 3))
    yield E("RuntimeError", ("strid",), x, w, None, padding="same", stride=2)
    yield E("RuntimeError", ("padding",), x, w, None, padding="other")
    yield E("RuntimeError", (), make(1, 2, 4, 4, dtype="f32"), make(2, 2, 3, 3, dtype="f64"))
    yield E("TypeError", (), x, w, None, "a")


def pool_samples(torch, make):
    yield S("contiguous", make.distinct(1, 2, 4, 4), 2)
    yield S("stride", make.distinct(1, 1, 5, 5), 3, 1).narrow()
    yield S("stride", make.distinct(1, 1, 5, 6), (3, 2), stride=(2, 1)).narrow()
    yield S("padding", make.distinct(1, 1, 4, 4), 3, 2, 1).narrow()
    yield S("dilation", make.distinct(1, 1, 5, 5), 2, 1, 0, 2).narrow()
    yield S("ceil", make.distinct(1, 1, 5, 5), 2, ceil_mode=True).narrow()
    yield S("ceil", make.distinct(1, 1, 5, 5), 3, 2, 1, ceil_mode=True).narrow()
    yield S("indices", make.distinct(1, 2, 4, 4), 2, return_indices=True)
    yield S("indices", make.distinct(1, 1, 5, 5), 3, 2, 1, return_indices=True).narrow()
    yield S("unbatched", make.distinct(2, 4, 4), 2).narrow()
    yield S("channels_last", make(1, 3, 4, 4, layout="channels_last"), 2).narrow().but(grad=False)
    yield S("strided", make(1, 2, 4, 4, layout="transposed"), 2).narrow()
    yield S("negative", make(1, 1, 4, 4, low=-9, high=-1), 3, 2, 1).narrow()
    yield S("ties", make(1, 1, 4, 4) * 0, 2).narrow().but(grad=False)
    yield S("empty", make(0, 2, 4, 4), 2).narrow()
    if make.is_float:
        x = np.arange(16.0).reshape(1, 1, 4, 4)
        x[0, 0, 1, 2], x[0, 0, 3, 3] = np.nan, -np.inf
        yield S("special", make.wrap(x), 2, return_indices=True).but(grad=False, slope=False)


def pool_errors(torch, make):
    x = make(1, 1, 4, 4)
    yield E("RuntimeError", ("zero",), x, 0)
    yield E("RuntimeError", ("kernel", "zero"), x, 0, 1)
    yield E("RuntimeError", ("stride",), x, 2, 0)
    yield E("RuntimeError", ("pad",), x, 2, 2, 2)
    yield E("RuntimeError", ("dilation",), x, 2, 2, 0, 0)
    yield E("RuntimeError", ("small",), x, 5)
    yield E("RuntimeError", (), make(4, 4), 2)
    yield E("RuntimeError", ("kernel_size",), x, (2, 2, 2))


def norm_weights(make, n, b=True):
    return (make(n, low=0.5, high=1.5), make(n) if b else None)


def layer_norm_samples(torch, make):
    yield S("contiguous", make(2, 4), (4,), *norm_weights(make, 4))
    yield S("plain", make(2, 4), (4,))
    yield S("weight", make(2, 4), (4,), *norm_weights(make, 4, False)).narrow()
    yield S("two", make(2, 3, 2), (3, 2), make(3, 2), make(3, 2)).narrow()
    yield S("batch", make(2, 2, 3), [3], make(3), make(3)).narrow()
    yield S("eps", make(2, 4), (4,), None, None, 0.1).narrow()
    yield S("strided", make(3, 4, layout="transposed"), (4,), *norm_weights(make, 4)).narrow()
    yield S("strided", make(2, 4, layout="step"), (4,), make(4, layout="step")).narrow()
    yield S("shifted", make(2, 33, low=100, high=101), (33,)).but(grad=False, slope=False, wide=False)
    yield S("empty", make(0, 4), (4,), *norm_weights(make, 4)).narrow()
    yield S("one", make(2, 1), (1,)).narrow().but(grad=False, slope=False)
    yield S("long", make(3, 133), (133,), *norm_weights(make, 133)).but(grad=False, slope=False, wide=make.is_half)


def layer_norm_errors(torch, make):
    yield E("RuntimeError", ("[5]", "[2, 4]"), make(2, 4), (5,))
    yield E("RuntimeError", ("weight", "[3]"), make(2, 4), (4,), make(3))
    yield E("RuntimeError", ("bias", "[3]"), make(2, 4), (4,), make(4), make(3))
    yield E("RuntimeError", ("normalized_shape",), make(2, 4), ())


def batch_norm_call(torch, x, mean, var, weight, bias, training, momentum=0.1, eps=1e-5):
    """Result and the statistics as they are after the call."""
    mean, var = (None, None) if mean is None else (mean.clone(), var.clone())
    y = torch.nn.functional.batch_norm(x, mean, var, weight, bias, training, momentum, eps)
    return y if mean is None else (y, mean, var)


def batch_norm_samples(torch, make):
    def stats(n):
        return make(n), make(n, low=0.5, high=2)
    yield S("training", make(3, 2, 2, 2), *stats(2), *norm_weights(make, 2), True)
    yield S("evaluation", make(3, 2, 2, 2), *stats(2), *norm_weights(make, 2), False)
    yield S("plain", make(4, 3), *stats(3), None, None, True).narrow()
    yield S("plain", make(4, 3), *stats(3), None, None, False).narrow()
    yield S("no statistics", make(4, 3), None, None, *norm_weights(make, 3), True).narrow()
    yield S("three", make(2, 3, 4), *stats(3), *norm_weights(make, 3), True, 0.3, 0.01).narrow()
    yield S("channels_last", make(2, 3, 2, 2, layout="channels_last"), *stats(3), *norm_weights(make, 3), True).narrow()
    yield S("channels_last", make(2, 3, 2, 2, layout="channels_last"), *stats(3), *norm_weights(make, 3), False).narrow().but(grad=False)
    yield S("strided", make(3, 2, 2, 2, layout="transposed"), *stats(2), *norm_weights(make, 2), True).narrow()
    yield S("empty", make(0, 2, 2, 2), *stats(2), *norm_weights(make, 2), False).narrow()


def batch_norm_errors(torch, make):
    x = make(3, 2)
    yield E("RuntimeError", ("running_mean", "3", "2"), x, make(3), make(3), None, None, False)
    yield E("RuntimeError", ("weight", "3", "2"), x, make(2), make(2), make(3), None, False)
    yield E("ValueError", ("more than 1 value",), make(1, 2), make(2), make(2), None, None, True)
    yield E("RuntimeError", ("running_mean",), x, None, None, None, None, False)


def class_targets(make):
    return make.ints([2, 0, 1])


def nll_samples(torch, make):
    for how in ("mean", "sum", "none"):
        yield S(how, make(3, 4), class_targets(make), reduction=how)
        yield S("weight", make(3, 4), class_targets(make), make(4, low=0.5, high=1.5), reduction=how).narrow()
        yield S("ignore", make(3, 4), make.ints([2, -100, 1]), reduction=how).narrow()
        yield S("ignore", make(3, 4), class_targets(make), ignore_index=0, reduction=how).narrow()
    yield S("image", make(2, 3, 2, 2), make.ints([[[0, 1], [2, 2]], [[1, 1], [0, 2]]])).narrow()
    yield S("image", make(2, 3, 2), make.ints([[0, 1], [2, 2]]), reduction="none").narrow()
    yield S("one", make(4), make.ints(2)).narrow()
    yield S("strided", make(3, 4, layout="transposed"), class_targets(make)).narrow()
    yield S("all ignored", make(2, 3), make.ints([-100, -100])).narrow().but(grad=False, slope=False)


def nll_errors(torch, make):
    yield E("IndexError", ("4", "out of bounds"), make(3, 4), make.ints([0, 4, 1]))
    yield E("IndexError", ("-1", "out of bounds"), make(3, 4), make.ints([0, -1, 1]))
    yield E("IndexError", ("out of bounds",), make(3, 4), make.ints([0, -2**63, 1]))
    yield E("ValueError", ("3", "2"), make(3, 4), make.ints([0, 1]))
    yield E("RuntimeError", ("weight", "4", "3"), make(3, 4), class_targets(make), make(3))
    yield E("ValueError", ("other",), make(3, 4), class_targets(make), reduction="other")
    yield E("RuntimeError", ("Float",), make(3, 4), make(3))


def cross_entropy_samples(torch, make):
    yield from nll_samples(torch, make)
    for how in ("mean", "sum", "none"):
        yield S("smoothing", make(3, 4), class_targets(make), label_smoothing=0.1, reduction=how).narrow()
        yield S("probabilities", make(3, 4), make(3, 4, low=0, high=1), reduction=how).narrow()
    yield S("smoothing", make(3, 4), make.ints([2, -100, 1]), make(4, low=0.5, high=1.5), label_smoothing=0.2).narrow()
    yield S("probabilities", make(3, 4), make(3, 4, low=0, high=1), make(4, low=0.5, high=1.5), label_smoothing=0.2).narrow()
    yield S("large", make(3, 4, low=-200, high=200), class_targets(make)).narrow().but(grad=False)


def cross_entropy_errors(torch, make):
    yield from (e for i, e in enumerate(nll_errors(torch, make)) if i < 6)
    yield E("RuntimeError", ("label_smoothing",), make(3, 4), class_targets(make), label_smoothing=1.5)
    yield E("ValueError", ("3", "2"), make(3, 4), make(2, 4))


def pair_samples(low=None, high=None, low2=None, high2=None, *args, **kwargs):
    def samples(torch, make):
        def pair(*shape, **kw):
            return make(*shape, low=low, high=high, **kw), make(*shape, low=low2, high=high2)
        for how in ("mean", "sum", "none"):
            yield S(how, *pair(3, 4), *args, reduction=how, **kwargs)
        yield S("default", *pair(2, 3), *args, **kwargs).narrow()
        yield S("strided", *pair(3, 4, layout="transposed"), *args, **kwargs).narrow()
        yield S("scalar", *pair(), *args, **kwargs).narrow()
        yield S("empty", *pair(0, 2), *args, reduction="sum", **kwargs).narrow()
        yield S("empty", *pair(0, 2), *args, **kwargs).narrow().but(grad=False, slope=False)
        if low is None:
            yield S("kinks", make.kinks(), make.kinks() * 0, *args, reduction="none", **kwargs).but(grad=False)
    return samples


def pair_errors(torch, make):
    yield E("RuntimeError|ValueError", ("3", "4"), make(2, 3), make(2, 4))
    yield E("ValueError", ("other",), make(2, 3), make(2, 3), reduction="other")


def bce_weighted(torch, make):
    for how in ("mean", "sum", "none"):
        yield S(how, make(3, 4, low=0.1, high=0.9), make(3, 4, low=0, high=1), make(3, 4, low=0.5, high=1.5), reduction=how).but(wide=how == "mean")
    yield S("broadcast", make(3, 4, low=0.1, high=0.9), make(3, 4, low=0, high=1), make(4, low=0.5, high=1.5)).narrow()


def bce_edges(torch, make):
    yield S("edges", make.wrap([0.0, 1.0, 0.0, 1.0]), make.wrap([0.0, 1.0, 1.0, 0.0]), reduction="none").but(grad=False)
    yield S("inside", make(4, low=0.1, high=0.9), make.wrap([0.0, 1.0, 1.0, 0.0]), reduction="none")


def bce_errors(torch, make):
    yield E("ValueError", ("[2, 3]", "[2, 4]"), make(2, 3, low=0.1, high=0.9), make(2, 4, low=0, high=1))
    yield E("RuntimeError", ("between 0 and 1",), make(2, low=2, high=3), make(2, low=0, high=1))
    yield E("RuntimeError", ("between 0 and 1",), make(2, low=-2, high=-1), make(2, low=0, high=1))


def logits_weighted(torch, make):
    x, y = make(3, 4), make(3, 4, low=0, high=1)
    yield S("weight", x, y, make(3, 4, low=0.5, high=1.5))
    yield S("positive", x, y, pos_weight=make(4, low=0.5, high=2)).narrow()
    yield S("both", x, y, make(4, low=0.5, high=1.5), pos_weight=make(4, low=0.5, high=2), reduction="none").narrow()
    yield S("large", make(4, low=-300, high=300), make(4, low=0, high=1), reduction="none").but(grad=False)


def rms_samples(torch, make):
    yield S("contiguous", make(2, 4), (4,), make(4, low=0.5, high=1.5))
    yield S("plain", make(2, 4), (4,))
    yield S("two", make(2, 3, 2), (3, 2), make(3, 2), 0.01).narrow()


def group_norm_samples(torch, make):
    yield S("contiguous", make(2, 4, 2), 2, *norm_weights(make, 4))
    yield S("plain", make(2, 4, 2), 4).narrow()
    yield S("image", make(1, 4, 2, 2), 2, *norm_weights(make, 4), 0.01).narrow()


def inert_dropout(torch, make):
    yield S("evaluation", make(3, 4), 0.5, False)
    yield S("zero", make(3, 4), 0.0, True)
    yield S("one", make(3, 4), 1.0, True)


def rows():
    g = dict(group="nn", dtypes=FLOATS)
    yield Op("conv2d", conv_samples, F + "conv2d", group="nn", dtypes=FLOATS + COMPLEX, tol=dict(PRODUCT, f32=(1e-5, 1e-5), c64=(1e-5, 1e-5)), errors=conv_errors,
             library=True, big=lambda torch, make: ((make(4, 16, 24, 24), make(24, 16, 3, 3), make(24), 1, 1), {}), quirks={"meta": "forgets channels_last"})
    yield Op("max_pool2d", pool_samples, F + "max_pool2d", errors=pool_errors, big=lambda torch, make: ((make(4, 8, 40, 40), 3, 2, 1), {}), **g)
    # Mean and variance of 16-bit inputs: another order of sums than PyTorch's.
    yield Op("layer_norm", layer_norm_samples, F + "layer_norm", errors=layer_norm_errors, tol={"f16": (4e-3, 4e-3), "bf16": (3e-2, 3e-2), "f32": (1e-5, 1e-5)},
             big=lambda torch, make: ((make(300, 257), (257,), make(257), make(257)), {}), **g)
    yield Op("batch_norm", batch_norm_samples, batch_norm_call, errors=batch_norm_errors, meta=False, grad_args=(0, 3, 4),
             tol={"f16": (4e-3, 4e-3), "bf16": (3e-2, 3e-2), "f32": (1e-5, 1e-5)},
             big=lambda torch, make: ((make(8, 16, 20, 20), make(16), make(16, low=0.5, high=2), make(16), make(16), True), {}), **g)
    yield Op("dropout.inert", inert_dropout, F + "dropout", errors=lambda torch, make: [E("ValueError", ("1.5",), make(3), 1.5), E("ValueError", ("-0.5",), make(3), -0.5)], **g)

    g = dict(group="loss", dtypes=FLOATS, tol={"f16": (4e-3, 4e-3), "bf16": (3e-2, 3e-2)})  # sums, as above
    yield Op("nll_loss", nll_samples, F + "nll_loss", errors=nll_errors, grad_args=(0,), **g)
    yield Op("cross_entropy", cross_entropy_samples, F + "cross_entropy", errors=cross_entropy_errors, grad_args=(0,), **g)
    yield Op("mse_loss", pair_samples(), F + "mse_loss", errors=pair_errors, big=lambda torch, make: ((make(300, 257), make(300, 257)), {}), **g)
    yield Op("l1_loss", pair_samples(), F + "l1_loss", errors=pair_errors, **g)
    yield Op("smooth_l1_loss", pair_samples(), F + "smooth_l1_loss", errors=pair_errors, **g)
    yield Op("smooth_l1_loss.beta", pair_samples(beta=0.5), F + "smooth_l1_loss", **g)
    yield Op("huber_loss", pair_samples(), F + "huber_loss", **g)
    yield Op("binary_cross_entropy", pair_samples(0.1, 0.9, 0, 1), F + "binary_cross_entropy", errors=bce_errors, **g)
    yield Op("binary_cross_entropy.weight", bce_weighted, F + "binary_cross_entropy", **dict(g, grad_args=(0, 1)))
    yield Op("binary_cross_entropy.edges", bce_edges, F + "binary_cross_entropy", **dict(g, grad_args=(0,)))  # logs are cut off at -100
    yield Op("binary_cross_entropy_with_logits", pair_samples(-3, 3, 0, 1), F + "binary_cross_entropy_with_logits", errors=lambda torch, make: [E("ValueError", ("[2, 3]", "[2, 4]"), make(2, 3), make(2, 4))], **g)
    yield Op("binary_cross_entropy_with_logits.weight", logits_weighted, F + "binary_cross_entropy_with_logits", **dict(g, grad_args=(0, 1)))


OPS = list(rows())
