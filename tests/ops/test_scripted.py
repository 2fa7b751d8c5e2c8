# SPDX-License-Identifier: Apache-2.0
"""Rows of the operator table scripted: a function of one call, as text, computes what the call does, its gradients too."""

import warnings

import facula as torch
import pytest
from golden import is_tensor
from opspec import resolve, select
from table import ROWS
from test_traced import LEFT_OUT, as_tuple, outputs_and_gradients, same, tensors


class NotText(Exception):
    """The sample takes something that a source cannot say."""


def source_of(value, names):
    """The value as an expression; tensors are parameters."""
    if is_tensor(torch, value):
        names.append(value)
        return f"a{len(names) - 1}"
    if isinstance(value, (list, tuple)):
        items = [source_of(v, names) for v in value]
        return f"[{', '.join(items)}]" if isinstance(value, list) else f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return f'float("{value}")'
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, torch.dtype):
        return f"torch.{str(value).rpartition('.')[2]}"
    raise NotText


def scripted(op, sample):
    """(a compiled function of the sample's tensors, these)"""
    if callable(op.call):
        raise NotText
    given = []
    args = [source_of(a, given) for a in sample.args]
    named = [f"{k}={source_of(v, given)}" for k, v in sample.kwargs.items()]
    if op.call.startswith("Tensor#"):
        call = f"({args[0]}).{op.call[7:]}"
    elif op.call.startswith("Tensor."):
        call = f"({args[0]}).{op.call[7:]}({', '.join(args[1:] + named)})"
    else:
        call = f"torch.{op.call}({', '.join(args + named)})"
    parameters = ", ".join(f"a{i}" for i in range(len(given)))
    return torch.jit.CompilationUnit(f"def f({parameters}):\n    return {call}\n").f, given


def check(op, function, sample, gradients):
    """What is wrong with the sample, or None; also where the call itself refuses, and where the language has no form for it."""
    compiled, given = scripted(op, sample)

    def eager(*xs):
        rest = iter(xs)

        def swap(v):
            return next(rest) if is_tensor(torch, v) else type(v)(map(swap, v)) if type(v) in (list, tuple) else v

        return tuple(tensors(function(*map(swap, sample.args), **{k: swap(v) for k, v in sample.kwargs.items()})))

    try:
        want, slopes = outputs_and_gradients(eager, given, gradients)
    except Exception:
        return check(op, function, sample, False) if gradients else None
    got, found = outputs_and_gradients(lambda *xs: tuple(tensors(as_tuple(compiled(*xs)))), given, gradients)
    if len(got) != len(want) or not all(map(same, got, want)):
        return "other outputs"
    return None if len(found) == len(slopes) and all(map(same, found, slopes)) else "other gradients"


# Rows of which a sample is refused: a bool or a tensor for a Scalar, as in PyTorch; what TorchScript has no operator or no
# source for. Named, so that none is added unseen.
REFUSED = {
    "binary": (
        "add add.alpha bitwise_and bitwise_or bitwise_xor copysign div eq float_power floor_divide fmod ge gt le lt mul ne pow "
        "remainder rsub rsub.alpha sub sub.alpha xlogy"
    ),
    "cast": (
        "type"
    ),
    "create": (
        "arange asarray full full.number logspace new_tensor ones scalar_tensor tensor zeros"
    ),
    "functional": (
        "adaptive_max_pool3d cdist grouped_mm linear_cross_entropy lp_pool1d lp_pool2d lp_pool3d triplet_margin_loss "
        "triplet_margin_with_distance_loss"
    ),
    "index": (
        "nonzero.tuple"
    ),
    "numeric": (
        "gradient unravel_index"
    ),
    "reduce": (
        "norm"
    ),
    "view": (
        "expand view.dtype"
    ),
}
# Numbers that are whole in Python and not in the language, or the other way round; results of another form.
PENDING = {"tensor", "histogram", "lp_pool1d", "lp_pool2d", "lp_pool3d"}


@pytest.mark.parametrize("group", sorted({op.group for op in ROWS}))
def test_group(group):
    wrong, refused = [], set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in ROWS:
            if op.group != group or op.reference or op.name in LEFT_OUT:
                continue
            function = resolve(torch, op.call)
            for sample in select(op, torch, "f64"):
                try:
                    why = check(op, function, sample, True)
                except NotText:
                    continue
                except Exception as e:
                    refused.add(op.name)
                    print(op.name, sample.label, str(e).strip().splitlines()[:3])
                    continue
                if why and op.name not in PENDING:
                    wrong.append(f"{op.name} {sample.label}: {why}")
    assert wrong == []
    assert refused == set(REFUSED.get(group, "").split())
