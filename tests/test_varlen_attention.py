# SPDX-License-Identifier: Apache-2.0
"""Attention over packed sequences against a loop of scaled_dot_product_attention."""
import itertools

import facula as torch
import pytest
from facula.nn.attention.varlen import AuxRequest, varlen_attn, varlen_attn_out
from facula.nn.functional import scaled_dot_product_attention

pytestmark = pytest.mark.usefixtures("torch")  # one thread: tiny tensors


def cuts(lengths):
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32)


def packed(lengths, heads, size=8, dtype=torch.float64):
    return torch.randn(sum(lengths), heads, size, dtype=dtype, requires_grad=True)


def one_by_one(query, key, value, queries, keys, window, scale=None):
    outs, sums = [], []
    for q, k, v in zip(query.split(queries), key.split(keys), value.split(keys), strict=True):
        q, k, v = (t.transpose(0, 1) for t in (q, k, v))
        own = torch.arange(q.shape[1])[:, None] + k.shape[1] - q.shape[1]
        mask = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool)
        mask &= (torch.arange(k.shape[1]) >= own - window[0]) | (window[0] < 0)
        mask &= (torch.arange(k.shape[1]) <= own + window[1]) | (window[1] < 0)
        outs.append(scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale, enable_gqa=True).transpose(0, 1))
        k = k.repeat_interleave(q.shape[0] // k.shape[0], 0)
        scores = (q @ k.mT) * (q.shape[-1] ** -0.5 if scale is None else scale)
        sums.append(scores.masked_fill(~mask, -torch.inf).logsumexp(-1))
    return torch.cat(outs), torch.cat(sums, 1)


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (3, 0), (2, 5), (0, 0), (-1, 4), (150, 1)])
@pytest.mark.parametrize("queries, keys", [([5, 0, 140, 7], [9, 4, 140, 3]), ([4, 4, 4, 3, 3, 4], [4, 4, 4, 3, 3, 4]), ([2, 2, 0, 2], [5, 5, 5, 5]), ([2], [0]), ([], [])])
def test_against_a_loop(window, queries, keys):
    torch.manual_seed(0)
    q, k, v = packed(queries, 4), packed(keys, 2), packed(keys, 2)
    longest = max([*queries, *keys], default=0)
    out, lse = varlen_attn(q, k, v, cuts(queries), cuts(keys), longest, longest, window_size=window, enable_gqa=True, scale=0.3, return_aux=AuxRequest(lse=True))
    if not queries:
        assert out.shape == q.shape and lse.shape == (4, 0)
        return
    expected, sums = one_by_one(q, k, v, queries, keys, window, 0.3)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(lse, sums.detach())
    grad = torch.randn_like(out)
    for found, right in zip(torch.autograd.grad(out, (q, k, v), grad), torch.autograd.grad(expected, (q, k, v), grad), strict=True):
        torch.testing.assert_close(found, right)


def test_derivatives():
    q, k, v = packed([2, 1], 2, 2), packed([4, 1], 1, 2), packed([4, 1], 1, 2)

    def attend(q, k, v):
        return varlen_attn(q, k, v, cuts([2, 1]), cuts([4, 1]), 2, 4, window_size=(2, 0), enable_gqa=True)

    assert torch.autograd.gradcheck(attend, (q, k, v)) and torch.autograd.gradgradcheck(attend, (q, k, v), fast_mode=True)
    q, k, v = q.detach(), k.detach().requires_grad_(), v.detach()
    (grad,) = torch.autograd.grad(attend(q, k, v).square().sum(), k, create_graph=True)
    grad.sum().backward()
    assert k.grad.shape == k.shape


def test_sequences_of_one_length_are_one_call():
    calls = 0

    def count(op, args, kwargs, go_on):
        nonlocal calls
        calls += "flash_attention" in str(op)
        return go_on(*args, **kwargs)

    q = packed([3] * 20 + [5] * 7, 2)
    cu = cuts([3] * 20 + [5] * 7)
    with torch.dispatch.layer("count", count):
        varlen_attn(q, q, q, cu, cu, 5, 5, window_size=(-1, 0)).sum().backward()
    assert calls == 4


