# SPDX-License-Identifier: Apache-2.0
"""Records what PyTorch's passes make of our graphs: `python tests/jit/record_passes.py` with PyTorch 2.15 writes
tests/golden/jit/passes.json: {pass: {case: [the graph as parsed and printed, the graph after the pass]}}. A case that PyTorch
refuses is stored with null and its message, and is not compared."""

import json
import pathlib

import torch
from pass_cases import CASES
from pass_cases_more import CASES as MORE


def every():
    """{pass: {case: text}} of both files."""
    return {name: {**CASES.get(name, {}), **MORE.get(name, {})} for name in {**CASES, **MORE}}


def record(name, text):
    try:
        graph = torch._C.parse_ir(text, parse_tensor_constants=True)
        before = str(graph)
        name, _, flags = name.partition("|")
        getattr(torch._C, name)(graph, **{flag: True for flag in flags.split()})
    except Exception as e:
        return [None, str(e).strip().splitlines()[0]]
    return [before, str(graph)]


def main():
    out = {name: {case: record(name, text) for case, text in cases.items()} for name, cases in every().items()}
    for name, cases in out.items():
        for case, (before, after) in cases.items():
            if before is None:
                print(name, case, after)
    total = sum(before is not None for cases in out.values() for before, _ in cases.values())
    path = pathlib.Path(__file__).parent.parent / "golden/jit/passes.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(out, indent=1) + "\n")
    print(f"{total} cases")


if __name__ == "__main__":
    main()
