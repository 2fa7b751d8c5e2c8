# SPDX-License-Identifier: Apache-2.0
"""torch.nn.functional: operators under their functional names, with torch's arguments and defaults."""

import enum
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
    "conv_transpose2d", "conv_transpose3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d", "cosine_similarity", "one_hot",
    "scaled_dot_product_attention", "rrelu_", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "native_channel_shuffle",
    "pairwise_distance", "pdist", "conv_tbc",
):  # fmt: skip
    globals()[_name] = _op(_name)
logsigmoid = _op("log_sigmoid")

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _named(reduction, size_average=None, reduce=None, stacklevel=4):
    """The reduction that is meant; size_average and reduce are its old spelling."""
    if size_average is not None or reduce is not None:
        import warnings

        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.", stacklevel=stacklevel)
    return reduction


def _number(reduction, size_average=None, reduce=None):
    """The operators' number for a reduction."""
    reduction = _named(reduction, size_average, reduce, 5)
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

    def front(input, inplace=False):
        return _op(name + "_" if inplace else name)(input)

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
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """x where it is positive, elsewhere x times a slope drawn between lower and upper, or their mean."""
    return _op("rrelu_" if inplace else "rrelu")(input, lower, upper, training)


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
def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A draw from the categories of logits that has a gradient; hard: one-hot, with the gradient of the soft one."""
    if eps != 1e-10:
        import warnings

        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=3)
    noise = -_ops["empty_like"](logits, memory_format=_C.contiguous_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    chosen = _ops["zeros_like"](logits, memory_format=_C.contiguous_format).scatter_(dim, soft.max(dim, keepdim=True)[1], 1.0)
    return chosen - soft.detach() + soft


def _drop(name, input, p, training, inplace):
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if inplace and (not training or p == 0.0 or input.numel() == 0):
        return input  # nothing is written, which a leaf that requires a gradient would not allow
    return _op(name + "_" if inplace else name)(input, p, training)


@_overridable
def dropout(input, p=0.5, training=True, inplace=False):
    """Zeros with probability p; the rest is scaled by 1 / (1 - p)."""
    return _drop("dropout", input, p, training, inplace)


@_overridable
def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps mean and variance of self-normalising activations."""
    return _drop("alpha_dropout", input, p, training, inplace)


@_overridable
def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """alpha_dropout of whole channels."""
    return _drop("feature_alpha_dropout", input, p, training, inplace)


def _drop_channels(input, p, training, inplace, batched):
    if batched:
        return _drop("feature_dropout", input, p, training, inplace)
    result = _drop("feature_dropout", input.unsqueeze(0), p, training, inplace)
    return input if inplace else result.squeeze(0)


@_overridable
def dropout1d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of [C, L] or [N, C, L]."""
    if input.dim() not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input: channels, one spatial dimension and maybe a batch.")
    return _drop_channels(input, p, training, inplace, input.dim() == 3)


@_overridable
def dropout2d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of [N, C, H, W]; three dimensions are [N, C, L]."""
    if input.dim() != 4:
        import warnings

        warnings.warn(f"dropout2d: Received a {input.dim()}-D input to dropout2d; channels are its second dimension.", stacklevel=3)
    return _drop_channels(input, p, training, inplace, True)


