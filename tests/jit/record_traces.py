# SPDX-License-Identifier: Apache-2.0
"""Records what PyTorch's traces are: `python tests/jit/record_traces.py` with PyTorch 2.15 writes tests/golden/jit/traces.json:
{case: {"graph": text, "warnings": [texts]}} or {case: {"error": [type, text]}}. Source comments that name other files than the
cases' are left out, and the cases' file is named without its folder."""

import json
import pathlib
import re
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import trace_cases

COMMENT = re.compile(r" # (\S+):(\d+):(\d+)$", re.MULTILINE)


def plain(text):
    """Comments of the cases' file only."""
    return COMMENT.sub(lambda m: f" # trace_cases.py:{m[2]}:{m[3]}" if m[1].endswith("trace_cases.py") else "", text)


def graph_of(torch, case):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            options = dict(case.options)
            if "force_outplace" in options:
                options["_force_outplace"] = options.pop("force_outplace")
            inputs = case.inputs[0] if len(case.inputs) == 1 and isinstance(case.inputs[0], torch.Tensor) else case.inputs
            traced = torch.jit.trace(case.function, inputs, check_trace=False, **options)
        except Exception as e:
            return {"error": [type(e).__name__, str(e).strip()]}
    if isinstance(case.function, torch.nn.Module):
        return {"graph": plain("".join(methods(traced))), "warnings": []}
    said = [str(w.message) for w in caught if issubclass(w.category, torch.jit.TracerWarning)]
    return {"graph": plain(str(traced.graph)), "warnings": said}


def methods(module, name="module"):
    """The graphs of all methods of a traced module and of what it consists of."""
    for method in sorted(module._c._method_names()):
        text = re.sub(r"___torch_mangle_\d+\.", "", str(module._c._get_method(method).graph))
        yield f"{name}.{method}: {text}"
    for child, inner in module.named_children():
        yield from methods(inner, f"{name}.{child}")


def main():
    import torch

    # each with inputs of its own: some cases write them
    out = {name: graph_of(torch, trace_cases.make(torch)[name]) for name in trace_cases.make(torch)}
    path = pathlib.Path(__file__).parent.parent / "golden/jit/traces.json"
    path.write_text(json.dumps(out, indent=1) + "\n")
    print(len(out), "cases,", sum("error" in v for v in out.values()), "errors")


if __name__ == "__main__":
    main()
