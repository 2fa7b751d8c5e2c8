# SPDX-License-Identifier: Apache-2.0
"""The rest of nn.functional: pooling of volumes, resizing, sampling, shuffles, distances, losses."""
from opspec import FLOATS, E, Op, S

F = "nn.functional."
SUMS = {"f16": (4e-3, 4e-3), "bf16": (3e-2, 3e-2), "f32": (1e-5, 1e-5)}  # sums in another order than PyTorch's


def shuffle_samples(torch, make):
    yield S("contiguous", make(1, 8, 2, 3), 2)
    yield S("unbatched", make(9, 2, 1), 3).narrow()
    yield S("one", make(2, 3, 2, 2), 1).narrow()
    yield S("more", make(2, 1, 4, 3, 2), 2).narrow()
    yield S("channels_last", make(2, 4, 3, 2, layout="channels_last"), 2).narrow()
    yield S("strided", make(2, 4, 2, 2, layout="transposed"), 2).narrow()
    yield S("empty", make(0, 4, 2, 2), 2).narrow()


def shuffle_errors(torch, make):
    yield E("RuntimeError", ("3 dimensions",), make(4, 4), 2)
    yield E("RuntimeError", ("positive",), make(1, 4, 2, 2), 0)
    yield E("RuntimeError", ("divisible",), make(1, 3, 2, 2), 2)


def unshuffle_samples(torch, make):
    yield S("contiguous", make(1, 2, 4, 6), 2)
    yield S("unbatched", make(1, 3, 6), 3).narrow()
    yield S("channels_last", make(2, 3, 4, 2, layout="channels_last"), 2).narrow()
    yield S("strided", make(2, 2, 2, 2, layout="step"), 2).narrow()


def channel_samples(torch, make):
    yield S("contiguous", make(2, 6, 2), 3)
    yield S("image", make(1, 4, 2, 3), 2).narrow()
    yield S("channels_last", make(2, 6, 2, 2, layout="channels_last"), 2).narrow()
    yield S("one", make(1, 3, 2), 1).narrow()
    yield S("empty", make(1, 0, 2), 3).narrow()


def channel_errors(torch, make):
    yield E("RuntimeError", ("> 2 dims",), make(4, 4), 2)
    yield E("RuntimeError", ("divisible",), make(1, 4, 2), 3)
    yield E("RuntimeError", ("positive",), make(1, 4, 2), 0)


def volumes(torch, make):
    yield S("contiguous", make.distinct(1, 2, 2, 4, 4), 2)
    yield S("small", make.distinct(1, 1, 2, 3, 2), 2, 1).narrow()
    yield S("stride", make.distinct(1, 1, 3, 4, 5), (2, 3, 2), (1, 2, 1)).narrow()
    yield S("padding", make.distinct(1, 1, 4, 3, 4), 3, 2, 1).narrow()
    yield S("ceil", make.distinct(1, 1, 3, 3, 5), 2, ceil_mode=True).narrow()
    yield S("unbatched", make.distinct(2, 2, 3, 4), 2, 1).narrow()
    yield S("strided", make.distinct(1, 2, 3, 4, 4).transpose(2, 4), 2).narrow()


def max_volumes(torch, make):
    yield from volumes(torch, make)
    yield S("dilation", make.distinct(1, 1, 5, 3, 4), 2, 1, 0, (3, 2, 1)).narrow()
    yield S("indices", make.distinct(1, 2, 3, 4, 4), 2, 1, return_indices=True).narrow()


def volume_errors(torch, make):
    x = make(1, 1, 3, 3, 3)
    yield E("RuntimeError", ("kernel", "zero"), x, 0, 1)
    yield E("RuntimeError", ("small",), x, 5)
    yield E("RuntimeError", ("pad",), x, 2, 2, 2)
    yield E("RuntimeError", (), make(3, 3), 2)
    yield E("RuntimeError", ("kernel_size",), x, (2, 2))


def avg_volumes(torch, make):
    yield from volumes(torch, make)
    yield S("divisor", make(1, 1, 2, 3, 4), 2, divisor_override=3).narrow()
    yield S("inside", make(1, 1, 3, 3, 3), 2, 2, 1, False, False).narrow()


def adaptive(n):
    def samples(torch, make):
        space = (4, 5, 3)[-n:]
        yield S("contiguous", make.distinct(1, 2, *space), (2,) * n if n > 1 else 2)
        yield S("small", make.distinct(1, 1, *(2, 3, 2)[-n:]), (1, 2, 2)[-n:]).narrow()
        yield S("more", make.distinct(1, 1, *space), (7, 4, 5)[-n:]).narrow()
        yield S("kept", make.distinct(2, 1, *space), (None, 2, 3)[-n:] if n > 1 else 3).narrow()
        yield S("unbatched", make.distinct(2, *space), (3, 1, 2)[-n:]).narrow()
        yield S("whole", make.distinct(1, 2, *space), 1).narrow()
        yield S("strided", make.distinct(1, 2, *space).flip(-1).transpose(0, 1), 2).narrow()
    return samples


