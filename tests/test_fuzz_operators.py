# SPDX-License-Identifier: Apache-2.0
"""The operator fuzzer finds what is broken, names it and shows it in a few lines; what is sound it leaves alone."""
import os
import pathlib
import re
import subprocess
import sys

import pytest
from fuzz_operators import draw
from fuzz_operators.targets import Parameter, Target

pytestmark = pytest.mark.not_sanitized

HERE = pathlib.Path(__file__).parent
OPERATORS = """
import os
import facula as torch

lib = torch.library.Library("broken", "DEF")

def define(name, kernel):
    lib.define(f"{name}(Tensor x, int n=1) -> Tensor")
    lib.impl(name, kernel, "CompositeImplicitAutograd")

def crash(x, n=1):
    if n < -1000: os.abort()
    return x * 1

def hang(x, n=1):
    while n > 1000: pass
    return x * 1

def lookup(x, n=1):
    return {0: x, 1: x}.get(n) if n < 2 else {}[n]

def state(x, n=1):
    if n == 0: torch.set_grad_enabled(False)
    return x * 1

def layout(x, n=1):
    return x * 1 if x.is_contiguous() else x * 2

for function in (crash, hang, lookup, state, layout): define(function.__name__, function)
define("sound", lambda x, n=1: x * n)
"""


@pytest.fixture
def fuzz(tmp_path):
    operators = tmp_path / "operators.py"
    operators.write_text(OPERATORS)

    def run(*args):
        environment = {**os.environ, "PYTHONPATH": f"{HERE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
        command = [sys.executable, "-m", "fuzz_operators", "--seed", "1", "--load", operators, "--folder", tmp_path / "found", "--processes", "1", *args]
        done = subprocess.run([str(x) for x in command], capture_output=True, text=True, env=environment, timeout=300)
        programs = [f.read_text() for f in sorted((tmp_path / "found").glob("finding-*.py"))]
        return done, programs
    return run


@pytest.mark.parametrize(
    "name, kind, line",
    [
        ("crash", "crash", r"broken.crash(.default)?\(a, -\d"),
        ("hang", "hang", r"broken.hang(.default)?\("),
        ("lookup", "exception: KeyError", r"broken.lookup(.default)?\(a, "),
        ("state", "state", r"broken.state(.default)?\(a, 0\)"),
    ],
)
def test_finds(fuzz, name, kind, line):
    done, programs = fuzz("--only", f"broken::{name}", "--trials", "150", "--limit", "1")
    assert done.returncode == 1, done.stdout + done.stderr
    found = [p for p in programs if p.startswith(f"# {kind}")]
    assert found, done.stdout + done.stderr
    program = [text for text in found[0].splitlines() if not text.startswith("#")]
    assert re.search(line, found[0]) and len(program) < 25, found[0]


def test_calls_do_not_depend_on_other_targets():
    """A new operator brings its own calls and changes nobody else's: a landing does not hang on luck."""
    one, other = (Target(name, f"torch.{name}", [Parameter("x", "Tensor"), Parameter("n", "int")]) for name in ("one", "other"))
    for turn in range(20):
        assert draw.draw([one], 1, turn, ["cpu"]) == draw.draw([one, other], 1, 2 * turn, ["cpu"])


def test_compares(fuzz):
    done, programs = fuzz("--only", "broken::layout", "--trials", "60", "--mode", "compare")
    assert done.returncode == 1 and programs[0].startswith("# difference: strided"), done.stdout + done.stderr


@pytest.mark.parametrize("mode", ["hostile", "compare"])
def test_sound(fuzz, mode):
    done, programs = fuzz("--only", "broken::sound", "--trials", "60", "--mode", mode)
    assert done.returncode == 0 and not programs, done.stdout + done.stderr
    assert "60 calls of 1 targets" in done.stdout


def test_same_seed_same_calls(fuzz):
    """What trial 17 calls depends on the seed only."""
    texts = {fuzz("--only", "broken::sound", "--replay", "17")[0].stdout for _ in range(2)}
    assert len(texts) == 1 and "broken.sound" in texts.pop()
