# SPDX-License-Identifier: Apache-2.0
"""Attention over sequences of different lengths that lie one after the other, without padding.

Every sequence is computed by the blocked kernel of scaled_dot_product_attention. Windows are cut into blocks of queries,
which see a part of the keys each, so that neither scores nor masks of a whole sequence are ever in memory.
"""

from typing import NamedTuple

import facula as torch

__all__ = ["AuxRequest", "varlen_attn", "varlen_attn_out"]

_BLOCK = 128  # queries of a block under a window


class AuxRequest(NamedTuple):
    """What varlen_attn returns besides. lse: the logarithms of the sums of exponentiated scores."""

    lse: bool = False


class _Block(NamedTuple):
    """Queries [q, q_end) of the packed tensor and the keys [k, k_end) that they see, all of them unless causal or masked;
    of batch sequences of one length each."""

    q: int
    q_end: int
    k: int
    k_end: int
    causal: bool = False
    mask: torch.Tensor | None = None
    batch: int = 1

    def queries(self, t):
        """Its part of a tensor that is packed as queries are, [batch, heads, positions, size], a view."""
        return t[self.q : self.q_end].unflatten(0, (self.batch, -1)).transpose(1, 2)

    def keys(self, t):
        return t[self.k : self.k_end].unflatten(0, (self.batch, -1)).transpose(1, 2)

    def sums(self, lse):
        return lse[:, self.q : self.q_end].unflatten(1, (self.batch, -1)).transpose(0, 1)


def _window_mask(first, last, k, k_end, left, right, device):
    """Which of the keys [k, k_end) the queries see whose own positions among the keys are [first, last)."""
    own = torch.arange(first, last, device=device).unsqueeze(1)
    key = torch.arange(k, k_end, device=device)
    seen = torch.ones((), dtype=torch.bool, device=device)
    if left >= 0:
        seen = seen & (key >= own - left)
    if right >= 0:
        seen = seen & (key <= own + right)
    return seen.expand(last - first, k_end - k)


def _blocks(queries, keys, window, device):
    """The blocks of all sequences, given as pairs (begin, length) in the packed queries and keys."""
    left, right = window
    run = None  # of sequences that lie one after the other and have the same lengths
    for (q, n), (k, m) in zip(queries, keys, strict=True):
        if n == 0 or m == 0:
            continue
        if left < 0 and (right < 0 or (right == 0 and n == m)):
            if run and (run.q_end, run.k_end) == (q, k) and (run.q_end - run.q, run.k_end - run.k) == (n * run.batch, m * run.batch):
                run = run._replace(q_end=q + n, k_end=k + m, batch=run.batch + 1)
                continue
            if run:
                yield run
            run = _Block(q, q + n, k, k + m, causal=right == 0)
            continue
        begin = 0 if right < 0 else max(0, n - m - right)  # queries before see no key at all
        for i in range(begin, n, _BLOCK):
            end = min(i + _BLOCK, n)
            first, last = i + m - n, end + m - n  # the last query stands at the last key
            low = 0 if left < 0 else max(0, first - left)
            high = m if right < 0 else min(m, last + right)
            mask = _window_mask(first, last, low, high, left, right, device)
            yield _Block(q + i, q + end, k + low, k + high, mask=mask)
    if run:
        yield run


def _compute(query, key, value, blocks, scale, out=None):
    """Results and log-sum-exps; 0 and -inf for queries that see no key."""
    out = torch.zeros_like(query) if out is None else out.zero_()
    wide = torch.float64 if query.dtype is torch.float64 else torch.float32
    lse = torch.full((query.shape[1], query.shape[0]), -torch.inf, dtype=wide, device=query.device)
    for b in blocks:
        result, sums = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            b.queries(query), b.keys(key), b.keys(value), 0.0, b.causal, attn_mask=b.mask, scale=scale
        )
        b.queries(out).copy_(result)
        b.sums(lse).copy_(sums.detach())
    return out, lse


