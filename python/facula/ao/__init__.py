# SPDX-License-Identifier: Apache-2.0
"""torch.ao: no quantisation yet; models that could be quantised can be built."""

from facula import _missing

__getattr__ = _missing.missing(__name__, ("nn", "quantization"))
