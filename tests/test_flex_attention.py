# SPDX-License-Identifier: Apache-2.0
"""torch.nn.attention: masks that are functions (flex_attention), and causal ones that know what they are (bias)."""
import pytest

import facula as torch
from facula.nn.attention import bias
from facula.nn.attention.flex_attention import (
    AuxRequest,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)
from facula.nn.functional import scaled_dot_product_attention as attention


def operands(length=20, heads=4, groups=4):
    torch.manual_seed(0)
    return [torch.randn(2, n, m, 8, requires_grad=True) for n, m in ((heads, length), (groups, length + 4), (groups, length + 4))]


def causal(b, h, q, k):
    return q >= k


def near(b, h, q, k):
    return (q - k).abs() < 5


def test_masks_agree_with_scaled_dot_product_attention():
    q, k, v = operands()
    for mask_mod in (causal, near, and_masks(causal, near), or_masks(causal, near), noop_mask):
        mask = create_mask(mask_mod, None, None, 20, 24)
        blocks = create_block_mask(mask_mod, None, None, 20, 24, BLOCK_SIZE=8)
        got, expected = flex_attention(q, k, v, block_mask=blocks), attention(q, k, v, mask.expand(2, 4, 20, 24))
        torch.testing.assert_close(got, expected)
        for a, b in zip(torch.autograd.grad(got.sum(), (q, k, v)), torch.autograd.grad(expected.sum(), (q, k, v)), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
        whole = torch.nn.functional.pad(mask, (0, 0, 0, 4)).view(1, 1, 3, 8, 3, 8)
        assert torch.equal(blocks.to_dense().bool(), whole.any(-1).any(-2))
    assert blocks.shape == (1, 1, 20, 24) and blocks.sparsity() == 0


def test_scores_and_groups_of_heads():
    q, k, v = operands(heads=4, groups=2)
    slopes = torch.tensor([1.0, 0.5, 0.25, 0.0])

    def alibi(score, b, h, i, j):
        return score - slopes[h] * (i - j).abs()

    out, lse = flex_attention(q, k, v, alibi, enable_gqa=True, return_lse=True)
    distance = (torch.arange(20)[:, None] - torch.arange(24)).abs()
    extra = (-slopes.view(4, 1, 1) * distance).expand(2, 4, 20, 24)
    torch.testing.assert_close(out, attention(q, k, v, extra, enable_gqa=True))
    scores = q @ k.repeat_interleave(2, 1).mT / 8**0.5 + extra
    torch.testing.assert_close(lse, scores.logsumexp(-1))
    _, aux = flex_attention(q, k, v, alibi, enable_gqa=True, return_aux=AuxRequest(max_scores=True))
    torch.testing.assert_close(aux.max_scores, scores.amax(-1))
    assert aux.lse is None


def test_a_row_without_pairs_is_zero():
    q, k, v = operands()
    out = flex_attention(q, k, v, block_mask=create_block_mask(lambda b, h, q, k: q + k > 10, None, None, 20, 24)[0:1, 0:1])
    assert not out.isnan().any()
    nothing = create_block_mask(lambda b, h, q, k: q < 0, None, None, 20, 24)
    out = flex_attention(q, k, v, block_mask=nothing)
    assert not out.any() and nothing.sparsity() == 100


def test_errors():
    q, k, v = operands(heads=4, groups=2)
    for wrong, kind, text in (
        (lambda: flex_attention(q, k, v), ValueError, "enable_gqa"),
        (lambda: flex_attention(q[0], k, v), NotImplementedError, "4D"),
        (lambda: flex_attention(q, k[..., :4], v, enable_gqa=True), ValueError, "embedding"),
        (lambda: flex_attention(q, k, v, enable_gqa=True, block_mask=create_block_mask(causal, None, None, 8, 8)), RuntimeError, "smaller length"),
        (lambda: and_masks(3), RuntimeError, "callable"),
    ):
        with pytest.raises(kind, match=text):
            wrong()


def test_causal_biases():
    q, k, v = operands()
    upper, lower = bias.causal_upper_left(20, 24), bias.causal_lower_right(20, 24)
    torch.testing.assert_close(attention(q, k, v, upper), attention(q, k, v, is_causal=True))
    torch.testing.assert_close(attention(q, k, v, attn_mask=lower, scale=0.3), attention(q, k, v, torch.ones(20, 24).tril(4).bool(), scale=0.3))
    assert isinstance(upper, torch.Tensor) and upper.variant is bias.CausalVariant.UPPER_LEFT and repr(bias.causal_upper_left(1, 2)) == "tensor([[ True, False]])"
    with pytest.raises(ValueError, match="causal=True"):
        attention(q, k, v, upper, is_causal=True)
    with pytest.warns(UserWarning, match="NaNs"):
        bias.causal_lower_right(3, 2)