def test_memory_is_not_quadratic():
    n = 4096  # scores of one head would be 64 MiB in float32, a mask 16 MiB
    q = torch.randn(n, 2, 8)
    largest = 0

    def look(op, args, kwargs, go_on):
        nonlocal largest
        results = go_on(*args, **kwargs)
        for r in results if isinstance(results, tuple) else [results]:
            largest = max(largest, r.untyped_storage().nbytes() if isinstance(r, torch.Tensor) else 0)
        return results

    with torch.dispatch.layer("largest", look):
        varlen_attn(q, q, q, cuts([n]), cuts([n]), n, n, window_size=(64, 0))
        varlen_attn(q, q[: n - 8], q[: n - 8], cuts([n]), cuts([n - 8]), n, n, window_size=(-1, 0))
    assert 0 < largest < 8 << 20


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_types(dtype):
    torch.manual_seed(1)
    q, k, v = (packed([3, 5], 2, 8, dtype) for _ in range(3))
    out, lse = varlen_attn(q, k, v, cuts([3, 5]), cuts([3, 5]), 5, 5, return_aux=AuxRequest(lse=True))
    assert out.dtype is dtype and lse.dtype is torch.float32
    torch.testing.assert_close(out, one_by_one(q, k, v, [3, 5], [3, 5], (-1, -1))[0])


def test_a_cache_of_keys():
    torch.manual_seed(2)
    used = [5, 0, 7]
    q, k, v = packed([1, 1, 1], 2), packed([8, 8, 8], 2), packed([8, 8, 8], 2)
    expected = one_by_one(q, torch.cat([k[8 * i : 8 * i + n] for i, n in enumerate(used)]), torch.cat([v[8 * i : 8 * i + n] for i, n in enumerate(used)]), [1, 1, 1], used, (-1, -1))[0]
    length = torch.tensor(used, dtype=torch.int32)
    found = varlen_attn(q, k, v, cuts([1, 1, 1]), cuts([8, 8, 8]), 1, 8, seqused_k=length)
    torch.testing.assert_close(found, expected)
    # the same tokens in pages of four, in another order
    order = torch.tensor([3, 0, 5, 2, 1, 4])
    pool_k, pool_v = (torch.zeros(6, 4, 2, 8, dtype=torch.float64).index_copy(0, order, t.view(6, 4, 2, 8)) for t in (k, v))
    table = order.view(3, 2).int()
    paged = varlen_attn(q, pool_k, pool_v, cuts([1, 1, 1]), None, 1, 8, seqused_k=length, block_table=table)
    torch.testing.assert_close(paged, expected)
    grad = torch.autograd.grad(paged.sum(), k)[0]
    torch.testing.assert_close(grad, torch.autograd.grad(expected.sum(), k)[0])


def test_out():
    q = packed([2, 3], 2).detach()
    out = torch.full_like(q, 7)
    assert varlen_attn_out(out, q, q, q, cuts([2, 2]), cuts([2, 3]), 2, 3) is out
    torch.testing.assert_close(out[:4], varlen_attn(q, q, q, cuts([2, 2]), cuts([2, 3]), 2, 3)[:4])
    assert out[4].count_nonzero() == 0  # of no sequence
    with pytest.raises(ValueError, match="out must be like query"):
        varlen_attn_out(out[:1], q, q, q, cuts([2, 3]), cuts([2, 3]), 3, 3)
    with pytest.raises(RuntimeError, match="has no gradient"):
        varlen_attn_out(out, q.requires_grad_(), q, q, cuts([2, 3]), cuts([2, 3]), 3, 3)


def test_meta():
    q, cu = torch.empty(6, 2, 8, device="meta"), torch.empty(3, dtype=torch.int32, device="meta")
    out, lse = varlen_attn(q, q, q, cu, cu, 4, 4, return_aux=AuxRequest(lse=True))
    assert out.shape == (6, 2, 8) and lse.shape == (2, 6) and out.device.type == "meta"


