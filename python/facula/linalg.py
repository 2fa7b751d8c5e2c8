# SPDX-License-Identifier: Apache-2.0
"""torch.linalg: the operators whose names begin with linalg_, without that. LAPACK does the work on the CPU."""

from facula import _C
from facula._C import _LinAlgError as LinAlgError

__all__ = ["LinAlgError"]
for _name, _function in _C._functions.items():
    if _name.startswith("linalg_"):
        globals()[_name[len("linalg_"):]] = _function
        __all__.append(_name[len("linalg_"):])
del _name, _function