def adaptive_errors(n):
    def errors(torch, make):
        yield E("RuntimeError", (), make(1, 1, *(3,) * n), (-1,) * n)
        yield E("RuntimeError", ("empty|non-zero".split("|")[1],), make(1, 1, *(3,) * (n - 1), 0), (2,) * n)
    return errors


def with_indices(torch, x, size, name):
    return getattr(torch.nn.functional, name)(x, size, return_indices=True)


def fractional_samples(n):
    def samples(torch, make):
        space = (6, 7, 5)[-n:]
        for size in ((3,) * n, (2, 4, 3)[-n:]):
            yield S("small", make.distinct(1, 1, *(3,) * n), 2, (1,) * n, _random_samples=make(1, 1, n, low=0, high=1)).narrow()
            yield S("size", make.distinct(2, 2, *space), 2, size, _random_samples=make(2, 2, n, low=0, high=1)).narrow()
        yield S("ratio", make.distinct(1, 1, *space), 2, output_ratio=(0.5,) * n, _random_samples=make(1, 1, n, low=0, high=1)).narrow()
    return samples


def unpool_samples(n):
    def samples(torch, make):
        space = (4,) * n
        pool = getattr(torch.nn.functional, f"max_pool{n}d")
        y, at = pool(make.distinct(2, 1, *space), 2, return_indices=True)
        yield S("contiguous", y, at, 2)
        y, at = pool(make.distinct(1, 1, *(5,) * n), 2, return_indices=True)
        yield S("size", y, at, 2, output_size=(5,) * n).narrow()
        y, at = pool(make.distinct(2, *space), 2, return_indices=True)
        yield S("unbatched", y, at, 2, 2, 0).narrow()
    return samples


def unpool_errors(n):
    def errors(torch, make):
        y, at = make(1, 1, *(2,) * n), make(1, 1, *(2,) * n, dtype="i64", low=0, high=2)
        yield E("ValueError", ("output_size",), y, at, 2, output_size=(9,) * n)
        yield E("RuntimeError", ("int64",), y, make(1, 1, *(2,) * n, dtype="i32", low=0, high=2), 2)
        yield E("RuntimeError", (), y, at + 1000, 2)
    return errors


def lp_samples(n):
    def samples(torch, make):
        x = make(1, 2, *(4, 5, 4)[-n:], low=0.5, high=3)
        yield S("two", x, 2, 2)
        yield S("small", make(1, 1, *(2, 3, 2)[-n:], low=0.5, high=3), 2, 2).narrow()
        yield S("three", x, 3.0, 2, 1, True).narrow()
        yield S("largest", make.distinct(1, 1, *(4,) * n), float("inf"), 2).narrow()
    return samples


def resize_samples(torch, make):
    for align in (False, True):
        yield S("up", make(1, 2, 3, 4), (5, 7), mode="bicubic", align_corners=align).but(wide=not align)
        yield S("down", make(1, 1, 6, 5), (3, 2), mode="bicubic", align_corners=align).narrow()
    yield S("scale", make(2, 1, 3, 3), scale_factor=(1.6, 0.7), mode="bicubic").narrow()
    for mode in ("bilinear", "bicubic"):
        yield S("smooth", make(1, 1, 7, 6), (3, 4), mode=mode, antialias=True).narrow()
        yield S("smooth", make(1, 2, 3, 4), (5, 9), mode=mode, antialias=True, align_corners=True).narrow()
        yield S("smooth", make(1, 1, 6, 5), scale_factor=0.4, mode=mode, antialias=True).narrow()
        yield S("channels_last", make(1, 3, 4, 5, layout="channels_last"), (6, 3), mode=mode).narrow()
    yield S("lanczos", make(1, 1, 9, 8), (4, 5), mode="lanczos", antialias=True).narrow()
    yield S("area", make(1, 2, 4, 5), (2, 3), mode="area").narrow()
    yield S("area", make(1, 2, 5), scale_factor=0.5, mode="area").narrow()
    yield S("area", make(1, 1, 3, 4, 2), 2, mode="area").narrow()


def byte_samples(torch, make):
    for mode in ("bilinear", "bicubic"):
        for smooth in (False, True):
            x = make(1, 3, 7, 6, low=0, high=255)
            yield S("down", x, (3, 4), mode=mode, antialias=smooth)
            yield S("up", x, (9, 11), mode=mode, antialias=smooth)
            yield S("align", x, (5, 8), mode=mode, antialias=smooth, align_corners=True)


def resize_errors(torch, make):
    yield E("ValueError", ("4-D",), make(1, 1, 4), 2, mode="linear", antialias=True)
    yield E("ValueError", ("restricted",), make(1, 1, 4, 4), 2, mode="nearest", antialias=True)
    yield E("NotImplementedError", (), make(1, 1, 4), 2, mode="bicubic")


