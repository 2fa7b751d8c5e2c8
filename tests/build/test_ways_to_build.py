# SPDX-License-Identifier: Apache-2.0
"""setup.py, environments, OpenBLAS inside of one, the torch-build scripts: their quick halves.

`make test-packages` builds and installs for real.
"""

import ast
import os
import pathlib
import re
import shutil
import subprocess
import sys
import venv

import pytest

pytestmark = pytest.mark.not_sanitized

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "tools" / "torch-build"
# A shell without an active environment, and without switches.
PLAIN = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("USE_", "BUILD_", "CUDA", "TORCH_", "CONDA", "PYTHONPATH", "VIRTUAL_ENV", "MAKE", "BLAS", "DEBUG", "OPENBLAS"))
}


NO_CMAKE = pytest.mark.skipif(not shutil.which("cmake") or not shutil.which("c++"), reason="no CMake or no compiler")


def run(*command, cwd=ROOT, **environment):
    """Exit status, and everything that was said."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env={**PLAIN, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    return done.returncode, done.stdout


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if "__pycache__" not in p.parts)


# What conda and its openblas put into an environment, as far as a build looks at it.
CONDA = """
conda-meta/history
conda-meta/openblas-0.3.30-openmp_h9ca28b2_1.json
include/cblas.h
include/openblas_config.h
lib/libopenblasp-r0.3.30.so
lib/libopenblas.so.0 -> libopenblasp-r0.3.30.so
lib/libopenblas.so -> libopenblasp-r0.3.30.so
share/info/dir
"""


@pytest.fixture
def conda(tmp_path):
    prefix = tmp_path / "envs" / "torchsrc"
    venv.create(prefix, symlinks=False, with_pip=False)  # an interpreter whose prefix it is
    for line in CONDA.split("\n")[1:-1]:
        name, _, target = line.partition(" -> ")
        path = prefix / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if target:
            path.symlink_to(target)
        elif not path.exists():
            path.write_text("")
    return prefix


# ---- setup.py -----------------------------------------------------------------------------------


def test_setup_py_says_what_it_can_do():
    for words in ((), ("--help",), ("install", "--help")):
        status, said = run(sys.executable, "setup.py", *words)
        assert status == 0 and all(f"setup.py {name}" in said for name in ("install", "develop", "bdist_wheel", "clean", "uninstall"))
    status, said = run(sys.executable, "setup.py", "instal")
    assert status == 1 and "there is no 'instal' (there are install, develop," in said
    status, said = run(sys.executable, "setup.py", "develop", "--user")
    assert status == 1 and "develop takes --uninstall, or nothing; it got --user" in said
    status, said = run(sys.executable, "setup.py", "bdist_wheel", MAX_JOBS="many")
    assert status == 1 and "MAX_JOBS=many: it is the number of jobs" in said


@pytest.mark.skipif(not pathlib.Path("/usr/bin/python3").exists(), reason="the system has no Python of its own")
def test_the_system_s_python_is_left_alone():
    for command in ("install", "develop"):
        status, said = run("/usr/bin/python3", "setup.py", command)
        assert status == 1 and "belongs to the system: activate an environment" in said


def test_pip_honours_the_switches_that_cmake_cannot():
    settings = pytest.importorskip("scikit_build_core.settings.skbuild_read_settings", reason="scikit-build-core is not installed")

    def read(**environment):
        return settings.SettingsReader.from_file(ROOT / "pyproject.toml", env=environment).settings

    assert read().cmake.build_type == "Release" and read().install.strip and not read().cmake.args
    for name, kind in (("DEBUG", "Debug"), ("REL_WITH_DEB_INFO", "RelWithDebInfo")):
        for word in ("1", "ON", "yes"):
            found = read(**{name: word})
            assert found.cmake.build_type == kind and not found.install.strip and found.build_dir != read().build_dir
        assert read(**{name: "0"}).cmake.build_type == "Release"
    assert read(DEBUG="express:*").cmake.build_type == "Release"  # what a web server's users export
    assert read(USE_NINJA="OFF").cmake.args == ["-G", "Unix Makefiles"] and not read(USE_NINJA="1").cmake.args
    assert read(USE_NINJA="OFF").build_dir != read().build_dir  # a folder has one generator


def test_a_build_is_linked_into_an_environment_and_leaves_no_trace(tmp_path):
    import facula

    environment = tmp_path / "env"
    venv.create(environment, with_pip=False)
    before = files(environment)
    python = environment / "bin" / "python"
    build = pathlib.Path(facula.__file__).parents[2]
    status, said = run(python, "tools/link_environment.py", build)
    assert status == 0 and f"{environment} imports facula from {build}/python" in said
    status, said = run(environment / "bin" / "facula", "info", cwd=tmp_path)
    assert status == 0 and "Facula built with:" in said
    scripts = re.search(r"\[project.scripts\]\n((?:.+\n)+)", (ROOT / "pyproject.toml").read_text())[1]
    commands = re.findall(r'^"?([\w.]+)"? = ', scripts, re.M)
    assert {f"bin/{name}" for name in commands} <= set(files(environment))
    assert "nothing is left to do" in run(environment / "bin" / "hpcstruct", "x", cwd=tmp_path)[1]
    assert run(python, "-c", "import facula; print(facula.__file__)", cwd=tmp_path)[1].startswith(str(build))
    status, said = run(python, "setup.py", "develop", "--uninstall")
    assert status == 0 and "no longer imports facula" in said
    assert files(environment) == before
    status, said = run(python, "setup.py", "develop", "--uninstall")
    assert status == 0 and "has no link to a build" in said


def test_commands_of_others_stay(tmp_path):
    import facula

    environment = tmp_path / "env"
    venv.create(environment, with_pip=False)
    theirs = environment / "bin" / "hpcrun"
    theirs.write_text("#!/bin/sh\necho HPCToolkit\n")
    python, build = environment / "bin" / "python", pathlib.Path(facula.__file__).parents[2]
    assert run(python, "tools/link_environment.py", build)[0] == 0
    assert "HPCToolkit" in theirs.read_text() and (environment / "bin" / "gvprof").exists()
    assert run(python, "tools/link_environment.py", "--remove")[0] == 0
    assert "HPCToolkit" in theirs.read_text() and not (environment / "bin" / "gvprof").exists()


def test_plain_python_imports_the_linked_build_as_torch(tmp_path):
    import facula

    environment = tmp_path / "env"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    build = pathlib.Path(facula.__file__).parents[2]
    link = run(python, "tools/link_environment.py", "--torch", build)
    assert link[0] == 0 and f"`import torch` in {environment} is Facula" in link[1]
    (tmp_path / "x.py").write_text("import torch, facula, importlib.metadata as m; print(torch is facula, m.version('torch'))")
    assert run(python, "x.py", cwd=tmp_path) == (0, "True 2.15.0\n")
    assert run(python, "-c", "from torch import nn; print(nn.Linear(2, 3))", cwd=tmp_path)[1].startswith("Linear(in_features=2")

    site = next(environment.glob("lib/python*/site-packages"))
    (site / "torch").mkdir()  # PyTorch, or whatever has its name
    (site / "torch" / "__init__.py").write_text("mine = True")
    assert "is still the PyTorch that is installed" in run(python, "tools/link_environment.py", "--torch", build)[1]
    assert run(python, "-c", "import torch; print(torch.mine)", cwd=tmp_path) == (0, "True\n")
    chosen = "eval \"$(bin/facula env)\" && bin/python -c 'import torch; print(torch.__name__, hasattr(torch, \"mine\"))'"
    assert run("bash", "-c", chosen, cwd=environment) == (0, "torch False\n")

    shutil.rmtree(site / "torch")
    assert run(python, "setup.py", "develop", "--uninstall")[0] == 0
    assert "No module named 'torch'" in run(python, "-c", "import torch", cwd=tmp_path)[1]
    assert not list(site.glob("facula*"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_environment_that_cannot_be_written(tmp_path):
    venv.create(tmp_path / "env", with_pip=False)
    site = next((tmp_path / "env" / "lib").glob("python*/site-packages"))
    site.chmod(0o555)
    status, said = run(tmp_path / "env/bin/python", "tools/link_environment.py", "build/release")
    site.chmod(0o755)
    assert status == 1 and "cannot be changed" in said and "activate an environment" in said


# ---- environments -------------------------------------------------------------------------------


def test_an_active_environment_is_used(conda):
    for variable in ("CONDA_PREFIX", "VIRTUAL_ENV"):
        status, said = run("make", "-n", "pytorch-install", **{variable: str(conda)})
        assert status == 0 and f"{conda}/bin/python setup.py install" in said and f"tools/setup.sh {conda}" in said
    assert ".venv" in run("make", "-n", "setup")[1]


@pytest.mark.parametrize("word, preset", [("1", "debug"), ("True", "debug"), ("0", "release"), ("express:*", "release")])
def test_debug_is_a_preset(word, preset):
    assert f"cmake --build build/{preset} " in run("make", "-n", "build", DEBUG=word)[1]


def test_setup_takes_headers_from_the_environment(conda, tmp_path):
    """Without the system's packages: what conda's environment has is not asked for again."""
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    shutil.copy(ROOT / "requirements.txt", tmp_path)
    script = tmp_path / "tools" / "setup.sh"
    script.write_text(script.read_text().replace("/usr/include", "/nowhere/include"))
    said = run(script, conda, FACULA_OFFLINE="1")[1]
    assert "libgtest-dev" in said and "libopenblas-openmp-dev" not in said
    assert "Python packages not there: pip;" in said
    (conda / "include/gtest").mkdir()
    (conda / "include/gtest/gtest.h").write_text("")
    assert "libgtest-dev" not in run(script, conda, FACULA_OFFLINE="1")[1]


def conda_packages(path):
    """Name, and the packages' lines, of an environment file."""
    lines = [line.split(" #")[0].strip() for line in path.read_text().splitlines() if not line.startswith("#")]
    return lines[0].partition(": ")[2], [line[2:] for line in lines[lines.index("dependencies:") + 1 :]]


