# SPDX-License-Identifier: Apache-2.0
"""Records what PyTorch makes of script_cases*.py into golden/jit/script.json: trees, graphs, schemas, values, errors.

    python tests/jit/record_script.py        # with PyTorch; test_script.py runs it here, into a file of its own
"""

import json
import pathlib
import re
import sys
import warnings

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
GOLDEN = HERE.parent / "golden/jit/script.json"


def rounded(v):
    """Numbers of a tensor without the last digits, in which two libraries' functions differ."""
    return [rounded(x) for x in v] if isinstance(v, list) else float(f"{v:.5g}") if isinstance(v, float) else v


def plain(v):
    """A value as text that two libraries can agree on."""
    import torch

    if isinstance(v, torch.Tensor):
        return f"{v.dtype} {rounded(v.tolist())}"
    if hasattr(v, "wait"):
        return f"Future({plain(v.wait())})"
    if isinstance(v, (list, tuple)):
        return f"{'list' if isinstance(v, list) else 'tuple'}({', '.join(map(plain, v))})"
    if isinstance(v, dict):
        return "{" + ", ".join(f"{plain(k)}: {plain(x)}" for k, x in v.items()) + "}"
    return repr(v)


def without_paths(text):
    text = re.sub(r'[^\s"]*/(script_cases\w*\.py)', r"\1", text)
    text = re.sub(r"___torch_mangle_\d+\.", "", text)
    text = re.sub(r" \(of Python compilation unit at: 0x[0-9a-f]+\)", "", text)
    return re.sub(r" at 0x[0-9a-f]+", " at 0x", text)


def describe(fn, args):
    """What becomes of one case."""
    import copy

    import torch
    from torch.jit.frontend import get_jit_def

    out = {}
    if args is None:
        try:
            out["value"] = plain(fn())
        except Exception as error:
            out["raises"] = f"{type(error).__name__}: {error}"
        return {k: without_paths(v) for k, v in out.items()}
    try:
        out["tree"] = str(get_jit_def(fn, fn.__name__))
        made = torch.jit.script(fn)
        out["graph"] = str(made.graph)
        out["schema"] = str(made.schema)
    except Exception as error:
        out["error"] = f"{type(error).__name__}: {error}"
    else:
        if args or fn.__code__.co_argcount == 0:
            try:
                out["value"] = plain(made(*copy.deepcopy(args)))
            except Exception as error:
                out["raises"] = f"{type(error).__name__}: {error}"
    return {k: without_paths(v) for k, v in out.items()}


def main():
    warnings.simplefilter("ignore")
    import script_cases
    import script_cases_classes
    import script_cases_language

    done = {}
    for module in (script_cases, script_cases_classes, script_cases_language):
        for fn, args in module.CASES:
            assert fn.__name__ not in done, f"two cases are called {fn.__name__}"
            done[fn.__name__] = describe(fn, args)
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else GOLDEN
    out.write_text(json.dumps(done, indent=1) + "\n")


if __name__ == "__main__":
    main()
