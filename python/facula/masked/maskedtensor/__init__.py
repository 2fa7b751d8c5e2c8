# SPDX-License-Identifier: Apache-2.0
"""Tensors with a mask of their own."""

from facula.masked.maskedtensor.core import MaskedTensor, is_masked_tensor
from facula.masked.maskedtensor.creation import as_masked_tensor, masked_tensor

__all__ = ["MaskedTensor", "is_masked_tensor", "as_masked_tensor", "masked_tensor"]
