# SPDX-License-Identifier: Apache-2.0
"""Types as Python's objects answer as PyTorch's do (recorded by record_types.py)."""

import json
import pathlib
import sys
from enum import Enum

import pytest

import facula as torch

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import type_cases  # noqa: E402

GOLDEN = json.loads((HERE.parent / "golden/jit/types.json").read_text())


def test_types_answer_as_pytorchs():
    # a dtype, device or type prints its own module's name there
    ours = {k: v.replace("facula.", "torch.") for k, v in type_cases.answers(torch).items()}
    assert {k: (v, ours.get(k)) for k, v in GOLDEN.items() if ours.get(k) != v} == {}


def test_sizes_that_are_not_known_are_symbols():
    graph = torch._C.parse_ir("graph(%x : Float(2, *)):\n  return (%x)\n")
    two, unknown = next(graph.inputs()).type().symbolic_sizes()
    assert two == 2
    assert unknown < 0


def test_an_enum_type_has_its_members_name():
    class Color(Enum):
        RED = 1

    assert str(torch._C.EnumType("__torch__.Color", torch._C.IntType.get(), list(Color))) == "__torch__.Color"


def test_what_makes_no_type_is_refused():
    C = torch._C
    with pytest.raises(TypeError):
        C.ListType(3)
    with pytest.raises(TypeError, match="dtype"):
        C.TensorType.get().with_dtype(3)
    with pytest.raises(RuntimeError, match="not all known"):
        C.TensorType.get().contiguous()
    with pytest.raises((RuntimeError, TypeError), match="key type"):
        C.DictType(C.ListType.ofInts(), C.IntType.get())
    with pytest.raises(RuntimeError, match="why"):
        C.InferredType("why").type()
