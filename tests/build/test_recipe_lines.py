# SPDX-License-Identifier: Apache-2.0
"""What people type before they build, typed: with stand-ins for conda, spack and pip, which come from elsewhere."""

import os
import pathlib
import shutil
import subprocess
import sys
import venv

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.skipif(not shutil.which("bash"), reason="no bash"), pytest.mark.not_sanitized]

# A conda that makes folders of environments and keeps what it was told; `conda activate` is a function of the shell there, too.
CONDA = """#!/bin/sh
echo "conda $*" >> "$STAND_IN/said"
case "$1" in
  create|env) ;;
  config) echo "$*" >> "$HOME/.condarc" ;;
  install|update) ;;
  *) echo "conda: no command $1" >&2; exit 2 ;;
esac
"""
SPACK = '#!/bin/sh\necho "spack $*" >> "$STAND_IN/said"\n'
# PyPI's answer to the name sklearn: an error for the whole line, unless it was told that this is known.
PIP = """#!/bin/sh
echo "pip $*" >> "$STAND_IN/said"
case " $* " in
  *" sklearn "*) [ "$SKLEARN_ALLOW_DEPRECATED_SKLEARN_PACKAGE_INSTALL" = True ] || {
    echo "The 'sklearn' PyPI package is deprecated, use 'scikit-learn' rather than 'sklearn' for pip commands." >&2; exit 1; } ;;
esac
"""
ACTIVATE = 'conda() { if [ "$1" = activate ]; then echo "conda $*" >> "$STAND_IN/said"; export CONDA_PREFIX="$STAND_IN/envs/$2"; else command conda "$@"; fi; }\n'

MINICONDA = """
conda config --add channels conda-forge
conda config --set channel_priority strict
conda update conda
conda env create -f environment.yml
conda activate torchsrc
"""
SPACKED = """
spack install miniconda3
spack load miniconda3
conda install numpy ninja pyyaml mkl mkl-include setuptools cmake cffi typing_extensions future six requests dataclasses
conda install -c pytorch magma-cuda110
export CMAKE_PREFIX_PATH=${CONDA_PREFIX:-"$(dirname $(which conda))/../"}
"""
BUILD_OF_ITS_OWN = """
conda create -n tf2-build python=3.10 numpy ninja pyyaml cmake
conda activate tf2-build
"""


@pytest.fixture
def shell(tmp_path):
    """Runs lines; gives status and what was said."""
    places = tmp_path / "bin"
    places.mkdir()
    for name, text in (("conda", CONDA), ("spack", SPACK), ("pip", PIP)):
        (places / name).write_text(text)
        (places / name).chmod(0o755)
    for name in ("torchsrc", "tf2-build"):
        venv.create(tmp_path / "envs" / name, symlinks=False, with_pip=False)
        (tmp_path / "envs" / name / "conda-meta").mkdir()
        (tmp_path / "envs" / name / "conda-meta" / "history").write_text("")
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("USE_", "BUILD_", "CONDA", "VIRTUAL_ENV", "CMAKE_", "MAKE", "PYTHONPATH"))}
    env = {**outside, "PATH": f"{places}:{os.environ['PATH']}", "HOME": str(tmp_path), "STAND_IN": str(tmp_path)}

    def typed(lines: str):
        done = subprocess.run(["bash", "-ec", ACTIVATE + lines], cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        return done.returncode, done.stdout

    typed.said = lambda: (tmp_path / "said").read_text().splitlines()
    typed.folder = tmp_path
    return typed


@pytest.mark.parametrize(("lines", "name"), [(MINICONDA, "torchsrc"), (BUILD_OF_ITS_OWN, "tf2-build")], ids=["miniconda", "tf2-build"])
def test_an_environment_that_conda_made_is_the_one_that_is_built_into(shell, lines, name):
    status, said = shell(lines + "tools/torch-build/torch-build.sh --dry-run")
    assert status == 0 and f"environment           {shell.folder / 'envs' / name}\n" in said, said
    assert len(shell.said()) == len(lines.split("\n")) - 2


def test_what_spack_and_conda_install_is_not_needed(shell):
    status, said = shell(SPACKED + 'echo "prefix $CMAKE_PREFIX_PATH"\nmake -n configure')
    assert status == 0 and f"prefix {shell.folder / 'bin'}/../\n" in said and "tools/configure.sh release" in said, said
    assert [line.split()[0] for line in shell.said()] == ["spack", "spack", "conda", "conda"]


PACKAGES = "pip install numpy pyyaml mkl mkl-include setuptools cmake cffi typing sklearn tqdm pytest ninja hypothesis\n"


@pytest.mark.parametrize("script", ["setup_emul_build_env.sh", "setup_cosim_build_env.sh"])
def test_the_ports_packages_install_behind_its_setup_script(shell, script):
    """PyPI's sklearn refuses the line as it stands; the port's script, which comes with Facula, has the line go through."""
    status, said = shell(PACKAGES)
    assert status == 1 and "use 'scikit-learn'" in said
    status, said = shell(f"source {script}\n" + PACKAGES + f"{sys.executable} setup.py --help")
    assert status == 0 and "pip install … sklearn …: PyPI's name of it is scikit-learn, and Facula needs neither" in said, said
    assert shell.said() == [PACKAGES.strip()] * 2
