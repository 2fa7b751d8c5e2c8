# SPDX-License-Identifier: Apache-2.0
"""Pages of docs/, followed to the letter: their blocks are compiled and run in their order."""
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.not_sanitized

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tools"))
import by_the_book  # noqa: E402

RECIPES = by_the_book.recipes()


def blocks(page):
    return re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.S | re.M)


@pytest.mark.parametrize(("page", "source"), [("add-an-operator.md", "softclip.cpp"), ("add-a-layer.md", "find_nan.cpp"), ("add-a-pass.md", "double_relu.cpp")])
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


def test_the_page_of_the_cpp_front(tmp_path):
    found = blocks("cpp.md")
    assert [kind for kind, _ in found] == ["cpp"] * 4
    flags = subprocess.run([sys.executable, "-m", "facula", "info", "--cflags"], check=True, capture_output=True, text=True).stdout.split()
    for number, (_, text) in enumerate(found):
        (tmp_path / "program.cpp").write_text(text)
        program = tmp_path / f"program{number}"
        subprocess.run(["c++", "-std=c++20", "-O1", tmp_path / "program.cpp", "-o", program, *flags], check=True, timeout=300)
        done = subprocess.run([program], check=True, timeout=300, text=True, stdout=subprocess.PIPE)
        assert [line for line in done.stdout.splitlines() if "mm: " not in line] == re.findall(r"// prints: (.*)", text)
        assert ("mm: mat1 and mat2 shapes cannot be multiplied" in done.stdout) == ("catch" in text)


def test_a_module(tmp_path):
    found = blocks("add-a-module.md")
    assert [kind for kind, _ in found] == ["python"]
    subprocess.run([sys.executable, "-c", found[0][1]], cwd=tmp_path, check=True, timeout=300)


def test_graphs(tmp_path):
    found = blocks("jit.md")
    assert {kind for kind, _ in found} <= {"python", "text"}  # what a debugger is told is no program
    text = "".join(text for kind, text in found if kind == "python")  # one program
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, check=True, timeout=300, text=True, stdout=subprocess.PIPE)
    for said in re.findall(r"# prints: (.*)", text):
        assert said in done.stdout


def test_sparse_tensors(tmp_path):
    for _, text in blocks("sparse.md"):
        subprocess.run([sys.executable, "-c", text], cwd=tmp_path, check=True, timeout=300)


def pages():
    own = [page for page in ROOT.glob("*.md") if not page.is_symlink()]  # a link's page is where it lies, in compat
    return [*own, *(page for folder in ("docs", "include", "examples", "compat") for page in ROOT.glob(f"{folder}/**/*.md"))]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_exist(page):
    text = re.sub(r"^(```.*?^```|    .*?$)", "", page.read_text(), flags=re.S | re.M)  # prose only
    links = {m for m in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text) if not (page.parent / m).exists()}
    named = set(re.findall(r"`((?:src|include|python|docs|tests|tools|examples|benchmarks|cmake)/[\w./*-]*[\w/])", text))
    installed = {"include/facula/internal"}
    assert not links and not {m for m in named - installed if not any(ROOT.glob(m))}


@pytest.mark.parametrize("page", ["profiling.md", "values.md"])
def test_the_tours_of_profiling(tmp_path, page):
    for number, (kind, text) in enumerate(blocks(page)):
        if kind == "sh":
            command = ["sh", "-e", "-c", re.sub(r"\bfacula (?=coverage|profile|replay|vprof)", f"{sys.executable} -m facula ", text)]
        else:
            (tmp_path / f"block{number}.py").write_text(text)
            command = [sys.executable, "-m", "facula", "run", f"block{number}.py"]
        done = subprocess.run(command, cwd=tmp_path, check=True, timeout=300, text=True, stdout=subprocess.PIPE)
        for said in re.findall(r"# prints: (.*)", text):
            assert said in done.stdout


# What uses the new row beside its own file: the list of opcodes, and the formula for one type.
USES = {
    "unary": '#include "kernels/formulas/unary.h"\nfloat used = fc::scalar::{name}::apply(1.0f, static_cast<float*>(nullptr));',
    "binary": '#include "kernels/formulas/binary.h"\nfloat used = fc::scalar::{name}::apply(1.0f, 2.0f, static_cast<float*>(nullptr));',
    "reduce": '#include "kernels/formulas/folds.h"\nfloat used = fc::folds::{name}::join(1.0f, fc::folds::{name}::term(2.0f, 0.0f));',
}


@pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler")
@pytest.mark.parametrize("kind", USES)
def test_an_operator_in_the_tree_is_two_files(tmp_path, kind):
    """Each recipe of the page, put into copies of the files it names, compiles. (`make build-stats` builds and runs it.)"""
    recipe = RECIPES[kind]
    assert len(recipe.files) == 2 and recipe.lines <= 12
    for folder in ("include/facula/formulas", "include/facula/opcodes"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "src/ops").mkdir(parents=True)
    shutil.copy(ROOT / f"src/ops/{kind}.cpp", tmp_path / "src/ops")
    by_the_book.follow(tmp_path, recipe)
    source = tmp_path / "all.cpp"
    source.write_text(f'#include "dispatch/family_table.cpp"\n#include "{tmp_path}/src/ops/{kind}.cpp"\n' + USES[kind].format(name=recipe.name))
    folders = [tmp_path / "include", ROOT / "include", ROOT / "src"]
    subprocess.run(["c++", "-std=c++20", "-fsyntax-only", *(f"-I{f}" for f in folders), source], check=True, timeout=300)
