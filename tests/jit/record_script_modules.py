# SPDX-License-Identifier: Apache-2.0
"""Records what PyTorch makes of script_module_cases.py, and which classes of torch.nn it scripts, into golden/jit/.

    python tests/jit/record_script_modules.py [FILE]    # with PyTorch; test_script_modules.py runs it here, into its own file
"""

import json
import pathlib
import re
import sys
import warnings

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "nn")]
GOLDEN = HERE.parent / "golden/jit/script_modules.json"
CLASSES = HERE.parent / "golden/jit/script_nn.json"


def without_paths(text):
    """Text in which only the program's file is named, and no object's address."""
    text = re.sub(r'[^\s"]*/script_module_cases\.py', "script_module_cases.py", text)
    text = re.sub(r" # (?!script_module_cases).*", "", text)
    return re.sub(r"___torch_mangle_\d+\.", "", re.sub(r"0x[0-9a-f]+", "0x", text))


def describe(cls, args):
    import copy

    import torch
    from record_script import plain

    out = {}
    try:
        module = torch.jit.script(cls())
    except Exception as error:
        return {"error": without_paths(f"{type(error).__name__}: {error}")}
    for name in sorted(module._c._method_names()):
        out[name] = without_paths(str(getattr(module, name).graph))
    out["inlined"] = without_paths(str(module.inlined_graph))
    out["code"] = module.code
    out["repr"] = repr(module)
    out["state"] = list(module.state_dict())
    out["names"] = [n for n, _ in module.named_modules()]
    if args is not None:
        try:
            out["value"] = plain(module(*copy.deepcopy(args)))
        except Exception as error:
            out["raises"] = f"{type(error).__name__}: {str(error).strip().splitlines()[-1]}"
    return out


def scripts(torch, case):
    """Whether a class of torch.nn scripts, as it is made in a case."""
    module = case.module(torch)
    if any(torch.nn.parameter.is_lazy(p) for p in module.parameters()):
        args, kwargs = case.arguments(torch)
        module.double()(*args, **kwargs)
    try:
        torch.jit.script(module)
    except Exception:
        return False
    return True


def main():
    warnings.simplefilter("ignore")
    import torch
    from script_module_cases import CASES

    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else GOLDEN
    out.write_text(json.dumps({cls.__name__: describe(cls, args) for cls, args in CASES}, indent=1) + "\n")
    if len(sys.argv) == 1:
        from nn_cases import CASES as CLASS_CASES

        CLASSES.write_text(json.dumps({case.name: scripts(torch, case) for case in CLASS_CASES}, indent=1) + "\n")


if __name__ == "__main__":
    main()