class _Packed(torch.autograd.Function):
    """One node for all sequences, whose gradients are added in place: slices as nodes of their own would each fill a tensor
    of all tokens."""

    @staticmethod
    def forward(ctx, query, key, value, blocks, scale):
        out, lse = _compute(query, key, value, blocks, scale)
        ctx.save_for_backward(query, key, value, out, lse)
        ctx.blocks, ctx.scale = blocks, scale
        ctx.mark_non_differentiable(lse)
        return out, lse

    @staticmethod
    def backward(ctx, grad, _):
        query, key, value, out, lse = ctx.saved_tensors
        if torch.is_grad_enabled():  # a derivative of this one is wanted, which the kernel's own node has
            inputs = [t for t in (query, key, value) if t.requires_grad]
            again = _compute(query, key, value, ctx.blocks, ctx.scale)[0]
            found = iter(torch.autograd.grad(again, inputs, grad, create_graph=True))
            return *(next(found) if t.requires_grad else None for t in (query, key, value)), None, None
        into = [torch.zeros_like(t) for t in (query, key, value)]
        for b in ctx.blocks:
            found = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
                b.queries(grad), b.queries(query), b.keys(key), b.keys(value), b.queries(out), b.sums(lse), 0.0, b.causal,
                attn_mask=b.mask, scale=ctx.scale,
            )  # fmt: skip
            for total, part, place in zip(into, found, (b.queries, b.keys, b.keys), strict=True):
                place(total).add_(part)
        return *into, None, None


def _ints(name, t, shape, device):
    """The numbers of an index tensor."""
    if not isinstance(t, torch.Tensor) or t.dtype is not torch.int32 or t.dim() != len(shape):
        found = f"{t.dim()}-dimensional {t.dtype}" if isinstance(t, torch.Tensor) else type(t).__name__
        raise ValueError(f"varlen_attn: {name} must be a {len(shape)}-dimensional tensor of int32, got {found}")
    if t.device != device:
        raise ValueError(f"varlen_attn: {name} is on {t.device}, and query on {device}")
    if any(want is not None and want != size for want, size in zip(shape, t.shape, strict=True)):
        raise ValueError(f"varlen_attn: {name} must have {shape[0]} entries, one for every sequence, got {list(t.shape)}")
    return t.tolist()


def _sequences(name, cu_seq, tokens, longest, device):
    """(begin, length) of every sequence."""
    cuts = _ints(name, cu_seq, (None,), device)
    if not cuts:
        raise ValueError(f"varlen_attn: {name} must have one entry more than there are sequences, got none")
    if cuts[0] < 0 or cuts[-1] > tokens or any(a > b for a, b in zip(cuts, cuts[1:], strict=False)):
        raise ValueError(f"varlen_attn: {name} must rise from 0 to at most {tokens}, the number of tokens; got {cuts[:16]}")
    parts = [(a, b - a) for a, b in zip(cuts, cuts[1:], strict=False)]
    most = max((n for _, n in parts), default=0)
    if most > longest:
        raise ValueError(f"varlen_attn: {name} has a sequence of {most} tokens, and max_{name[-1]} says {longest}")
    return parts


