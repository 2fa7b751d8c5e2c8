# SPDX-License-Identifier: Apache-2.0
"""Names of torch.cuda.amp, where programs also import them from."""

from facula.cuda.amp import amp_definitely_not_available

__all__ = ["amp_definitely_not_available"]
