# SPDX-License-Identifier: Apache-2.0
"""torch.nn.functional in the language of the script compiler: what a compiled function calls where it says F.relu.

The functions of nn.functional themselves are made for speed when they are called from Python: closures, operators picked by
name, objects that stand for tensors. Names, parameters and results are the same; tests/jit/test_script_modules.py compares
them through every class of torch.nn.
"""
# ruff: noqa: UP006, UP007, UP035, UP045

import math
import warnings
from typing import List, Optional, Tuple

import facula as torch
from facula import Tensor
from facula.jit.annotations import BroadcastingList1, BroadcastingList2, BroadcastingList3  # type: ignore[attr-defined]
from facula.jit._builtins import Operators
from facula.jit._dispatch import by_flag
from facula.jit._functional_losses import (  # noqa: F401
    binary_cross_entropy, binary_cross_entropy_with_logits, cosine_embedding_loss, cross_entropy, ctc_loss, gaussian_nll_loss,
    hinge_embedding_loss, huber_loss, kl_div, l1_loss, margin_ranking_loss, mse_loss, multi_margin_loss, multilabel_margin_loss,
    multilabel_soft_margin_loss, nll_loss, poisson_nll_loss, smooth_l1_loss, soft_margin_loss, triplet_margin_loss,
)  # fmt: skip
from facula.jit._functional_pools import (  # noqa: F401
    adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d, adaptive_max_pool1d_with_indices, adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices, adaptive_max_pool3d, adaptive_max_pool3d_with_indices, fold, fractional_max_pool2d,
    fractional_max_pool2d_with_indices, fractional_max_pool3d, fractional_max_pool3d_with_indices, lp_pool1d, lp_pool2d,
    lp_pool3d, max_pool1d, max_pool1d_with_indices, max_pool2d, max_pool2d_with_indices, max_pool3d, max_pool3d_with_indices,
    max_unpool1d, max_unpool2d, max_unpool3d, unfold,
)  # fmt: skip

aten = Operators()