def test_environment_files_hold_what_setup_installs():
    name, packages = conda_packages(ROOT / "environment.yml")
    newer, others = conda_packages(SCRIPTS / "pytorch-dev.yaml")
    assert (name, newer) == ("torchsrc", "pytorch-dev")
    assert packages[-1] == "-r requirements.txt" and (SCRIPTS / others[-1][3:]).resolve() == ROOT / "requirements.txt"
    assert [p for p in others[1:-1] if not p.startswith("cuda-version=")] == packages[1:-1] and packages[0] == "python=3.11" < others[0]
    # Debian's names and conda's
    names = {"python3": "python", "g++": "cxx-compiler", "ninja-build": "ninja", "clang-format": "clang-tools", "clang-tidy": "clang-tools",
             "libgtest-dev": "gtest", "libopenblas-openmp-dev": "openblas", "libdw1": "elfutils", "libgloo-dev": "gloo",
             "openmpi-bin": "openmpi", "libopenmpi-dev": "openmpi"}  # fmt: skip
    needs = re.search(r"^needs=\((.*?)^\)", (ROOT / "tools/setup.sh").read_text(), re.S | re.M)[1]
    found = {re.split("[>=]", package)[0] for package in packages}
    for debian in re.findall(r':([\w+-]+)"', needs):
        assert names.get(debian, debian) in found, debian


