# SPDX-License-Identifier: Apache-2.0
"""Rows of the operator table traced: the trace computes what the call does on each call, its gradients too, and names no operator of ours."""
import warnings

import facula as torch
import pytest
from golden import flatten, is_tensor
from opspec import resolve, select
from table import ROWS

# A bool beside a tensor is recorded as one, and no operator takes it for a Scalar when a graph calls it (PyTorch fails
# on these, too); the gradient of x[True] = y is another.
BOOLS = ("copysign", "eq", "float_power", "fmod", "ge", "gt", "le", "lt", "ne", "pow", "remainder", "xlogy")
PENDING = {*((name, "promote.2") for name in BOOLS), ("setitem", "bool.2"), ("setitem", "bool.scalar.2")}
# Results are arbitrary.
LEFT_OUT = {"empty_like", "new_empty", "empty", "empty_strided"}


def tensors(x):
    return [t for t in flatten(torch, x) if is_tensor(torch, t)]


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


def same(a, b):
    if a.element_size() == 1 and a.is_floating_point():  # nothing compares those
        a, b = a.float(), b.float()
    return a.shape == b.shape and a.dtype == b.dtype and (torch.equal(a, b) or torch.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True))


def copies(inputs, gradients):
    return [x.detach().clone().requires_grad_(gradients and x.is_floating_point()) for x in inputs]


def outputs_and_gradients(function, inputs, gradients):
    torch.manual_seed(0)
    given = copies(inputs, gradients)
    out = as_tuple(function(*given))
    ends = [t for t in out if t.requires_grad and t.is_floating_point()]
    starts = [t for t in given if t.requires_grad]
    if not gradients or not ends or not starts:
        return out, []
    found = torch.autograd.grad([t.sum() for t in ends], starts, allow_unused=True)
    return out, [g for g in found if g is not None]


def check(op, function, sample, gradients):
    """What is wrong with the sample's trace, or None; also where the call itself refuses."""
    at = [i for i, a in enumerate(sample.args) if is_tensor(torch, a)]

    def call(*xs):
        args = list(sample.args)
        for i, x in zip(at, xs, strict=True):
            args[i] = x
        return tuple(tensors(function(*args, **sample.kwargs)))

    inputs = [sample.args[i] for i in at]
    try:
        want, slopes = outputs_and_gradients(call, inputs, gradients)
    except Exception:  # in place on a leaf, or a derivative that there is none of
        return check(op, function, sample, False) if gradients else None
    if not at or not want:
        return None
    traced = torch.jit.trace(call, tuple(copies(inputs, gradients)), check_trace=False)
    kinds = [n.kind() for n in traced.graph.nodes()]
    ours = [k for k in kinds if k.startswith("facula::") or k == "aten::_linear_index"]
    if ours:
        return f"names {ours}"
    for which in ("first", "second", "third"):  # it looks at tensors, makes a plan, and has one
        got, found = outputs_and_gradients(traced, inputs, gradients)
        if len(got) != len(want) or not all(map(same, got, want)):
            return f"other outputs at the {which} call"
        if len(found) != len(slopes) or not all(map(same, found, slopes)):
            return f"other gradients at the {which} call"
    return None


@pytest.mark.parametrize("group", sorted({op.group for op in ROWS}))
def test_group(group):
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in ROWS:
            if op.group != group or op.reference or op.name in LEFT_OUT:
                continue
            function = resolve(torch, op.call)
            for sample in select(op, torch, "f64"):
                try:
                    why = check(op, function, sample, True)
                except Exception as e:
                    why = str(e).splitlines()[0]
                if why and (op.name, sample.label) not in PENDING:
                    wrong.append(f"{op.name} {sample.label}: {why}")
    assert wrong == []
