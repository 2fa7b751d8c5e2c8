# SPDX-License-Identifier: Apache-2.0
"""The type stubs name what there is, and a type checker agrees with them."""
import ast
import json
import os
import pathlib
import subprocess
import sys

import facula
import pytest

STUB = pathlib.Path(facula.__file__).with_name("__init__.pyi")
pytestmark = pytest.mark.skipif(not STUB.is_file(), reason="a sanitized build writes no stubs")


def names(body):
    found = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            found.add(node.target.id)
        elif isinstance(node, ast.ImportFrom):
            found |= {a.asname for a in node.names if a.asname == a.name}  # only these are handed on
    return found


def test_every_name_is_there():
    body = ast.parse(STUB.read_text()).body
    # In a process of its own: backends that other tests load add their names.
    program = "import facula, json; print(json.dumps([dir(facula), dir(facula.Tensor)]))"
    module, methods = json.loads(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
    assert [n for n in module if not n.startswith("__") and n not in names(body)] == []
    tensor = next(node for node in body if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    assert [n for n in methods if not n.startswith("_") and n not in names(tensor.body)] == []


def test_texts():
    text = STUB.read_text()
    assert 'def add(input: Tensor, other: Tensor, *, alpha: Number = ...) -> Tensor:\n    """input + alpha * other, element by element."""' in text
    assert "def add_(self, other: Tensor, *, alpha: Number = ...) -> Tensor:" in text
    assert "def view(self, *size: _int) -> Tensor:" in text


def test_mypy_agrees():
    pytest.importorskip("mypy")
    program = pathlib.Path(__file__).with_name("typed_program.py")
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--warn-unused-ignores", "--cache-dir", os.devnull, str(program)]
    done = subprocess.run(command, env={**os.environ, "MYPYPATH": str(STUB.parents[1])}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
