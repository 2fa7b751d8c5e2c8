# SPDX-License-Identifier: Apache-2.0
"""compat/: what other works' pages type, in a fresh clone, before a build and after it."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.not_sanitized


@pytest.fixture
def clone(tmp_path):
    """The tracked files and those that will be, as git would check them out."""
    tree = tmp_path / "clone"
    tree.mkdir()
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True).stdout
    wanted = b"\0".join(n for n in names.split(b"\0") if n.startswith((b"compat/", b"tools/", b"setup_", b"torchbenchmark", b"check_", b"python/facula/machine/", b"tests/hammerblade/", b"tests/conftest.py")))
    if not wanted:
        pytest.skip("not a checkout of git")
    subprocess.run(["xargs", "-0", "cp", "--parents", "-P", "-t", str(tree)], cwd=ROOT, input=wanted, check=True)
    return tree


def typed(line, cwd, **env):
    done = subprocess.run(["bash", "-c", line], cwd=cwd, env={**os.environ, **env}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def test_before_the_build(clone):
    for script in ("setup_emul_build_env.sh", "setup_cosim_build_env.sh"):
        status, said = typed(f"source {script} && echo USE=$USE_HAMMERBLADE", clone)
        assert status == 0 and "USE=1" in said and "python setup.py develop" in said
    status, said = typed(f"{sys.executable} torchbenchmark/util/machine_config.py --help", clone)
    assert status == 0 and "--configure" in said


def test_after_the_build(clone):
    import facula

    package = str(pathlib.Path(facula.__file__).parent.parent)
    assert "@tools/link_compat.sh" in (ROOT / "Makefile").read_text()  # what `make build` does at its end
    assert typed("tools/link_compat.sh", clone) == (0, "")
    assert typed("tools/link_compat.sh", clone) == (0, "")  # and a second time
    for line in ("touch --no-create aten/src/ATen/CMakeLists.txt c10/hammerblade/CMakeLists.txt", "cat baseline-README.md hammerblade/environment.mk"):
        assert typed(line, clone)[0] == 0, line
    status, said = typed(f"{sys.executable} check_pytorch.py", clone, PYTHONPATH=package)
    assert status == 0 and f"facula {facula.__version__}" in said
    for line in (f"cd hammerblade/torch; {sys.executable} pytest_runner.py nosuch.py", "cd hammerblade/torch; source run-hb-pytest.sh nosuch.py"):
        status, said = typed(line, clone, PYTHON=sys.executable)
        assert status == 2 and f"nor in {clone}/compat/hb-pytorch/hammerblade/torch/tests or {clone}/tests/hammerblade" in said


def test_what_is_there_stays(clone):
    kernel = clone / "hammerblade" / "torch" / "kernel" / "kernel_mine.cpp"
    kernel.parent.mkdir(parents=True)
    kernel.write_text("mine")
    status, said = typed("tools/link_compat.sh", clone)
    assert (status, said) == (0, "hammerblade is yours and stays: commands of compat/hb-pytorch that use it are at compat/hb-pytorch/hammerblade\n")
    assert kernel.read_text() == "mine" and (clone / "c10").is_symlink()


def test_every_link_is_ignored_by_git_or_tracked():
    ignored = (ROOT / ".gitignore").read_text().split()
    for entry in (ROOT / "compat").glob("*/*"):
        if f"/{entry.name}" not in ignored:
            assert (ROOT / entry.name).resolve() == entry, entry
