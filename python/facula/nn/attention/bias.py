# SPDX-License-Identifier: Apache-2.0
"""Causal masks that say what they are: scaled_dot_product_attention takes one for attn_mask and needs no matrix for it where it
begins in the upper left corner, which is what is_causal means."""

import enum
import warnings

import facula as torch
from facula.nn import functional as F

__all__ = ["causal_upper_left", "causal_lower_right", "CausalVariant", "CausalBias"]


class CausalVariant(enum.IntEnum):
    """Where the diagonal begins or ends if queries and keys are not equally many."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(torch.Tensor):
    """A causal mask over so many queries and keys."""

    def __new__(cls, variant, seq_len_q, seq_len_kv):
        return torch.empty(0).as_subclass(cls)

    def __init__(self, variant, seq_len_q, seq_len_kv):
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        if seq_len_q > seq_len_kv and variant is CausalVariant.LOWER_RIGHT:
            warnings.warn("Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!", stacklevel=2)

    def _materialize(self, device=None):
        """The mask as a matrix: True where a query sees a key."""
        corner = 0 if self.variant is CausalVariant.UPPER_LEFT else self.seq_len_kv - self.seq_len_q
        return torch.ones(self.seq_len_q, self.seq_len_kv, dtype=torch.bool, device=device).tril(corner)

    @staticmethod
    def _attend(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        mask = attn_mask
        upper = mask.variant is CausalVariant.UPPER_LEFT or mask.seq_len_q == mask.seq_len_kv
        return F.scaled_dot_product_attention(
            query, key, value, None if upper else mask._materialize(query.device), dropout_p, upper, scale=scale, enable_gqa=enable_gqa
        )

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is F.scaled_dot_product_attention:
            return cls._attend(*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs)

    def __repr__(self):
        return repr(self._materialize())


def _variant(variant, size):
    if len(size) != 2:
        raise AssertionError(f"expected the numbers of queries and of keys, got {len(size)} sizes")
    return CausalBias(variant, *size)


def causal_upper_left(*size):
    """The mask of is_causal: query i sees keys 0 to i."""
    return _variant(CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size):
    """The last query sees all keys, each one before it one key less."""
    return _variant(CausalVariant.LOWER_RIGHT, size)
