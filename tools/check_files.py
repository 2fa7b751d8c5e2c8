#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No file is longer than 800 lines, and every header of C++ begins with what it is: check_files.py FILE...

Longer files stand below with the length that they have and may not grow.
"""

import pathlib
import re
import sys

LIMIT = 800
LONGER = {
    "python/facula/nn/modules/module.py": 1020,  # one class
    "python/facula/nn/functional.py": 1011,  # to be divided by what its functions are about
    "python/src/call.cpp": 848,  # to be divided: matching, converting, running
    "src/ops/random.cpp": 806,  # rows of every distribution
}
CASES = re.compile(r"tests/.*_cases\w*\.py")  # one after the other, as many as there are
PROSE = 25  # characters that say something
NAMES_ONLY = ("src/backends/hammerblade/include/bare/",)  # of the C library, for the simulated chip


def contract(text: str) -> str:
    """The comment that a header begins with, without the licence."""
    lines = text.splitlines()[text.startswith("// SPDX") :]
    if lines and lines[0].startswith("/*"):
        return text[text.index("/*") : text.find("*/") + 1]
    kept = next((n for n, line in enumerate(lines) if not line.startswith("//")), len(lines))
    return re.sub(r"[/ ]+", " ", " ".join(lines[:kept]))


def faults(name: str, text: str):
    length = text.count("\n")
    if length > LONGER.get(name, LIMIT) and not CASES.fullmatch(name):
        yield f"{name}: {length} lines, at most {LONGER.get(name, LIMIT)}"
    if name.endswith((".h", ".hpp")) and not name.startswith(NAMES_ONLY) and len(contract(text)) < PROSE:
        yield f"{name}: a header begins with what it is, who owns what, which thread may call it"


def main() -> int:
    found = [fault for name in sys.argv[1:] for fault in faults(name, pathlib.Path(name).read_text())]
    print("\n".join(found) or f"files: {len(sys.argv) - 1}, none too long")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
