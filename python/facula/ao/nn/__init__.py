# SPDX-License-Identifier: Apache-2.0
"""torch.ao.nn: modules of models that may be quantised."""

from facula import _missing

__getattr__ = _missing.missing(__name__, ("quantized",))