def test_environment_files_need_no_setting_of_conda():
    """Whatever `conda config` was told: the files name their channels, and nodefaults keeps all others out."""
    for path in (ROOT / "environment.yml", SCRIPTS / "pytorch-dev.yaml"):
        assert re.search(r"^channels:\n  - conda-forge\n  - nodefaults\ndependencies:", path.read_text(), re.M)


def test_files_that_were_touched_to_be_noticed():
    for name in ("aten/src/ATen/CMakeLists.txt", "c10/hammerblade/CMakeLists.txt"):
        status, said = run("touch", "--no-create", name)
        assert (status, said) == (0, "") and (ROOT / name).read_text().startswith(f"# `touch {name}`")
    assert "CONFIGURE_DEPENDS src/*.cpp" in (ROOT / "CMakeLists.txt").read_text()  # why nothing needs touching
    assert "README.md" in (ROOT / "baseline-README.md").read_text()


def test_packages_that_people_install_first_are_not_needed():
    """`pip install numpy pyyaml mkl … sklearn …`, `conda install … magma-cuda110`: what a build takes is in requirements.txt."""
    wanted = {re.split("[<>=;]", line)[0].strip() for line in (ROOT / "requirements.txt").read_text().splitlines() if line[:1] != "#"}
    assert not wanted & {"sklearn", "typing", "cffi", "pyyaml", "tqdm", "mkl", "magma-cuda110", "future", "six", "dataclasses"}


