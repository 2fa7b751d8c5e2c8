# SPDX-License-Identifier: Apache-2.0
"""MaskedTensor: data and a mask of its shape. Functions of single elements keep the mask, functions of two operands need
equal masks, reductions look at what the mask lets through (masked/_ops.py), views and indices apply to both alike. What
none of these is raises TypeError."""

from __future__ import annotations

import warnings

import facula as torch
from facula import _C

__all__ = ["MaskedTensor", "is_masked_tensor"]

_ELEMENTS = set(
    "abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh bitwise_not ceil clamp clip conj_physical "
    "cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac lgamma log log10 log1p log2 logit i0 isnan nan_to_num neg negative "
    "positive pow rad2deg reciprocal round rsqrt sigmoid sign sgn signbit sin sinc sinh sqrt square tan tanh trunc float double half bfloat16 "
    "int long short bool to type contiguous detach clone relu threshold".split()
)
_PAIRS = set(
    "add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div divide floor_divide fmod logaddexp "
    "logaddexp2 mul multiply nextafter remainder sub subtract true_divide eq ne le ge greater greater_equal gt less_equal lt less maximum "
    "minimum fmax fmin not_equal __and__ __or__ __xor__ __lshift__ __rshift__ _rpow".split()
)
_VIEWS = set(
    "view reshape transpose t permute unsqueeze squeeze expand expand_as __getitem__ select narrow flatten unflatten movedim swapaxes "
    "swapdims ravel view_as reshape_as".split()
)
_REDUCTIONS = set("sum mean amin amax argmin argmax prod std var norm".split())
_SAME_MASKS = "Input masks must match. If you need support for this, please open an issue on Github."


def is_masked_tensor(obj):
    """Whether it is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)


class MaskedTensor(torch.Tensor):
    """data where mask is True. MaskedTensor(data, mask, requires_grad=False) is a leaf."""

    def __new__(cls, data, mask, requires_grad=False):
        if is_masked_tensor(data) or is_masked_tensor(mask):
            raise TypeError("MaskedTensor(): data and mask are plain tensors")
        if not isinstance(data, torch.Tensor) or not isinstance(mask, torch.Tensor):
            raise TypeError("data must be a Tensor" if not isinstance(data, torch.Tensor) else "mask must be a Tensor")
        warnings.warn("The PyTorch API of MaskedTensors is in prototype stage and will change in the near future.", UserWarning, stacklevel=3)
        if data.requires_grad:
            warnings.warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you can use data.detach().clone()",
                UserWarning,
                stacklevel=3,
            )
        return cls._over(data.detach().requires_grad_(requires_grad) if requires_grad else data.detach(), mask)

    @classmethod
    def _over(cls, data, mask):
        if mask.dtype is not torch.bool:
            raise TypeError(f"mask must have dtype bool. Got {mask.dtype}")
        if data.shape != mask.shape:
            raise ValueError(f"data and mask must have the same shape, got {tuple(data.shape)} and {tuple(mask.shape)}")
        if data.layout is not torch.strided or mask.layout is not torch.strided:
            raise TypeError(f"MaskedTensor: strided tensors expected, got {data.layout} and {mask.layout}")
        self = torch.Tensor._make_subclass(cls, data.detach())
        self._data, self._mask = data, mask
        return self

    def get_data(self):
        """The data, of which what the mask hides is anything."""
        return self._data

    def get_mask(self):
        """True where the data counts."""
        return self._mask

    def to_tensor(self, value):
        """The data with `value` where the mask hides it."""
        return self._data.masked_fill(~self._mask, value)

    is_masked = True

    def __repr__(self, *, tensor_contents=None):
        def told(data, mask):
            if mask.dim():
                return "[" + ",".join(f"\n  {told(d, m)}" if mask.dim() > 1 else f" {told(d, m)}" for d, m in zip(data, mask)).strip() + "]"
            return f"{data.item():8.4f}" if bool(mask) and data.is_floating_point() else f"{data.item()}" if bool(mask) else "      --"

        return f"MaskedTensor(\n  {told(self._data.detach(), self._mask)}\n)"

    __str__ = __repr__

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        with _C.DisableTorchFunctionSubclass():
            return _run(func, args, kwargs)


def _data_of(x):
    return x._data if is_masked_tensor(x) else x


def _first_mask(args):
    return next(x._mask for x in args if is_masked_tensor(x))


def _property(func):
    """The name of the property that this is the reader of, or None."""
    return getattr(getattr(func, "__self__", None), "__name__", None) if getattr(func, "__name__", "") == "__get__" else None


def _run(func, args, kwargs):
    name, read = getattr(func, "__name__", ""), _property(func)
    if read == "grad":
        return None if args[0]._data.grad is None else MaskedTensor._over(args[0]._data.grad, args[0]._mask)
    if read is not None:
        return func(_data_of(args[0]))
    if name in ("size", "dim", "numel", "stride", "is_contiguous", "is_floating_point", "is_complex", "ndimension", "nelement", "__len__"):
        return func(*map(_data_of, args), **kwargs)
    if name == "requires_grad_":
        args[0]._data.requires_grad_(*args[1:], **kwargs)
        return args[0]
    if name == "backward":
        gradient = args[1] if len(args) > 1 else kwargs.pop("gradient", None)
        return args[0]._data.backward(_data_of(gradient), *args[2:], **kwargs)
    base = name.rstrip("_") if name.endswith("_") and not name.endswith("__") else name
    if base in _VIEWS:
        masks = [x._mask if is_masked_tensor(x) else x for x in args]
        return MaskedTensor._over(func(*map(_data_of, args), **kwargs), func(*masks, **kwargs))
    if base in _REDUCTIONS:
        return _reduce(base, args, kwargs)
    if base == "where":
        condition, a, b = args
        if not (is_masked_tensor(a) and is_masked_tensor(b)) or is_masked_tensor(condition):
            raise ValueError("where: a plain condition and two MaskedTensors are expected")
        return MaskedTensor._over(torch.where(condition, a._data, b._data), torch.where(condition, a._mask, b._mask))
    masked = [x for x in (*args, *kwargs.values()) if is_masked_tensor(x)]
    if base in _PAIRS or base in _ELEMENTS:
        if any(not torch.equal(x._mask, masked[0]._mask) for x in masked[1:]):
            raise ValueError(_SAME_MASKS)
        mask = masked[0]._mask
        result = func(*map(_data_of, args), **{key: _data_of(value) for key, value in kwargs.items()})
        if base != name:  # in place
            return args[0]
        return MaskedTensor._over(result, mask if result.shape == mask.shape else mask.expand(result.shape))
    raise TypeError(f"no implementation found for 'torch.{name}' on types that implement __torch_function__: [MaskedTensor]")


def _reduce(name, args, kwargs):
    from facula.masked import _ops

    input, *rest = args
    dim = kwargs.get("dim", rest[1 if name == "norm" and len(rest) > 1 else 0] if rest and not (name == "norm" and len(rest) == 1) else None)
    keepdim = bool(kwargs.get("keepdim", False))
    data = getattr(_ops, name)(input._data, *rest, **kwargs, mask=input._mask)
    mask = input._mask.any() if dim is None else input._mask
    dims = () if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    for d in sorted((d % max(mask.dim(), 1) for d in dims), reverse=True):
        mask = mask.any(d, keepdim=keepdim)
    return MaskedTensor._over(data, mask.expand(data.shape))
