# SPDX-License-Identifier: Apache-2.0
"""Loaders, samplers, datasets and collation against what PyTorch gave for the same seeds (record_data.py)."""
import json
import pathlib

import facula
import pytest
from data_cases import answer, cases

GOLDEN = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "data.json").read_text())
CASES = dict(cases(facula))


def test_all_are_recorded():
    assert sorted(CASES) == sorted(GOLDEN)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_case(name):
    assert json.loads(json.dumps(answer(CASES[name]))) == GOLDEN[name]