# Since Python 3.11, for python/src.
NEWER = r"""PyCode_Get(?:Code|Cellvars|Freevars|Varnames)|PyErr_[GS]et(?:Handled|Raised)Exception|PyFrame_Get(?:Builtins|Generator|Globals|Lasti|Locals|Var)
|PyFloat_(?:Unp|P)ack\d|PyThreadState_(?:Enter|Leave)Tracing|PyType_Get(?:ModuleByDef|Name|QualName|Dict|FullyQualifiedName)|PyObject_GetTypeData|PyUnstable_\w+
|Py(?:Dict|Func|Type|Code)_AddWatcher|PyLong_AsInt|Py(?:Dict|List)_GetItemRef|PyWeakref_GetRef|PyObject_GetOptionalAttr|PyMapping_GetOptionalItem
|PyDict_Pop|PyList_(?:Extend|Clear)|PyUnicode_Equal|PyImport_AddModuleRef|PyModule_Add\b|Py_HashBuffer|PyMutex_\w+""".replace("\n", "")


def test_nothing_is_newer_than_python_3_10():
    assert 'requires-python = ">=3.10"' in (ROOT / "pyproject.toml").read_text()
    for folder in ("python/facula", "tools", "tests/build", "benchmarks", "examples"):
        for path in (ROOT / folder).rglob("*.py"):
            ast.parse(path.read_text(), str(path), feature_version=(3, 10))
    for path in (ROOT / "python/src").iterdir():
        text = re.sub(r"#if PY_VERSION_HEX >= \w+\n.*?\n#else", "", path.read_text(), flags=re.S)
        assert not re.findall(rf"\b(?:{NEWER})\b", text), path


def test_git_submodules_are_none():
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("not a git checkout")
    assert run("git", "submodule", "update", "--init", "--recursive") == (0, "")


# ---- OpenBLAS in an environment -----------------------------------------------------------------


@pytest.fixture
def openblas_sources(tmp_path):
    """A source tree with the targets of OpenBLAS's own Makefile."""
    folder = tmp_path / "OpenBLAS"
    folder.mkdir()
    (folder / "Makefile.system").write_text("")
    (folder / "Makefile").write_text(
        "libs netlib shared:\n\t@echo $@ with USE_OPENMP=$(USE_OPENMP) TARGET=$(TARGET) >> built.txt\n"
        "install:\n"
        "\tmkdir -p $(DESTDIR)$(PREFIX)/lib/cmake/openblas $(DESTDIR)$(PREFIX)/include\n"
        "\tcp built.txt $(DESTDIR)$(PREFIX)/lib/libopenblas_test-r0.so\n"
        "\tln -s libopenblas_test-r0.so $(DESTDIR)$(PREFIX)/lib/libopenblas.so\n"
        "\ttouch $(DESTDIR)$(PREFIX)/lib/cmake/openblas/OpenBLASConfig.cmake $(DESTDIR)$(PREFIX)/include/cblas.h\n"
    )
    return folder


