# SPDX-License-Identifier: Apache-2.0
"""Where PyTorch has them."""

from facula.nn.modules.loss import LinearCrossEntropyOptions

__all__ = ["LinearCrossEntropyOptions"]