def grid_samples(torch, make):
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (False, True):
                x, grid = make(1, 2, 3, 4), make(1, 2, 3, 2, low=-1.7, high=1.7)
                # PyTorch's steps at the edge of "border" and of rounding are conventions, not slopes.
                yield S(f"{mode} {padding}", x, grid, mode, padding, align).narrow().but(grad=mode != "nearest")
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            yield S(f"volume {padding}", make(1, 1, 3, 2, 4), make(1, 2, 1, 3, 3, low=-1.5, high=1.5), mode, padding, False).narrow().but(grad=mode != "nearest")
    yield S("strided", make(2, 2, 3, 3, layout="transposed"), make(2, 2, 2, 2, low=-1, high=1, layout="step"), align_corners=True).narrow()
    yield S("empty", make(0, 2, 3, 3), make(0, 2, 2, 2), align_corners=False).narrow()


def grid_errors(torch, make):
    x, grid = make(1, 1, 3, 3), make(1, 2, 2, 2)
    yield E("ValueError", ("mode", "cubic"), x, grid, "cubic")
    yield E("ValueError", ("padding_mode",), x, grid, "bilinear", "wrap")
    yield E("RuntimeError", ("batch size",), make(2, 1, 3, 3), grid, align_corners=False)
    yield E("RuntimeError", ("last dimension",), x, make(1, 2, 2, 3), align_corners=False)
    yield E("RuntimeError", ("dimensions",), x, make(1, 2, 2, 2, 2), align_corners=False)
    yield E("RuntimeError", ("non-empty",), make(1, 1, 0, 3), grid, align_corners=False)


def affine_samples(torch, make):
    for align in (False, True):
        yield S("image", make(2, 2, 3), (2, 1, 3, 4), align).but(wide=not align)
        yield S("volume", make(1, 3, 4), (1, 2, 2, 3, 2), align).narrow()
    yield S("one", make(1, 2, 3), (1, 1, 1, 1), False).narrow()


def cdist_samples(torch, make):
    for p in (2.0, 1.0, 0.0, 3.0, float("inf"), 0.5):
        yield S("power", make(3, 4), make(2, 4), p).narrow()
    yield S("batch", make(2, 1, 3, 2), make(3, 2, 2)).narrow()
    yield S("same", make(3, 2, seed=7), make(3, 2, seed=7)).narrow().but(grad=False)
    yield S("many", make(30, 3), make(4, 3), 2.0, "use_mm_for_euclid_dist").narrow().but(grad=False)
    yield S("empty", make(0, 3), make(2, 3)).narrow()
    yield S("none", make(2, 0), make(3, 0)).narrow()


def cdist_errors(torch, make):
    yield E("RuntimeError", ("2D",), make(3), make(2, 3))
    yield E("RuntimeError", ("columns",), make(2, 3), make(2, 4))
    yield E("RuntimeError", ("non-negative",), make(2, 3), make(2, 3), -1.0)
    yield E("ValueError", ("compute_mode",), make(2, 3), make(2, 3), 2.0, "other")


def pdist_samples(torch, make):
    for p in (2.0, 1.0, 0.0, 3.0, float("inf")):
        yield S("power", make(4, 3), p).narrow()
    yield S("one", make(1, 3)).narrow()


def pairwise_samples(torch, make):
    yield S("contiguous", make(3, 4), make(3, 4))
    yield S("keepdim", make(3, 4), make(4), 1.0, 0.1, True).narrow()
    yield S("vector", make(4), make(4), 3.0).narrow()


def rms_samples(torch, make):
    yield S("contiguous", make(2, 4), (4,), make(4, low=0.5, high=1.5))
    yield S("plain", make(2, 4), (4,)).narrow()
    yield S("two", make(2, 3, 2), (3, 2), make(3, 2), 0.01).narrow()
    yield S("strided", make(3, 4, 5, layout="transposed"), (5,), make(5)).narrow()
    yield S("vector", make(5), (5,)).narrow()
    yield S("long", make(5, 130), (130,), make(130)).narrow().but(grad=False, slope=False)
    yield S("empty", make(0, 4), (4,), make(4)).narrow()


def rms_errors(torch, make):
    yield E("RuntimeError", ("normalized_shape",), make(2, 4), ())
    yield E("RuntimeError", ("normalized_shape", "3"), make(2, 4), (3,))
    yield E("RuntimeError", ("weight",), make(2, 4), (4,), make(3))


def group_products(torch, make):
    ends = make.ints([1, 1, 6], "i32")
    yield S("batches", make(3, 2, 4), make(3, 4, 8)).but(meta=False)
    yield S("rows", make(6, 8), make(3, 8, 4), offs=ends).but(meta=False)
    yield S("columns", make(3, 2, 4), make(4, 8), offs=make.ints([4, 4, 8], "i32")).but(meta=False)
    yield S("sums", make(4, 8), make(8, 4), offs=make.ints([2, 2, 8], "i32")).but(meta=False)


