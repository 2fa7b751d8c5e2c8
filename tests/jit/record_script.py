# SPDX-License-Identifier: Apache-2.0
"""Records what PyTorch makes of script_cases.py into golden/jit/script.json: trees, graphs, schemas, values, errors.

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


def plain(v):
    """A value as text that two libraries can agree on."""
    import torch

    if isinstance(v, torch.Tensor):
        return f"{v.dtype} {v.tolist()}"
    if isinstance(v, (list, tuple)):
        return f"{'list' if isinstance(v, list) else 'tuple'}({', '.join(map(plain, v))})"
    if isinstance(v, dict):
        return "{" + ", ".join(f"{plain(k)}: {plain(x)}" for k, x in v.items()) + "}"
    return repr(v)


def without_paths(text):
    return re.sub(r'[^\s"]*/script_cases\.py', "script_cases.py", text)


def describe(fn, args):
    """What becomes of one case."""
    import copy

    import torch
    from torch.jit.frontend import get_jit_def

    out = {}
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
                out["raises"] = f"{type(error).__name__}: {str(error).strip().splitlines()[-1]}"
    return {k: without_paths(v) for k, v in out.items()}


def main():
    warnings.simplefilter("ignore")
    from script_cases import CASES

    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else GOLDEN
    out.write_text(json.dumps({fn.__name__: describe(fn, args) for fn, args in CASES}, indent=1) + "\n")


if __name__ == "__main__":
    main()
