# SPDX-License-Identifier: Apache-2.0
"""torch.special: the operators whose names begin with special_, without that."""

from facula import _C

logsumexp = _C._functions["logsumexp"]

__all__ = ["logsumexp"]
for _name, _function in _C._functions.items():
    if _name.startswith("special_"):
        globals()[_name[len("special_"):]] = _function
        __all__.append(_name[len("special_"):])
del _name, _function