def group_errors(torch, make):
    yield E("RuntimeError", ("int32",), make(6, 8), make(8, 4), offs=make.ints([2, 8]))
    yield E("RuntimeError", (), make(6, 8), make(3, 8, 4))
    yield E("RuntimeError", (), make(3, 2, 4), make(3, 3, 8))


def linear_entropy(torch, make):
    target, x, w = make.ints([1, 0, 2, 3]), make(4, 5), make(4, 5)
    for how in ("mean", "sum", "none"):
        yield S(how, x, w, target, linear_bias=make(4), reduction=how).but(wide=False)
    yield S("weights", x, w, target, weight=make(4, low=0.5, high=1.5), label_smoothing=0.1, ignore_index=2).narrow()
    yield S("probabilities", x, w, make(4, 4, low=0.1, high=0.9)).narrow()
    yield S("places", x, make(4, 2, 5), make.ints([[1, 0], [2, 3], [0, 0], [3, 1]])).narrow()
    yield S("vector", make(5), w, make.ints(2)).narrow()


def lrn_samples(torch, make):
    yield S("contiguous", make(2, 4, 3, 2), 3)
    yield S("row", make(2, 5, 3), 2, 0.1, 0.5, 2.0).narrow()
    yield S("volume", make(1, 4, 2, 2, 2), 3).narrow()


def three(torch, make):
    for how in ("mean", "sum", "none"):
        yield S(how, make(3, 4), make(3, 4), make(3, 4), reduction=how).but(wide=how == "mean")
    yield S("margin", make(2, 3), make(2, 3), make(2, 3), margin=2.0).narrow()


def triplet(torch, make):
    yield from three(torch, make)
    yield S("swap", make(3, 4), make(3, 4), make(3, 4), swap=True, p=3, eps=0.1).narrow()


def signs(make, *shape):
    return make(*shape, low=0, high=1).round() * 2 - 1


def signed(n):
    def samples(torch, make):
        for how in ("mean", "sum", "none"):
            yield S(how, *(make(3, 4) for _ in range(n)), signs(make, 3) if n == 2 else signs(make, 3, 4), reduction=how).but(wide=how == "mean")
    return samples


def ranking(torch, make):
    for how in ("mean", "sum", "none"):
        yield S(how, make(5), make(5), signs(make, 5), 0.3, reduction=how).but(wide=how == "mean")


def gaussian(torch, make):
    for how in ("mean", "sum", "none"):
        yield S(how, make(3, 4), make(3, 4), make(3, 4, low=0.3, high=2), reduction=how).but(wide=how == "mean")
    yield S("full", make(3, 4), make(3, 4), make(3, low=0.3, high=2), True).narrow()
    yield S("column", make(3, 4), make(3, 4), make(3, 1, low=0.3, high=2), eps=0.1).narrow()


def gaussian_errors(torch, make):
    yield E("ValueError", ("negative",), make(3), make(3), make(3, low=-2, high=-1))
    yield E("ValueError", ("size",), make(3, 4), make(3, 4), make(2, low=1, high=2))


def poisson(torch, make):
    for how in ("mean", "sum", "none"):
        yield S(how, make(3, 4), make(3, 4, low=0, high=5), reduction=how).but(wide=how == "mean")
    yield S("full", make(3, 4), make(3, 4, low=0, high=5), True, True).narrow()
    yield S("rate", make(3, 4, low=0.5, high=3), make(3, 4, low=0, high=5), False, eps=0.1).narrow()


def multi_margin(torch, make):
    target = make.ints([2, 0, 1])
    for how in ("mean", "sum", "none"):
        yield S(how, make(3, 4), target, reduction=how).narrow()
        yield S("square", make(3, 4), target, 2, 0.5, make(4, low=0.5, high=1.5), reduction=how).narrow()
    yield S("one", make(4), make.ints(1)).narrow()


def multi_margin_errors(torch, make):
    yield E("ValueError", ("p == 1",), make(3, 4), make.ints([2, 0, 1]), 3)
    yield E("RuntimeError", ("target",), make(3, 4), make.ints([2, 0]))


def labels(torch, make):
    target = make.ints([[3, 0, -1, 1], [0, 1, 2, 3], [-1, 2, 0, 0]])
    for how in ("mean", "sum", "none"):
        yield S(how, make(3, 4), target, reduction=how).narrow()
    yield S("one", make(4), make.ints([2, -1, 0, 0])).narrow()


def soft_labels(torch, make):
    for how in ("mean", "sum", "none"):
        yield S(how, make(3, 4), make(3, 4, low=0, high=1).round(), reduction=how).but(wide=how == "mean")
    yield S("weight", make(3, 4), make(3, 4, low=0, high=1).round(), make(4, low=0.5, high=1.5)).narrow()


def rrelu_samples(torch, make):
    yield S("contiguous", make(3, 4))
    yield S("args", make(3, 4), 0.2, 0.6).narrow()
    yield S("kinks", make.kinks()).narrow().but(grad=False)


