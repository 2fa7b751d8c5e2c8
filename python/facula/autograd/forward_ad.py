# SPDX-License-Identifier: Apache-2.0
"""Forward-mode derivatives: tensors that carry a tangent while a level lasts (_tangents.py says how)."""

import contextlib
import sys
from typing import NamedTuple, Optional

import facula as torch
from facula import _C
from facula.autograd import function
from facula.autograd._tangents import Level, apart, is_number, set_enabled, tangent_of, thread

__all__ = ["UnpackedDualTensor", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual", "dual_level"]

_set_fwd_grad_enabled, _tangent = set_enabled, tangent_of


class UnpackedDualTensor(NamedTuple):
    """What unpack_dual gives: a tensor without tangent, and the tangent or None."""

    primal: torch.Tensor
    tangent: Optional[torch.Tensor]


def __getattr__(name):
    if name == "_current_level":
        return -1 if thread.level is None else 0
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def _is_fwd_grad_enabled():
    return thread.on


def enter_dual_level():
    """Begins a level on this thread, in which tensors can have tangents."""
    if thread.level is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    level = Level()
    level.__enter__()
    _C._set_forward_level(True)  # backward passes are differentiated, too
    thread.level = level
    return 0


def exit_dual_level(*, level=None):
    """Ends it; all tangents are gone."""
    current = thread.level
    if current is None and level in (None, -1):
        raise RuntimeError("Dual level must be a positive number.")
    if current is None or level not in (None, 0):
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    thread.level = None
    current.__exit__(None, None, None)
    _C._set_forward_level(False)
    current.table.clear()


def make_dual(tensor, tangent, *, level=None):
    """A tensor over the same memory as tensor that carries tangent, which is kept as it is where strides and type agree."""
    current = thread.level
    if current is None:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.")
    for what, x in (("primal", tensor), ("tangent", tangent)):
        if not (x.is_floating_point() or x.is_complex()):
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {x.dtype}")
        if hasattr(type(x), "__torch_dispatch__"):
            raise NotImplementedError(f"make_dual: a {type(x).__name__} has no memory of its own; make the dual outside of vmap, or use torch.func.jvp")
    if level not in (None, 0):
        raise RuntimeError("Invalid level given to _make_dual")
    if current.tangent(tensor) is not None:
        raise RuntimeError("Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported.")
    if current.tangent(tangent) is not None:
        raise RuntimeError("Setting a forward grad that itself has a forward gradient at the same level 0 is not supported.")
    _refuse_size(tensor, tangent)
    if tangent.is_complex() and not tensor.is_complex():
        raise RuntimeError(f"make_dual: the tangent of a {tensor.dtype} tensor is real, but got: {tangent.dtype}")
    dual = apart(tensor)
    if not torch.is_inference_mode_enabled():  # where operators compute no tangents
        current.put(dual, tangent.to(tensor.dtype), direct=True)
    return dual


def unpack_dual(tensor, *, level=None):
    """The tensor without its tangent, and the tangent or None."""
    current = thread.level
    if current is None:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"unpack_dual(): argument 'tensor' (position 1) must be Tensor, not {type(tensor).__name__}")
    return UnpackedDualTensor(apart(tensor), tangent_of(tensor))


class dual_level(contextlib.ContextDecorator):
    """A level for a scope, or for a function."""

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *exc):
        exit_dual_level()


def _active():
    return thread.on and thread.level is not None


def _detach(x):
    """x without its history, but with its tangent."""
    with set_enabled(False):
        return x.detach()


def _refuse_size(x, tangent):
    if x.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. Tensor is "
            f"of size {list(x.shape)} while the given forward gradient is of size {list(tangent.shape)}."
        )


def _apply(cls, ctx, args):
    """A call of a custom function inside of a level: what its forward computes has the tangents that jvp says."""
    current = thread.level
    given = [current.tangent(x) if isinstance(x, torch.Tensor) else None for x in args]
    with set_enabled(False):
        result, changed, constant = cls._run(ctx, args)
    if all(t is None for t in given):
        return result
    if cls.jvp is function.Function.jvp:
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")
    if ctx._materialize:
        given = [torch.zeros_like(x) if t is None and is_number(x) else t for x, t in zip(args, given)]
    outputs = result if isinstance(result, tuple) else (result,)
    with set_enabled(False):
        found = cls.jvp(ctx, *given)
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(outputs):
        raise RuntimeError(f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got {len(found)})")
    shared = {t._storage_id() for t in given if t is not None}
    for i, (x, t) in enumerate(zip(outputs, found)):
        if t is None:
            continue
        if not isinstance(t, torch.Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(t).__name__}) for grad output {i}.")
        if not is_number(x) or any(x is c for c in constant):
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {i}, but the corresponding forward output is not a differentiable Tensor. "
                "You should return None at that position instead."
            )
        _refuse_size(x, t)
        at = next((j for j, a in enumerate(args) if a is x and any(x is d for d in changed)), None)
        if at is not None and t is not given[at]:
            raise RuntimeError(
                "An inplace custom Function is not returning the forward mode gradients as-is. If the forward is modifying an input inplace, "
                "then the jvp function must modify the gradient inplace and return it as-is."
            )
        if at is None and x._storage_id() in current.table and t._storage_id() not in shared:
            raise RuntimeError("A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view.")
        if x._storage_id() not in current.table:
            t = t.clone() if t._storage_id() in shared else t.to(x.dtype)
        current.put(x, t)
    return result


function._forward = sys.modules[__name__]
