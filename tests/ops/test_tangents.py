# SPDX-License-Identifier: Apache-2.0
"""Every row of the operator table in forward mode: tangents as those of func.jvp, and of gradients as second derivatives."""
import collections
import warnings

import facula as torch
import pytest
from facula.autograd import forward_ad, grad
from facula.func import jvp
from golden import flatten, is_tensor
from opspec import resolve, select
from table import ROWS

LEFT_OUT = {"empty_like", "new_empty", "empty", "empty_strided"}  # results are arbitrary
REFUSED = {"embedding"}  # by frequency: its backward has no derivative


def numbers(x):
    return [t for t in flatten(torch, x) if is_tensor(torch, t) and (t.is_floating_point() or t.is_complex())]


def cases(op):
    function = resolve(torch, op.call)
    for sample in list(select(op, torch, "f64"))[:8]:
        at = [i for i, a in enumerate(sample.args) if is_tensor(torch, a) and a.layout is torch.strided and (a.is_floating_point() or a.is_complex()) and a.numel() < 200]

        def call(*xs, sample=sample, at=at):
            args = list(sample.args)
            for i, x in zip(at, xs, strict=True):
                args[i] = x.clone()  # which in-place operators may write
            torch.manual_seed(0)
            return tuple(numbers(function(*args, **sample.kwargs)))

        if at:
            yield sample.label, call, tuple(sample.args[i].detach().clone() for i in at)


def directions(xs):
    return tuple(torch.linspace(-1, 1, x.numel(), dtype=x.dtype).reshape(x.shape) for x in xs)


def compare(got, want):
    got = torch.zeros_like(want) if got is None else got
    return got.shape == want.shape and got.dtype == want.dtype and torch.allclose(got, want, rtol=1e-7, atol=1e-9, equal_nan=True)


def tangents_are_right(call, xs):
    ts = directions(xs)
    try:
        value, want = jvp(call, xs, ts)
    except Exception:  # no number comes out, or backward has no derivative
        return None
    with forward_ad.dual_level():
        got = [forward_ad.unpack_dual(y) for y in call(*map(forward_ad.make_dual, xs, ts))]
    return all(compare(g.primal, v) and compare(g.tangent, w) for g, v, w in zip(got, value, want, strict=True))


def gradients_have_right_tangents(call, xs):
    xs, ts = [x.requires_grad_() for x in xs], directions(xs)

    def gradients(inputs, create_graph):
        out = [y for y in call(*inputs) if y.requires_grad]
        seeds = [torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype).reshape(y.shape) for y in out]
        return grad(out, inputs, seeds, create_graph=create_graph, materialize_grads=True)

    try:
        first = [g for g in gradients(xs, True) if g.requires_grad]
        seeds = [torch.zeros_like(g).requires_grad_() for g in first]
        second = [(g, t) for g, t in zip(grad(first, xs, seeds, create_graph=True, allow_unused=True), ts, strict=True) if g is not None and g.requires_grad]
        found = iter(grad([g for g, _ in second], seeds, [t for _, t in second], materialize_grads=True))
        want = [next(found) if g.requires_grad else torch.zeros_like(g) for g in gradients(xs, True)]
    except Exception:  # no second derivative
        return None
    with forward_ad.dual_level():
        got = [forward_ad.unpack_dual(g).tangent for g in gradients([*map(forward_ad.make_dual, xs, ts)], False)]
    return all(map(compare, got, want))


@pytest.mark.parametrize("check", [tangents_are_right, gradients_have_right_tangents])
@pytest.mark.parametrize("group", sorted({op.group for op in ROWS}))
def test_group(group, check):
    wrong, count = [], collections.Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in ROWS:
            if op.group != group or op.reference or op.name in LEFT_OUT:
                continue
            for label, call, xs in cases(op):
                try:
                    answer = check(call, xs)
                except RuntimeError:
                    if op.name not in REFUSED:
                        raise
                    answer = None
                count[answer] += 1
                if answer is False:
                    wrong.append(f"{op.name} {label}")
    assert wrong == []
    assert count[True] or group not in ("unary", "binary", "reduce", "nn", "linalg")