def inert_samples(torch, make):
    yield S("evaluation", make(2, 3, 2, 2), 0.5, False)
    yield S("zero", make(2, 3, 2, 2), 0.0, True).narrow()
    yield S("one", make(2, 3, 2, 2), 1.0, True).narrow()


def tbc_samples(torch, make):
    yield S("contiguous", make(4, 1, 2), make(2, 2, 3), make(3), 1).narrow()
    yield S("none", make(4, 2, 1), make(3, 1, 2), make(2)).narrow()


def attention_samples(torch, make):
    def three(*lead, n=3, m=4, size=2, out=2, shared=None):
        keys = lead if shared is None else (*lead[:-1], shared)
        return make(*lead, n, size), make(*keys, m, size), make(*keys, m, out)
    yield S("contiguous", *three(1, 2))
    yield S("small", *three(1, 1, n=2, m=3)).narrow()
    yield S("causal", *three(1, 2, n=3, m=3), is_causal=True)
    yield S("causal", *three(1, 1, n=2, m=4), is_causal=True).narrow()
    yield S("causal", *three(1, 1, n=5, m=3), is_causal=True).narrow()
    yield S("scale", *three(2, 1), scale=0.3).narrow()
    yield S("out", *three(1, 2, out=5)).narrow()
    mask = make.wrap([[True, False, True, True], [False, True, True, False], [True, True, True, True]], "bool")
    yield S("bool", *three(2, 2), mask)
    yield S("bool", *three(2, 1), mask.expand(2, 1, 3, 4)).narrow()
    yield S("number", *three(1, 2), make(3, 4)).narrow()
    yield S("number", *three(2, 2), make(2, 1, 1, 4)).narrow()
    yield S("nothing", *three(1, 1), mask & make.wrap([[True], [False], [True]], "bool")).narrow()
    yield S("grouped", *three(1, 4, shared=2), enable_gqa=True).narrow()
    yield S("grouped", *three(2, 3, shared=1), mask, enable_gqa=True).narrow()
    yield S("three", *three(2)).narrow()
    yield S("two", *three()).narrow()
    yield S("five", *three(1, 2, 1)).narrow()
    yield S("strided", *(make(1, n, 2, 2).transpose(1, 2) for n in (3, 4, 4))).narrow()
    yield S("strided", *(make(1, 2, 2, n).transpose(2, 3) for n in (3, 4, 4))).narrow()


def attention_errors(torch, make):
    q = make(1, 2, 3, 4)
    yield E("RuntimeError", ("2 dim",), make(4), q, q)
    yield E("RuntimeError", ("dtype",), q, make(1, 2, 3, 4, dtype="f64"), q)
    yield E("RuntimeError", ("is_causal",), q, q, q, make.mask(3, 3), 0.0, True)
    yield E("RuntimeError", (), q, make(1, 2, 3, 5), q)
    yield E("RuntimeError", (), q, q, q, make.mask(3, 7))


def heads_call(torch, query, key, value, weight, bias, out_weight, out_bias, mask=None, padding=None, need=True, zero=False, k=None, v=None):
    result = torch.nn.functional.multi_head_attention_forward(
        query, key, value, query.shape[-1], 2, weight, bias, k, v, zero, 0.0, out_weight, out_bias, False, padding, need, mask)
    return [x for x in result if x is not None]


def heads_samples(torch, make):
    def weights(n=4):
        return make(3 * n, n), make(3 * n), make(n, n), make(n)
    x = make(2, 2, 4)
    for need in (True, False):  # gradcheck disturbs memory that arguments must not share
        yield S("same", x, x, x, *weights(), need=need).narrow().but(grad=False)
        yield S("other", make(2, 2, 4), x, x, *weights(), need=need).narrow().but(grad=False)
        yield S("three", make(2, 2, 4), make(3, 2, 4), make(3, 2, 4), *weights(), make(2, 3), need=need).narrow()
        yield S("padding", x, x, x, *weights(), None, make.wrap([[False, True], [False, False]], "bool"), need).narrow().but(grad=False)
        yield S("unbatched", make(3, 4), make(2, 4), make(2, 4), *weights(), need=need).narrow()
        yield S("more", make(3, 2, 4), x, x, *weights(), make(3, 2), None, need, True, make(1, 1, 4), make(1, 1, 4)).narrow().but(grad=False)


def recurrent(name, gates, layers=1, both=False, biases=True, project=0, packed=False, batch_first=False):
    """torch.lstm and its relatives; the state is one tensor or two, parameters follow."""
    directions = 2 if both else 1

    def call(torch, x, *rest):
        states = rest[:2] if name == "lstm" else rest[:1]
        state, params = (list(states) if name == "lstm" else states[0]), list(rest[len(states):])
        how = (biases, layers, 0.0, False, both)
        if packed:
            sizes = torch.tensor([3, 2, 2, 1])
            return getattr(torch, name)(x, sizes, state, params, *how)
        return getattr(torch, name)(x, state, params, *how, batch_first)

    def samples(torch, make):
        size, inputs, batch = 2 if layers > 1 or both else 1, 3, 3 if packed else 2
        x = make(8, inputs) if packed else make(batch, 4, inputs) if batch_first else make(4, batch, inputs)
        out = project or size
        states = [make(layers * directions, batch, out), make(layers * directions, batch, size)][: 2 if name == "lstm" else 1]
        params = []
        for layer in range(layers):
            for _ in range(directions):
                wide = inputs if layer == 0 else out * directions
                params += [make(gates * size, wide, low=-1, high=1), make(gates * size, out, low=-1, high=1)]
                params += [make(gates * size), make(gates * size)] if biases else []
                params += [make(project, size)] if project else []
        yield S("contiguous", x, *states, *params).narrow()
    return samples, call


