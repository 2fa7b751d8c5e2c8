#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python pytest_runner.py [FILE ...]: the tests of the HammerBlade device, with the build of this tree."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main(given: list[str]) -> int:
    own, yours = ROOT / "tests" / "hammerblade", ROOT / "hammerblade" / "torch" / "tests"

    def place(name: str) -> str:
        return str(next((f / name for f in (yours, own) if (f / name).exists()), own / name))

    tests = [arg if arg.startswith("-") else place(pathlib.Path(arg).name) for arg in given]
    if not any(not arg.startswith("-") for arg in given):
        tests += [str(own), *([str(yours)] if any(yours.glob("test_*.py")) else [])]
    return subprocess.call([str(ROOT / "tools" / "pytest.sh"), str(ROOT / "build" / "release"), sys.executable, "-v", *tests], cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
