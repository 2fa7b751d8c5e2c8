"""The switches of cmake/options.cmake: from -D, from the environment, and the one that changed last wins."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed"), pytest.mark.not_sanitized]

PROJECT = f"""
cmake_minimum_required(VERSION 3.25)
project(switches NONE)
include({ROOT}/cmake/options.cmake)
foreach(name IN LISTS FACULA_SWITCHES)
  message(STATUS "VALUE ${{name}}=${{${{name}}}}")
endforeach()
"""


class Configure:
    def __init__(self, folder):
        self.folder = folder
        (folder / "CMakeLists.txt").write_text(PROJECT)

    def __call__(self, *defines, **environment):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("USE_", "BUILD_", "BLAS", "DEBUG"))}
        out = subprocess.run(
            ["cmake", "-S", self.folder, "-B", self.folder / "build", *(f"-D{d}" for d in defines)],
            env={**env, **environment}, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        values = dict(line[9:].split("=", 1) for line in out.splitlines() if line.startswith("-- VALUE "))
        return values, out


@pytest.fixture
def configure(tmp_path):
    return Configure(tmp_path)


def test_defaults_are_silent(configure):
    values, out = configure()
    assert values["USE_OPENMP"] == "ON" and values["USE_CUDA"] == "OFF" and values["BLAS"] == "OpenBLAS"
    assert "from" not in out.replace("Build files have been written", "")


@pytest.mark.parametrize("word", ["0", "OFF", "false", "No"])
def test_environment_is_read(configure, word):
    values, out = configure(USE_MKLDNN=word)
    assert values["USE_MKLDNN"] == "OFF"
    assert "USE_MKLDNN=OFF (from environment)" in out


def test_last_change_wins(configure):
    assert configure("USE_OPENMP=OFF")[0]["USE_OPENMP"] == "OFF"
    assert configure()[0]["USE_OPENMP"] == "OFF"  # the cache remembers -D
    assert configure(USE_OPENMP="1")[0]["USE_OPENMP"] == "ON"  # a new word from the environment
    assert configure(USE_OPENMP="1")[0]["USE_OPENMP"] == "ON"
    assert configure("USE_OPENMP=0", USE_OPENMP="1")[0]["USE_OPENMP"] == "OFF"  # then a new -D
    assert configure(USE_OPENMP="1")[0]["USE_OPENMP"] == "OFF"  # nothing new: stays


def test_unset_environment_returns_to_the_default(configure):
    assert configure(BLAS="Generic")[0]["BLAS"] == "Generic"
    assert configure()[0]["BLAS"] == "OpenBLAS"


def test_what_means_nothing_is_reported(configure):
    values, out = configure(USE_FBGEMM="1")
    assert "USE_FBGEMM=ON (from environment) means nothing here" in out
    assert values["USE_FBGEMM"] == "OFF"


def test_what_is_reserved_is_reported_and_stays_off(configure):
    values, out = configure("USE_CUDA=1")
    assert "USE_CUDA=ON (from cmake) is reserved and changes nothing yet" in out
    assert values["USE_CUDA"] == "OFF"


def test_unknown_names_are_reported(configure):
    assert "USE_FOO is no switch of this build" in configure(USE_FOO="1")[1]
    assert "BUILD_BAR is no switch of this build" in configure("BUILD_BAR=1")[1]


def test_neither_true_nor_false_is_ignored(configure):
    values, out = configure(DEBUG="express:*")
    assert values["DEBUG"] == "OFF"
    assert "DEBUG=express:* (environment) is neither true nor false" in out


@pytest.mark.parametrize("python", ["/env/bin/python", ".venv/bin/python"])
def test_the_interpreter_of_an_active_environment(tmp_path, python):
    """tools/configure.sh gets an active environment's interpreter by its whole path, .venv's by a short one."""
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "cmake"
    fake.write_text('#!/bin/sh\nmkdir -p build/release\necho "$@"\n')
    fake.chmod(0o755)
    said = subprocess.run(
        [ROOT / "tools/configure.sh", "release", python], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PATH": f"{fake.parent}:{os.environ['PATH']}"},
    ).stdout  # fmt: skip
    assert f"-DPython_EXECUTABLE={tmp_path / python}" in said  # an absolute path stays as it is