def cell_samples(name, gates):
    def call(torch, x, h, *rest):
        return torch.lstm_cell(x, (h, rest[0]), *rest[1:]) if name == "lstm_cell" else getattr(torch, name)(x, h, *rest)

    def samples(torch, make):
        states = [make(2, 2) for _ in range(2 if name == "lstm_cell" else 1)]
        yield S("contiguous", make(2, 3), *states, make(2 * gates, 3), make(2 * gates, 2), make(2 * gates), make(2 * gates)).narrow()
        yield S("small", make(1, 1), *(make(1, 1) for _ in states), make(gates, 1), make(gates, 1), make(gates), make(gates)).narrow()
        yield S("no bias", make(1, 2), *(make(1, 2) for _ in states), make(2 * gates, 2), make(2 * gates, 2)).narrow()
    return samples, call


def pack_call(torch, x, lengths, batch_first=False):
    data, sizes = torch._pack_padded_sequence(x, torch.tensor(lengths), batch_first)
    back, found = torch._pad_packed_sequence(data * 2, sizes, batch_first, -1.5, 0)
    return data, sizes, back, found


def pack_samples(torch, make):
    yield S("contiguous", make(4, 3, 2), [4, 2, 1]).narrow()
    yield S("first", make(2, 3, 1, 2), [3, 3], True).narrow()


def pack_errors(torch, make):
    yield E("RuntimeError", ("sorted",), make(4, 2, 2), [2, 4])
    yield E("RuntimeError", ("greater than 0",), make(4, 2, 2), [2, 0])
    yield E("RuntimeError", ("batch_size",), make(4, 2, 2), [2])
    yield E("RuntimeError", (), make(4, 2, 2), [5, 1])


def ctc_call(torch, x, *args, **kwargs):
    return torch.nn.functional.ctc_loss(x.log_softmax(-1), *args, **kwargs)


def ctc_samples(torch, make):
    logs = make
    for how in ("mean", "sum", "none"):
        yield S(how, logs(5, 2, 4), make.ints([[1, 2, 2], [3, 1, 0]]), [5, 4], [3, 2], reduction=how).narrow()
    yield S("flat", logs(5, 2, 4), make.ints([1, 2, 2, 3]), make.ints([5, 4]), make.ints([3, 1]), blank=0).narrow()
    yield S("blank", logs(4, 1, 3), make.ints([[0, 1]]), [4], [2], 2).narrow()
    yield S("unbatched", logs(4, 3), make.ints([1, 2]), [4], [2]).narrow()
    yield S("impossible", logs(3, 2, 3), make.ints([[1, 1], [2, 2]]), [2, 3], [2, 2], zero_infinity=True, reduction="none").narrow().but(grad=False)
    yield S("impossible", logs(2, 1, 3), make.ints([[1, 1]]), [2], [2]).narrow().but(grad=False, slope=False)
    yield S("empty", logs(3, 2, 3), make.ints([[1], [2]]), [3, 2], [0, 1]).narrow()


def ctc_errors(torch, make):
    x, t = make(4, 2, 3), make.ints([[1, 2], [1, 1]])
    yield E("RuntimeError", ("input_lengths",), x, t, [4], [2, 2])
    yield E("RuntimeError", ("input_lengths",), x, t, [5, 4], [2, 2])
    yield E("RuntimeError", ("blank",), x, t, [4, 4], [2, 2], 3)
    yield E("RuntimeError", (), x, t, [4, 4], [2, 3])


def bag_samples(torch, make):
    at, starts = make.ints([1, 0, 3, 1, 1]), make.ints([0, 2, 2])
    for mode in ("sum", "mean", "max"):
        yield S(mode, at, make.distinct(4, 2), starts, mode=mode)
        yield S("matrix", make.ints([[1, 2], [0, 0]]), make.distinct(4, 3), mode=mode).narrow()
        yield S("padding", at, make.distinct(4, 2), starts, mode=mode, padding_idx=1).narrow()
        yield S("last", at, make.distinct(4, 2), make.ints([0, 2, 5]), mode=mode, include_last_offset=True).narrow()
    yield S("weights", at, make(4, 2), starts, mode="sum", per_sample_weights=make(5)).narrow()
    yield S("weights", at, make(4, 2), starts, mode="sum", per_sample_weights=make(5), padding_idx=1).narrow()
    yield S("frequency", at, make(4, 2), starts, mode="sum", scale_grad_by_freq=True).narrow().but(grad=False)


