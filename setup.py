#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command lines of setup.py, over the one CMake build.

    python setup.py install       a wheel into this interpreter's environment (pip does the same: pip install .)
    python setup.py develop       a build in this tree, importable as it stands; --uninstall takes the link away
    python setup.py build         the build alone
    python setup.py bdist_wheel   a wheel into dist/
    python setup.py sdist         the sources into dist/
    python setup.py uninstall     what install and develop put there
    python setup.py clean         every build of this tree

Every switch of cmake/options.cmake is read from the environment (DEBUG=1 USE_MKLDNN=0 MAX_JOBS=4 USE_NINJA=OFF …); the
build says of each what it does, or that it means nothing here. Further arguments of install and bdist_wheel go to pip.

After install and develop `import torch` gives Facula in plain python, pytest and gdb, unless PyTorch is installed as well.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parent
LINK = ROOT / "tools" / "link_environment.py"


def run(*command: object) -> None:
    done = subprocess.run([str(word) for word in command], cwd=ROOT)
    if done.returncode:
        sys.exit(done.returncode if done.returncode > 0 else 1)


def make(target: str) -> None:
    """A target of the Makefile, for this interpreter's environment."""
    if not shutil.which("make"):
        sys.exit("setup.py: make is not installed; `pip install .` does without it")
    run("make", "--no-print-directory", target, f"ENVIRONMENT={sys.prefix}", f"PYTHON={sys.executable}")


def pip(*words: object) -> None:
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", *words)


def check_environment() -> None:
    """A system's own Python is the system's: pip would refuse it after the build."""
    managed = pathlib.Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").exists() or sys.prefix == "/usr"
    if managed and sys.prefix == sys.base_prefix:
        sys.exit(
            f"setup.py: {sys.executable} belongs to the system: activate an environment "
            "(python3 -m venv NAME, then . NAME/bin/activate), or `make build`, which makes one in .venv"
        )


def build_wheel(verb: str, *words: object) -> None:
    """pip over pyproject.toml, whose overrides read DEBUG, REL_WITH_DEB_INFO and USE_NINJA."""
    jobs = os.environ.get("MAX_JOBS") or str(len(os.sched_getaffinity(0)))
    if not jobs.isdecimal() or int(jobs) < 1:
        sys.exit(f"setup.py: MAX_JOBS={jobs}: it is the number of jobs, 1 or more")
    os.environ["CMAKE_BUILD_PARALLEL_LEVEL"] = jobs
    if not os.environ.get("CXX") and shutil.which("c++"):
        os.environ["CXX"] = "c++"  # as make calls it: ccache tells names apart
    # What the build needs is there after `make setup`; otherwise pip fetches it into a folder of its own.
    have = subprocess.run([sys.executable, "-c", "import nanobind, scikit_build_core"], capture_output=True)
    run(ROOT / "tools" / "link_compat.sh")
    pip(verb, "--verbose", *(["--no-build-isolation"] if have.returncode == 0 else []), *words, ROOT)


def install(words: list[str]) -> None:
    check_environment()
    build_wheel("install", *words)
    run(sys.executable, LINK, "--torch-only")


def develop(words: list[str]) -> None:
    if words in (["--uninstall"], ["-u"]):
        run(sys.executable, LINK, "--remove")
        return
    if words:
        sys.exit(f"setup.py: develop takes --uninstall, or nothing; it got {' '.join(words)}")
    check_environment()
    make("develop")
    pip("-qq", "uninstall", "--yes", "facula")  # an installed one would be imported first


def uninstall(words: list[str]) -> None:
    pip("uninstall", "--yes", "facula")
    run(sys.executable, LINK, "--remove")


def bdist_wheel(words: list[str]) -> None:
    build_wheel("wheel", "--no-deps", "--wheel-dir", ROOT / "dist", *words)


def sdist(words: list[str]) -> None:
    run(sys.executable, "-c", "import scikit_build_core.build as b; print('dist/' + b.build_sdist('dist'))")


COMMANDS = {
    "install": install,
    "develop": develop,
    "build": lambda words: make("build"),
    "bdist_wheel": bdist_wheel,
    "sdist": sdist,
    "uninstall": uninstall,
    "clean": lambda words: make("clean"),
}


def main() -> None:
    words = sys.argv[1:]
    if not words or {"-h", "--help", "--help-commands"} & set(words):
        print((__doc__ or "").strip())
    elif words[0] not in COMMANDS:
        sys.exit(f"setup.py: there is no {words[0]!r} (there are {', '.join(COMMANDS)}); python setup.py --help")
    else:
        COMMANDS[words[0]](words[1:])


if __name__ == "__main__":
    main()
