#!/usr/bin/env python3
"""No constructor runs before main: check_start_up.py BUILD

Looks into every object of ours in BUILD for start-up functions, and names the object. Registration is
an ordinary call in one place, so order can never matter.
"""

import pathlib
import subprocess
import sys

# Objects that are not ours; the sampler, which is preloaded into programs in order to start before them; the engine over
# Gloo, which is loaded when a group is made, and whose headers bring <iostream>; and kernels of check mode:
# -fsanitize=thread adds a constructor that calls __tsan_init, which is empty here.
FOREIGN = ("nanobind", "facula_sampler.dir", "facula_gloo.dir", "facula_mpi.dir", "_check.dir")


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release")
    objects = [
        p
        for p in sorted(build.glob("CMakeFiles/*/**/*.o"))
        if not any(name in str(p) for name in FOREIGN) and "facula_tests.dir" not in str(p)
    ]
    if not objects:
        print(f"start-up: no objects under {build}; build first")
        return 1
    found = []
    for i in range(0, len(objects), 64):
        batch = objects[i : i + 64]
        sections = subprocess.run(["readelf", "-SW", *map(str, batch)], capture_output=True, text=True).stdout
        current = str(batch[0])
        for line in sections.splitlines():
            if line.startswith("File: "):
                current = line[6:]
            # -fsanitize=address adds one constructor to every object; those belong to the sanitizer.
            elif ".init_array" in line and ".rela" not in line or " .ctors" in line:
                found.append(current)
    for name in sorted(set(found)):
        symbols = subprocess.run(["nm", "-C", name], capture_output=True, text=True).stdout
        starts = [s.split(" ", 2)[-1] for s in symbols.splitlines() if "_GLOBAL__sub_I" in s]
        print(f"{name}: runs before main: {', '.join(starts) or 'a constructor attribute'}")
    print(f"start-up: {len(objects)} objects, {len(set(found))} with start-up code")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
