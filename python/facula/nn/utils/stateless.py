# SPDX-License-Identifier: Apache-2.0
"""Calls of a module with other parameters and buffers than its own."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

from facula._tensor import Tensor

__all__ = ["functional_call"]


def _with_tied(module, given):
    """The given tensors under all names of the tensors that they replace."""
    names = {}
    for name, t in (*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)):
        names.setdefault(t, []).append(name)
    out = dict(given)
    for tied in names.values():
        values = [given[name] for name in tied if name in given]
        if len(tied) == 1 or not values:
            continue
        if any(v is not values[0] for v in values):
            raise ValueError(f"functional_call got multiple values for keys {sorted(tied)}, which are tied. Consider using tie_weights=False")
        out.update(dict.fromkeys(tied, values[0]))
    return out


def _swap(module, path, value):
    """Puts a tensor in a parameter's or buffer's place; returns what was there."""
    *parents, name = path.split(".")
    for parent in parents:
        module = module._modules.get(parent)
        if module is None:
            raise KeyError(path)
    for members in (module._parameters, module._buffers):
        if name in members:
            old, members[name] = members[name], value
            return old
    if not hasattr(module, name):
        raise KeyError(path)
    old = getattr(module, name)  # a parametrized tensor, or a plain attribute
    setattr(module, name, value)
    return old


@contextlib.contextmanager
def _reparametrize_module(module, parameters_and_buffers, tie_weights=False, strict=False, stack_weights=False):
    given = _with_tied(module, parameters_and_buffers) if tie_weights else parameters_and_buffers
    if strict:
        own = {n for n, _ in (*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False))}
        wrong = []
        for what, keys in (("Unexpected", [k for k in given if k not in own]), ("Missing", sorted(own - set(given)))):
            if keys:
                wrong.append(f"{what} key(s): {', '.join(map(repr, keys))}.")
        if wrong:
            raise RuntimeError("Error(s) in reparametrizing for {}:\n\t{}".format(module._get_name(), "\n\t".join(wrong)))
    swapped = {}
    try:
        for name, value in given.items():
            with contextlib.suppress(KeyError):
                swapped[name] = _swap(module, name, value)
        yield
    finally:
        for name, old in reversed(list(swapped.items())):
            now = _swap(module, name, old)
            if name in parameters_and_buffers:  # forward may have put another tensor there
                parameters_and_buffers[name] = now


def functional_call(
    module, parameters_and_buffers: dict[str, Tensor], args: Any = None, kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True,
    strict: bool = False,
):  # fmt: skip
    """The old place of torch.func.functional_call."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. "
        "Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """module(*args, **kwargs) with these tensors in the places of its own, by their paths."""
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))
