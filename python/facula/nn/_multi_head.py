# SPDX-License-Identifier: Apache-2.0
"""multi_head_attention_forward of nn.functional: projections, masks and heads around attention."""

import math

from facula import _C
from facula.nn.functional import _op, _ops, _overridable, dropout, pad


def _canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True):
    """A mask of numbers to add: minus infinity where a bool mask is True."""
    if mask is None:
        return None
    if mask.dtype != _C.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        import warnings

        warnings.warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.", stacklevel=4)
    if mask.is_floating_point():
        return mask
    return _ops["zeros"](mask.shape, dtype=target_type, device=mask.device).masked_fill_(mask, -math.inf)


def _none_or_dtype(input):
    return None if input is None else input.dtype


def _project(query, key, value, weight, bias, parts):
    """Query, key and value through their weights, which may be the rows of one."""
    if parts is not None:
        biases = (None,) * 3 if bias is None else bias.chunk(3)
        return [_op("linear")(x, w, b) for x, w, b in zip((query, key, value), parts, biases)]
    size = query.size(-1)
    if key is value and query is key:
        three = _op("linear")(query, weight, bias)
        return list(three.unflatten(-1, (3, size)).unbind(-2))
    biases = (None,) * 3 if bias is None else bias.split(size)
    if key is value:
        both = _op("linear")(key, weight[size:], None if bias is None else bias[size:]).unflatten(-1, (2, size))
        return [_op("linear")(query, weight[:size], biases[0]), *both.unbind(-2)]
    return [_op("linear")(x, w, b) for x, w, b in zip((query, key, value), weight.split(size), biases)]


def _mha_checks(query, key, value, key_padding_mask, attn_mask, num_heads):
    batched = query.dim() == 3
    if query.dim() not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor")
    if key.dim() != query.dim() or value.dim() != query.dim():
        raise AssertionError(f"For {'batched (3-D)' if batched else 'unbatched (2-D)'} `query`, expected `key` and `value` to be {query.dim()}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively")
    if key_padding_mask is not None and key_padding_mask.dim() != query.dim() - 1:
        raise AssertionError(f"For {'batched (3-D)' if batched else 'unbatched (2-D)'} `query`, expected `key_padding_mask` to be `None` or {query.dim() - 1}-D but found {key_padding_mask.dim()}-D tensor instead")
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(f"expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead")
        if not batched and attn_mask.dim() == 3 and tuple(attn_mask.shape) != (num_heads, query.size(0), key.size(0)):
            raise AssertionError(f"Expected `attn_mask` shape to be {(num_heads, query.size(0), key.size(0))} but got {tuple(attn_mask.shape)}")
    return batched


def _part_checks(inputs, weights, bias, size):
    """Weights, and parts of the bias, of their own for query, key and value must fit those."""
    biases = (None,) * 3 if bias is None else (bias[:size], bias[size : 2 * size], bias[2 * size :])
    for name, x, weight, b in zip(("query", "key", "value"), inputs, weights, biases):
        if tuple(weight.shape) != (size, x.size(-1)):
            raise AssertionError(f"expecting {name} weights shape of {(size, x.size(-1))}, but got {weight.shape}")
        if b is not None and tuple(b.shape) != (size,):
            raise AssertionError(f"expecting {name} bias shape of {(size,)}, but got {b.shape}")


