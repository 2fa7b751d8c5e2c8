#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python pytest_runner.py [FILE ...]: the tests of the HammerBlade device, with the build of this tree. A file is looked for
where it is named, in hammerblade/torch/tests and among the tests that come along; without files both folders are run."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
OWN, PORT = ROOT / "tests" / "hammerblade", HERE / "tests"


def found(name: str) -> pathlib.Path | None:
    path, _, test = name.partition("::")
    places = (pathlib.Path(path).absolute(), PORT / path, OWN / path, PORT / pathlib.Path(path).name, OWN / pathlib.Path(path).name)
    file = next((place for place in places if place.exists()), None)
    return pathlib.Path(f"{file}::{test}") if file and test else file


def main(given: list[str]) -> int:
    files = [arg for arg in given if not arg.startswith("-")]
    places = {arg: found(arg) for arg in files}
    for arg, place in places.items():
        if place is None:
            print(f"pytest_runner.py: there is no test file {arg}, nor in {PORT} or {OWN}", file=sys.stderr)
            return 2
    tests = [str(places[arg]) if arg in places else arg for arg in given]
    if not files:
        tests += [str(OWN), *([str(PORT)] if any(PORT.glob("test_*.py")) else [])]
    return subprocess.call([str(ROOT / "tools" / "pytest.sh"), str(ROOT / "build" / "release"), sys.executable, "-v", *tests], cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
