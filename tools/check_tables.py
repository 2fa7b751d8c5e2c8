#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Facts about operators stand on their rows (src/define/row.h): no other place holds a table of operators' names.

A table is a list in braces, brackets or one string whose entries are, for the most part, names of rows of src/ops. Exits with 1
and names file, line and the first names. `check_tables.py ROOT` looks at another tree, for this check's own tests.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
LEAST = 6  # names that make a table
# Where names are not facts about operators, or not yet on the rows.
EXCEPTIONS = {
    "src/ops": "the rows",
    "src/libraries": "rows of libraries",
    "src/backends": "a backend says which operators it has kernels for",
    "src/jit": "passes over graphs look for the patterns that PyTorch's look for",
    "src/distributed": "names of collectives",
    "python/facula/func": "rules of vmap, until a row has `batch`",
    "python/facula/jit": "as src/jit",
    "python/facula/conformance.py": "inputs that functions are probed with",
    "python/facula/distributed/tensor/_rules.py": "how parts of tensors follow, until a row says it",
    "python/facula/masked/__init__.py": "the names that torch.masked has",
    "python/facula/nn/functional.py": "the names that torch.nn.functional has",
}
STRING = re.compile(r'"((?:aten::)?[a-z_][a-z0-9_]*?)_?(?:\.[A-Za-z_]+)?"')
LIST = re.compile(r"[{\[(]([^{}\[\]()]*)[}\])]")


def operator_names(root: pathlib.Path) -> set[str]:
    names = set()
    for file in (root / "src" / "ops").glob("*.cpp"):
        names |= set(re.findall(r'\.(?:schema|name) =\s*"(\w+)[.("]', file.read_text()))
    return {n for n in names if len(n) > 2}


def tables(text: str, known: set[str]):
    for found in LIST.finditer(text):
        inside = found.group(1)
        names = [m.removeprefix("aten::") for m in STRING.findall(inside)]
        if len(names) < LEAST and (one := re.fullmatch(r'\s*"([\w \n]+)"\s*', inside)):
            names = one.group(1).split()
        ours = [n for n in names if n in known]
        if len(ours) >= LEAST and len(ours) * 4 >= len(names) * 3:
            yield text.count("\n", 0, found.start()) + 1, ours


def main() -> int:
    known, bad = operator_names(ROOT), []
    for folder, kinds in (("src", ("*.cpp", "*.h")), ("python/src", ("*.cpp", "*.h")), ("python/facula", ("*.py",))):
        for file in sorted(f for kind in kinds for f in (ROOT / folder).rglob(kind)):
            name = str(file.relative_to(ROOT))
            if any(name.startswith(f"{room}/") or name == room for room in EXCEPTIONS):
                continue
            bad += [f"{name}:{line}: a table of {len(ours)} operators ({', '.join(ours[:4])} …): a field of their rows says it" for line, ours in tables(file.read_text(), known)]
    print("\n".join(bad) or f"tables of operators: none ({len(known)} names known)")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
