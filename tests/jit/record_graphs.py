# SPDX-License-Identifier: Apache-2.0
"""Records what PyTorch prints, logs and checks: `python tests/jit/record_graphs.py` with PyTorch 2.15 writes tests/golden/jit/graphs.json."""

import json
import os
import pathlib
import re
import subprocess
import sys

import graph_cases
import torch
from torch.testing import FileCheck  # noqa: F401


def parsed(text):
    try:
        return str(torch._C.parse_ir(text))
    except RuntimeError:
        return None


def constant(expression):
    graph = torch._C.Graph()
    graph.registerOutput(graph.insertConstant(eval(expression)))
    return str(graph)


PROGRAM = "import torch, sys, graph_cases\ng = torch._C.parse_ir(graph_cases.LOG_GRAPHS[sys.argv[2]])\ngetattr(torch._C, sys.argv[1])(g)\n"


def logged(level, name, graph):
    done = subprocess.run([sys.executable, "-c", PROGRAM, name, graph], env={**os.environ, "PYTORCH_JIT_LOG_LEVEL": level, "PYTHONPATH": str(pathlib.Path(__file__).parent)}, capture_output=True, text=True, check=True)
    return [re.sub(r"(\.cpp:)\d+\]", r"\g<1>001]", line) for line in done.stderr.splitlines() if line.startswith("[")]


def checked(expression):
    try:
        eval(expression)
    except RuntimeError as e:
        return str(e)
    return None


def main():
    out = {
        "parse": {name: parsed(text) for name, text in graph_cases.TEXTS.items()},
        "constants": {c: constant(c) for c in graph_cases.CONSTANTS},
        "logs": {name: logged(*row) for name, row in graph_cases.LOGS.items()},
        "checks": {c: checked(c) for c in graph_cases.CHECKS},
    }
    print({k: [n for n, v in rows.items() if v is None] for k, rows in out.items() if k == "parse"}, {k: len(v) for k, v in out.items()})
    (pathlib.Path(__file__).parent.parent / "golden/jit/graphs.json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
