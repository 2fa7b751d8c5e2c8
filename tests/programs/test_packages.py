# SPDX-License-Identifier: Apache-2.0
"""Programs from PyPI give what they give with PyTorch. Run by `make test-programs`, where `import torch` is Facula."""
import json
import pathlib

import program_cases as cases
import pytest

torch = pytest.importorskip("torch", reason="`make test-programs` runs this with Facula under the name of torch")
GOLDEN = json.loads(pathlib.Path(__file__).with_name("golden.json").read_text())


def differences(mine, theirs, tolerance):
    """What is not the same, in words."""
    if mine.keys() != theirs.keys():
        return [f"{sorted(mine)} instead of {sorted(theirs)}"]
    wrong = []
    for key, want in theirs.items():
        got = mine[key]
        if got["sizes"] != want["sizes"]:
            wrong.append(f"{key}: sizes {got['sizes']}, expected {want['sizes']}")
            continue
        # Relative to the largest of the elements that are kept, and to the sum of magnitudes.
        scale = max([abs(x) for x in want["some"]], default=0.0) + 1e-12
        worst = max([abs(a - b) for a, b in zip(got["some"], want["some"], strict=True)], default=0.0) / scale
        worst = max(worst, abs(got["sum"] - want["sum"]) / (want["size"] + 1e-12), abs(got["size"] - want["size"]) / (want["size"] + 1e-12))
        if not worst <= tolerance:
            wrong.append(f"{key}: off by {worst:.2e} of its size")
    return wrong


@pytest.mark.parametrize("name", sorted(cases.CASES))
def test_program(name):
    pytest.importorskip(name.partition("_")[0])
    assert "facula" in torch.__version__
    if name not in GOLDEN["cases"]:
        pytest.fail("not recorded")
    assert not differences(cases.results(torch, name), GOLDEN["cases"][name], 1e-4)
