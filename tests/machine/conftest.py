# SPDX-License-Identifier: Apache-2.0
"""Machines as folders: tests/machine/trees/*.tree, unpacked.

A line is `path: content`; an indented block after `path:` is a file of several lines; `path!:` is a program. `{0-3}` or `{8,125}`
in a path or a line repeats it, and `{i % 2}` in the content is counted out for each.
"""

import pathlib
import re

import pytest

TREES = pathlib.Path(__file__).parent / "trees"
RANGE = re.compile(r"\{(\d+)-(\d+)\}|\{(\d+(?:,\d+)+)\}")


def each(text):
    """(number or None, text) for every number of its range."""
    found = RANGE.search(text)
    if not found:
        return [(None, text)]
    numbers = range(int(found[1]), int(found[2]) + 1) if found[1] else map(int, found[3].split(","))
    return [(i, text[: found.start()] + str(i) + text[found.end() :]) for i in numbers]


def unpack(name, folder):
    text = re.sub(r"^#.*\n", "", (TREES / f"{name}.tree").read_text(), count=1)
    for entry in re.findall(r"^\S.*\n(?:    .*\n)*", text, re.M):
        head, _, block = entry.partition("\n")
        path, content = re.fullmatch(r"([^:]+):\s?(.*)", head).groups()
        content = block.replace("\n    ", "\n")[4:] if block else content + "\n"
        for number, one in each(path.rstrip("!")):
            file = folder / one
            file.parent.mkdir(parents=True, exist_ok=True)
            if number is None and not path.endswith("!"):
                content = "".join(line for raw in content.splitlines(keepends=True) for _, line in each(raw))
            file.write_text(content if number is None else re.sub(r"\{(.+?)\}", lambda m, i=number: str(eval(m[1], {"i": i})), content))
            if path.endswith("!"):
                file.chmod(0o755)


@pytest.fixture
def tree(tmp_path):
    """tree("intel", "a100"): a folder with these, one over the other."""

    def make(*names):
        for name in names:
            unpack(name, tmp_path)
        return tmp_path

    return make
