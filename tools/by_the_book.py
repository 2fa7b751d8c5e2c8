#!/usr/bin/env python3
"""Does what docs/add-an-operator.md says under "In the tree", in a copy of the tree: by_the_book.py COPY [KIND...]

A block of that section that follows a file's name goes into that file: a row to the end of its table, a formula or a fold to
the end of its list, with the next free number. build_stats.py counts what it costs, tests/test_docs.py compiles it.
"""

import dataclasses
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = "docs/add-an-operator.md"
FORMULAS = "include/facula/formulas"


@dataclasses.dataclass
class Recipe:
    name: str  # of the operator
    files: dict  # what goes into which file

    @property
    def lines(self):
        return sum(len(text.splitlines()) for text in self.files.values())


def recipes(root=ROOT):
    """By kind, which is the name of the source that the row goes into: unary, binary, reduce."""
    section = re.search(r"^## 3\. In the tree.*", (root / PAGE).read_text(), re.S | re.M).group()
    found = {}
    for path, block in re.findall(r"`((?:src|include)/[\w/]+\.(?:cpp|def))`:\n\n((?:    .*\n)+)", section):
        text = re.sub(r"^    ", "", block, flags=re.M)
        if path.startswith("src/ops/"):
            name = re.search(r'"(\w+)', text).group(1)
            recipe = found[pathlib.Path(path).stem] = Recipe(name, {})
        recipe.files[path] = text
    return found


def next_free(root, path):
    """Folds have numbers of their own."""
    folds = "folds" in path
    lists = [f for f in (root / FORMULAS).glob("*.def") if ("folds" in f.name) == folds]
    return 1 + max(int(n) for f in lists for n in re.findall(r"^FC_\w+\((\d+),", f.read_text(), re.M))


def follow(root, recipe):
    """Edits the tree at `root`."""
    for path, text in recipe.files.items():
        old = (root / path).read_text()
        if path.endswith(".def"):
            new = old + re.sub(r"\(\d+,", f"({next_free(root, path)},", text, count=1)
        else:
            end = old.index("\n};\n", old.index(" rows[] = {\n")) + 1
            new = old[:end] + re.sub(r"^", "    ", text, flags=re.M).rstrip(" ") + old[end:]
        (root / path).write_text(new)


def main():
    copy, *kinds = sys.argv[1:]
    found = recipes()
    for kind in kinds or found:
        follow(pathlib.Path(copy), found[kind])
        print(f"{kind}: {found[kind].name}, {len(found[kind].files)} files, {found[kind].lines} lines")


if __name__ == "__main__":
    main()
