# SPDX-License-Identifier: Apache-2.0
"""Names of torch.cuda.amp, where programs also import them from."""

from facula.cuda.amp import GradScaler

__all__ = ["GradScaler"]
