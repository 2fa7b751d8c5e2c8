# SPDX-License-Identifier: Apache-2.0
"""docs/add-a-backend.md, followed literally: its files are written, built and used as it says."""
import os
import pathlib
import re
import subprocess
import sys

import facula
import pytest

ROOT = pathlib.Path(__file__).parent.parent
DOC = (ROOT / "docs" / "add-a-backend.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", DOC, re.M | re.S)


def run(folder, command, **more):
    home = os.path.dirname(os.path.dirname(os.path.abspath(facula.__file__)))
    env = {**os.environ, "FACULA_INCLUDE": str(ROOT / "include"), "PYTHONPATH": os.pathsep.join([home, os.environ.get("PYTHONPATH", "")]), **more}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    return done


@pytest.mark.slow
def test_followed_literally(tmp_path):
    folder = tmp_path / "mydevice"
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(blocks("cmake")[0])
    (folder / "mydevice.cpp").write_text(blocks("cpp")[0])
    build, conformance = blocks("sh")
    done = run(tmp_path, ["bash", "-ec", build])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr

    done = run(tmp_path, [sys.executable, "-c", blocks("python")[0]])
    assert done.stdout == blocks("text")[0], done.stderr

    # `facula` is the installed command; here it is this interpreter's module.
    done = run(tmp_path, ["bash", "-ec", f"facula() {{ {sys.executable} -m facula \"$@\"; }}\n{conformance}"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tier 0 reached, 0 failures" in done.stdout
    assert "<h2>map</h2>" in (tmp_path / "card.html").read_text()


def test_python_backend_of_the_page(tmp_path):
    done = run(tmp_path, [sys.executable, "-c", blocks("python")[1]])
    first, card = done.stdout.split("conformance of ")
    assert first == "multiplying (2, 3)\ntensor([[4., 4., 4.],\n        [4., 4., 4.]])\n", done.stderr
    assert "tier 0 reached" in card


def test_example_is_short():
    lines = sum(len((ROOT / "examples" / "backend" / f).read_text().splitlines()) for f in ("CMakeLists.txt", "example.cpp"))
    assert lines <= 350