def _from_pages(key, value, block_table, used, device):
    """The tokens of a pool of pages, packed: key, value, and (begin, length) of every sequence."""
    pages, size = key.shape[:2]
    table = _ints("block_table", block_table, (len(used), None), device)
    parts, rows, begin = [], [], 0
    for i, (numbers, n) in enumerate(zip(table, used, strict=True)):
        if n > len(numbers) * size:
            raise ValueError(f"varlen_attn: seqused_k says {n} tokens for sequence {i}, whose pages hold {len(numbers) * size}")
        for at in range(0, n, size):
            page = numbers[at // size]
            if not 0 <= page < pages:
                raise ValueError(f"varlen_attn: block_table names page {page} for sequence {i}, and there are {pages}")
            rows.extend(range(page * size, page * size + min(size, n - at)))
        parts.append((begin, n))
        begin += n
    rows = torch.tensor(rows, dtype=torch.int64, device=device)
    return key.flatten(0, 1).index_select(0, rows), value.flatten(0, 1).index_select(0, rows), parts


def _check_shapes(query, key, value, window_size, enable_gqa, paged):
    for name, t in (("query", query), ("key", key), ("value", value)):
        dims = 4 if paged and t is not query else 3
        if t.dim() != dims:
            layout = "pages, tokens of a page, heads, size" if dims == 4 else "tokens, heads, size"
            raise ValueError(f"varlen_attn: {name} must be [{layout}], got {list(t.shape)}")
    if key.shape[:-1] != value.shape[:-1] or key.shape[-1] != query.shape[-1] or value.shape[-1] != query.shape[-1]:
        raise ValueError(f"varlen_attn: query {list(query.shape)}, key {list(key.shape)} and value {list(value.shape)} do not fit")
    heads, shared = query.shape[1], key.shape[-2]
    if heads != shared and not enable_gqa:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={shared}. Try setting enable_gqa=True for GQA."
        )
    if shared == 0 or heads % shared:
        raise ValueError(f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={shared}.")
    if len(window_size) != 2:
        raise ValueError(f"window_size must have length 2, got {len(window_size)}")
    if min(window_size) < -1:
        raise ValueError(f"varlen_attn: window_size must be -1 (no bound) or the number of tokens, got {tuple(window_size)}")


def _attend(
    out, query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, return_aux, scale, window_size, enable_gqa, seqused_k, block_table, num_splits
):
    paged = block_table is not None
    _check_shapes(query, key, value, window_size, enable_gqa, paged)
    if num_splits is not None and num_splits < 1:
        raise ValueError(f"varlen_attn: num_splits must be at least 1, got {num_splits}")
    wants_lse = return_aux is not None and return_aux.lse
    if query.device.type == "meta":  # lengths are not known, shapes are
        result = torch.empty_like(query) if out is None else out
        return (result, query.new_empty(query.shape[1], query.shape[0], dtype=torch.float32)) if wants_lse else result
    queries = _sequences("cu_seq_q", cu_seq_q, query.shape[0], max_q, query.device)
    used = None if seqused_k is None else _ints("seqused_k", seqused_k, (len(queries),), query.device)
    if used is not None and min(used, default=0) < 0:
        raise ValueError(f"varlen_attn: seqused_k must not be negative, got {min(used)}")
    if paged:
        if used is None:
            raise ValueError("varlen_attn: block_table needs seqused_k, the number of tokens of every sequence")
        key, value, keys = _from_pages(key, value, block_table, used, query.device)
    else:
        if cu_seq_k is None:
            raise ValueError("varlen_attn: cu_seq_k may only be None with a block_table")
        keys = _sequences("cu_seq_k", cu_seq_k, key.shape[0], max_k, query.device)
        if len(keys) != len(queries):
            raise ValueError(f"varlen_attn: cu_seq_q has {len(queries)} sequences, and cu_seq_k {len(keys)}")
        if used is not None:
            if over := [(u, n) for u, (_, n) in zip(used, keys, strict=True) if u > n]:
                raise ValueError(f"varlen_attn: seqused_k says {over[0][0]} tokens for a sequence of {over[0][1]}")
            keys = [(k, u) for u, (k, _) in zip(used, keys, strict=True)]
    blocks = list(_blocks(queries, keys, window_size, query.device))
    if out is not None:
        result, lse = _compute(query, key, value, blocks, scale, out)
    else:
        result, lse = _Packed.apply(query, key, value, blocks, scale)
    return (result, lse) if wants_lse else result


def varlen_attn(
    query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, return_aux=None, scale=None, window_size=(-1, -1), enable_gqa=False,
    seqused_k=None, block_table=None, num_splits=None,
):  # fmt: skip
    """Attention of every sequence for itself: query [tokens, heads, size], sequence i from cu_seq_q[i] to cu_seq_q[i + 1]
    (int32), key and value likewise by cu_seq_k. window_size: how many tokens before and after its own a query sees, -1 all
    ((-1, 0): causal); the last query stands at the last key. enable_gqa: fewer heads in key and value. seqused_k: how many
    tokens of each sequence of keys count. block_table [sequences, pages]: key and value are a pool of pages [pages, tokens,
    heads, size], in this order; needs seqused_k. return_aux=AuxRequest(lse=True) adds the [heads, tokens] log-sum-exps.
    num_splits changes nothing here: a sequence's result never depends on others."""
    return _attend(
        None, query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, return_aux, scale, window_size, enable_gqa, seqused_k, block_table, num_splits
    )  # fmt: skip


def varlen_attn_out(
    out, query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, return_aux=None, scale=None, window_size=(-1, -1), enable_gqa=False,
    seqused_k=None, block_table=None, num_splits=None,
):  # fmt: skip
    """varlen_attn into a tensor that is there; without gradients."""
    if out.shape != query.shape or out.dtype is not query.dtype or out.device != query.device:
        raise ValueError(
            f"varlen_attn_out: out must be like query, {list(query.shape)} of {query.dtype} on {query.device}, "
            f"got {list(out.shape)} of {out.dtype} on {out.device}"
        )
    if torch.is_grad_enabled() and any(t.requires_grad for t in (out, query, key, value)):
        raise RuntimeError("varlen_attn_out has no gradient: call it under torch.no_grad(), or varlen_attn")
    return _attend(
        out, query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, return_aux, scale, window_size, enable_gqa, seqused_k, block_table, num_splits
    )  # fmt: skip