def bag_errors(torch, make):
    at, table, starts = make.ints([1, 0, 3]), make(4, 2), make.ints([0, 2])
    yield E("ValueError", ("mode",), at, table, starts, mode="other")
    yield E("ValueError", ("offsets",), at, table)
    yield E("RuntimeError", ("4",), make.ints([1, 4]), table, starts)
    yield E("RuntimeError", ("offsets[0]",), at, table, make.ints([1, 2]))
    yield E("RuntimeError", (), at, table, make.ints([0, 4]))
    yield E("NotImplementedError", ("per_sample_weights",), at, table, starts, mode="mean", per_sample_weights=make(3))


RECURRENT = {
    "lstm": ("lstm", 4), "lstm.layers": ("lstm", 4, 2, True), "lstm.packed": ("lstm", 4, 1, True, True, 0, True), "lstm.project": ("lstm", 4, 2, True, True, 1),
    "lstm.plain": ("lstm", 4, 1, False, False, 0, False, True), "gru": ("gru", 3, 2, True), "gru.packed": ("gru", 3, 1, True, True, 0, True),
    "gru.plain": ("gru", 3, 1, False, False), "rnn_tanh": ("rnn_tanh", 1, 2, True), "rnn_relu": ("rnn_relu", 1), "rnn_tanh.packed": ("rnn_tanh", 1, 1, True, True, 0, True),
}  # fmt: skip


