# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/programs, unmodified torch programs, give PyTorch's losses for the same seed."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

pytestmark = pytest.mark.not_sanitized

HERE = pathlib.Path(__file__).parent
PROGRAMS = HERE.parent / "examples" / "programs"
RECORDED = json.loads((HERE / "golden" / "programs.json").read_text())


def test_every_program_is_recorded():
    assert {p.stem for p in PROGRAMS.glob("[a-z]*.py")} == RECORDED.keys() - {"torch"}


@pytest.mark.parametrize("name", sorted(RECORDED.keys() - {"torch"}))
def test_losses_equal_pytorch(name, tmp_path):
    theirs = RECORDED[name]
    command = [sys.executable, "-m", "facula", "run", PROGRAMS / f"{name}.py", "--steps", str(len(theirs)), "--json", tmp_path / "losses.json"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    ours = json.loads((tmp_path / "losses.json").read_text())
    assert ours == pytest.approx(theirs, rel=1e-4)