Q = torch.zeros(6, 2, 8)
CU = cuts([2, 4])
POOL = torch.zeros(3, 2, 2, 8)


@pytest.mark.parametrize("text, args, options", [
    ("same number of heads", (Q, Q[:, :1], Q[:, :1], CU, CU, 4, 4), {}),
    ("multiple of kv heads", (Q, Q[:, :0], Q[:, :0], CU, CU, 4, 4), dict(enable_gqa=True)),
    (r"query must be \[tokens, heads, size\]", (Q[0], Q, Q, CU, CU, 4, 4), {}),
    ("do not fit", (Q, Q, Q[:5], CU, CU, 4, 4), {}),
    ("do not fit", (Q, Q[..., :4], Q, CU, CU, 4, 4), {}),
    ("tensor of int32, got 1-dimensional torch.int64", (Q, Q, Q, CU.long(), CU, 4, 4), {}),
    ("got NoneType", (Q, Q, Q, None, CU, 4, 4), {}),
    ("one entry more than there are sequences", (Q, Q, Q, CU[:0], CU, 4, 4), {}),
    ("must rise from 0 to at most 6", (Q, Q, Q, cuts([2, 5]), CU, 4, 4), {}),
    ("must rise from 0 to at most 6", (Q, Q, Q, CU, torch.tensor([0, 5, 4], dtype=torch.int32), 4, 4), {}),
    ("must rise from 0 to at most 6", (Q, Q, Q, torch.tensor([-2147483648, 0, 4], dtype=torch.int32), CU, 4, 4), {}),
    ("has a sequence of 4 tokens, and max_q says 3", (Q, Q, Q, CU, CU, 3, 4), {}),
    ("cu_seq_q has 2 sequences, and cu_seq_k 1", (Q, Q, Q, CU, cuts([6]), 4, 6), {}),
    ("window_size must have length 2", (Q, Q, Q, CU, CU, 4, 4), dict(window_size=(1, 2, 3))),
    ("window_size must be -1", (Q, Q, Q, CU, CU, 4, 4), dict(window_size=(-2, 0))),
    ("num_splits must be at least 1", (Q, Q, Q, CU, CU, 4, 4), dict(num_splits=0)),
    ("may only be None with a block_table", (Q, Q, Q, CU, None, 4, 4), {}),
    ("says 3 tokens for a sequence of 2", (Q, Q, Q, CU, CU, 4, 4), dict(seqused_k=torch.tensor([3, 4], dtype=torch.int32))),
    ("must not be negative", (Q, Q, Q, CU, CU, 4, 4), dict(seqused_k=torch.tensor([-1, 4], dtype=torch.int32))),
    ("must have 2 entries", (Q, Q, Q, CU, CU, 4, 4), dict(seqused_k=torch.tensor([4], dtype=torch.int32))),
    ("block_table needs seqused_k", (Q, POOL, POOL, CU, None, 4, 4), dict(block_table=torch.zeros(2, 1, dtype=torch.int32))),
    ("names page 9 for sequence 1", (Q, POOL, POOL, CU, None, 4, 4),
     dict(block_table=torch.tensor([[0], [9]], dtype=torch.int32), seqused_k=torch.tensor([1, 1], dtype=torch.int32))),
    ("whose pages hold 2", (Q, POOL, POOL, CU, None, 4, 4),
     dict(block_table=torch.tensor([[0], [1]], dtype=torch.int32), seqused_k=torch.tensor([1, 2**31 - 1], dtype=torch.int32))),
])  # fmt: skip
def test_refused(text, args, options):
    with pytest.raises(ValueError, match=text):
        varlen_attn(*args, **options)


def test_two_types_are_refused():
    with pytest.raises(RuntimeError, match="one floating type"):
        varlen_attn(Q, Q.double(), Q, CU, CU, 4, 4)
