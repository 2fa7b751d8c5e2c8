# SPDX-License-Identifier: Apache-2.0
"""torch.nn.functional: operators under their functional names, with torch's arguments and defaults."""

import functools
import math

from facula import _C
from facula._tensor import Tensor
from facula.functional import _need_tensor
from facula.overrides import handle_torch_function, has_torch_function

_ops = _C._functions


def _op(name):
    """An operator that the torch namespace may hide."""
    return _ops.get(name) or _C._hidden[name]


# Operators that are called as they are.
for _name in (
    "relu_", "selu_", "celu_", "leaky_relu_", "elu_", "hardtanh_", "threshold_", "prelu", "gelu", "softplus", "hardshrink",
    "softshrink", "sigmoid", "tanh", "glu", "linear", "bilinear", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "avg_pool1d", "avg_pool2d", "adaptive_avg_pool1d", "cosine_similarity", "one_hot",
    "scaled_dot_product_attention",
):  # fmt: skip
    globals()[_name] = _op(_name)
logsigmoid = _op("log_sigmoid")

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _number(reduction):
    try:
        return _REDUCTIONS[reduction]
    except (KeyError, TypeError):
        raise ValueError(f"{reduction} is not a valid value for reduction") from None


def _overridable(function):
    """Every function here takes a tensor first, and objects that stand for tensors anywhere."""

    @functools.wraps(function)
    def front(*args, **kwargs):
        if args or "input" in kwargs:
            _need_tensor(front.__name__, "input", 1, args[0] if args else kwargs["input"])
        if has_torch_function(args):
            tensors = tuple(a for a in args if isinstance(a, Tensor) or hasattr(type(a), "__torch_function__"))
            return handle_torch_function(front, tensors, *args, **kwargs)
        return function(*args, **kwargs)

    return front


def _in_place(name):
    """f(input, inplace=False) for an operator and its in-place form."""

    def front(input, *args, inplace=False, **kwargs):
        return _op(name + "_" if inplace else name)(input, *args, **kwargs)

    front.__name__ = front.__qualname__ = name
    front.__doc__ = f"{name} of every element; in place if asked."
    return _overridable(front)


for _name in ("relu", "selu", "silu", "mish", "hardswish", "hardsigmoid"):
    globals()[_name] = _in_place(_name)


@_overridable
def relu6(input, inplace=False):
    """min(max(0, x), 6)."""
    return _op("hardtanh_" if inplace else "hardtanh")(input, 0.0, 6.0)


@_overridable
def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x where it is positive, negative_slope * x elsewhere."""
    return _op("leaky_relu_" if inplace else "leaky_relu")(input, negative_slope)


@_overridable
def elu(input, alpha=1.0, inplace=False):
    """x where it is positive, alpha * (exp(x) - 1) elsewhere."""
    return _op("elu_" if inplace else "elu")(input, alpha)


@_overridable
def celu(input, alpha=1.0, inplace=False):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    return _op("celu_" if inplace else "celu")(input, alpha)


@_overridable
def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """Each element limited to the range from min_val to max_val."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _op("hardtanh_" if inplace else "hardtanh")(input, min_val, max_val)


@_overridable
def threshold(input, threshold, value, inplace=False):
    """x where it is above the threshold, the value elsewhere."""
    return _op("threshold_" if inplace else "threshold")(input, threshold, value)


@_overridable
def softsign(input):
    """x / (1 + |x|)."""
    return input / (input.abs() + 1)


@_overridable
def tanhshrink(input):
    """x - tanh(x)."""
    return input - input.tanh()


def _softmax_dim(name, dim, rank):
    if dim is not None:
        return dim
    import warnings

    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.", stacklevel=4)
    return 0 if rank in (0, 1, 3) else 1


@_overridable
def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x) / sum(exp(x)) along dim."""
    return _op("softmax")(input, _softmax_dim("softmax", dim, input.dim()), dtype=dtype)


@_overridable
def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax of minus the input."""
    return _op("softmax")(-input, _softmax_dim("softmin", dim, input.dim()), dtype=dtype)


