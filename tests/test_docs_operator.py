# SPDX-License-Identifier: Apache-2.0
"""docs/add-an-operator.md, followed to the letter: its blocks are compiled and run in their order."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def blocks(page):
    return re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.S | re.M)


def test_every_block_of_the_page(tmp_path):
    found = blocks("add-an-operator.md")
    assert [kind for kind, _ in found] == ["python", "cpp", "sh", "python"]
    for kind, text in found:
        if kind == "cpp":
            (tmp_path / "softclip.cpp").write_text(text)
            continue
        if kind == "sh":
            command = ["sh", "-e", "-c", text.replace("python3", sys.executable)]
        else:
            command = [sys.executable, "-c", text]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=300)
