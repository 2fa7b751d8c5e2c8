# SPDX-License-Identifier: Apache-2.0
"""torch.nn.attention.flex_attention: attention with a function of one's own on scores, and one that says which pairs count.

Computed by operators, as PyTorch does without a compiler: all scores lie in memory. The functions are called once, with indices
that broadcast to [batch, heads, queries, keys], so they are written in operators and indexing, as for vmap.
"""

import typing

import facula as torch

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "FlexKernelOptions", "and_masks", "create_block_mask", "create_mask", "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip

_DEFAULT_SPARSE_BLOCK_SIZE = 128


class AuxRequest(typing.NamedTuple):
    """What flex_attention should return besides its result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(typing.NamedTuple):
    """What an AuxRequest asked for; None for the rest."""

    lse: torch.Tensor | None = None
    max_scores: torch.Tensor | None = None


class FlexKernelOptions(typing.TypedDict, total=False):
    """Hints for a compiler's kernels. They change no result, and nothing here."""


def noop_mask(batch, head, token_q, token_kv):
    """Every pair counts."""
    return batch.new_ones((), dtype=torch.bool)


def _joined(masks, start, join):
    if not all(callable(mask) for mask in masks):
        raise RuntimeError(f"All inputs should be callable mask_mods: {masks}")

    def mask_mod(b, h, q_idx, kv_idx):
        result = b.new_full((), start, dtype=torch.bool)
        for mask in masks:
            result = join(result, mask(b, h, q_idx, kv_idx))
        return result

    return mask_mod


def and_masks(*mask_mods):
    """Pairs that count by all of them."""
    return _joined(mask_mods, True, torch.logical_and)


def or_masks(*mask_mods):
    """Pairs that count by one of them."""
    return _joined(mask_mods, False, torch.logical_or)


def _places(sizes, device):
    """The indices of batch, head, query and key, each along its own dimension."""
    return [torch.arange(n, device=device).view(-1, *[1] * (3 - i)) for i, n in enumerate(sizes)]


def _takes_scores(function):
    code = getattr(function, "__code__", None)
    return code is not None and code.co_argcount - len(function.__defaults__ or ()) - bool(getattr(function, "__self__", None)) == 5


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """Which pairs count, as a tensor [B, H, Q_LEN, KV_LEN]; those of a score_mod that it does not send to minus infinity."""
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    places = _places(sizes, device)
    if _takes_scores(mod_fn):
        return (mod_fn(torch.zeros(sizes, device=device), *places) != float("-inf")).expand(sizes)
    return mod_fn(*places).expand(sizes)


def _ordered(needed):
    """How many blocks of a row are needed, and all blocks of the row, the needed ones first."""
    return needed.sum(-1, dtype=torch.int32), needed.to(torch.int32).argsort(dim=-1, descending=True, stable=True).to(torch.int32)


class BlockMask:
    """Which blocks of scores have pairs that count, some (kv_*) or all of theirs (full_kv_*), and mask_mod, which tells pairs."""

    _TENSORS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices")

    def __init__(self, seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, q_num_blocks, q_indices, full_q_num_blocks, full_q_indices, BLOCK_SIZE, mask_mod):  # fmt: skip
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = tuple(seq_lengths), BLOCK_SIZE, mask_mod
        given = (kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, q_num_blocks, q_indices, full_q_num_blocks, full_q_indices)
        for name, value in zip(self._TENSORS, given, strict=True):
            setattr(self, name, value)

    @classmethod
    def from_kv_blocks(cls, kv_num_blocks, kv_indices, full_kv_num_blocks=None, full_kv_indices=None, BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, mask_mod=None, seq_lengths=None, compute_q_blocks=True):  # fmt: skip
        """Of the blocks of keys that each block of queries needs."""
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        rest = [None] * 4
        if compute_q_blocks:
            rest[:2] = _ordered(_dense(kv_num_blocks, kv_indices).transpose(-2, -1))
            if full_kv_num_blocks is not None:
                rest[2:] = _ordered(_dense(full_kv_num_blocks, full_kv_indices).transpose(-2, -1))
        lengths = seq_lengths or (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        return cls(lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *rest, size, mask_mod or noop_mask)

    def as_tuple(self, flatten=True):
        size = self.BLOCK_SIZE if flatten else (self.BLOCK_SIZE,)
        lengths = self.seq_lengths if flatten else (self.seq_lengths,)
        return (*lengths, *(getattr(self, name) for name in self._TENSORS), *size, self.mask_mod)

    @property
    def shape(self):
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self):
        return torch.Size(self.shape).numel()

    def to_dense(self):
        """Which blocks are needed, one and zero."""
        needed = _dense(self.kv_num_blocks, self.kv_indices)
        return (needed | _dense(self.full_kv_num_blocks, self.full_kv_indices) if self.full_kv_num_blocks is not None else needed).int()

    def sparsity(self):
        """How many per cent of the blocks are not needed."""
        return 100 * (1 - self.to_dense().double().mean().item())

    def _changed(self, change):
        parts = [None if getattr(self, name) is None else change(getattr(self, name)) for name in self._TENSORS]
        return BlockMask(self.seq_lengths, *parts, self.BLOCK_SIZE, self.mask_mod)

    def to(self, device):
        return self._changed(lambda x: x.to(device))

    def __getitem__(self, index):
        """Of some batches or heads; mask_mod stays as it is, for their own places."""
        kept = self._changed(lambda x: x[index])
        return BlockMask.from_kv_blocks(
            kept.kv_num_blocks, kept.kv_indices, kept.full_kv_num_blocks, kept.full_kv_indices, self.BLOCK_SIZE, seq_lengths=self.seq_lengths
        )

    def __repr__(self):
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, BLOCK_SIZE={self.BLOCK_SIZE})"


