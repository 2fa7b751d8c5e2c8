# SPDX-License-Identifier: Apache-2.0
"""Records which graphs PyTorch runs for the calls of executor_cases.py, and what it logs meanwhile, into golden/jit/executor.json.

    python tests/jit/record_executor.py      # with PyTorch; test_executor.py runs it here, into a file of its own
"""

import json
import os
import pathlib
import re
import sys
import tempfile
import warnings

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
GOLDEN = HERE.parent / "golden/jit/executor.json"
CALLS = 3


def without_paths(text):
    """Nor with places in PyTorch's own built-in functions."""
    return re.sub(r" # <string>:\d+:\d+", "", re.sub(r'[^\s"]*/executor_cases\.py', "executor_cases.py", text))


def inputs(make, grad):
    import torch

    return [a.requires_grad_() if grad and isinstance(a, torch.Tensor) else a for a in make()]


def plans(fn, make, grad):
    """The text of the graph that each call ran; null where it is that of the call before."""
    import torch

    compiled = torch.jit.script(fn)
    compiled._debug_flush_compilation_cache()
    out, before = [], None
    for _ in range(CALLS):
        compiled(*inputs(make, grad))
        text = without_paths(str(torch.jit.last_executed_optimized_graph()))
        out.append(None if text == before else text)
        before = text
    return out


def logged(option, run):
    """The log lines of a call, without line numbers, addresses and what PyTorch's own functions do."""
    import torch

    with tempfile.TemporaryFile() as file:
        sys.stderr.flush()
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        torch._C._jit_set_logging_option(option)
        try:
            run()
        finally:
            torch._C._jit_set_logging_option("")
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        text = file.read().decode()
    text = re.sub(r"^\[(\w+ \w+\.cpp):\d+\]", r"[\1]", without_paths(text), flags=re.M)
    # Messages begin where no graph goes on. What is folded runs as a plan of its own there, with hardly a pass.
    messages, own = [], True
    for line in text.splitlines():
        content = line.partition("] ")[2]
        if not content.startswith(("graph(", "  ", "with ")) and not re.match(r"\s|$", content):
            own = not re.search(r"Running Profiling|runNooptPassPipeline|After LowerGradOf, before RemoveExpands|NoOpt Graph", content)
        if own:
            messages.append(line.rstrip())
    return messages


def main():
    warnings.simplefilter("ignore")
    import torch
    from executor_cases import CASES, pointwise

    out = {"plans": {fn.__name__: {mode: plans(fn, make, mode == "grad") for mode in ("plain", "grad")} for fn, make in CASES}}
    compiled = torch.jit.script(pointwise)  # PyTorch's own functions are compiled by now
    out["original"] = without_paths(str(compiled.inlined_graph))
    x = torch.ones(2, 3)
    for name in ("profiling_graph_executor_impl", "dead_code_elimination"):
        compiled._debug_flush_compilation_cache()
        out[name] = [logged(">>" + name, lambda: compiled(x, x)) for _ in range(CALLS)]
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else GOLDEN
    path.write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
