# SPDX-License-Identifier: Apache-2.0
"""Traces of functions: graphs, warnings and errors are those recorded from PyTorch, and a trace computes what the function does."""

import json
import pathlib
import re
import sys

import pytest

import facula as torch

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from record_traces import COMMENT, graph_of  # noqa: E402
from trace_cases import make  # noqa: E402

GOLDEN = json.loads((HERE.parent / "golden/jit/traces.json").read_text())
CASES = make(torch)


def without_foreign_comments(ours, theirs):
    """A comment of ours where PyTorch's names a file of its own says more, and is not compared."""
    lines = theirs.splitlines()
    out = [
        COMMENT.sub("", line) if i < len(lines) and not COMMENT.search(lines[i]) else line
        for i, line in enumerate(ours.splitlines())
    ]
    return "\n".join(out) + "\n"


@pytest.mark.parametrize("name", list(GOLDEN))
def test_graph(name):
    golden, found = GOLDEN[name], graph_of(torch, CASES[name])
    if "error" in golden:
        assert "error" in found, found
        assert found["error"][0] == golden["error"][0]
        assert first_sentence(found["error"][1]) == first_sentence(golden["error"][1])
        return
    assert "graph" in found, found
    assert without_foreign_comments(found["graph"], golden["graph"]) == golden["graph"]
    assert found["warnings"] == golden["warnings"]


def first_sentence(text):
    """Without a tensor's numbers, which PyTorch prints as C++ does."""
    return re.sub(r"\([^)]*\)", "()", text.splitlines()[0])
