# SPDX-License-Identifier: Apache-2.0
"""torch.jit.annotations: types of parameters that a number may stand for a list in, and typing's own names."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: F401, UP035


class _BroadcastingList:
    """BroadcastingList2[int]: two of them, or one for both."""

    def __getitem__(self, types):
        return None


for _n in range(1, 7):
    globals()[f"BroadcastingList{_n}"] = _BroadcastingList()
del _n
