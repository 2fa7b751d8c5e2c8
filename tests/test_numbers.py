# SPDX-License-Identifier: Apache-2.0
"""Numbers are numbers: what golden/record_numbers.py asked PyTorch."""
import json
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE / "golden")]

import record_numbers

ANSWERS = json.loads((HERE / "golden" / "numbers.json").read_text())["answers"]


def close(got, wanted):
    if not (isinstance(wanted, list) and isinstance(got, list)):
        return got == wanted
    numbers = [[float({"True": 1, "False": 0}.get(v, v)) for v in answer[2]] for answer in (got, wanted)]
    return got[:2] == wanted[:2] and all(a == pytest.approx(b, rel=2e-6, abs=1e-6, nan_ok=True) for a, b in zip(*numbers))


@pytest.mark.parametrize("code", record_numbers.CASES)
def test_numbers(torch, code):
    assert close(record_numbers.answer(torch, code), ANSWERS[code]), (record_numbers.answer(torch, code), ANSWERS[code])
