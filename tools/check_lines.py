#!/usr/bin/env python3
"""No line of C++ is longer than 120 characters: check_lines.py FILE...

clang-format breaks code there, but leaves comments and strings as they are. Tables that stand between
`// clang-format off` and `on` are wider on purpose.
"""

import pathlib
import sys

LIMIT = 120


def long_lines(text):
    laid_out_by_hand = False
    for number, line in enumerate(text.splitlines(), 1):
        if "// clang-format off" in line or "// clang-format on" in line:
            laid_out_by_hand = "off" in line
        elif len(line) > LIMIT and not laid_out_by_hand:
            yield number, len(line)


def main():
    breaches = 0
    for name in sys.argv[1:]:
        for number, length in long_lines(pathlib.Path(name).read_text()):
            print(f"{name}:{number}: {length} characters, at most {LIMIT}")
            breaches += 1
    print(f"lines: {len(sys.argv) - 1} files, {breaches} breaches")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
