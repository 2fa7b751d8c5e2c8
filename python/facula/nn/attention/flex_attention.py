# SPDX-License-Identifier: Apache-2.0
"""torch.nn.attention.flex_attention: attention with a function of one's own on scores. Only its names, so far."""

import typing

__all__ = ["AuxRequest", "BlockMask", "create_block_mask", "flex_attention"]

_DEFAULT_SPARSE_BLOCK_SIZE = 128


class AuxRequest(typing.NamedTuple):
    """What flex_attention should return besides its result."""

    lse: bool = False
    max_scores: bool = False


class BlockMask:
    """Which blocks of scores are needed: not made here yet."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("torch.nn.attention.flex_attention: not in Facula yet; scaled_dot_product_attention takes masks")


def create_block_mask(*args, **kwargs):
    """Makes a BlockMask of a function: not yet."""
    BlockMask()


def flex_attention(*args, **kwargs):
    """Attention with score_mod and block_mask: not yet."""
    BlockMask()