def _dense(count, indices):
    """Blocks as a matrix of booleans."""
    known = torch.arange(indices.shape[-1], device=indices.device) < count.unsqueeze(-1)
    return torch.zeros(indices.shape, dtype=torch.bool, device=indices.device).scatter(-1, indices.long(), known)


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, _compile=False, separate_full_blocks=True):
    """The blocks that a function of (batch, head, query, key) needs. B, H: None if it does not depend on them."""
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = torch.nn.functional.pad(create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device), (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    blocks = mask.view(*mask.shape[:2], mask.shape[2] // rows, rows, mask.shape[3] // columns, columns).sum((-1, -3))
    full = (blocks == rows * columns) & separate_full_blocks
    parts = [*_ordered((blocks > 0) & ~full), *(_ordered(full) if separate_full_blocks else (None, None))]
    return BlockMask.from_kv_blocks(*parts, (rows, columns), mask_mod, (Q_LEN, KV_LEN))


def flex_attention(
    query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False, kernel_options=None, *, return_aux=None
):  # fmt: skip
    """softmax(score_mod(query @ keyᵀ * scale)) @ value, over the pairs that block_mask lets count.

    return_lse, return_aux: also the logarithm of the sum of exponentials of each row of scores, and their maximum.
    """
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.dim() != 4:
            raise NotImplementedError(f"NYI: query, key, and value must be 4D tensors; {name} has {x.dim()} dimensions")
    heads, groups = query.shape[1], key.shape[1]
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"Expect query and key/value to have the same embedding dimension but got E={query.shape[-1]} and E={key.shape[-1]}.")
    if key.shape[:3] != value.shape[:3]:
        raise ValueError(f"Expect key and value to have the same batch size, heads and length but got {list(key.shape)} and {list(value.shape)}.")
    if heads != groups and not enable_gqa:
        raise ValueError(f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={groups}. Try setting enable_gqa=True for GQA.")
    if heads % groups:
        raise ValueError(f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={groups}.")
    if query.shape[0] != key.shape[0] and key.shape[0] != 1:
        raise ValueError(f"Expect query and key/value to have the same batch size, but got Bq={query.shape[0]} and Bkv={key.shape[0]}.")
    if block_mask is not None:
        lengths = (query.shape[2], key.shape[2])
        if any(have < need for have, need in zip(block_mask.seq_lengths, lengths, strict=True)):
            raise RuntimeError(
                f"block_mask was created for a smaller length than you're using it for, you likely need to create a new block mask: "
                f"it is {block_mask.shape}, q_len={lengths[0]} and kv_len={lengths[1]}."
            )
        if tuple(block_mask.seq_lengths) != lengths:
            raise ValueError(f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={lengths[0]} and kv_len={lengths[1]}.")
    key, value = (x.repeat_interleave(heads // groups, 1) if heads != groups else x for x in (key, value))
    precise = torch.float64 if query.dtype == torch.float64 else torch.float32
    scores = (query @ key.transpose(-2, -1)).to(precise) * (query.shape[-1] ** -0.5 if scale is None else scale)
    places = _places(scores.shape, query.device)
    if score_mod is not None:
        scores = score_mod(scores, *places).to(precise)
    if block_mask is not None:
        scores = torch.where(block_mask.mask_mod(*places), scores, float("-inf"))
    nothing = (scores == float("-inf")).all(-1, keepdim=True)  # a row without pairs is zero
    out = scores.softmax(-1).masked_fill(nothing, 0).to(query.dtype) @ value
    wanted = return_aux or AuxRequest(lse=return_lse)
    if not (wanted.lse or wanted.max_scores):
        return (out, AuxOutput()) if return_aux is not None else out
    aux = AuxOutput(scores.logsumexp(-1) if wanted.lse else None, scores.amax(-1) if wanted.max_scores else None)
    return (out, aux) if return_aux is not None else (out, aux.lse)
