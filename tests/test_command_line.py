# SPDX-License-Identifier: Apache-2.0
"""`facula info | conformance | run`."""
import json
import os
import subprocess
import sys

import facula

import pytest

pytestmark = pytest.mark.not_sanitized


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


def test_an_output_that_nobody_reads_ends_the_command_quietly():
    """As `| head` does: a pipe whose reader is gone before the first line."""
    reader, writer = os.pipe()
    os.close(reader)
    env = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(os.path.abspath(facula.__file__)))}
    with os.fdopen(writer, "w") as unread:
        done = subprocess.run([sys.executable, "-m", "facula", "info"], env=env, stdout=unread, stderr=subprocess.PIPE, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (141, "")


def test_only_the_asked_command_is_imported():
    code = "import sys; from facula.__main__ import main; main(['env']); print([n for n in sys.modules if n.startswith(('facula.profiler', 'facula.library_profile'))])"
    home = os.path.dirname(os.path.dirname(os.path.abspath(facula.__file__)))
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": home}, capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_conformance_of_the_null_device_fails(tmp_path):
    """It computes nothing, so almost everything that it claims is wrong: status 1, and the page names it."""
    done = command("conformance", "null", "--json", tmp_path / "card.json", "--html", tmp_path / "card.html")
    assert done.returncode == 1, done.stderr
    card = json.loads((tmp_path / "card.json").read_text())
    assert card["tier"] == -1 and card["summary"]["map"]["failed"] > 100 and card["summary"]["map"]["fallback"] == 0
    assert "tier 0 needs:\n  memory: claimed and wrong: copy_on_device, fill_bytes, round_trip" in done.stdout
    assert "  failed: copy from bool bool: 5 samples, the first: contiguous element 0 is False, expected True" in done.stdout
    page = (tmp_path / "card.html").read_text()
    assert "class=failed" in page and "http" not in page


def test_conformance_of_no_device():
    for name, words in (("nosuch", "Expected one of"), ("cpu", "'cpu' is none"), ("nosuch.so", "cannot open nosuch.so"),
                        ("null:7", "device 'null:7' does not exist"), ("cuda", "no backend for device 'cuda:0' is loaded")):  # fmt: skip
        done = command("conformance", name)
        assert done.returncode == 2 and done.stderr.startswith("facula conformance: ") and words in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_wrong_path_in_the_environment_is_named():
    done = command("info", FACULA_BACKENDS="/no/such/backend.so")
    assert done.returncode == 1
    assert "ImportError: the environment variable FACULA_BACKENDS names '/no/such/backend.so': load_backend: cannot open" in done.stderr


SCRIPT = """
import sys, subprocess, importlib.metadata
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import autograd
assert torch.__name__ == "torch" and sys.modules["torch.nn"] is sys.modules["facula.nn"]
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
print(hasattr(torch, "no_such_name"), importlib.util.find_spec("torch.no_such_module"))
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
    assert lines[2] == "No module named 'torch.no_such_module': this part of torch does not exist in Facula yet"
    assert lines[3] == "False None"
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


def test_run_without_a_program(tmp_path):
    (tmp_path / "folder").mkdir()
    for args, words in ((["none.py"], "can't open file 'none.py': No such file or directory"), (["-m", "none"], "No module named none"),
                        (["-m", "folder"], "'folder' is a package and cannot be directly executed")):  # fmt: skip
        done = command("run", *args, cwd=tmp_path)
        assert done.returncode == 2 and done.stderr.startswith("facula run: ") and words in done.stderr and done.stderr.count("\n") == 1


def test_run_shows_tracebacks_as_python_does(tmp_path):
    for name, source in (("error", "def f():\n    1 / 0\nf()\n"), ("syntax", "def (\n"), ("inner", "import json\njson.loads('{')\n")):
        (tmp_path / f"{name}.py").write_text(source)
        script = tmp_path / f"{name}.py"
        plain = subprocess.run([sys.executable, script], capture_output=True, text=True)
        done = command("run", script)
        assert (done.returncode, done.stderr) == (plain.returncode, plain.stderr)
    done = command("run", "-m", "error", cwd=tmp_path)
    assert done.stderr.splitlines()[1].strip().startswith(f'File "{tmp_path / "error.py"}", line 3')
    (tmp_path / "missing.py").write_text("import torch.optim.none\n")
    done = command("run", tmp_path / "missing.py")
    assert "facula" not in done.stderr and "this part of torch does not exist in Facula yet" in done.stderr


def test_processes_started_by_multiprocessing(tmp_path):
    (tmp_path / "many.py").write_text(
        "import multiprocessing as mp\nimport torch\n\ndef work(n):\n    return torch.full((2,), float(n)).sum().item()\n\n"
        "if __name__ == '__main__':\n    with mp.get_context('spawn').Pool(2) as pool:\n        print(pool.map(work, [1, 2]))\n"
    )
    done = command("run", tmp_path / "many.py")
    assert done.stdout.strip() == "[2.0, 4.0]", done.stderr


def test_version_compares_as_versions_do():
    from facula.torch_version import TorchVersion

    v = TorchVersion("2.10.0+cpu")
    assert v > "2.9" and v >= (2, 10) and v != "2.10" and v == "2.10+cpu" and v < "2.11.0a0" and v > "2.10.0rc1" and not v < "2.10"
    assert TorchVersion("2.1.dev3") < "2.1a1" < TorchVersion("2.1a2") < "2.1" < TorchVersion("2.1.post1") and v > "" and isinstance(v, str)


def test_what_facula_env_prints_does_it_for_plain_python(tmp_path):
    (tmp_path / "plain.py").write_text("import torch, importlib.metadata as m\nprint(torch.__name__, torch.__version__ > '2.9', m.version('torch'))\n")
    done = command("env")
    assert done.returncode == 0, done.stderr
    plain = subprocess.run(["sh", "-c", f"{done.stdout}\n exec '{sys.executable}' plain.py"], cwd=tmp_path, capture_output=True, text=True)
    assert plain.stdout.split() == ["torch", "True", "2.15.0"], plain.stderr


def test_report(tmp_path):
    (tmp_path / "program.py").write_text(
        "import threading\nimport torch\nfrom torch import ones\nx = ones(3).relu()\ngetattr(torch, 'nope', None)\nhasattr(x, 'nothing')\n"
        "try:\n    import torch.absent\nexcept ImportError:\n    pass\n"
        "t = threading.Thread(target=lambda: torch.exp(x))\nt.start()\nt.join()\ntorch.nn.functional.relu(x)\n"
    )
    done = command("run", "--report-json", "report.json", tmp_path / "program.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert {"torch.nope", "torch.Tensor.nothing", "torch.absent"} <= set(report["missing"])
    assert {"torch.ones", "torch.exp", "torch.nn.functional.relu"} <= set(report["touched"])
    assert report["calls"]["torch.Tensor.relu"] == 1 and report["calls"]["torch.exp"] == 1
    done = command("run", "--report", tmp_path / "program.py", cwd=tmp_path)
    assert "asked for and not here" in done.stderr and "torch.Tensor.nothing" in done.stderr and done.returncode == 0


def test_a_program_from_the_standard_input_or_as_text(tmp_path):
    code = "import sys, torch\nprint(torch.ones(2).tolist(), sys.argv, __name__)\n"
    run = [sys.executable, "-m", "facula", "run"]
    done = subprocess.run([*run, "-", "a", "-b"], input=code, capture_output=True, text=True)
    assert done.stdout == "[1.0, 1.0] ['-', 'a', '-b'] __main__\n", done.stderr
    done = subprocess.run([*run, "-c", code, "a", "-b"], capture_output=True, text=True)
    assert done.stdout == "[1.0, 1.0] ['-c', 'a', '-b'] __main__\n", done.stderr
    done = subprocess.run([*run, "-c", "import torch\n1 / 0"], capture_output=True, text=True)
    assert done.returncode == 1 and 'File "<string>", line 2' in done.stderr and "_as_torch" not in done.stderr
