#!/usr/bin/env python3
"""Includes point one way, form no cycle and stay light; public headers include public headers only.

The order is design's: a folder may include itself and what stands above it in ORDER. Exits with 1 and
names file, line and rule for every breach. `--report` prints how many headers each source reaches.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
for argument in sys.argv[1:]:
    if not argument.startswith("-"):
        ROOT = pathlib.Path(argument)  # another tree, for this check's own tests
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)

# A folder may use those on earlier lines; folders on one line do not know each other.
ORDER = [
    ["src/core"],
    ["src/dispatch"],
    ["src/kernels"],
    ["src/define"],
    ["src/plan"],
    ["src/ops"],
    ["src/autograd"],
    ["src/backends"],
    ["src/observe", "src/files", "src/libraries"],
    ["src/jit"],
    ["src/distributed"],
    ["src/front"],
    ["src/nn", "src/optim", "src/data"],
    ["src/watch"],  # a library that programs without Python are watched with
    ["src/sampler"],  # libraries of their own, which include nothing of the others
]
PUBLIC = "include/facula"
# The C++ front. Everything else that is public (the types it stands on, the plugin contract) anything may include.
FRONT = tuple(f"{PUBLIC}/{name}" for name in ("facula.h", "jit.h", "tensor.h", "front.h", "types.h"))
# The plugin contract is plain C for outsiders: it includes nothing of ours.
CONTRACT = tuple(f"{PUBLIC}/{name}" for name in ("backend.h", "backend.hpp", "families.h", "opcodes.h", "random.hpp"))
CONTRACT_FOLDERS = (f"{PUBLIC}/opcodes/", f"{PUBLIC}/formulas/")
GENERATED = tuple(f"facula/{name}" for name in ("methods.h", "functions.h"))

# Kept out of headers that everyone reads: each costs a third of a second per source.
HEAVY = {"functional", "iostream", "sstream", "regex", "ranges", "thread", "filesystem", "chrono", "complex", "map",
         "unordered_map", "future", "random"}  # fmt: skip
LIGHT_FOLDERS = ("src/core", PUBLIC)
# Headers that are about such a thing by nature, with the reason.
HEAVY_ALLOWED = {f"{PUBLIC}/backend.hpp": ("complex",)}  # devices in C++ compute with complex numbers


def in_contract(path):
    return path in CONTRACT or path.startswith(CONTRACT_FOLDERS)


def rank(path):
    if path.startswith(PUBLIC):
        return (rank("src/front/")[0], "the C++ front") if path in FRONT else (-1, PUBLIC)
    for i, folders in enumerate(ORDER):
        for folder in folders:
            if path.startswith(folder + "/"):
                return i, folder
    return None


def sources():
    for base in ("src", "include"):
        for path in sorted((ROOT / base).rglob("*")):
            if path.suffix in (".h", ".cpp", ".hpp"):
                yield path.relative_to(ROOT).as_posix()


def resolve(name, origin):
    """The file of ours that an include names, or None."""
    for base in (pathlib.PurePosixPath(origin).parent.as_posix(), "src", "include"):
        candidate = pathlib.PurePosixPath(base) / name
        if (ROOT / candidate).is_file():
            return candidate.as_posix()
    return None


def main():
    graph, breaches = {}, []
    for path in sources():
        text = (ROOT / path).read_text()
        graph[path] = []
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1 if match.start() else 1
            name = match.group(2)
            target = resolve(name, path)
            if target:
                graph[path].append(target)
                here, there = rank(path), rank(target)
                if in_contract(path) and not in_contract(target):
                    breaches.append(f"{path}:{line}: the plugin contract includes {target}")
                if path.startswith(PUBLIC) and not target.startswith(PUBLIC):
                    breaches.append(f"{path}:{line}: a public header includes {target}, which is not")
                if not here or not there or here[1] == there[1]:
                    continue
                if there[0] > here[0]:
                    breaches.append(f"{path}:{line}: {here[1]} may not include {there[1]} ({name})")
                elif there[0] == here[0] and not {here[1], there[1]} == {"the C++ front", "src/front"}:
                    breaches.append(f"{path}:{line}: {here[1]} and {there[1]} do not know each other ({name})")
            elif path.startswith(LIGHT_FOLDERS) and not path.endswith(".cpp") and name in HEAVY:
                if name not in HEAVY_ALLOWED.get(path, ()):
                    breaches.append(f"{path}:{line}: <{name}> is too heavy for a header that everyone reads")
            elif path.startswith(PUBLIC) and "/" in name and name not in GENERATED:
                breaches.append(f"{path}:{line}: a public header includes {name}, which is not")

    # Cycles: depth first, a file met again on the path closes one.
    done, cycles = set(), []

    def visit(path, trail):
        if path in trail:
            cycles.append(" -> ".join(trail[trail.index(path) :] + [path]))
        elif path not in done:
            done.add(path)
            for target in graph.get(path, ()):
                visit(target, trail + [path])

    for path in graph:
        visit(path, [])
    breaches += [f"include cycle: {cycle}" for cycle in cycles]

    if "--report" in sys.argv:
        for path in sorted(graph):
            if path.endswith(".cpp"):
                reached, todo = set(), [path]
                while todo:
                    for target in graph.get(todo.pop(), ()):
                        if target not in reached:
                            reached.add(target)
                            todo.append(target)
                print(f"{len(reached):4d} {path}")
    for breach in breaches:
        print(breach)
    print(f"includes: {len(graph)} files, {len(breaches)} breaches, {len(cycles)} cycles")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
