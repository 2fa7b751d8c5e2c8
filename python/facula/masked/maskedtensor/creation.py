# SPDX-License-Identifier: Apache-2.0
"""How masked tensors are made."""

from facula.masked.maskedtensor.core import MaskedTensor

__all__ = ["as_masked_tensor", "masked_tensor"]


def masked_tensor(data, mask, requires_grad=False):
    """A masked tensor over a copy of data, a leaf."""
    return MaskedTensor(data.detach().clone(), mask.clone(), requires_grad)


def as_masked_tensor(data, mask):
    """A masked tensor over data itself; gradients flow back to it."""
    return MaskedTensor._over(data, mask)