@_overridable
def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """log(softmax(x)) along dim, computed together."""
    return _op("log_softmax")(input, _softmax_dim("log_softmax", dim, input.dim()), dtype=dtype)


@_overridable
def dropout(input, p=0.5, training=True, inplace=False):
    """Zeros with probability p; the rest is scaled by 1 / (1 - p)."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return _op("dropout_" if inplace else "dropout")(input, p, training)


def _pool(name):
    def front(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        stride = [] if stride is None else stride
        if return_indices:
            return _op(name + "_with_indices")(input, kernel_size, stride, padding, dilation, ceil_mode)
        return _op(name)(input, kernel_size, stride, padding, dilation, ceil_mode)

    front.__name__ = front.__qualname__ = name
    front.__doc__ = "The largest element of every window; with return_indices also where it stood."
    return _overridable(front)


for _name in ("max_pool1d", "max_pool2d"):
    globals()[_name] = _pool(_name)
del _name


@_overridable
def adaptive_avg_pool2d(input, output_size):
    """None in output_size keeps the input's size there."""
    pair = (output_size, output_size) if isinstance(output_size, int) else output_size
    if input.dim() <= len(pair):
        raise ValueError(f"Input dimension should be at least {len(pair) + 1}")
    size = [n if wanted is None else wanted for wanted, n in zip(pair, input.shape[-2:])]
    return _op("adaptive_avg_pool2d")(input, size)


@_overridable
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Sliding blocks of images as columns."""
    return _op("im2col")(input, kernel_size, dilation, padding, stride)


@_overridable
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Sums columns of sliding blocks back into images."""
    return _op("col2im")(input, output_size, kernel_size, dilation, padding, stride)


@_overridable
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Zero mean and unit variance over the last dimensions, then weight and bias."""
    return _op("layer_norm")(input, list(normalized_shape), weight, bias, eps)


@_overridable
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Normalises groups of channels of each sample."""
    return _op("group_norm")(input, num_groups, weight, bias, eps)


@_overridable
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Zero mean and unit variance for each channel, over the batch or by the running statistics."""
    if training and math.prod((input.size(0) if input.dim() else 0, *input.shape[2:])) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.size()}")
    return _op("batch_norm")(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


@_overridable
def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    """Normalises each channel of each sample."""
    return _op("instance_norm")(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


@_overridable
def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """Rows of weight picked by input, which are first scaled down to max_norm, in weight itself, where they are longer."""
    _need_tensor("embedding", "weight", 2, weight)
    if padding_idx is None:
        padding_idx = -1
    elif not -weight.size(0) <= padding_idx < weight.size(0):
        raise AssertionError("Padding_idx must be within num_embeddings")
    elif padding_idx < 0:
        padding_idx += weight.size(0)
    if max_norm is not None:
        _op("embedding_renorm_")(weight.detach(), input, max_norm, norm_type)
    return _op("embedding")(weight, input, padding_idx, scale_grad_by_freq, sparse)


@_overridable
def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    """The loss of log_softmax(input) against classes or probabilities."""
    return _op("cross_entropy_loss")(input, target, weight, _number(reduction), ignore_index, label_smoothing)


@_overridable
def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """The negative log-likelihood of classes."""
    return _op("nll_loss_nd")(input, target, weight, _number(reduction), ignore_index)


def _warn_sizes(name, input, target):
    _need_tensor(name, "target", 2, target)
    if input.shape != target.shape:
        import warnings

        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely lead to "
            "incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=4,
        )


@_overridable
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The mean of squared differences."""
    _warn_sizes("mse_loss", input, target)
    return _op("mse_loss")(input, target, _number(reduction))


