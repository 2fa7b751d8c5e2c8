# SPDX-License-Identifier: Apache-2.0
"""Objects that a checkpoint asks for their state, and gives it back to."""

from typing import Any, Protocol, runtime_checkable

from facula import _missing

__all__ = ["Stateful"]


@runtime_checkable
class Stateful(Protocol):
    """Has state_dict() and load_state_dict(state)."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...


__getattr__ = _missing.missing(__name__)
