# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder share."""
import os
import pathlib
import re
import subprocess
import sys

import facula
import pytest

BUILT = pathlib.Path(os.path.abspath(facula.__file__)).parents[2] / "tests" / "backends"
FORMULAS = pathlib.Path(__file__).parents[2] / "include" / "facula" / "formulas"
# Functions that loop until they converge, for which there is no decomposition.
LOOPS = set(re.findall(r"FC_(?:MATH|BINARY)\(\d+, (\w+)", (FORMULAS / "special.def").read_text())) - {"special_erfcx"}


def library(name):
    """A backend that the build made for these tests."""
    path = BUILT / f"{name}.so"
    if not path.exists():
        pytest.skip(f"{path} was not built (BUILD_TEST=0)")
    return str(path)


def run_python(*args, **environment):
    """A fresh interpreter; returns the finished process."""
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, env={**os.environ, **environment}, timeout=120)
