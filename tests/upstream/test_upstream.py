# SPDX-License-Identifier: Apache-2.0
"""Answers to calls of PyTorch's own tests, against recorded ones of PyTorch (record.py)."""

import json
import math
import pathlib

import pytest

from upstream.record import cases
from upstream.told import told

ANSWERS = json.loads((pathlib.Path(__file__).parent / "answers.json").read_text())
CASES = cases()


def agree(ours, theirs, tolerance):
    if isinstance(theirs, dict):
        return isinstance(ours, dict) and ours.keys() == theirs.keys() and all(agree(ours[k], theirs[k], tolerance_of(theirs, tolerance)) for k in theirs)
    if isinstance(theirs, list):
        return isinstance(ours, list) and len(ours) == len(theirs) and all(map(lambda a, b: agree(a, b, tolerance), ours, theirs))
    if isinstance(theirs, float) and isinstance(ours, (int, float)):
        return math.isclose(ours, theirs, rel_tol=tolerance, abs_tol=tolerance)
    return type(ours) is type(theirs) and ours == theirs


def tolerance_of(told, before):
    """Half types are rounded once, so that they agree to the bit; the others sum in another order."""
    if told.get("type") in ("torch.float16", "torch.bfloat16"):
        return 0
    return 1e-5 if told.get("type") in ("torch.float32", "torch.complex64") else before


def test_every_case_is_recorded():
    assert CASES.keys() == ANSWERS.keys()


@pytest.mark.parametrize("name", sorted(CASES))
def test_upstream(torch, name):
    ours = told(torch, CASES[name])
    same = agree(ours, ANSWERS.get(name), 1e-6 if "float32 into float64" in name or "logsumexp of" in name else 1e-9)
    assert same, f"\nours   {ours}\ntheirs {ANSWERS.get(name)}"
