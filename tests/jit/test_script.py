# SPDX-License-Identifier: Apache-2.0
"""torch.jit.script of functions against what record_script.py took down from PyTorch."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import facula as torch

HERE = pathlib.Path(__file__).parent
GOLDEN = json.loads((HERE.parent / "golden/jit/script.json").read_text())

# What is not PyTorch's yet: numbers of values, names of candidates in error texts, the digits of str(float). A case that
# becomes equal fails here until it is taken out.
DIFFERS = {
    "error": (
        "dict_key_type index_string optional_use strings too_many tuple_range undefined_attribute unknown_keyword unknown_type "
        "wrong_argument wrong_list wrong_return"
    ).split(),
    "graph": (
        "any_value asserts attributes condition_of_tensor early_return enumerates keywords methods "
        "nested_return optional_assert raises_else return_in_while several_results sizes starred unpacked zips"
    ).split(),
    "value": (
        "number_casts"
    ).split(),
}


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    out = tmp_path_factory.mktemp("script") / "ours.json"
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(torch.__file__).parents[1])}
    subprocess.run([sys.executable, "-m", "facula", "run", str(HERE / "record_script.py"), str(out)], check=True, env=environment, capture_output=True, timeout=300)
    return json.loads(out.read_text())


@pytest.mark.parametrize("case", GOLDEN)
def test_a_function_becomes_what_pytorch_makes_of_it(case, ours):
    for field in GOLDEN[case].keys() | ours[case].keys():
        wanted, found = GOLDEN[case].get(field), ours[case].get(field)
        if case in DIFFERS.get(field, ()):
            assert wanted is not None and found is not None and found != wanted, f"{field} is PyTorch's now: take it out of DIFFERS"
        else:
            assert found == wanted, field


def test_deep_and_long_sources_are_bounded(tmp_path):
    program = tmp_path / "deep.py"
    terms = " + ".join(["x"] * 1200)
    lines = "\n".join(f"    x = x + {i}" for i in range(2000))
    program.write_text(
        textwrap.dedent(
            f"""
            import torch
            def deep(x: int):
                return {terms}
            def long(x: int):
            @LINES@
                return x
            try:
                torch.jit.script(deep)
            except (RuntimeError, RecursionError) as e:
                print("refused", type(e).__name__)
            print(torch.jit.script(long)(1))
            """
        ).replace("@LINES@", lines)
    )
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(torch.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-m", "facula", "run", str(program)], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(1 + sum(range(2000)))


def test_the_same_function_is_compiled_once():
    from script_functions import twice

    assert torch.jit.script(twice) is torch.jit.script(twice)
    assert torch.jit.script(torch.jit.script(twice)) is torch.jit.script(twice)
    assert torch.equal(torch.jit.script(twice)(torch.ones(2)), torch.ones(2) * 2)
