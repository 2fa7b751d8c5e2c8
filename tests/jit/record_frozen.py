# SPDX-License-Identifier: Apache-2.0
"""Records what PyTorch's passes make of graphs of frozen modules: `python tests/jit/record_frozen.py` with PyTorch 2.15 writes
tests/golden/jit/frozen.json: {pass: {case: the graph after the pass, tensors' numbers left out}}."""

import json
import pathlib
import re

import frozen_cases
import torch


def plain(text):
    """Without the numbers of tensors, which are compared by running the graph."""
    return re.sub(r"\[value=[^\]]*\[ CPU\w+Type\{[\d,]*\} \]\]|\[value=\{[^}]*\}\]|\[value=<Tensor>\]", "[value]", text)


def main():
    out = {}
    for name, cases in frozen_cases.CASES.items():
        rows = out[name] = {}
        for case, (text, constants) in cases.items():
            graph = frozen_cases.build(torch, text, constants)
            function, _, flag = name.partition("|")
            getattr(torch._C, function)(graph, *([flag == "True"] if flag else []))
            rows[case] = plain(str(graph))
    (pathlib.Path(__file__).parent.parent / "golden/jit/frozen.json").write_text(json.dumps(out, indent=1) + "\n")
    print(sum(map(len, out.values())), "cases")


if __name__ == "__main__":
    main()
