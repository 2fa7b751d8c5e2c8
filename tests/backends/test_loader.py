# SPDX-License-Identifier: Apache-2.0
"""Loading: every way in, and every way it can go wrong with a clear error."""
import os
import sys

import facula as torch
import pytest
from backend_tools import library, run_python

pytestmark = pytest.mark.threads


def test_missing_file():
    with pytest.raises(RuntimeError, match="cannot open /no/such.so"):
        torch.load_backend("/no/such.so")


def test_not_a_library(tmp_path):
    path = tmp_path / "text.so"
    path.write_text("no library")
    with pytest.raises(RuntimeError, match="cannot open .*text.so"):
        torch.load_backend(path)


def test_missing_symbol():
    with pytest.raises(RuntimeError, match="exports no function facula_backend_v2"):
        torch.load_backend(os.path.join(os.path.dirname(os.path.abspath(torch.__file__)), "libfacula.so"))


@pytest.mark.parametrize(
    "how, message",
    [
        ("wrong_version", "has version 3 of the backend contract, this Facula has version 2"),
        ("short_struct", "too short for the required functions"),
        ("long_struct", "more than this Facula has"),
        ("no_name", "it has no name"),
        ("bad_name", "backend name 'Hostile!' must be lower-case letters"),
        ("taken_name", "the name 'cpu' is a built-in device's"),
        ("no_copy", "'hostile_no_copy' lacks the required function copy"),
        ("no_devices", "'hostile_no_devices' has 0 devices"),
        ("entry_fails", "facula_backend_v2 failed with status 1"),
        ("constructor_throws", "facula_backend_v2 failed with status 1"),
    ],
)
def test_refused(hostile, how, message):
    before = len(torch.backends.backends())
    with pytest.raises(RuntimeError, match=message):
        hostile(how)
    assert len(torch.backends.backends()) == before
    with pytest.raises(RuntimeError, match="Expected one of"):
        torch.device(f"hostile_{how}")


def test_old_struct_has_only_what_is_required(hostile):
    name = hostile("old_struct")
    x = torch.ones(3).to(name)
    assert (x + x).cpu().tolist() == [2, 2, 2]
    assert torch.backends.fallback_counts() == {("aten::add.Tensor", name): 1}


def test_twice_is_once(example):
    assert torch.load_backend(library("example")) == example
    assert [b["name"] for b in torch.backends.backends()].count("example") == 1


def test_name_taken_by_another(example):
    class Impostor(torch.backends.Backend):
        name = "example"

    with pytest.raises(RuntimeError, match="the name 'example' is taken by .*example.so"):
        torch.backends.register(Impostor())


def test_information(example):
    about = next(b for b in torch.backends.backends() if b["name"] == "example")
    assert about["families"] == ["copy", "map", "reduce", "matmul", "random"]
    assert about["device_count"] == 2 and "memory apart" in about["devices"][1]
    assert {"cpu", "null:0", "example:0", "example:1"} <= set(torch.backends.devices())


def test_describe_that_fails_is_told(hostile):
    name = hostile("describe_throws")
    about = next(b for b in torch.backends.backends() if b["name"] == name)
    assert about["devices"] == ["(describe failed: an exception that is no std::exception)"]


DAMAGED = """
import os, sys
import facula
whole = open(sys.argv[1], "rb").read()
file = sys.argv[2]

def load(data):
    with open(file, "wb") as f:
        f.write(data)
    try:
        facula.load_backend(file)
    except RuntimeError as error:
        return str(error)
    finally:
        os.unlink(file)  # the loader knows files by their number, so each is another

for size in (0, 1, 16, 63):
    assert "no shared library" in load(whole[:size]), size
for size in (64, 100, 500, 4096, 5000):
    assert "damaged" in load(whole[:size]), size
for size in range(8192, len(whole), 4096):  # what is cut may be for debuggers only
    assert "damaged" in (load(whole[:size]) or "damaged"), size
for place, value in ((4, b"\\1"), (5, b"\\2"), (16, b"\\2"), (32, b"\\xff" * 8), (54, b"\\0"), (56, b"\\xff\\xff"), (56, b"\\0\\0")):
    told = load(whole[:place] + value + whole[place + len(value):])
    assert told and ("damaged" in told or "no shared library" in told), (place, told)
os.mkfifo(file)
try:
    facula.load_backend(file)
except RuntimeError as error:
    assert "no file" in str(error)
for path in ("/", "/dev/zero", "/dev/null"):
    try:
        facula.load_backend(path)
        raise SystemExit(path)
    except RuntimeError as error:
        assert "no file" in str(error)
try:
    facula.ops.load_library(file + "x/y.so")
except OSError as error:
    assert "No such file" in str(error)
"""


def test_damaged_library(tmp_path):
    """A file that was cut short, or whose headers lie, is refused before the loader maps it."""
    done = run_python("-c", DAMAGED, library("example"), str(tmp_path / "part.so"))
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])


def test_environment():
    code = "import facula; print(facula.tensor([1.0, 2.0], device='example').mul(2).cpu().tolist())"
    done = run_python("-c", code, FACULA_BACKENDS=library("example"))
    assert done.stdout.strip() == "[2.0, 4.0]", done.stderr
    done = run_python("-c", code, FACULA_BACKENDS="/no/such.so")
    assert done.returncode == 1 and "cannot open /no/such.so" in done.stderr


def test_entry_point(tmp_path, monkeypatch):
    """An installed package is found by the name of its device."""
    (tmp_path / "shop.py").write_text(f"def path():\n    return {library('example')!r}\n")
    info = tmp_path / "shop-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[facula.backends]\nexample = shop:path\nother = shop:path\n")
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = run_python("-c", "import facula; print(facula.zeros(2, device='example:1').device)", PYTHONPATH=paths)
    assert done.stdout.strip() == "example:1", done.stderr
    done = run_python("-c", "import facula; facula.zeros(2, device='other')", PYTHONPATH=paths)
    assert "gave a backend called 'example'" in done.stderr
    done = run_python("-c", "import facula; facula.zeros(2, device='third')", PYTHONPATH=paths)
    assert "Expected one of" in done.stderr and "RuntimeError" in done.stderr


def test_no_such_device_number(example):
    with pytest.raises(RuntimeError, match="'example:2' does not exist: backend 'example' has 2 devices"):
        torch.zeros(2, device="example:2")
