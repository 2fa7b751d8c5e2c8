# SPDX-License-Identifier: Apache-2.0
"""torch.fft: the operators whose names begin with fft_, without that."""

from facula import _C

__all__ = []
for _name, _function in _C._functions.items():
    if _name.startswith("fft_"):
        globals()[_name[len("fft_"):]] = _function
        __all__.append(_name[len("fft_"):])
del _name, _function
