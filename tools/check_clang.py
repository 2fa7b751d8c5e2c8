#!/usr/bin/env python3
"""The second compiler agrees: check_clang.py BUILD

Reads every source of ours with clang, as BUILD's compile commands say but without making code. Any warning fails.
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What gcc was told and clang need not hear.
DROPPED = ("-o", "-c", "-fopenmp", "-g", "-march", "-mprefer-vector-width", "-Wno-psabi", "-fno-semantic-interposition")


def command(entry):
    words = shlex.split(entry["command"])
    while not words[0].endswith(("++", "cc", "g++-12")) or "ccache" in words[0]:
        words.pop(0)
    kept, skip = [], False
    for word in words[1:]:
        if skip:
            skip = False
        elif word == "-o":
            skip = True
        elif not word.startswith(DROPPED):
            kept.append(word)
    return ["clang++", "-fsyntax-only", "-Werror", "-Wno-unknown-warning-option", *kept]


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release")
    entries = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        # One instruction set of three is enough: the sources are the same.
        if entry["file"].startswith(str(ROOT)) and "site-packages" not in entry["file"]:
            entries.setdefault(entry["file"], entry)

    def read(entry):
        return subprocess.run(command(entry), cwd=entry["directory"], capture_output=True, text=True)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, done in zip(entries, pool.map(read, entries.values())):
            if done.returncode:
                failed += 1
                print(f"{os.path.relpath(name, ROOT)}:\n{done.stderr[:3000]}")
    print(f"{len(entries)} sources, {failed} with warnings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
