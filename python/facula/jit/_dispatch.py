# SPDX-License-Identifier: Apache-2.0
"""Functions of which a flag that is known when the caller is compiled chooses another result type."""

from collections.abc import Callable


class ByFlag:
    """Two functions of the same parameters; `flag`, at `index` among them, says which one a call means."""

    def __init__(self, flag: str, index: int, default: bool, if_true: "Callable | ByFlag", if_false: "Callable | ByFlag"):
        self.flag, self.index, self.default, self.if_true, self.if_false = flag, index, default, if_true, if_false


def by_flag(flag: str, index: int, if_true: Callable | ByFlag, if_false: Callable | ByFlag, default: bool = False) -> ByFlag:
    return ByFlag(flag, index, default, if_true, if_false)
