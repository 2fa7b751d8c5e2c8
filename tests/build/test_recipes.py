# SPDX-License-Identifier: Apache-2.0
"""docs/recipes.md names a test for every command line, and every test that it names exists."""

import pathlib
import re

import pytest

pytestmark = pytest.mark.not_sanitized

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = re.findall(r"^\| (.+) \| (.+) \| (.+) \|$", (ROOT / "docs/recipes.md").read_text(), re.M)


def test_every_recipe_names_what_runs_it():
    tests = {typed: test for typed, _, test in ROWS if typed != "typed"}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert len(tests) > 30
    for typed, test in tests.items():
        names = re.findall(r"`([^`]+)`", test)
        assert names, f"{typed}: {test}"
        for name in names:
            if name.startswith("make "):
                assert name[5:] in targets, f"{typed}: {name}"
                continue
            path, _, function = name.partition("::")
            assert (ROOT / path).is_file(), f"{typed}: {path}"
            assert not function or f"def {function}(" in (ROOT / path).read_text(), f"{typed}: {name}"


def test_the_editor_s_folder_is_in_the_tree():
    assert (ROOT / ".vscode/launch.json").is_file()