def rows():
    g = dict(group="recurrent", dtypes=("f32", "f64"), strides=False, gradgrad=False, tol={"f32": (1e-4, 1e-5)})
    for name, how in RECURRENT.items():
        samples, call = recurrent(*how)
        # Parameters of several layers are too many for gradcheck; test_rnn.py compares their gradients.
        yield Op(name, samples, call, meta=len(how) < 7 or not how[6], grad_args=None if "." not in name and len(how) == 2 else (0, 1), **g)
    for name, gates in (("lstm_cell", 4), ("gru_cell", 3), ("rnn_tanh_cell", 1), ("rnn_relu_cell", 1)):
        samples, call = cell_samples(name, gates)
        yield Op(name, samples, call, **dict(g, gradgrad=True))
    yield Op("pack_padded_sequence", pack_samples, pack_call, errors=pack_errors, meta=False, names=("pad_packed_sequence", "pack", "lengths", "sequence", "samples"), **g)
    g = dict(group="functional", dtypes=FLOATS)
    yield Op("scaled_dot_product_attention", attention_samples, F + "scaled_dot_product_attention", errors=attention_errors, gradgrad=False, strides=False, library=True,
             names=("matmul", "bmm", "expand"), tol={"f16": (4e-3, 4e-3), "bf16": (3e-2, 3e-2), "f32": (1e-5, 1e-5)}, **g)
    yield Op("multi_head_attention_forward", heads_samples, heads_call, grad_args=(0, 1, 2), gradgrad=False, strides=False, library=True, tol={"f32": (1e-4, 1e-4)}, **dict(g, dtypes=("f32", "f64")))
    yield Op("ctc_loss", ctc_samples, ctc_call, errors=ctc_errors, meta=False, gradgrad=False, tol={"f32": (1e-5, 1e-5)}, **dict(g, dtypes=("f32", "f64")))
    yield Op("conv_tbc", tbc_samples, errors=lambda torch, make: [E("RuntimeError", ("3 dims",), make(3, 2), make(2, 2, 2), make(2))], strides=False, library=True,
             tol={"f32": (1e-5, 1e-5)}, **dict(g, dtypes=("f32", "f64")))
    yield Op("embedding_bag", bag_samples, F + "embedding_bag", errors=bag_errors, tol=SUMS, meta=False, **g)
    yield Op("pixel_shuffle", shuffle_samples, errors=shuffle_errors, aliases=(F + "pixel_shuffle",), group="functional", dtypes=FLOATS + ("i64", "bool"))
    yield Op("pixel_unshuffle", unshuffle_samples, errors=lambda torch, make: [E("RuntimeError", ("divisible",), make(1, 3, 2), 2)], aliases=(F + "pixel_unshuffle",), **g)
    yield Op("channel_shuffle", channel_samples, errors=channel_errors, aliases=("native_channel_shuffle",), **g)
    yield Op("max_pool3d", max_volumes, F + "max_pool3d", errors=volume_errors, big=lambda torch, make: ((make(2, 4, 12, 20, 20), 3, 2, 1), {}), **g)
    yield Op("avg_pool3d", avg_volumes, F + "avg_pool3d", errors=volume_errors, tol=SUMS, **g)
    yield Op("adaptive_avg_pool3d", adaptive(3), F + "adaptive_avg_pool3d", errors=adaptive_errors(3), tol=SUMS, strides=False, **g)
    for n in (1, 2, 3):
        yield Op(f"adaptive_max_pool{n}d", adaptive(n), F + f"adaptive_max_pool{n}d", errors=adaptive_errors(n), strides=False, **g)
        yield Op(f"max_unpool{n}d", unpool_samples(n), F + f"max_unpool{n}d", errors=unpool_errors(n), grad_args=(0,), meta=False, **dict(g, dtypes=("f32", "f64")))
        yield Op(f"lp_pool{n}d", lp_samples(n), F + f"lp_pool{n}d", tol=SUMS, **dict(g, dtypes=("f32", "f64")))
    yield Op("adaptive_max_pool2d.indices", adaptive(2), lambda torch, x, size: with_indices(torch, x, size, "adaptive_max_pool2d"), strides=False, **dict(g, dtypes=("f32", "f64")))
    for n in (2, 3):
        yield Op(f"fractional_max_pool{n}d", fractional_samples(n), F + f"fractional_max_pool{n}d", grad_args=(0,), **dict(g, dtypes=("f32", "f64")))
    yield Op("interpolate.smooth", resize_samples, F + "interpolate", errors=resize_errors, tol=dict(SUMS, f32=(1e-4, 1e-5)), **g)
    yield Op("interpolate.bytes", byte_samples, F + "interpolate", grad=False, group="functional", dtypes=("u8",))
    yield Op("grid_sample", grid_samples, F + "grid_sample", errors=grid_errors, gradgrad=False, tol={"f32": (1e-4, 1e-5)}, strides=False, **dict(g, dtypes=("f32", "f64")))
    yield Op("affine_grid", affine_samples, F + "affine_grid", tol=SUMS, strides=False, errors=lambda torch, make: [E("ValueError", ("2D",), make(1, 3, 4), (1, 1, 2, 2), False), E("NotImplementedError", (), make(1, 2, 3), (1, 2, 2), False)], **dict(g, dtypes=("f32", "f64")))
    yield Op("cdist", cdist_samples, errors=cdist_errors, gradgrad=False, tol={"f32": (1e-4, 1e-4)}, **dict(g, dtypes=("f32", "f64")))
    yield Op("pdist", pdist_samples, gradgrad=False, errors=lambda torch, make: [E("RuntimeError", ("2D",), make(3)), E("RuntimeError", ("non-negative",), make(3, 2), -1.0)], **dict(g, dtypes=("f32", "f64")))
    yield Op("pairwise_distance", pairwise_samples, tol=SUMS, **g)
    yield Op("rms_norm", rms_samples, F + "rms_norm", tol=SUMS, errors=rms_errors, **g)
    yield Op("grouped_mm", group_products, F + "grouped_mm", errors=group_errors, library=True, **dict(g, dtypes=("f32",), grad=False))
    yield Op("linear_cross_entropy", linear_entropy, F + "linear_cross_entropy", **dict(g, dtypes=("f32", "f64")))
    yield Op("local_response_norm", lrn_samples, F + "local_response_norm", tol=SUMS, **dict(g, dtypes=("f32", "f64")))
    yield Op("rrelu.evaluation", rrelu_samples, F + "rrelu", **g)
    for name in ("alpha_dropout", "feature_alpha_dropout", "dropout2d", "dropout3d"):
        yield Op(name + ".inert", inert_samples, F + name, errors=lambda torch, make: [E("ValueError", ("1.5",), make(2, 3, 2, 2), 1.5)], **dict(g, dtypes=("f32", "f64")))
    g = dict(g, tol={"f16": (4e-3, 4e-3), "bf16": (5e-2, 5e-2)})
    yield Op("triplet_margin_loss", triplet, F + "triplet_margin_loss", **g)
    yield Op("triplet_margin_with_distance_loss", three, F + "triplet_margin_with_distance_loss", **g)
    yield Op("hinge_embedding_loss", signed(1), F + "hinge_embedding_loss", grad_args=(0,), **dict(g, dtypes=("f32", "f64")))
    yield Op("soft_margin_loss", signed(1), F + "soft_margin_loss", grad_args=(0,), **g)
    yield Op("cosine_embedding_loss", signed(2), F + "cosine_embedding_loss", grad_args=(0, 1), **g)
    yield Op("margin_ranking_loss", ranking, F + "margin_ranking_loss", grad_args=(0, 1), **g)
    yield Op("gaussian_nll_loss", gaussian, F + "gaussian_nll_loss", errors=gaussian_errors, meta=False, **g)
    yield Op("poisson_nll_loss", poisson, F + "poisson_nll_loss", grad_args=(0,), **g)
    yield Op("multi_margin_loss", multi_margin, F + "multi_margin_loss", errors=multi_margin_errors, grad_args=(0,), **g)
    yield Op("multilabel_margin_loss", labels, F + "multilabel_margin_loss", grad_args=(0,), **g)
    yield Op("multilabel_soft_margin_loss", soft_labels, F + "multilabel_soft_margin_loss", grad_args=(0,), **g)


OPS = list(rows())
