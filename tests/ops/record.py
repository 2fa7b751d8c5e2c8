# SPDX-License-Identifier: Apache-2.0
"""Records what PyTorch answers for every row of the table: python tests/ops/record.py [family ...]

Needs an environment with PyTorch and NumPy. Writes tests/golden/ops/<family>.npz and manifest.json.
"""
import json
import sys
import warnings

import numpy as np
from golden import FOLDER, Writer, fingerprint, flatten, is_tensor, memory, short
from opspec import Make, resolve, resolve_reference, select
from table import ROWS


def tensors(torch, sample):
    return [x for x in flatten(torch, [*sample.args, *sample.kwargs.values()]) if is_tensor(torch, x)]


def outcome(torch, writer, run, inputs, values=True):
    """The entry for one call."""
    try:
        result = run()
    except Exception as error:  # whatever PyTorch raises is the answer
        return {"e": type(error).__name__, "m": str(error).split("\nException raised from")[0][:600]}
    taken = {memory(x) for x in inputs}
    return [writer.describe(torch, x, taken, values) for x in flatten(torch, result)]


def run_inplace(op, function, sample):
    if op.reference:
        return sample.args[0].copy_(function(*sample.args, **sample.kwargs))
    if op.inplace == "inplace=":
        return function(*sample.args, **sample.kwargs, inplace=True)
    return getattr(sample.args[0], op.inplace)(*sample.args[1:], **sample.kwargs)


def weights(torch, make, x):
    """Fixed gradients of the outputs."""
    n = x.numel()
    values = 0.5 + (np.arange(n) * 7 % 11) / 8.0
    if short(x.dtype) in ("c64", "c128"):
        values = values + 1j * (0.25 - (np.arange(n) * 5 % 7) / 8.0)
    return make.wrap(values.reshape(tuple(x.shape)), short(x.dtype))


def with_grad(torch, sample, positions):
    """A copy of the sample whose floating tensors are fresh leaves that need a gradient, and these leaves."""
    leaves = []

    def renew(x, wanted=True):
        if is_tensor(torch, x):
            if wanted and (x.is_floating_point() or x.is_complex()):
                x = x.detach().requires_grad_(True)
                leaves.append(x)
            return x
        if isinstance(x, (tuple, list)) and type(x).__name__ != "Size":
            return type(x)([renew(y, wanted) for y in x])
        return x
    args = [renew(x, positions is None or i in positions) for i, x in enumerate(sample.args)]
    kwargs = {k: renew(x, positions is None or k in positions) for k, x in sample.kwargs.items()}
    return args, kwargs, leaves


def gradient(torch, op, function, sample, make):
    """First gradients of all floating inputs, weighted by `weights`; None when nothing is differentiable."""
    args, kwargs, leaves = with_grad(torch, sample, op.grad_args)
    outputs = [x for x in flatten(torch, function(*args, **kwargs)) if is_tensor(torch, x) and x.requires_grad]
    if not leaves or not outputs:
        return None
    return torch.autograd.grad(outputs, leaves, [weights(torch, make, x) for x in outputs], allow_unused=True)


def record(torch, op, writer):
    function = resolve_reference(torch, op)
    index = writer.index
    for dtype in op.dtypes:
        for sample in select(op, torch, dtype):
            key = f"{op.name}/{dtype}/{sample.label}"
            index[key] = outcome(torch, writer, lambda: function(*sample.args, **sample.kwargs), tensors(torch, sample), op.values)
            index[key + "#inputs"] = fingerprint(torch, sample)
            if op.grad and sample.slope and dtype in ("f64", "c128") and isinstance(index[key], list):
                try:
                    grads = gradient(torch, op, function, sample, Make(torch, op.name))
                except (RuntimeError, NotImplementedError) as error:
                    print(f"{key}: PyTorch has no gradient: {str(error)[:100]}")
                    continue
                if grads is not None:
                    index[key + "#grad"] = [writer.describe(torch, g) for g in grads]
        if op.inplace:
            for sample in select(op, torch, dtype):
                if sample.inplace:
                    key = f"{op.name}/{dtype}/{sample.label}#inplace"
                    index[key] = outcome(torch, writer, lambda: run_inplace(op, function, sample), tensors(torch, sample))
    if op.errors:
        for number, error in enumerate(op.errors(torch, Make(torch, op.name))):
            if op.reference and not error.call:  # nothing to ask PyTorch: the row's own words count
                index[f"{op.name}#error.{number}"] = {"e": error.type, "m": " ".join(error.words)}
                continue
            function = resolve(torch, error.call or op.call)
            entry = outcome(torch, writer, lambda: function(*error.args, **error.kwargs), ())
            index[f"{op.name}#error.{number}"] = entry
            if isinstance(entry, list):
                print(f"{op.name}: error input {number} is no error for PyTorch")


def main(families):
    import torch
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    FOLDER.mkdir(parents=True, exist_ok=True)
    groups = {}
    for op in ROWS:
        groups.setdefault(op.group, []).append(op)
    for name, rows in groups.items():
        if families and name not in families:
            continue
        writer = Writer()
        for op in rows:
            record(torch, op, writer)
        writer.save(FOLDER / f"{name}.npz")
        print(f"{name}: {len(rows)} rows, {len(writer.index)} entries, {(FOLDER / f'{name}.npz').stat().st_size} bytes")
    manifest = {"torch": torch.__version__, "numpy": np.__version__,
                "families": {name: [op.name for op in rows] for name, rows in groups.items()}}
    (FOLDER / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