def test_openblas_is_built_into_an_environment_and_leaves_no_trace(tmp_path, openblas_sources):
    environment = tmp_path / "env"
    (environment / "lib").mkdir(parents=True)
    (environment / "lib" / "other.so").write_text("stays")
    before = files(environment)
    for _ in range(2):  # the second one replaces the first
        status, said = run("tools/openblas.sh", "install", environment, "2", OPENBLAS_SRC=str(openblas_sources), TARGET="HASWELL")
        assert status == 0 and f"is now {environment}/lib/libopenblas.so" in said
    built = (environment / "lib" / "libopenblas.so").read_text()
    assert set(built.splitlines()) == {f"{target} with USE_OPENMP=1 TARGET=HASWELL" for target in ("libs", "netlib", "shared")}  # in any order
    (openblas_sources / "built.txt").unlink()
    assert run("tools/openblas.sh", "install", environment, "2", OPENBLAS_SRC=str(openblas_sources), NO_LAPACK="1")[0] == 0
    assert "netlib" not in (environment / "lib" / "libopenblas.so").read_text()
    status, said = run("tools/openblas.sh", "uninstall", environment)
    assert status == 0 and files(environment) == before
    status, said = run("tools/openblas.sh", "uninstall", environment)
    assert status == 0 and "nothing to take away" in said


def test_openblas_does_not_overwrite_what_others_put_there(conda, openblas_sources):
    before = files(conda)
    status, said = run("tools/openblas.sh", "install", conda, OPENBLAS_SRC=str(openblas_sources))
    assert status == 1 and "already has" in said and "lib/libopenblas.so" in said
    assert files(conda) == before
    status, said = run("tools/openblas.sh", "install", conda, OPENBLAS_SRC="/nowhere")
    assert status == 1 and "OPENBLAS_SRC=/nowhere is no source tree of OpenBLAS" in said
    status, said = run("tools/openblas.sh", "install", "/nowhere/env")
    assert status == 1 and "is no environment that can be written" in said


def test_openblas_removes_nothing_outside_of_its_environment(tmp_path):
    environment = tmp_path / "env"
    (environment / "share/facula").mkdir(parents=True)
    (tmp_path / "precious").write_text("")
    (environment / "share/facula/openblas.txt").write_text("file ../precious\nfile share/facula/openblas.txt\nfolder share/facula\nfolder share\n")
    assert run("tools/openblas.sh", "uninstall", environment)[0] == 0
    assert (tmp_path / "precious").exists() and files(environment) == []


def test_the_packaged_openblas(tmp_path, conda):
    if not list(pathlib.Path("/usr/lib").glob("*/openblas-openmp/libopenblas.so.0")):
        pytest.skip("the system has no OpenBLAS on OpenMP")
    status, said = run("tools/openblas.sh", "install", conda)
    assert status == 0 and "has one already, which the build finds" in said
    environment = tmp_path / "env"
    environment.mkdir()
    status, said = run("tools/openblas.sh", "install", environment)
    assert status == 0 and {"lib/libopenblas.so", "lib/libopenblas.so.0", "include/cblas.h"} <= set(files(environment))
    assert run("tools/openblas.sh", "uninstall", environment)[0] == 0 and files(environment) == []


