# SPDX-License-Identifier: Apache-2.0
"""torch.xpu: this build has no such device, and behaves as PyTorch's CPU build does."""

from facula import _absent, _missing

globals().update(_absent.names(__name__, "Torch not compiled with XPU enabled"))
__getattr__ = _missing.missing(__name__)
