"""`facula hb lint` and `facula hb machine`."""

import json
import pathlib

import pytest

from facula import __main__ as command_line
from facula import _hb

pytestmark = pytest.mark.not_sanitized

HERE = pathlib.Path(__file__).parent
needs_compiler = pytest.mark.skipif(_hb.compiler() is None, reason="no compiler for RISC-V is installed")


def run(capsys, *words):
    try:
        code = command_line.main(["hb", *map(str, words)])
    except SystemExit as stopped:
        code = stopped.code
    return code, capsys.readouterr().out


def line_of(mark):
    lines = (HERE / "lacking.cpp").read_text().splitlines()
    return next(i for i, text in enumerate(lines, 1) if text.endswith(f"// {mark}"))


@needs_compiler
def test_what_the_chip_lacks(capsys):
    code, out = run(capsys, "lint", HERE / "lacking.cpp")
    assert code == 1
    for mark, function, words in (
        ("mulhu", "multiplies", "mulhu: the core has no multiply-high"),
        ("__muldf3", "doubles", "double arithmetic in software (__muldf3)"),
        ("exp", "doubles", "the double function exp(): expf() is the float one"),
        ("__divdi3", "longs", "64-bit arithmetic in software (__divdi3)"),
    ):
        assert f"lacking.cpp:{line_of(mark)}: {function}: {words}" in out, out
    assert "lacking.cpp: large: needs 4" in out and "the scratchpad has 4096" in out, out


@needs_compiler
def test_kernels_without_such_things(capsys, tmp_path):
    sound = HERE / "cpp" / "kernel_vector_add.cpp"
    code, out = run(capsys, "lint", "--machine", "4x4", sound)
    assert code == 0 and "kernel_vector_add.cpp: 1 kernels, at most" in out and "1 files for 4x4, 0 with" in out
    code, out = run(capsys, "lint", "--json", sound)
    kernels = json.loads(out)["files"][str(sound)]["kernels"]
    assert set(kernels) == {"kernel_vector_add"} and 0 < kernels["kernel_vector_add"]["code"] < 4096
    wrong = tmp_path / "wrong.cpp"
    wrong.write_text("int f( {}")
    code, out = run(capsys, "lint", wrong)
    assert code == 1 and "wrong.cpp: does not compile for rv32imaf" in out


def test_without_a_compiler(capsys, monkeypatch):
    monkeypatch.setattr(_hb, "compiler", lambda *_: None)
    code, _ = run(capsys, "lint", HERE / "lacking.cpp")
    assert "no RISC-V compiler is installed, so nothing was checked" in code
    code, _ = run(capsys, "lint", "absent.cpp")
    assert code == "facula hb lint: absent.cpp: no such file"


def test_machine(capsys, tmp_path):
    assert run(capsys, "machine", "--list") == (0, "4x4\npod_X1Y1_ruche_X16Y8\n")
    code, out = run(capsys, "machine", "4x4")
    again = tmp_path / "again.machine"
    again.write_text(out)
    assert code == 0 and run(capsys, "machine", again) == (0, out)  # what is printed can be read
    code, _ = run(capsys, "machine", tmp_path / "none.machine")
    assert "none.machine: No such file" in code


@needs_compiler
def test_what_is_no_cpp_file_is_refused(capsys, tmp_path):
    (tmp_path / "notes.txt").write_text("to do")
    code, _ = run(capsys, "lint", tmp_path / "notes.txt")
    assert "notes.txt: a kernel is a C++ file" in str(code)


def test_a_file_without_kernels(capsys, tmp_path):
    empty = tmp_path / "empty.cpp"
    empty.write_text("#include <kernel_common.hpp>\n")
    code, out = run(capsys, "lint", empty)
    assert code == 0 and "1 files for" in out and "0 with" in out
