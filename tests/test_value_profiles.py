# SPDX-License-Identifier: Apache-2.0
"""benchmarks/value_profiles: programs that say `import torch` run under `facula run` and print what they print with PyTorch 2.15."""
import pathlib
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.not_sanitized

FOLDER = pathlib.Path(__file__).parents[1] / "benchmarks" / "value_profiles"
PROGRAMS = {
    "1-spatial-convolution-model.py": (["--image", "32"], r"53 convolutions .* of the model", "mean -0.00004, first -0.01226, size 0.01268"),
    "1-spatial-convolution-unit.py": (["--image", "32"], r"all 53 convolutions +[\d.]+ ms", "sum of mean sizes 10.5965"),
    "2-replication-pad3d.py": (["--size", "10"], r"backward +[\d.]+ ms median", "mean -0.029195, size of the gradient 1.360988"),
    "3-embedding-unit.py": ([], r"with gradient +[\d.]+ ms median", "mean -0.002345, gradient 4.950000, of row 0 0.0"),
}


def run(name, *options):
    command = [sys.executable, "-m", "facula", "run", str(FOLDER / name), "--threads", "1", *options]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    options, words, result = PROGRAMS[name]
    done = run(name, "--repeat", "1", *options)
    assert done.returncode == 0, done.stderr
    assert re.search(words, done.stdout) and done.stdout.endswith(f"result: {result}\n") and done.stderr == ""


def test_options_are_checked():
    done = run("3-embedding-unit.py", "--repeat", "0")
    assert done.returncode == 2 and "0 is less than one" in done.stderr