@_overridable
def dropout3d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of [C, D, H, W] or [N, C, D, H, W]."""
    if input.dim() not in (4, 5):
        import warnings

        warnings.warn(f"dropout3d: Received a {input.dim()}-D input to dropout3d, which is deprecated.", stacklevel=3)
    return _drop_channels(input, p, training, inplace, input.dim() == 5)


def _pool(name):
    def front(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        stride = [] if stride is None else stride
        if return_indices:
            return _op(name + "_with_indices")(input, kernel_size, stride, padding, dilation, ceil_mode)
        return _op(name)(input, kernel_size, stride, padding, dilation, ceil_mode)

    front.__name__ = front.__qualname__ = name
    front.__doc__ = "The largest element of every window; with return_indices also where it stood."
    return _overridable(front)


def _with_indices(function):
    """The same, that always returns the indices."""
    code = function.__wrapped__.__code__
    at = code.co_varnames.index("return_indices")

    def front(*args, **kwargs):
        given = {**kwargs, "return_indices": True} if len(args) <= at else kwargs
        return function(*args[:at], *(() if len(args) <= at else (True, *args[at + 1 :])), **given)

    front.__name__ = front.__qualname__ = function.__name__ + "_with_indices"
    front.__doc__ = f"{function.__name__}, and where the largest elements stood."
    return front


for _name in ("max_pool1d", "max_pool2d", "max_pool3d"):
    globals()[_name] = _pool(_name)
    globals()[_name + "_with_indices"] = _with_indices(globals()[_name])


def _each(value, n):
    """A value for each of n dimensions."""
    return [value] * n if isinstance(value, int) else list(value)


def _adaptive(name, n, largest):
    def resized(input, output_size):
        size = _each(output_size, n)
        if input.dim() <= len(size):
            raise ValueError(f"Input dimension should be at least {len(size) + 1}")
        size = [have if wanted is None else wanted for wanted, have in zip(size, input.shape[-n:])] if len(size) == n else size
        return _op(name)(input, size)

    def average(input, output_size):
        return resized(input, output_size)

    def maximum(input, output_size, return_indices=False):
        both = resized(input, output_size)
        return both if return_indices else both[0]

    front = maximum if largest else average
    front.__name__ = front.__qualname__ = name
    front.__doc__ = f"{'The largest element' if largest else 'The average'} of windows chosen so that the result has output_size; None keeps the input's size."
    return _overridable(front)


adaptive_avg_pool2d = _adaptive("adaptive_avg_pool2d", 2, False)
adaptive_avg_pool3d = _adaptive("adaptive_avg_pool3d", 3, False)
for _name, _n in (("adaptive_max_pool1d", 1), ("adaptive_max_pool2d", 2), ("adaptive_max_pool3d", 3)):
    globals()[_name] = _adaptive(_name, _n, True)
    globals()[_name + "_with_indices"] = _with_indices(globals()[_name])


def _fractional(name, n):
    def front(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        if output_size is None:
            ratio = [output_ratio] * n if isinstance(output_ratio, float) else list(output_ratio)
            if len(ratio) > n:
                raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
            output_size = [int(have * r) for have, r in zip(input.shape[-n:], ratio)]
        if _random_samples is None:
            batch = 1 if input.dim() == n + 1 else input.size(0)
            _random_samples = _ops["rand"](batch, input.size(-n - 1), n, dtype=input.dtype, device=input.device)
        both = _op(name)(input, _each(kernel_size, n), _each(output_size, n), _random_samples)
        return both if return_indices else both[0]

    front.__name__ = front.__qualname__ = name
    front.__doc__ = "The largest element of windows at random positions, so many that the result has output_size or output_ratio of the input's."
    return _overridable(front)


for _name, _n in (("fractional_max_pool2d", 2), ("fractional_max_pool3d", 3)):
    globals()[_name] = _fractional(_name, _n)
    globals()[_name + "_with_indices"] = _with_indices(globals()[_name])


def _unpool(n):
    def front(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        kernel, pads = _each(kernel_size, n), _each(padding, n)
        steps = kernel if stride is None else _each(stride, n)
        usual = [(have - 1) * s + k - 2 * p for have, s, k, p in zip(input.shape[-n:], steps, kernel, pads)]
        size = usual if output_size is None else list(output_size)
        if len(size) == n + 2:
            size = size[2:]
        elif output_size is not None and len(size) == n + 1 and input.dim() == n + 1:
            size = size[1:]
        if len(size) != n:
            raise ValueError(f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of '{len(size)}'")
        for d, (want, middle, step) in enumerate(zip(size, usual, steps)):
            if output_size is not None and not middle - step < want < middle + step:
                raise ValueError(f'invalid output_size "{size}" (dim {d} must be between {middle - step} and {middle + step})')
        if n == 1:
            return _op("max_unpool2d")(input.unsqueeze(-1), indices.unsqueeze(-1), size + [1]).squeeze(-1)
        return _op("max_unpool2d")(input, indices, size) if n == 2 else _op("max_unpool3d")(input, indices, size, steps, pads)

    front.__name__ = front.__qualname__ = f"max_unpool{n}d"
    front.__doc__ = "The elements that max_pool took, at the indices they came from, and zeros elsewhere."
    return _overridable(front)


for _n in (1, 2, 3):
    globals()[f"max_unpool{_n}d"] = _unpool(_n)


def _lp_pool(n):
    def front(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        largest, average = globals()[f"max_pool{n}d"], _op(f"avg_pool{n}d")
        if norm_type == 0:
            raise ValueError(f"norm_type must be a non-zero value, but got {norm_type}")
        if norm_type == math.inf:
            return largest(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        if norm_type == -math.inf:
            return -largest(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        mean = average(input.pow(norm_type), kernel_size, [] if stride is None else stride, 0, ceil_mode)
        return (mean.sign() * mean.abs().relu()).mul(math.prod(_each(kernel_size, n))).pow(1.0 / norm_type)

    front.__name__ = front.__qualname__ = f"lp_pool{n}d"
    front.__doc__ = "The p-norm of every window, p being norm_type."
    return _overridable(front)


for _n in (1, 2, 3):
    globals()[f"lp_pool{_n}d"] = _lp_pool(_n)
del _name, _n


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
    sizes = input.shape
    if len(sizes) > 1 and num_groups > 0 and math.prod((sizes[0] * sizes[1] // num_groups, *sizes[2:])) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(sizes)}")
    return _op("group_norm")(input, num_groups, weight, bias, eps)


@_overridable
def rms_norm(input, normalized_shape, weight=None, eps=None):
    """input divided by the root of its mean square over the last dimensions, times weight."""
    return _op("rms_norm")(input, list(normalized_shape), weight, eps)


@_overridable
def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """input divided by (k + alpha * mean of its squares over `size` neighbouring channels) ** beta."""
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    flat = (input * input).flatten(2).unsqueeze(1)  # channels as the height of an image
    padded = pad(flat, (0, 0, size // 2, (size - 1) // 2))
    means = _op("avg_pool2d")(padded, (size, 1), 1).squeeze(1).reshape(input.shape)
    return input / (means * alpha + k).pow(beta)


@_overridable
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Zero mean and unit variance for each channel, over the batch or by the running statistics."""
    if training and math.prod((input.size(0) if input.dim() else 0, *input.shape[2:])) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.size()}")
    if training and eps <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    return _op("batch_norm")(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


@_overridable
def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    """Normalises each channel of each sample."""
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
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
def embedding_bag(
    input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False, per_sample_weights=None,
    include_last_offset=False, padding_idx=None,
):  # fmt: skip
    """The sum, mean or maximum of rows of weight: of each row of input, or of each bag of a vector that offsets begin."""
    if weight.dtype == _C.int64 and input.is_floating_point():
        import warnings

        warnings.warn("Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is deprecated.", stacklevel=3)
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same shape as the input ({input.shape})")
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences.")
        offsets = _ops["arange"](0, input.numel(), input.size(1), dtype=input.dtype, device=input.device) if input.numel() else input.new_zeros(input.size(0))
        if include_last_offset:
            offsets = _ops["cat"]([offsets, offsets.new_full((1,), input.numel())])
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        _op("embedding_renorm_")(weight.detach(), input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got mode='{mode}').")
    number = ("sum", "mean", "max").index(mode)
    return _op("embedding_bag")(weight, input, offsets, scale_grad_by_freq, number, sparse, per_sample_weights, include_last_offset, padding_idx)[0]


@_overridable
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """The negative log-likelihood of label sequences, over all ways of placing them among the steps of log_probs."""
    return _op("ctc_loss")(log_probs, targets, input_lengths, target_lengths, blank, _number(reduction), zero_infinity)


@_overridable
def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """One matrix product for each group; the groups of an operand with two dimensions end at offs (int32)."""
    return _op("_grouped_mm")(mat_a, mat_b, offs, bias, out_dtype)


class ScalingType(enum.Enum):
    """What a scale of a float8 matrix stands for. Blocks need types that do not exist here: they are refused."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.Enum):
    """How scales lie in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1
    SWIZZLE_32_8 = 2


def _list(one):
    return [] if one is None else list(one) if isinstance(one, (list, tuple)) else [one]


def _numbers(members, kind):
    members = _list(members)
    for m in members:
        if not isinstance(m, kind):
            raise TypeError(f"expected {kind.__name__} or a list of them, got {type(m).__name__}")
    return [m.value for m in members]


def _scales(scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b):
    a = _list(scale_a), _numbers(recipe_a, ScalingType), _numbers(swizzle_a, SwizzleType)
    return *a, _list(scale_b), _numbers(recipe_b, ScalingType), _numbers(swizzle_b, SwizzleType)


@_overridable
def scaled_mm(
    mat_a, mat_b, scale_a, scale_recipe_a, scale_b, scale_recipe_b, swizzle_a=None, swizzle_b=None, bias=None,
    output_dtype=_C.bfloat16, contraction_dim=(), use_fast_accum=False,
):  # fmt: skip
    """The product of two float8 matrices, times scales: TensorWise, one number each, or RowWise, (M, 1) and (1, N)."""
    scales = _scales(scale_a, scale_recipe_a, swizzle_a, scale_b, scale_recipe_b, swizzle_b)
    return _op("_scaled_mm_v2")(mat_a, mat_b, *scales, bias, output_dtype, contraction_dim, use_fast_accum)


@_overridable
def scaled_addmm(
    input, mat1, mat2, scale_a, scale_recipe_a, scale_b, scale_recipe_b, swizzle_a=None, swizzle_b=None,
    contraction_dim=(), use_fast_accum=False, *, beta=1.0, alpha=1.0,
):  # fmt: skip
    """beta * input + alpha * scaled_mm(mat1, mat2, ...), rounded once."""
    scales = _scales(scale_a, scale_recipe_a, swizzle_a, scale_b, scale_recipe_b, swizzle_b)
    return _op("_scaled_addmm")(input, mat1, mat2, *scales, contraction_dim, beta=beta, alpha=alpha, use_fast_accum=use_fast_accum)


@_overridable
def scaled_addmm_(
    input, mat1, mat2, scale_a, scale_recipe_a, scale_b, scale_recipe_b, swizzle_a=None, swizzle_b=None,
    contraction_dim=(), use_fast_accum=False, *, beta=1.0, alpha=1.0,
):  # fmt: skip
    """scaled_addmm into input."""
    scales = _scales(scale_a, scale_recipe_a, swizzle_a, scale_b, scale_recipe_b, swizzle_b)
    return _op("_scaled_addmm_")(input, mat1, mat2, *scales, contraction_dim, beta=beta, alpha=alpha, use_fast_accum=use_fast_accum)


@_overridable
def scaled_grouped_mm(
    mat_a, mat_b, scale_a, scale_recipe_a, scale_b, scale_recipe_b, swizzle_a=None, swizzle_b=None, bias=None, offs=None,
    output_dtype=_C.bfloat16, contraction_dim=(), use_fast_accum=False,
):  # fmt: skip
    """grouped_mm of float8 matrices, times a scale for each row of mat_a and each column of mat_b (RowWise)."""
    scales = _scales(scale_a, scale_recipe_a, swizzle_a, scale_b, scale_recipe_b, swizzle_b)
    return _op("_scaled_grouped_mm_v2")(mat_a, mat_b, *scales, offs, bias, output_dtype, contraction_dim, use_fast_accum)


@_overridable
def linear_cross_entropy(
    input, linear_weight, target, *,
    linear_bias=None, weight=None, reduction="mean", ignore_index=None, label_smoothing=0.0, options=None,
):  # fmt: skip
    """cross_entropy of linear(input, linear_weight, linear_bias): (N, features), (C, *, features) and (N, *).

    With options (nn.LinearCrossEntropyOptions) the logits exist for some rows at a time, and once more in backward.
    """
    if options is not None and not hasattr(options, "rows"):
        raise TypeError(f"linear_cross_entropy(): options must be LinearCrossEntropyOptions or None, not {type(options).__name__}")
    _need_tensor("linear_cross_entropy", "linear_weight", 2, linear_weight)
    if input.dim() not in (1, 2):
        raise RuntimeError(f"linear_cross_entropy(): expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"linear_cross_entropy(): expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    classes, *more, features = linear_weight.shape
    if more and input.dim() == 1:
        raise RuntimeError(f"linear_cross_entropy(): K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, (N, {features}), "
                           f"got unbatched input with shape {tuple(input.shape)}")  # fmt: skip
    table = linear_weight.reshape(-1, features)
    bias = None if linear_bias is None else _op("reshape")(linear_bias, (-1,))
    ignored = -100 if ignore_index is None else ignore_index

    def loss(x, t, how):
        logits = _op("linear")(x, table, bias).reshape(*x.shape[:-1], classes, *more)
        return cross_entropy(logits, t, weight, ignore_index=ignored, reduction=how, label_smoothing=label_smoothing)

    if options is None or input.dim() != 2 or input.size(0) == 0:
        return loss(input, target, reduction)
    from facula.utils.checkpoint import checkpoint

    rows = options.rows(*input.shape, classes)
    how = "none" if reduction == "none" else "sum"
    parts = [checkpoint(loss, x, t, how, use_reentrant=False) for x, t in zip(input.split(rows), target.split(rows))]
    if reduction == "none":
        return _op("cat")(parts)
    total = _op("stack")(parts).sum()
    if reduction == "sum":
        return total
    if target.is_floating_point():
        return total / (target.numel() // classes)
    counted = target != ignored
    return total / (counted.sum() if weight is None else weight[target.where(counted, 0)].where(counted, 0).sum())


@_overridable
def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    """The loss of log_softmax(input) against classes or probabilities."""
    return _op("cross_entropy_loss")(input, target, weight, _number(reduction, size_average, reduce), ignore_index, label_smoothing)


@_overridable
def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """The negative log-likelihood of classes."""
    return _op("nll_loss_nd")(input, target, weight, _number(reduction, size_average, reduce), ignore_index)


def _warn_sizes(name, input, target):
    _need_tensor(name, "target", 2, target)
    if input.shape != target.shape:
        import warnings

        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely lead to "
            "incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=4,
        )


def _weighted(losses, weight, input, reduction, over_weight=True):
    """Losses of the elements times their weights, reduced; over_weight: a mean is over the sum of weights, not their number."""
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    losses = losses * weight
    if reduction not in ("none", "sum", "mean"):
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    if reduction == "none":
        return losses
    if reduction == "mean" and not over_weight:
        return losses.mean()
    return losses.sum() / weight.sum() if reduction == "mean" else losses.sum()


@_overridable
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean of squared differences, each times its weight if there are weights."""
    _warn_sizes("mse_loss", input, target)
    if weight is None:
        return _op("mse_loss")(input, target, _number(reduction, size_average, reduce))
    return _weighted(_op("mse_loss")(input, target, 0), weight, input, _named(reduction, size_average, reduce))


@_overridable
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean of absolute differences, each times its weight if there are weights."""
    _warn_sizes("l1_loss", input, target)
    if weight is None:
        return _op("l1_loss")(input, target, _number(reduction, size_average, reduce))
    return _weighted(_op("l1_loss")(input, target, 0), weight, input, _named(reduction, size_average, reduce))


@_overridable
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """The absolute difference, rounded off to a square below beta."""
    _warn_sizes("smooth_l1_loss", input, target)
    return _op("smooth_l1_loss")(input, target, _number(reduction, size_average, reduce), beta)


@_overridable
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Half the squared difference near zero, linear beyond delta; times weights, whose mean is over their number."""
    _warn_sizes("huber_loss", input, target)
    if weight is None:
        return _op("huber_loss")(input, target, _number(reduction), delta)
    return _weighted(_op("huber_loss")(input, target, 0, delta), weight, input, reduction, over_weight=False)


@_overridable
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Cross entropy between targets and probabilities."""
    _need_tensor("binary_cross_entropy", "target", 2, target)
    if input.size() != target.size():
        raise ValueError(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. Please ensure they have the same size.")
    return _op("binary_cross_entropy")(input, target, weight, _number(reduction, size_average, reduce))


@_overridable
def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    """Cross entropy between targets and the sigmoid of the input."""
    _need_tensor("binary_cross_entropy_with_logits", "target", 2, target)
    if input.size() != target.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return _op("binary_cross_entropy_with_logits")(input, target, weight, pos_weight, _number(reduction, size_average, reduce))


@_overridable
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The Kullback-Leibler divergence of target from log probabilities."""
    if size_average is None and reduce is None:
        if reduction == "batchmean":
            total = _op("kl_div")(input, target, 2, log_target=log_target)
            return total / input.size(0) if input.dim() else total
        if reduction == "mean":
            import warnings

            warnings.warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides by the batch size "
                "only, as the definition of the divergence does.",
                stacklevel=3,
            )
    return _op("kl_div")(input, target, _number(reduction, size_average, reduce), log_target=log_target)


@_overridable
def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    """The negative log-likelihood of counts under Poisson distributions of (the exponential of) the input."""
    return _op("poisson_nll_loss")(input, target, log_input, full, eps, _number(reduction, size_average, reduce))


@_overridable
def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """The negative log-likelihood of targets under normal distributions of mean `input` and variance `var`."""
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = input.new_full(input.shape, var)
    elif (var < 0).any():
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif input.dim() != var.dim() or sum(y for x, y in zip(input.size(), var.size()) if x != y) != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not valid")
    var = var.clone()
    var.detach().clamp_(min=eps)  # its gradient goes past the limit
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def _loss(name, doc):
    """f(input, target, …) for an operator of two tensors and a reduction."""

    def front(input, target, size_average=None, reduce=None, reduction="mean"):
        return _op(name)(input, target, _number(reduction, size_average, reduce))

    front.__name__ = front.__qualname__ = name
    front.__doc__ = doc
    return _overridable(front)


multilabel_margin_loss = _loss("multilabel_margin_loss", "The margin by which targets, the classes up to the first -1, beat all other classes.")
soft_margin_loss = _loss("soft_margin_loss", "log(1 + exp(-target * input)), with targets 1 and -1.")


@_overridable
def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Cross entropy of every class with its own target, as the mean over classes."""
    how = _number(reduction, size_average, reduce)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    loss = loss.sum(dim=input.dim() - 1) / input.size(-1)
    return (loss, loss.mean, loss.sum)[how]() if how else loss


@_overridable
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The margin by which the target beats every other class, to the power p, as the mean over classes."""
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return _op("multi_margin_loss")(input, target, p, margin, weight, _number(reduction, size_average, reduce))


@_overridable
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """The input where the target is 1, max(0, margin - input) where it is -1."""
    return _op("hinge_embedding_loss")(input, target, margin, _number(reduction, size_average, reduce))


@_overridable
def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    return _op("cosine_embedding_loss")(input1, input2, target, margin, _number(reduction, size_average, reduce))


@_overridable
def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """max(0, -target * (input1 - input2) + margin)."""
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} ")
    return _op("margin_ranking_loss")(input1, input2, target, margin, _number(reduction, size_average, reduce))


@_overridable
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
    """max(0, distance to positive - distance to negative + margin)."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return _op("triplet_margin_loss")(anchor, positive, negative, margin, p, eps, swap, _number(reduction, size_average, reduce))


@_overridable
def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
    """triplet_margin_loss with a distance of the caller's."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(f"The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs")
    how, distance = _number(reduction), distance_function or _op("pairwise_distance")
    far = distance(anchor, negative)
    if swap:
        far = _ops["minimum"](far, distance(positive, negative))
    loss = (distance(anchor, positive) - far + margin).clamp_min(0)
    return (loss, loss.mean, loss.sum)[how]() if how else loss


_GRID_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_GRID_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}


@_overridable
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Images or volumes sampled at the positions of grid, which are between -1 and 1 inside."""
    if mode not in _GRID_MODES:
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode not in _GRID_PADDINGS:
        raise ValueError(f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'")
    if align_corners is None:
        import warnings

        warnings.warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify align_corners.", stacklevel=3)
    return _op("grid_sampler")(input, grid, _GRID_MODES[mode], _GRID_PADDINGS[padding_mode], bool(align_corners))


@_overridable
def affine_grid(theta, size, align_corners=None):
    """The grid for grid_sample that maps each element of an image or volume of this size by theta."""
    if align_corners is None:
        import warnings

        warnings.warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify align_corners.", stacklevel=3)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    n = len(size) - 2
    if n not in (2, 3):
        raise NotImplementedError(f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}.")
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (n, n + 1):
        raise ValueError(f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. Got {theta.shape}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return _op("affine_grid_generator")(theta, size, bool(align_corners))


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
    "bicubic": (None, "upsample_bicubic2d", None),
    "lanczos": (None, None, None),
    "area": ("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"),
}
_SMOOTH_RESIZERS = {"bilinear": "_upsample_bilinear2d_aa", "bicubic": "_upsample_bicubic2d_aa", "lanczos": "_upsample_lanczos2d_aa"}


@_overridable
def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    """Sequences, images or volumes resized to size, or by scale_factor."""
    smooth = mode in ("linear", "bilinear", "trilinear", "bicubic", "lanczos")
    if align_corners is not None and not smooth:
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
    if antialias and (mode not in _SMOOTH_RESIZERS or input.dim() != 4):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input")
    if mode == "lanczos" and input.dim() == 4:
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
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
    name = _SMOOTH_RESIZERS[mode] if antialias else _RESIZERS[mode][len(dims) - 1]
    if name is None and mode in ("bicubic", "lanczos"):
        raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs 4D input")
    if name is None:
        wanted = next(i for i, n in enumerate(_RESIZERS[mode]) if n) + 3
        raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs {wanted}D input")
    if mode == "area":
        return _op(name)(input, size)
    args = (align_corners or False,) if smooth else ()
    return _op(name)(input, size, *args, *scales)


def _warn_old(name):
    import warnings

    warnings.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=4)


@_overridable
def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The old name of interpolate."""
    _warn_old("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


@_overridable
def upsample_nearest(input, size=None, scale_factor=None):
    """interpolate in mode "nearest"."""
    _warn_old("upsample_nearest")
    return interpolate(input, size, scale_factor, "nearest")


@_overridable
def upsample_bilinear(input, size=None, scale_factor=None):
    """interpolate in mode "bilinear" with aligned corners."""
    _warn_old("upsample_bilinear")
    return interpolate(input, size, scale_factor, "bilinear", align_corners=True)


# It needs what stands above.
from facula.nn._multi_head import _canonical_mask, _none_or_dtype, multi_head_attention_forward  # noqa: E402, F401


def __getattr__(name):
    if name == "grad":  # gradients of convolutions by themselves
        import importlib

        return importlib.import_module("facula.nn.grad")
    raise AttributeError(f"module 'facula.nn.functional' has no attribute '{name}'")