@_overridable
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The mean of absolute differences."""
    _warn_sizes("l1_loss", input, target)
    return _op("l1_loss")(input, target, _number(reduction))


@_overridable
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """The absolute difference, rounded off to a square below beta."""
    _warn_sizes("smooth_l1_loss", input, target)
    return _op("smooth_l1_loss")(input, target, _number(reduction), beta)


@_overridable
def huber_loss(input, target, reduction="mean", delta=1.0):
    """Half the squared difference near zero, linear beyond delta."""
    _warn_sizes("huber_loss", input, target)
    return _op("huber_loss")(input, target, _number(reduction), delta)


@_overridable
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Cross entropy between targets and probabilities."""
    _need_tensor("binary_cross_entropy", "target", 2, target)
    if input.size() != target.size():
        raise ValueError(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. Please ensure they have the same size.")
    return _op("binary_cross_entropy")(input, target, weight, _number(reduction))


@_overridable
def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    """Cross entropy between targets and the sigmoid of the input."""
    _need_tensor("binary_cross_entropy_with_logits", "target", 2, target)
    if input.size() != target.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return _op("binary_cross_entropy_with_logits")(input, target, weight, pos_weight, _number(reduction))


@_overridable
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The Kullback-Leibler divergence of target from log probabilities."""
    if reduction == "batchmean":
        return _op("kl_div")(input, target, 2, log_target=log_target) / input.size(0)
    return _op("kl_div")(input, target, _number(reduction), log_target=log_target)


@_overridable
def pad(input, pad, mode="constant", value=None):
    """Elements added (or taken away) at both ends of the last dimensions."""
    return _op("pad")(input, list(pad), mode, value)


@_overridable
def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """input divided by its norm along dim, which is taken to be at least eps."""
    norm = _op("linalg_vector_norm")(input, p, dim, True).clamp_min(eps).expand_as(input)
    return _ops["div"](input, norm) if out is None else _ops["div"](input, norm, out=out)


_RESIZERS = {
    "nearest": ("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"),
    "nearest-exact": ("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d"),
    "linear": ("upsample_linear1d", None, None),
    "bilinear": (None, "upsample_bilinear2d", None),
    "trilinear": (None, None, "upsample_trilinear3d"),
}


@_overridable
def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    """Sequences, images or volumes resized to size, or by scale_factor."""
    smooth = mode in ("linear", "bilinear", "trilinear")
    if align_corners is not None and not smooth:
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
    if antialias:
        raise NotImplementedError("interpolate: antialias is not implemented")
    dims = list(input.shape[2:])

    def each(value, what):
        if not isinstance(value, (tuple, list)):
            return [value] * len(dims)
        if len(value) != len(dims):
            raise ValueError(
                f"Input and {what} must have the same number of spatial dimensions, but got input with spatial dimensions of {dims} and "
                f"{what} of {tuple(value)}. Please provide input tensor in (N, C, d1, d2, ...,dK) format."
            )
        return list(value)

    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if recompute_scale_factor:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        size, scales = each(size, "output size"), [None] * len(dims)
    else:
        scales = [float(s) for s in each(scale_factor, "scale_factor")]
        if not all(abs(n * s) < 2**62 for n, s in zip(dims, scales)):
            raise RuntimeError(f"interpolate: value cannot be converted to type int64_t without overflow: scale_factor is {scale_factor}")
        size = [math.floor(n * s) for n, s in zip(dims, scales)]
        if recompute_scale_factor:
            scales = [None] * len(dims)
    if mode not in _RESIZERS or not 1 <= len(dims) <= 3:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: {' | '.join(_RESIZERS)} (got {mode})"
        )
    name = _RESIZERS[mode][len(dims) - 1]
    if name is None:
        wanted = next(i for i, n in enumerate(_RESIZERS[mode]) if n) + 3
        raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs {wanted}D input")
    args = (align_corners or False,) if smooth else ()
    return _op(name)(input, size, *args, *scales)


@_overridable
def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The old name of interpolate."""
    return interpolate(input, size, scale_factor, mode, align_corners)
