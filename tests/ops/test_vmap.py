# SPDX-License-Identifier: Apache-2.0
"""Every row of the operator table through vmap: the same as one call per sample, or refused."""
import collections
import warnings

import facula as torch
import pytest
from facula.func import vmap
from golden import flatten, is_tensor
from opspec import resolve, select
from table import ROWS

# Results are arbitrary, or the call writes statistics that the next one reads.
LEFT_OUT = {"empty_like", "new_empty", "empty", "empty_strided", "batch_norm"}


def tensors(x):
    return [t for t in flatten(torch, x) if is_tensor(torch, t)]


def same(got, want):
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    return torch.equal(got, want) if want.dtype == torch.bool else torch.allclose(got, want, rtol=1e-6, atol=1e-9, equal_nan=True)


def check(function, sample, which):
    """"right", "wrong", "refused", or "no case" where samples cannot be compared."""
    def call(*xs):
        args = list(sample.args)
        for i, x in zip(which, xs, strict=True):
            args[i] = x
        return tuple(tensors(function(*args, **sample.kwargs)))

    first = [sample.args[i] for i in which]
    second = [x * 0.75 for x in first]
    try:
        want = call(*first), call(*second)
    except Exception:  # the second sample is none that the operator takes
        return "no case"
    if not want[0] or any(a.shape != b.shape for a, b in zip(*want, strict=True)):
        return "no case"
    try:
        got = vmap(call)(*(torch.stack(pair) for pair in zip(first, second, strict=True)))
    except RuntimeError:
        return "refused"
    return "right" if all(same(g, torch.stack([a, b])) for g, a, b in zip(got, *want, strict=True)) else "wrong"


@pytest.mark.parametrize("group", sorted({op.group for op in ROWS}))
def test_group(group):
    wrong, count = [], collections.Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in ROWS:
            if op.group != group or op.reference or op.name in LEFT_OUT:
                continue
            function = resolve(torch, op.call)
            for sample in list(select(op, torch, "f64"))[:8]:
                at = [i for i, a in enumerate(sample.args) if is_tensor(torch, a) and a.is_floating_point() and a.numel() < 200]
                for which in [at[:1], at[1:2], at] if len(at) > 1 else [at]:
                    answer = check(function, sample, which) if which else "no case"
                    count[answer] += 1
                    if answer == "wrong":
                        wrong.append(f"{op.name} {sample.label}, arguments {which}")
    assert wrong == []
    assert count["refused"] <= 10 + count["right"] / 10