@_overridable
def multi_head_attention_forward(
    query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p, out_proj_weight,
    out_proj_bias, training=True, key_padding_mask=None, need_weights=True, attn_mask=None, use_separate_proj_weight=False, q_proj_weight=None,
    k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None, average_attn_weights=True, is_causal=False,
):  # fmt: skip
    """Attention of several heads with its projections: [length, batch, size], or [length, size]. Returns it and its weights."""
    batched = _mha_checks(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same = query is key, key is value
        query = query.unsqueeze(1)
        key = query if same[0] else key.unsqueeze(1)
        value = key if same[1] else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, size = query.shape
    key_padding_mask = _canonical_mask(key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None  # the hint says it all
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
        is_causal = is_causal and key_padding_mask is None and attn_mask is None
    if size != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {size}")
    head = size // num_heads
    if head * num_heads != size:
        raise AssertionError(f"embed_dim {size} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(f"key's sequence and batch dims {tuple(key.shape[:2])} do not match value's {tuple(value.shape[:2])}")
        parts = (q_proj_weight, k_proj_weight, v_proj_weight)
        for part, name in zip(parts, "qkv"):
            if part is None:
                raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
        _part_checks((query, key, value), parts, in_proj_bias, size)
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        parts = None
    q, k, v = _project(query, key, value, in_proj_weight, in_proj_bias, parts)
    if attn_mask is not None:
        want = (length, key.size(0)) if attn_mask.dim() == 2 else (batch * num_heads, length, key.size(0))
        if tuple(attn_mask.shape) != want:
            raise RuntimeError(f"The shape of the {attn_mask.dim()}D attn_mask is {tuple(attn_mask.shape)}, but should be {want}.")
        attn_mask = attn_mask.unsqueeze(0) if attn_mask.dim() == 2 else attn_mask

    def longer(mask):
        return None if mask is None else pad(mask, (0, 1))

    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v must both be given or neither")
    if bias_k is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value.")
        k, v = _ops["cat"]([k, bias_k.repeat(1, batch, 1)]), _ops["cat"]([v, bias_v.repeat(1, batch, 1)])
        attn_mask, key_padding_mask = longer(attn_mask), longer(key_padding_mask)
    for given, name in ((static_k, "static_k"), (static_v, "static_v")):
        if given is not None and (given.size(0) != batch * num_heads or given.size(2) != head):
            raise AssertionError(f"expecting {name}.size(0) of {batch * num_heads} and {name}.size(2) of {head}, but got {tuple(given.shape)}")
    q = q.reshape(length, batch * num_heads, head).transpose(0, 1)
    k = k.reshape(k.size(0), batch * num_heads, head).transpose(0, 1) if static_k is None else static_k
    v = v.reshape(v.size(0), batch * num_heads, head).transpose(0, 1) if static_v is None else static_v
    if add_zero_attn:
        k, v = (_ops["cat"]([x, x.new_zeros(batch * num_heads, 1, head)], 1) for x in (k, v))
        attn_mask, key_padding_mask = longer(attn_mask), longer(key_padding_mask)
    keys = k.size(1)
    if key_padding_mask is not None:
        if tuple(key_padding_mask.shape) != (batch, keys):
            raise AssertionError(f"expecting key_padding_mask shape of {(batch, keys)}, but got {tuple(key_padding_mask.shape)}")
        hidden = key_padding_mask.view(batch, 1, 1, keys).expand(-1, num_heads, -1, -1).reshape(batch * num_heads, 1, keys)
        attn_mask = hidden if attn_mask is None else attn_mask + hidden
    if not training:
        dropout_p = 0.0
    if need_weights:
        q = q * math.sqrt(1.0 / head)
        scores = _ops["bmm"](q, k.transpose(-2, -1)) if attn_mask is None else _ops["baddbmm"](attn_mask, q, k.transpose(-2, -1))
        weights = scores.softmax(-1)
        if dropout_p > 0.0:
            weights = dropout(weights, dropout_p)
        out = _ops["bmm"](weights, v).transpose(0, 1).contiguous().view(length * batch, size)
        out = _op("linear")(out, out_proj_weight, out_proj_bias).view(length, batch, -1)
        weights = weights.view(batch, num_heads, length, keys)
        if average_attn_weights:
            weights = weights.mean(1)
        return (out, weights) if batched else (out.squeeze(1), weights.squeeze(0))
    if attn_mask is not None:
        attn_mask = attn_mask.unsqueeze(0) if attn_mask.size(0) == 1 and attn_mask.dim() == 3 else attn_mask.view(batch, num_heads, -1, keys)
    q, k, v = (x.view(batch, num_heads, -1, head) for x in (q, k, v))
    out = _op("scaled_dot_product_attention")(q, k, v, attn_mask, dropout_p, is_causal)
    out = out.permute(2, 0, 1, 3).reshape(length * batch, size)
    out = _op("linear")(out, out_proj_weight, out_proj_bias).view(length, batch, -1)
    return (out if batched else out.squeeze(1)), None