@NO_CMAKE
def test_configure_finds_the_environment_s_openblas_and_shows_cuda(conda, tmp_path):
    cuda = tmp_path / "cuda"
    (cuda / "bin").mkdir(parents=True)
    (cuda / "bin" / "nvcc").write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.4, V12.4.131'\n")
    (cuda / "bin" / "nvcc").chmod(0o755)
    switches = dict(USE_CUDA="1", MAX_JOBS="16", USE_NINJA="OFF", USE_FBGEMM="0", USE_DISTRIBUTED="0", BUILD_TEST="0", BUILD_PYTHON="0", USE_MKLDNN="0")
    status, said = run("cmake", "-S", ROOT, "-B", tmp_path / "build", "-G", "Unix Makefiles", f"-DPython_EXECUTABLE={conda}/bin/python",
                       CUDA_PATH=str(cuda), TORCH_CUDA_ARCH_LIST='8.0;9.0+PTX Hoper"', **switches)  # fmt: skip
    assert status == 0, said
    for line in ("USE_CUDA=ON (from environment) is reserved and changes nothing yet", "USE_FBGEMM=OFF (from environment) means nothing here",
                 "USE_NINJA=OFF (from environment): Ninja runs", "MAX_JOBS=16 (from environment)",
                 'TORCH_CUDA_ARCH_LIST: Hoper" is no architecture'):  # fmt: skip
        assert line in said
    page = (tmp_path / "build/config/facula_config.inc").read_text()
    assert '{"BLAS", "OpenBLAS (lib/libopenblasp-r0.3.30.so)"}' in page
    assert f'{{"CUDA", "no backend yet (toolkit 12.4 in {cuda})"}}' in page
    assert '{"TORCH_CUDA_ARCH_LIST", "8.0;9.0+PTX Hoper\\"", "works"}' in page and '{"USE_NINJA", "OFF", "works"}' in page


@NO_CMAKE
def test_cmake_prefix_path_is_searched_first(conda, tmp_path):
    """export CMAKE_PREFIX_PATH=${CONDA_PREFIX:-…}, in a shell where that environment is not active."""
    status, said = run("cmake", "-S", ROOT, "-B", tmp_path / "build", f"-DPython_EXECUTABLE={sys.executable}",
                       CMAKE_PREFIX_PATH=str(conda), BUILD_TEST="0", BUILD_PYTHON="0", USE_MKLDNN="0", USE_HAMMERBLADE="0")  # fmt: skip
    assert status == 0, said
    assert '{"BLAS", "OpenBLAS (lib/libopenblasp-r0.3.30.so)"}' in (tmp_path / "build/config/facula_config.inc").read_text()


@NO_CMAKE
def test_a_compiler_that_is_too_old_is_refused_in_a_sentence(tmp_path):
    old = tmp_path / "g++-10"
    old.write_text('#!/bin/sh\nexec g++ -Wno-builtin-macro-redefined -U__GNUC__ -D__GNUC__=10 "$@"\n')
    old.chmod(0o755)
    status, said = run("cmake", "-S", ROOT, "-B", tmp_path / "build", CXX=str(old), BUILD_PYTHON="0", BUILD_TEST="0")
    assert status != 0 and "Facula needs g++ 12" in " ".join(said.split())


# ---- the torch-build scripts --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["torch-clone.sh", "pytorch-build.sh", "torch-build.sh", "torch-update.sh"])
def test_scripts_explain_themselves(name):
    status, said = run(SCRIPTS / name, "--help")
    assert status == 0 and said.startswith(f"{name}: ") and "--dry-run" in said
    status, said = run(SCRIPTS / name, "--quickly")
    assert status == 2 and "--quickly is no option" in said


def test_scripts_show_what_they_would_do(conda):
    settings = dict(CONDA_PREFIX=str(conda), MAX_JOBS="3", CUDA_PATH="/opt/cuda", TORCH_CUDA_ARCH_LIST="9.0")
    status, said = run(SCRIPTS / "torch-build.sh", "--dry-run", **settings)
    assert status == 0 and "+ make develop\n" in said
    for name, value in (("environment", conda), ("MAX_JOBS", "3"), ("CUDA_PATH", "/opt/cuda"), ("TORCH_CUDA_ARCH_LIST", "9.0")):
        assert re.search(rf"^{name} +{re.escape(str(value))}$", said, re.M)
    assert f"+ {conda}/bin/python {ROOT}/tools/install_without_torch.py torchvision torchaudio timm transformers\n" in said
    status, said = run(SCRIPTS / "torch-clone.sh", CONDA_PREFIX=str(conda))
    assert status == 0 and f"pytorch        here: {ROOT}" in said and re.search("torchaudio +(from PyPI|here: [0-9.]+ in)", said)


