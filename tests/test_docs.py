# SPDX-License-Identifier: Apache-2.0
"""Pages of docs/, followed to the letter: their blocks are compiled and run in their order."""
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def blocks(page):
    return re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.S | re.M)


@pytest.mark.parametrize(("page", "source"), [("add-an-operator.md", "softclip.cpp"), ("add-a-layer.md", "find_nan.cpp")])
def test_every_block_of_the_page(tmp_path, page, source):
    found = blocks(page)
    assert [kind for kind, _ in found][:4] == ["python", "cpp", "sh", "python"]
    for kind, text in found:
        if kind == "cpp":
            (tmp_path / source).write_text(text)
            continue
        if kind == "sh":
            command = ["sh", "-e", "-c", text.replace("python3", sys.executable)]
        else:
            command = [sys.executable, "-c", text]
        done = subprocess.run(command, cwd=tmp_path, check=True, timeout=300, text=True, stdout=subprocess.PIPE)
        for said in re.findall(r"# prints: (.*)", text):
            assert said in done.stdout
