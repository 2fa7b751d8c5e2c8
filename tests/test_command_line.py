# SPDX-License-Identifier: Apache-2.0
"""`facula info | conformance | run`."""
import json
import os
import subprocess
import sys

import facula


def command(*args, cwd=None, **environment):
    home = os.path.dirname(os.path.dirname(os.path.abspath(facula.__file__)))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([home, os.environ.get("PYTHONPATH", "")]), **environment}
    return subprocess.run([sys.executable, "-m", "facula", *map(str, args)], cwd=cwd, env=env, capture_output=True, text=True, timeout=300)


def test_info():
    done = command("info")
    assert done.returncode == 0, done.stderr
    assert "compiler" in done.stdout.lower() and "null:0" in done.stdout


def test_no_command_tells_what_there_is():
    done = command()
    assert done.returncode == 2 and "conformance" in done.stderr


def test_conformance_of_the_null_device_fails(tmp_path):
    """It computes nothing, so almost everything that it claims is wrong: status 1, and the page names it."""
    done = command("conformance", "null", "--json", tmp_path / "card.json", "--html", tmp_path / "card.html")
    assert done.returncode == 1, done.stderr
    card = json.loads((tmp_path / "card.json").read_text())
    assert card["tier"] == -1 and card["summary"]["map"]["failed"] > 100 and card["summary"]["map"]["fallback"] == 0
    page = (tmp_path / "card.html").read_text()
    assert "class=failed" in page and "http" not in page


def test_conformance_of_no_device():
    done = command("conformance", "nosuch")
    assert done.returncode == 1 and "Expected one of" in done.stderr
    done = command("conformance", "cpu")
    assert done.returncode == 1 and "'cpu' is none" in done.stderr


SCRIPT = """
import sys, subprocess, importlib.metadata
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import autograd
assert torch.__name__ == "facula" and sys.modules["torch.nn"] is sys.modules["facula.nn"]
assert importlib.metadata.version("torch").split(".")[:2] == torch.__version__.split(".")[:2]
print(__name__, sys.argv[1:], torch.ones(2).tolist())
try:
    torch.no_such_name
except AttributeError as e:
    print(e)
try:
    import torch.no_such_module
except ModuleNotFoundError as e:
    print(e)
print(hasattr(torch, "no_such_name"))
if "child" not in sys.argv:
    done = subprocess.run([sys.executable, __file__, "child"], capture_output=True, text=True)
    print("child:", done.stdout.splitlines()[0], done.returncode)
"""


def test_run_script(tmp_path):
    (tmp_path / "beside.py").write_text("value = 3\n")
    (tmp_path / "script.py").write_text("import beside\n" + SCRIPT)
    done = command("run", tmp_path / "script.py", "--flag", "x")
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert lines[0] == "__main__ ['--flag', 'x'] [1.0, 1.0]"
    assert "no attribute 'no_such_name'" in lines[1]
    assert lines[2] == "No module named 'torch.no_such_module'"
    assert lines[3] == "False"
    assert lines[4] == "child: __main__ ['child'] [1.0, 1.0] 0"


def test_run_module(tmp_path):
    (tmp_path / "program.py").write_text("import torch, sys; print(__name__, sys.argv[1:], torch.zeros(1).item())\n")
    done = command("run", "-m", "program", "a", "-m", "b", cwd=tmp_path)
    assert done.stdout.strip() == "__main__ ['a', '-m', 'b'] 0.0", done.stderr


def test_run_passes_exit_status_and_errors_on(tmp_path):
    (tmp_path / "a.py").write_text("import sys; sys.exit(7)\n")
    (tmp_path / "b.py").write_text("import torch\ntorch.ones(2) + torch.ones(3)\n")
    assert command("run", tmp_path / "a.py").returncode == 7
    done = command("run", tmp_path / "b.py")
    assert done.returncode == 1 and "b.py\", line 2" in done.stderr and "RuntimeError" in done.stderr
    assert command("run", tmp_path / "none.py").returncode == 1


def test_processes_started_by_multiprocessing(tmp_path):
    (tmp_path / "many.py").write_text(
        "import multiprocessing as mp\nimport torch\n\ndef work(n):\n    return torch.full((2,), float(n)).sum().item()\n\n"
        "if __name__ == '__main__':\n    with mp.get_context('spawn').Pool(2) as pool:\n        print(pool.map(work, [1, 2]))\n"
    )
    done = command("run", tmp_path / "many.py")
    assert done.stdout.strip() == "[2.0, 4.0]", done.stderr
