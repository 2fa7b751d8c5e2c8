# SPDX-License-Identifier: Apache-2.0
"""A mode that packages use inside of vmap."""

import facula
from facula.overrides import TorchFunctionMode

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(TorchFunctionMode):
    """x[i, j] with tensors is the operator index, which gathers for all samples at once, and never reads a number."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if getattr(func, "__name__", "") == "__getitem__":
            x, index = args
            index = index if isinstance(index, tuple) else (index,)
            if all(isinstance(i, facula.Tensor) for i in index):
                return facula.ops.aten.index(x, list(index))
        return func(*args, **(kwargs or {}))
