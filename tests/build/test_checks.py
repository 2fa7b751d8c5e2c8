"""The repository's own checks find what they are for: each is shown a tree with the fault."""

import pathlib
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.not_sanitized

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"


def check_includes(tmp_path, **files):
    for name, text in files.items():
        path = tmp_path / name.replace("__", "/").replace("_cpp", ".cpp").replace("_h", ".h")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = subprocess.run([sys.executable, TOOLS / "check_includes.py", tmp_path], capture_output=True, text=True)
    return done.returncode, done.stdout


def test_includes_downwards_pass(tmp_path):
    status, out = check_includes(tmp_path, src__core__a_h="", src__ops__b_cpp='#include "core/a.h"\n')
    assert status == 0 and "0 breaches" in out


def test_include_upwards_fails(tmp_path):
    status, out = check_includes(tmp_path, src__core__a_cpp='\n#include "ops/b.h"\n', src__ops__b_h="")
    assert status == 1 and "src/core/a.cpp:2: src/core may not include src/ops" in out


def test_include_cycle_fails(tmp_path):
    status, out = check_includes(tmp_path, src__core__a_h='#include "core/b.h"\n', src__core__b_h='#include "core/a.h"\n')
    assert status == 1 and "cycle: src/core/a.h -> src/core/b.h -> src/core/a.h" in out


def test_heavy_header_in_core_fails(tmp_path):
    status, out = check_includes(tmp_path, src__core__a_h="#include <iostream>\n")
    assert status == 1 and "<iostream> is too heavy" in out


def test_public_header_that_includes_an_internal_one_fails(tmp_path):
    status, out = check_includes(tmp_path, include__facula__a_h='#include "core/b.h"\n', src__core__b_h="")
    assert status == 1 and "include/facula/a.h:1: a public header includes src/core/b.h" in out
    status, out = check_includes(tmp_path, include__facula__a_h="#include <facula/gone.h>\n")
    assert status == 1 and "a public header includes facula/gone.h" in out


def test_core_may_include_public_types_but_not_the_front(tmp_path):
    files = {"include__facula__dtype_h": "", "src__core__a_h": "#include <facula/dtype.h>\n"}
    status, out = check_includes(tmp_path, **files)
    assert status == 0, out
    files = {"include__facula__tensor_h": "", "src__core__a_h": "#include <facula/tensor.h>\n"}
    status, out = check_includes(tmp_path, **files)
    assert status == 1 and "src/core may not include the C++ front" in out


def test_long_lines_fail_outside_of_tables(tmp_path):
    long = "// " + "x" * 118 + "\n"
    (tmp_path / "a.h").write_text("// clang-format off\n" + long + "// clang-format on\n" + "// " + "…" * 117 + "\n")
    (tmp_path / "b.h").write_text("\n" + long)
    done = subprocess.run(
        [sys.executable, TOOLS / "check_lines.py", tmp_path / "a.h", tmp_path / "b.h"], capture_output=True, text=True
    )
    assert done.returncode == 1 and "b.h:2: 121 characters" in done.stdout and "a.h" not in done.stdout


@pytest.mark.skipif(shutil.which("c++") is None, reason="no compiler")
@pytest.mark.parametrize("code, status", [("int f(); int x = f();", 1), ("int x = 3;", 0)])
def test_start_up_code(tmp_path, code, status):
    folder = tmp_path / "CMakeFiles/facula_core.dir"
    folder.mkdir(parents=True)
    (tmp_path / "a.cpp").write_text(code)
    subprocess.run(["c++", "-c", tmp_path / "a.cpp", "-o", folder / "a.cpp.o"], check=True)
    done = subprocess.run([sys.executable, TOOLS / "check_start_up.py", tmp_path], capture_output=True, text=True)
    assert done.returncode == status, done.stdout
    assert ("runs before main" in done.stdout) == bool(status)


def check(tool, *arguments):
    done = subprocess.run([sys.executable, TOOLS / tool, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout


def test_long_files_and_headers_without_a_contract_fail(tmp_path):
    (tmp_path / "long.py").write_text("x\n" * 801)
    (tmp_path / "bare.h").write_text("// SPDX-License-Identifier: Apache-2.0\n#pragma once\n")
    (tmp_path / "good.h").write_text("// SPDX-License-Identifier: Apache-2.0\n// What this is and who owns what it holds.\n#pragma once\n")
    status, said = check("check_files.py", *(tmp_path / name for name in ("long.py", "bare.h", "good.h")))
    assert status == 1 and "long.py: 801 lines, at most 800" in said and "bare.h: a header begins with" in said and "good.h" not in said


@pytest.mark.parametrize("table", ['{"exp", "log", "neg_", "sqrt", "sin", "aten::cos"}', '("exp log neg sqrt sin cos")'])
def test_a_table_of_operators_outside_of_the_rows_fails(tmp_path, table):
    rows = tmp_path / "src/ops/unary.cpp"
    rows.parent.mkdir(parents=True)
    rows.write_text("".join(f'{{.name = "{name}"}},\n' for name in ("exp", "log", "neg", "sqrt", "sin", "cos")) + f"const char* names[] = {table};\n")
    assert check("check_tables.py", tmp_path)[0] == 0
    beside = tmp_path / "src/define/autocast.cpp"
    beside.parent.mkdir()
    beside.write_text(f"\nconstexpr const char* wide[] = {table};\n")
    status, said = check("check_tables.py", tmp_path)
    assert status == 1 and "src/define/autocast.cpp:2: a table of 6 operators (exp, log, neg" in said
