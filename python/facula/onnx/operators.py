# SPDX-License-Identifier: Apache-2.0
"""Sizes as tensors, for models that are exported with sizes that vary."""

import facula as torch

__all__ = ["reshape_from_tensor_shape", "shape_as_tensor"]


def shape_as_tensor(x):
    """The sizes of a tensor as a tensor of int64."""
    return torch.tensor(x.shape, dtype=torch.int64)


def reshape_from_tensor_shape(x, shape):
    """x in a shape that a tensor holds."""
    return x.reshape(shape.tolist())
