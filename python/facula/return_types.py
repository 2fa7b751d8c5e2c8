# SPDX-License-Identifier: Apache-2.0
"""Named tuples that operators with several results return, made when an operator is first called."""

import collections

_made = {}


def _make(name, fields):
    if name not in _made:
        base = collections.namedtuple(name, fields)

        def __new__(cls, values):
            return tuple.__new__(cls, values)

        def __repr__(self):
            inner = ",\n".join(f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
            return f"torch.return_types.{name}(\n{inner})"

        kind = type(name, (base,), {"__new__": __new__, "__repr__": __repr__, "__slots__": (), "__module__": "torch.return_types"})
        _made[name] = kind
        globals()[name] = kind
    return _made[name]
