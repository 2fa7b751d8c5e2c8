# SPDX-License-Identifier: Apache-2.0
"""In-place methods of every type of tensor with every type of argument: what works works, and what does not raises PyTorch's
exception. Before a kernel says that it has no such type, a result that does not fit is told."""
import json
import pathlib

import pytest
from in_place_cases import TYPES, outcomes

WANTED = json.loads((pathlib.Path(__file__).parent / "golden" / "in_place.json").read_text())
# resize_ and squeeze_ take True for 1; ldexp_ of half types takes truth values for exponents.
LENIENT = {"resize_", "squeeze_", "ldexp_"}


@pytest.mark.parametrize("name", sorted(WANTED))
def test_in_place(torch, name):
    if not hasattr(torch.Tensor, name):
        pytest.skip(f"there is no {name}")
    if name in LENIENT and torch.__name__ != "torch":
        pytest.skip("takes more than PyTorch does")
    got = outcomes(torch, name)
    assert dict(zip(TYPES, got, strict=True)) == dict(zip(TYPES, WANTED[name], strict=True))