# --- activations
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        result = torch.relu_(input)
    else:
        result = torch.relu(input)
    return result


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        result = torch.selu_(input)
    else:
        result = torch.selu(input)
    return result


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.silu_(input)
    return aten.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.mish_(input)
    return aten.mish(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.hardswish_(input)
    return aten.hardswish(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.hardsigmoid_(input)
    return aten.hardsigmoid(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        result = aten.hardtanh_(input, 0.0, 6.0)
    else:
        result = aten.hardtanh(input, 0.0, 6.0)
    return result


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    if inplace:
        result = aten.leaky_relu_(input, negative_slope)
    else:
        result = aten.leaky_relu(input, negative_slope)
    return result


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    if inplace:
        result = aten.elu_(input, alpha)
    else:
        result = aten.elu(input, alpha)
    return result


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    if inplace:
        result = torch.celu_(input, alpha)
    else:
        result = torch.celu(input, alpha)
    return result


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if inplace:
        result = aten.hardtanh_(input, min_val, max_val)
    else:
        result = aten.hardtanh(input, min_val, max_val)
    return result


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    if inplace:
        result = torch.threshold_(input, threshold, value)
    else:
        result = torch.threshold(input, threshold, value)
    return result


def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False) -> Tensor:
    if inplace:
        result = torch.rrelu_(input, lower, upper, training)
    else:
        result = torch.rrelu(input, lower, upper, training)
    return result


def softsign(input: Tensor) -> Tensor:
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    return input - input.tanh()


def _softmax_dim(name: str, rank: int) -> int:
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
    if rank == 0 or rank == 1 or rank == 3:
        return 0
    return 1


def softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    if dim is None:
        dim = _softmax_dim("softmax", input.dim())
    if dtype is None:
        ret = input.softmax(dim)
    else:
        ret = input.softmax(dim, dtype=dtype)
    return ret


def softmin(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    if dim is None:
        dim = _softmax_dim("softmin", input.dim())
    if dtype is None:
        ret = (-input).softmax(dim)
    else:
        ret = (-input).softmax(dim, dtype=dtype)
    return ret


def log_softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    if dim is None:
        dim = _softmax_dim("log_softmax", input.dim())
    if dtype is None:
        ret = input.log_softmax(dim)
    else:
        ret = input.log_softmax(dim, dtype=dtype)
    return ret


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    noise = -torch.empty_like(logits, memory_format=torch.legacy_contiguous_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    chosen = torch.zeros_like(logits, memory_format=torch.legacy_contiguous_format).scatter_(dim, index, 1.0)
    return chosen - soft.detach() + soft


# --- dropout
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return torch.alpha_dropout_(input, p, training) if inplace else torch.alpha_dropout(input, p, training)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return torch.feature_alpha_dropout_(input, p, training) if inplace else torch.feature_alpha_dropout(input, p, training)


def _feature_dropout(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return torch.feature_dropout_(input, p, training) if inplace else torch.feature_dropout(input, p, training)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    dims = input.dim()
    if dims != 2 and dims != 3:
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {dims}D input: channels, one spatial dimension and maybe a batch.")
    if dims == 3:
        return _feature_dropout(input, p, training, inplace)
    result = _feature_dropout(input.unsqueeze_(0) if inplace else input.unsqueeze(0), p, training, inplace)
    return result.squeeze_(0) if inplace else result.squeeze(0)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    dims = input.dim()
    if dims != 4:
        warnings.warn(f"dropout2d: Received a {dims}-D input to dropout2d; channels are its second dimension.")
    return _feature_dropout(input, p, training, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    dims = input.dim()
    if dims != 4 and dims != 5:
        warnings.warn(f"dropout3d: Received a {dims}-D input to dropout3d, which is deprecated.")
    if dims == 5:
        return _feature_dropout(input, p, training, inplace)
    result = _feature_dropout(input.unsqueeze_(0) if inplace else input.unsqueeze(0), p, training, inplace)
    return result.squeeze_(0) if inplace else result.squeeze(0)


# --- norms
def _verify_batch_size(size: List[int]) -> None:
    count = size[0]
    for i in range(len(size) - 2):
        count *= size[i + 2]
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _verify_spatial_size(size: List[int]) -> None:
    count = 1
    for i in range(2, len(size)):
        count *= size[i]
    if count == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")


def batch_norm(
    input: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor], weight: Optional[Tensor] = None, bias: Optional[Tensor] = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    if training:
        _verify_batch_size(input.size())
        if eps <= 0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, torch.backends.cudnn.enabled)


def instance_norm(
    input: Tensor, running_mean: Optional[Tensor] = None, running_var: Optional[Tensor] = None, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None,
    use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    if use_input_stats:
        _verify_spatial_size(input.size())
    return torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, torch.backends.cudnn.enabled)


def layer_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-5) -> Tensor:
    return torch.layer_norm(input, normalized_shape, weight, bias, eps, torch.backends.cudnn.enabled)


def group_norm(input: Tensor, num_groups: int, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-5) -> Tensor:
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    _verify_batch_size([input.size(0) * input.size(1) // num_groups, num_groups] + list(input.size()[2:]))
    return torch.group_norm(input, num_groups, weight, bias, eps, torch.backends.cudnn.enabled)


def rms_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor] = None, eps: Optional[float] = None) -> Tensor:
    return torch.rms_norm(input, normalized_shape, weight, eps)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    flat = (input * input).flatten(2).unsqueeze(1)
    padded = aten.pad(flat, [0, 0, size // 2, (size - 1) // 2])
    means = aten.avg_pool2d(padded, [size, 1], 1).squeeze(1).reshape(input.size())
    return input / (means * alpha + k).pow(beta)


# --- embeddings
def embedding(
    input: Tensor, weight: Tensor, padding_idx: Optional[int] = None, max_norm: Optional[float] = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:  # fmt: skip
    if padding_idx is not None:
        if padding_idx > 0:
            assert padding_idx < weight.size(0), "Padding_idx must be within num_embeddings"
        elif padding_idx < 0:
            assert padding_idx >= -weight.size(0), "Padding_idx must be within num_embeddings"
            padding_idx = weight.size(0) + padding_idx
    else:
        padding_idx = -1
    if max_norm is not None:
        input = input.contiguous()
        torch.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    return torch.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Optional[Tensor] = None, max_norm: Optional[float] = None, norm_type: float = 2, scale_grad_by_freq: bool = False,
    mode: str = "mean", sparse: bool = False, per_sample_weights: Optional[Tensor] = None, include_last_offset: bool = False, padding_idx: Optional[int] = None,
) -> Tensor:  # fmt: skip
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same shape as the input ({input.shape})")
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences.")
        offsets = torch.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        if include_last_offset:
            offsets = torch.cat([offsets, torch.full([1], input.numel(), dtype=offsets.dtype, device=offsets.device)])
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if mode == "sum":
        number = 0
    elif mode == "mean":
        number = 1
    elif mode == "max":
        number = 2
        if scale_grad_by_freq:
            raise ValueError("max mode does not support scaling the gradient by the frequency")
        if sparse:
            raise ValueError("max mode does not support sparse weights")
    else:
        raise ValueError("mode has to be one of sum, mean or max")
    if max_norm is not None:
        torch.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got mode='{mode}').")
    result, _, _, _ = torch.embedding_bag(weight, input, offsets, scale_grad_by_freq, number, sparse, per_sample_weights, include_last_offset, padding_idx)
    return result


# --- grids and sizes
def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Optional[bool] = None) -> Tensor:
    if mode == "bilinear":
        mode_enum = 0
    elif mode == "nearest":
        mode_enum = 1
    elif mode == "bicubic":
        mode_enum = 2
    else:
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode == "zeros":
        padding_mode_enum = 0
    elif padding_mode == "border":
        padding_mode_enum = 1
    elif padding_mode == "reflection":
        padding_mode_enum = 2
    else:
        raise ValueError(f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'")
    if align_corners is None:
        warnings.warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify align_corners.")
        align_corners = False
    return torch.grid_sampler(input, grid, mode_enum, padding_mode_enum, align_corners)


def affine_grid(theta: Tensor, size: List[int], align_corners: Optional[bool] = None) -> Tensor:
    if align_corners is None:
        warnings.warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify align_corners.")
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) != 4 and len(size) != 5:
        raise NotImplementedError(f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}.")
    n = len(size) - 2
    if theta.dim() != 3 or theta.size(-2) != n or theta.size(-1) != n + 1:
        raise ValueError(f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. Got {theta.shape}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return torch.affine_grid_generator(theta, size, align_corners)


def pad(input: Tensor, pad: List[int], mode: str = "constant", value: Optional[float] = None) -> Tensor:
    return aten.pad(input, pad, mode, value)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Optional[Tensor] = None) -> Tensor:
    denominator = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    if out is None:
        return input / denominator
    return torch.div(input, denominator, out=out)


def _scale(scales: Optional[List[float]], i: int) -> Optional[float]:
    if scales is None:
        return None
    return scales[i]


def _interpolate(
    input: Tensor, size: Optional[List[int]], scale_factor: Optional[List[float]], mode: str, align_corners: Optional[bool], recompute_scale_factor: Optional[bool],
    antialias: bool,
) -> Tensor:  # fmt: skip
    smooth = mode == "linear" or mode == "bilinear" or mode == "trilinear" or mode == "bicubic" or mode == "lanczos"
    if align_corners is not None and not smooth:
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
    corners = False
    if align_corners is not None:
        corners = align_corners
    if antialias and not ((mode == "bilinear" or mode == "bicubic" or mode == "lanczos") and input.dim() == 4):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input")
    if mode == "lanczos" and input.dim() == 4:
        if corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
    recompute = False
    if recompute_scale_factor is not None:
        recompute = recompute_scale_factor
    dims = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    scales = scale_factor
    sizes = torch.jit.annotate(List[int], [])
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        if len(size) != dims:
            raise ValueError(
                f"Input and output size must have the same number of spatial dimensions, but got input with spatial dimensions of {input.shape[2:]} and "
                f"output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format."
            )
        sizes = size
    elif scale_factor is not None:
        if len(scale_factor) != dims:
            raise ValueError(
                f"Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of {input.shape[2:]} and "
                f"scale_factor of {scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) format."
            )
        for i in range(dims):
            sizes.append(int(math.floor(float(input.size(i + 2)) * scale_factor[i])))
        if recompute:
            scales = None
    else:
        raise ValueError("either size or scale_factor should be defined")
    if dims == 1:
        if mode == "nearest":
            return aten.upsample_nearest1d(input, sizes, _scale(scales, 0))
        if mode == "nearest-exact":
            return aten._upsample_nearest_exact1d(input, sizes, _scale(scales, 0))
        if mode == "linear":
            return aten.upsample_linear1d(input, sizes, corners, _scale(scales, 0))
        if mode == "area":
            return aten.adaptive_avg_pool1d(input, sizes)
    elif dims == 2:
        if mode == "nearest":
            return aten.upsample_nearest2d(input, sizes, _scale(scales, 0), _scale(scales, 1))
        if mode == "nearest-exact":
            return aten._upsample_nearest_exact2d(input, sizes, _scale(scales, 0), _scale(scales, 1))
        if mode == "bilinear":
            if antialias:
                return aten._upsample_bilinear2d_aa(input, sizes, corners, _scale(scales, 0), _scale(scales, 1))
            return aten.upsample_bilinear2d(input, sizes, corners, _scale(scales, 0), _scale(scales, 1))
        if mode == "bicubic":
            if antialias:
                return aten._upsample_bicubic2d_aa(input, sizes, corners, _scale(scales, 0), _scale(scales, 1))
            return aten.upsample_bicubic2d(input, sizes, corners, _scale(scales, 0), _scale(scales, 1))
        if mode == "lanczos":
            return aten._upsample_lanczos2d_aa(input, sizes, corners, _scale(scales, 0), _scale(scales, 1))
        if mode == "area":
            return aten.adaptive_avg_pool2d(input, sizes)
    elif dims == 3:
        if mode == "nearest":
            return aten.upsample_nearest3d(input, sizes, _scale(scales, 0), _scale(scales, 1), _scale(scales, 2))
        if mode == "nearest-exact":
            return aten._upsample_nearest_exact3d(input, sizes, _scale(scales, 0), _scale(scales, 1), _scale(scales, 2))
        if mode == "trilinear":
            return aten.upsample_trilinear3d(input, sizes, corners, _scale(scales, 0), _scale(scales, 1), _scale(scales, 2))
        if mode == "area":
            return aten.adaptive_avg_pool3d(input, sizes)
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | area | "
        f"nearest-exact (got {mode})"
    )


def _interpolate_one(
    input: Tensor, size: Optional[int] = None, scale_factor: Optional[List[float]] = None, mode: str = "nearest", align_corners: Optional[bool] = None,
    recompute_scale_factor: Optional[bool] = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    sizes = torch.jit.annotate(Optional[List[int]], None)
    if size is not None:
        sizes = [size for _ in range(input.dim() - 2)]
    return _interpolate(input, sizes, scale_factor, mode, align_corners, recompute_scale_factor, antialias)


def _interpolate_each(
    input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[List[float]] = None, mode: str = "nearest", align_corners: Optional[bool] = None,
    recompute_scale_factor: Optional[bool] = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    return _interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)


def _interpolate_one_by_one(
    input: Tensor, size: Optional[int] = None, scale_factor: Optional[float] = None, mode: str = "nearest", align_corners: Optional[bool] = None,
    recompute_scale_factor: Optional[bool] = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    scales = torch.jit.annotate(Optional[List[float]], None)
    if scale_factor is not None:
        scales = [scale_factor for _ in range(input.dim() - 2)]
    return _interpolate_one(input, size, scales, mode, align_corners, recompute_scale_factor, antialias)


def _interpolate_each_by_one(
    input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[float] = None, mode: str = "nearest", align_corners: Optional[bool] = None,
    recompute_scale_factor: Optional[bool] = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    scales = torch.jit.annotate(Optional[List[float]], None)
    if scale_factor is not None:
        scales = [scale_factor for _ in range(input.dim() - 2)]
    return _interpolate(input, size, scales, mode, align_corners, recompute_scale_factor, antialias)


interpolate = (_interpolate_one, _interpolate_each, _interpolate_one_by_one, _interpolate_each_by_one)  # the first that takes the arguments


def upsample_nearest(input: Tensor, size: Optional[int] = None, scale_factor: Optional[float] = None) -> Tensor:
    return _interpolate_one_by_one(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Optional[int] = None, scale_factor: Optional[float] = None) -> Tensor:
    return _interpolate_one_by_one(input, size, scale_factor, mode="bilinear", align_corners=True)


# --- torch.nn.modules.utils
def _single(x: BroadcastingList1[int]) -> List[int]:
    return x


def _pair(x: BroadcastingList2[int]) -> List[int]:
    return x


def _triple(x: BroadcastingList3[int]) -> List[int]:
    return x


# --- torch.unique, whose flags choose how many results there are
def _unique_all(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None) -> Tuple[Tensor, Tensor, Tensor]:
    if dim is None:
        return aten._unique2(input, sorted, return_inverse, return_counts)
    return aten.unique_dim(input, dim, sorted, return_inverse, return_counts)


def _unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None) -> Tensor:
    return _unique_all(input, sorted, False, False, dim)[0]


def _unique_inverse(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None
) -> Tuple[Tensor, Tensor]:
    found = _unique_all(input, sorted, True, False, dim)
    return found[0], found[1]


def _unique_counts(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None
) -> Tuple[Tensor, Tensor]:
    found = _unique_all(input, sorted, False, True, dim)
    return found[0], found[2]


unique = by_flag("return_counts", 3, by_flag("return_inverse", 2, _unique_all, _unique_counts), by_flag("return_inverse", 2, _unique_inverse, _unique))


# --- attention
def _canonical_mask(mask: Optional[Tensor], dtype: int) -> Optional[Tensor]:
    if mask is None:
        return None
    if mask.dtype != torch.bool and not torch.is_floating_point(mask):
        raise AssertionError("only bool and floating types of masks are supported")
    if torch.is_floating_point(mask):
        return mask
    return torch.zeros(mask.size(), dtype=dtype, device=mask.device).masked_fill_(mask, float("-inf"))


def _longer(mask: Optional[Tensor]) -> Optional[Tensor]:
    if mask is None:
        return None
    return aten.pad(mask, [0, 1])


def _rows(bias: Optional[Tensor], start: int, end: int) -> Optional[Tensor]:
    if bias is None:
        return None
    return bias[start:end]


def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Optional[Tensor], in_proj_bias: Optional[Tensor],
    bias_k: Optional[Tensor], bias_v: Optional[Tensor], add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor, out_proj_bias: Optional[Tensor],
    training: bool = True, key_padding_mask: Optional[Tensor] = None, need_weights: bool = True, attn_mask: Optional[Tensor] = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Optional[Tensor] = None, k_proj_weight: Optional[Tensor] = None,
    v_proj_weight: Optional[Tensor] = None, static_k: Optional[Tensor] = None, static_v: Optional[Tensor] = None, average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Tuple[Tensor, Optional[Tensor]]:  # fmt: skip
    rank = query.dim()
    if rank != 2 and rank != 3:
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor")
    if key.dim() != rank or value.dim() != rank:
        raise AssertionError(f"expected `key` and `value` to be {rank}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively")
    if key_padding_mask is not None and key_padding_mask.dim() != rank - 1:
        raise AssertionError(f"expected `key_padding_mask` to be `None` or {rank - 1}-D but found {key_padding_mask.dim()}-D tensor instead")
    if attn_mask is not None and attn_mask.dim() != 2 and attn_mask.dim() != 3:
        raise AssertionError(f"expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead")
    batched = rank == 3
    if not batched:
        query = query.unsqueeze(1)
        key = key.unsqueeze(1)
        value = value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, size = query.shape
    key_padding_mask = _canonical_mask(key_padding_mask, query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = _canonical_mask(attn_mask, query.dtype)
        is_causal = is_causal and key_padding_mask is None and attn_mask is None
    if size != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {size}")
    head = size // num_heads
    if head * num_heads != size:
        raise AssertionError(f"embed_dim {size} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
        assert q_proj_weight is not None, "use_separate_proj_weight is True but q_proj_weight is None"
        assert k_proj_weight is not None, "use_separate_proj_weight is True but k_proj_weight is None"
        assert v_proj_weight is not None, "use_separate_proj_weight is True but v_proj_weight is None"
        q = aten.linear(query, q_proj_weight, _rows(in_proj_bias, 0, size))
        k = aten.linear(key, k_proj_weight, _rows(in_proj_bias, size, 2 * size))
        v = aten.linear(value, v_proj_weight, _rows(in_proj_bias, 2 * size, 3 * size))
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        assert in_proj_weight is not None, "use_separate_proj_weight is False but in_proj_weight is None"
        if key is value and query is key:
            three = aten.linear(query, in_proj_weight, in_proj_bias).unflatten(-1, [3, size])
            q, k, v = three.select(-2, 0), three.select(-2, 1), three.select(-2, 2)
        else:
            q = aten.linear(query, in_proj_weight[:size], _rows(in_proj_bias, 0, size))
            k = aten.linear(key, in_proj_weight[size : 2 * size], _rows(in_proj_bias, size, 2 * size))
            v = aten.linear(value, in_proj_weight[2 * size :], _rows(in_proj_bias, 2 * size, 3 * size))
    if attn_mask is not None:
        if attn_mask.dim() == 2:
            if attn_mask.size(0) != length or attn_mask.size(1) != key.size(0):
                raise RuntimeError(f"The shape of the 2D attn_mask is {attn_mask.shape}, but should be {(length, key.size(0))}.")
            attn_mask = attn_mask.unsqueeze(0)
        elif attn_mask.size(0) != batch * num_heads or attn_mask.size(1) != length or attn_mask.size(2) != key.size(0):
            raise RuntimeError(f"The shape of the 3D attn_mask is {attn_mask.shape}, but should be {(batch * num_heads, length, key.size(0))}.")
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value.")
        k = torch.cat([k, bias_k.repeat(1, batch, 1)])
        v = torch.cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask = _longer(attn_mask)
        key_padding_mask = _longer(key_padding_mask)
    elif bias_k is not None or bias_v is not None:
        raise AssertionError("bias_k and bias_v must both be given or neither")
    q = q.reshape(length, batch * num_heads, head).transpose(0, 1)
    if static_k is None:
        k = k.reshape(k.size(0), batch * num_heads, head).transpose(0, 1)
    else:
        if static_k.size(0) != batch * num_heads or static_k.size(2) != head:
            raise AssertionError(f"expecting static_k.size(0) of {batch * num_heads} and static_k.size(2) of {head}, but got {static_k.shape}")
        k = static_k
    if static_v is None:
        v = v.reshape(v.size(0), batch * num_heads, head).transpose(0, 1)
    else:
        if static_v.size(0) != batch * num_heads or static_v.size(2) != head:
            raise AssertionError(f"expecting static_v.size(0) of {batch * num_heads} and static_v.size(2) of {head}, but got {static_v.shape}")
        v = static_v
    if add_zero_attn:
        zeros = [batch * num_heads, 1, head]
        k = torch.cat([k, torch.zeros(zeros, dtype=k.dtype, device=k.device)], dim=1)
        v = torch.cat([v, torch.zeros(zeros, dtype=v.dtype, device=v.device)], dim=1)
        attn_mask = _longer(attn_mask)
        key_padding_mask = _longer(key_padding_mask)
    keys = k.size(1)
    if key_padding_mask is not None:
        if key_padding_mask.size(0) != batch or key_padding_mask.size(1) != keys:
            raise AssertionError(f"expecting key_padding_mask shape of {(batch, keys)}, but got {key_padding_mask.shape}")
        hidden = key_padding_mask.view(batch, 1, 1, keys).expand(-1, num_heads, -1, -1).reshape(batch * num_heads, 1, keys)
        if attn_mask is None:
            attn_mask = hidden
        else:
            attn_mask = attn_mask + hidden
    if not training:
        dropout_p = 0.0
    if need_weights:
        q = q * math.sqrt(1.0 / float(head))
        if attn_mask is not None:
            weights = torch.baddbmm(attn_mask, q, k.transpose(-2, -1))
        else:
            weights = torch.bmm(q, k.transpose(-2, -1))
        weights = weights.softmax(-1)
        if dropout_p > 0.0:
            weights = dropout(weights, p=dropout_p)
        out = torch.bmm(weights, v).transpose(0, 1).contiguous().view(length * batch, size)
        out = aten.linear(out, out_proj_weight, out_proj_bias).view(length, batch, -1)
        weights = weights.view(batch, num_heads, length, keys)
        if average_attn_weights:
            weights = weights.mean(dim=1)
        if not batched:
            out = out.squeeze(1)
            weights = weights.squeeze(0)
        return out, weights
    if attn_mask is not None:
        if attn_mask.size(0) == 1 and attn_mask.dim() == 3:
            attn_mask = attn_mask.unsqueeze(0)
        else:
            attn_mask = attn_mask.view(batch, num_heads, -1, keys)
    q = q.view(batch, num_heads, length, head)
    k = k.view(batch, num_heads, keys, head)
    v = v.view(batch, num_heads, keys, head)
    out = aten.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
    out = out.permute(2, 0, 1, 3).contiguous().view(batch * length, size)
    out = aten.linear(out, out_proj_weight, out_proj_bias).view(length, batch, -1)
    if not batched:
        out = out.squeeze(1)
    return out, None
