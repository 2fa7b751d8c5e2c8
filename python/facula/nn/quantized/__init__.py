# SPDX-License-Identifier: Apache-2.0
"""torch.nn.quantized: torch.ao.nn.quantized by its older name."""

from facula import _missing
from facula.ao.nn.quantized import FloatFunctional, FXFloatFunctional

__all__ = ["FXFloatFunctional", "FloatFunctional"]

__getattr__ = _missing.missing(__name__)
