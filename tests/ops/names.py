# SPDX-License-Identifier: Apache-2.0
"""Records what PyTorch calls the nodes of its backward graph: python tests/ops/names.py (writes golden/grad_fn.json).

Programs print these names and look for them. The table maps "row/label" to the names of the results' nodes, for the
float64 samples of every row that has a gradient.
"""
import json
import pathlib
import warnings

from golden import flatten, is_tensor
from opspec import resolve, select
from record import with_grad
from table import ROWS

FILE = pathlib.Path(__file__).parents[1] / "golden" / "grad_fn.json"


def names(torch, op):
    """{label: names of the results' nodes}; labels that this module cannot differentiate are left out."""
    out = {}
    function = resolve(torch, op.call)
    for sample in select(op, torch, "f64"):
        args, kwargs, leaves = with_grad(torch, sample, op.grad_args)
        try:
            results = flatten(torch, function(*args, **kwargs))
        except (RuntimeError, NotImplementedError, ValueError, IndexError, TypeError):
            continue
        found = [x.grad_fn.name().split("::")[-1] for x in results
                 if is_tensor(torch, x) and x.requires_grad and x.grad_fn is not None]
        if leaves and found:
            out[sample.label] = found
    return out


if __name__ == "__main__":
    import torch
    warnings.simplefilter("ignore")
    table = {f"{op.name}/{label}": found for op in ROWS if op.grad and "f64" in op.dtypes for label, found in names(torch, op).items()}
    FILE.write_text(json.dumps({"torch": torch.__version__, "names": table}, separators=(",", ":"), sort_keys=True) + "\n")
    print(f"{len(table)} samples")
