# SPDX-License-Identifier: Apache-2.0
"""Pruning: parameters times a mask of zeros and ones, by a hook before forward.

A pruned parameter p becomes the parameter p_orig, the buffer p_mask and the plain attribute p. amount is a share
between 0 and 1 or a number of elements (of channels, where whole channels are pruned).
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable

from facula import _C
from facula._tensor import Tensor
from facula.nn.utils.convert_parameters import parameters_to_vector

_ops = _C._functions


class BasePruningMethod(ABC):
    """A way to compute masks. Subclasses say their PRUNING_TYPE (unstructured, structured, global) and compute_mask."""

    _tensor_name: str

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask by the scores t: zeros where an element goes or the default mask has one."""

    def apply_mask(self, module) -> Tensor:
        """The masked parameter."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module, name: str, *args, importance_scores: Tensor | None = None, **kwargs) -> BasePruningMethod:
        """Prune a parameter of a module; one that was pruned before loses more of what is left."""
        before = [k for k, hook in module._forward_pre_hooks.items() if isinstance(hook, BasePruningMethod) and hook._tensor_name == name]
        if len(before) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a PruningContainer."
            )
        method = cls(*args, **kwargs)
        method._tensor_name = name
        if before:
            old = module._forward_pre_hooks.pop(before[0])
            chain = old if isinstance(old, PruningContainer) else PruningContainer(old)
            chain.add_pruning_method(method)
            method = chain
        tensor = getattr(module, name)
        if importance_scores is None:
            importance_scores = tensor
        elif importance_scores.shape != tensor.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got {importance_scores.shape} vs {tensor.shape}"
            )
        again = isinstance(method, PruningContainer)
        mask = getattr(module, name + "_mask").detach().clone() if again else _ops["ones_like"](tensor.detach())
        mask = method.compute_mask(importance_scores, default_mask=mask)  # before the module is changed: it may fail
        if not again:
            module.register_parameter(name + "_orig", tensor)
            del module._parameters[name]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A tensor without what the method takes away."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError(f"importance_scores should have the same shape as tensor t, got {importance_scores.shape} vs {t.shape}")
        return t * self.compute_mask(importance_scores, default_mask=_ops["ones_like"](t) if default_mask is None else default_mask)

    def remove(self, module) -> None:
        """Make the masked parameter a parameter again."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods for one parameter; each sees what those before it have left."""

    _tensor_name = None

    def __init__(self, *args) -> None:
        self._pruning_methods = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method for the same parameter."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer {self}. Found "
                f"'{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx):
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        method = self._pruning_methods[-1]
        if method.PRUNING_TYPE == "unstructured":
            left = default_mask == 1
        elif method.PRUNING_TYPE == "global":
            left = (slice(None),) * t.dim()
        elif method.PRUNING_TYPE == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.')
            if not -t.dim() <= method.dim < t.dim():
                raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
            dim = method.dim % t.dim()
            left = _along(t, dim, default_mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0)
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask = default_mask.to(dtype=t.dtype, copy=True)
        mask[left] = method.compute_mask(t[left], default_mask=default_mask[left]).to(dtype=mask.dtype)
        return mask


def _along(t, dim, index):
    at = [slice(None)] * t.dim()
    at[dim] = index
    return tuple(at)


class Identity(BasePruningMethod):
    """Prunes nothing, but makes parameter, mask and hook."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask

    @classmethod
    def apply(cls, module, name: str) -> BasePruningMethod:
        return super().apply(module, name)


class _OfAmount(BasePruningMethod):
    def __init__(self, amount) -> None:
        if not isinstance(amount, numbers.Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        if amount < 0 or (not isinstance(amount, numbers.Integral) and amount > 1):
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
        self.amount = amount

    def _count(self, size):
        count = self.amount if isinstance(self.amount, numbers.Integral) else round(self.amount * size)
        if count > size:
            raise ValueError(f"amount={count} should be smaller than the number of parameters to prune={size}")
        return count


class _Unstructured(_OfAmount):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = self._count(t.numel())
        mask = default_mask.clone(memory_format=_C.contiguous_format)
        if count:
            mask.view(-1)[self._scores(t.detach()).reshape(-1).topk(count, largest=False).indices] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Takes elements at random."""

    @staticmethod
    def _scores(t):
        return -_ops["rand_like"](t)

    @classmethod
    def apply(cls, module, name: str, amount) -> BasePruningMethod:
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Unstructured):
    """Takes the smallest elements."""

    @staticmethod
    def _scores(t):
        return t.abs()

    @classmethod
    def apply(cls, module, name: str, amount, importance_scores: Tensor | None = None) -> BasePruningMethod:
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(_OfAmount):
    PRUNING_TYPE = "structured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.dim() <= 1:
            raise ValueError(
                f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.size(self.dim)
        count = self._count(size)
        scores = self._scores(t.detach())
        if count == 0:
            return default_mask
        mask = _ops["zeros_like"](t.detach())
        mask[_along(t, self.dim, scores.topk(size - count).indices)] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Structured):
    """Takes channels at random, along dim."""

    def __init__(self, amount, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _scores(self, t):
        return _ops["rand"](t.size(self.dim))

    @classmethod
    def apply(cls, module, name: str, amount, dim: int = -1) -> BasePruningMethod:
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Takes the channels along dim whose n-norm is smallest."""

    def __init__(self, amount, n, dim: int = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def _scores(self, t):
        rest = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        if self.n == "nuc":
            from facula import linalg

            return linalg.matrix_norm(t, "nuc", rest)
        return _ops["linalg_vector_norm"](t, 2 if self.n == "fro" else self.n, rest)

    @classmethod
    def apply(cls, module, name: str, amount, n, dim: int, importance_scores: Tensor | None = None) -> BasePruningMethod:
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Takes what a given mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module, name: str, mask: Tensor) -> BasePruningMethod:
        return super().apply(module, name, mask=mask)


def identity(module, name: str):
    """Prepare a parameter for pruning, without taking anything."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name: str, amount):
    """Take elements of a parameter at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name: str, amount, importance_scores: Tensor | None = None):
    """Take the smallest elements of a parameter, or those of the smallest scores."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name: str, amount, dim: int):
    """Take channels of a parameter at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name: str, amount, n, dim: int, importance_scores: Tensor | None = None):
    """Take the channels of a parameter whose n-norm is smallest."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(parameters, pruning_method, importance_scores: dict | None = None, **kwargs) -> None:
    """Prune several parameters, pairs of module and name, as if they were one tensor."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    importance_scores = {} if importance_scores is None else importance_scores
    if not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    parameters = list(parameters)
    scores = parameters_to_vector([importance_scores.get((module, name), getattr(module, name)) for module, name in parameters])
    masks = [getattr(module, name + "_mask", None) for module, name in parameters]
    masks = [_ops["ones_like"](getattr(module, name)) if mask is None else mask for mask, (module, name) in zip(masks, parameters)]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type {method.PRUNING_TYPE}'
        )
    method._tensor_name = "temp"
    mask = PruningContainer(method).compute_mask(scores, parameters_to_vector(masks))
    at = 0
    for module, name in parameters:
        tensor = getattr(module, name)
        custom_from_mask(module, name, mask=mask[at : at + tensor.numel()].view_as(tensor))
        at += tensor.numel()


def custom_from_mask(module, name: str, mask: Tensor):
    """Take from a parameter what a mask says."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module, name: str):
    """Make a pruned parameter a parameter again; what was taken stays zero."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module) -> bool:
    """Whether a module or one of its submodules is pruned."""
    return any(isinstance(hook, BasePruningMethod) for m in module.modules() for hook in m._forward_pre_hooks.values())
