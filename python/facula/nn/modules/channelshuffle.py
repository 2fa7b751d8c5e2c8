# SPDX-License-Identifier: Apache-2.0
"""Channels of several groups in turns."""

from __future__ import annotations

from facula._tensor import Tensor
from facula.nn import functional as F
from facula.nn.modules.module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """The channels of (N, C, *), in turns one from each of the groups."""

    __constants__ = ["groups"]

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