def test_the_environment_s_file_chooses_the_toolkit(tmp_path):
    for version in ("-12.2", ""):
        nvcc = tmp_path / f"cuda{version}/bin/nvcc"
        nvcc.parent.mkdir(parents=True)
        nvcc.write_text("")
        nvcc.chmod(0o755)
    show = f". {SCRIPTS}/torch-common.sh && echo $CUDA_PATH"
    assert run("bash", "-c", show, CUDA_ROOT=str(tmp_path)) == (0, f"{tmp_path}/cuda-12.2\n")
    assert run("bash", "-c", show, CUDA_ROOT=str(tmp_path), CUDA_PATH="/opt/cuda") == (0, "/opt/cuda\n")
    shutil.rmtree(tmp_path / "cuda-12.2")
    assert run("bash", "-c", show, CUDA_ROOT=str(tmp_path)) == (0, f"{tmp_path}/cuda\n")


def test_update_rebases_unless_something_is_edited(tmp_path, conda):
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    copy, origin = tmp_path / "copy", tmp_path / "origin"
    (origin / "tools").mkdir(parents=True)
    shutil.copytree(SCRIPTS, origin / "tools" / "torch-build")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C"]
    run(*git, origin, "init", "-q")
    update = [copy / "tools/torch-build/torch-update.sh"]
    environment = dict(CONDA_PREFIX=str(conda), PIP_NO_INDEX="1")
    for title in ("first", "second"):
        (origin / title).write_text(title)
        run(*git, origin, "add", "-A")
        run(*git, origin, "commit", "-qm", title)
        if title == "first":
            assert run("git", "clone", "-q", origin, copy)[0] == 0
            assert "this tree has all of origin/" in run(*update, **environment)[1]
    (copy / "first").write_text("edited")
    status, said = run(*update, **environment)
    assert status == 0 and "1 commits ahead; edits here stand in the way" in said and not (copy / "second").exists()
    (copy / "first").write_text("first")
    status, said = run(*update, **environment)
    assert status == 0 and "they are taken" in said and (copy / "second").exists()
    run(*git, copy, "branch", "--unset-upstream")
    assert "this tree follows no other" in run(*update, **environment)[1]


def test_torch_env_makes_plain_python_run_torch_programs():
    import facula

    package = pathlib.Path(facula.__file__).parent.parent
    # Whatever environment is active: the interpreter of this test is its python.
    script = f". {SCRIPTS}/torch-env.sh && echo $MAX_JOBS && python -c 'import torch; print(torch.__name__, torch.ones(2).sum().item())'"
    environment = dict(VIRTUAL_ENV=sys.prefix, PYTHONPATH=str(package), PATH=f"{sys.prefix}/bin:{PLAIN['PATH']}", MAX_JOBS="7")
    status, said = run("bash", "-c", script, **environment)
    assert status == 0 and said.split("\n")[-3:-1] == ["7", "torch 2.0"]


# ---- names that people type ---------------------------------------------------------------------


def test_check_pytorch_prints_the_configuration_page():
    import facula

    package = str(pathlib.Path(facula.__file__).parent.parent)
    status, said = run(sys.executable, "check_pytorch.py", PYTHONPATH=package)
    assert status == 0 and f"facula {facula.__version__} from {package}" in said and "Facula built with:" in said


def test_the_slip_in_the_benchmark_s_name():
    import facula

    status, said = run(sys.executable, "benchmarks/cond2d_example.py", "--help", PYTHONPATH=str(pathlib.Path(facula.__file__).parent.parent))
    assert status == 0 and "Conv2d(16 -> 8, kernel 8, stride 2)" in said
