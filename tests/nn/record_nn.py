# SPDX-License-Identifier: Apache-2.0
"""Records what PyTorch's modules do: python tests/nn/record_nn.py, in an environment with PyTorch (writes golden/nn.npz).

`index` is JSON: signatures of all classes, names of all namespaces, and for each case its repr, the keys of its state
and its tensors as [name, dtype, shape, where its values begin]; `values` are all of them as float32, end to end.
"""
import json
import pathlib
import warnings

import numpy as np
from nn_cases import CASES, outcome, signature

FILE = pathlib.Path(__file__).parents[1] / "golden" / "nn.npz"
NAMESPACES = ("nn", "nn.init", "nn.parameter", "nn.utils", "nn.utils.rnn", "nn.utils.parametrize", "nn.utils.parametrizations", "nn.utils.prune",
              "nn.utils.stateless", "nn.utils.fusion", "nn.parallel", "nn.attention", "nn.modules.utils")  # fmt: skip


def public(module):
    """What a namespace offers: its __all__, or what is not imported from elsewhere."""
    return sorted(getattr(module, "__all__", None) or
                  [n for n, v in vars(module).items() if not n.startswith("_") and (getattr(v, "__module__", "") or "").startswith("torch.nn")])  # fmt: skip


if __name__ == "__main__":
    import importlib

    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    values, count, cases = [], 0, {}
    for case in CASES:
        if case.inputs is None:
            module = case.module(torch)
            cases[case.name] = [repr(module), list(module.state_dict()), []]
            continue
        text, keys, found = outcome(torch, case)
        rows = []
        for name, t in found.items():
            rows.append([name, str(t.dtype), list(t.shape), count])
            values.append(t.detach().float().reshape(-1).numpy())
            count += t.numel()
        cases[case.name] = [text, keys, rows]
    classes = {n: signature(c) for n, c in vars(torch.nn).items() if isinstance(c, type) and issubclass(c, torch.nn.Module)}
    names = {n: public(importlib.import_module(f"torch.{n}")) for n in NAMESPACES}
    index = {"torch": torch.__version__, "classes": classes, "names": names, "cases": cases}
    np.savez_compressed(FILE, index=np.frombuffer(json.dumps(index, separators=(",", ":")).encode(), np.uint8), values=np.concatenate(values))
    print(f"{len(cases)} cases of {len({c.cls for c in CASES})} classes, {count} values, {FILE.stat().st_size} bytes")
    print("classes without a case:", sorted(set(classes) - {c.cls for c in CASES}))
