# SPDX-License-Identifier: Apache-2.0
"""Loaders, samplers, datasets, pipes and collation against what PyTorch gave for the same seeds (record_data.py)."""
import json
import pathlib

import data_cases
import datapipe_cases
import facula
import pytest

GOLDEN, CASES = {}, {}
for file, module in (("data.json", data_cases), ("datapipes.json", datapipe_cases)):
    GOLDEN |= json.loads((pathlib.Path(__file__).parents[1] / "golden" / file).read_text())
    CASES |= dict(module.cases(facula))
OWN_WORDS = {"demux len", "fork of demux len", "check tuple stream", "missing attribute", "missing map attribute"}


def test_all_are_recorded():
    assert sorted(CASES) == sorted(GOLDEN)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_case(name):
    found, recorded = json.loads(json.dumps(data_cases.answer(CASES[name]))), GOLDEN[name]
    if name in OWN_WORDS:
        found, recorded = found["error"], recorded["error"]
    assert found == recorded
