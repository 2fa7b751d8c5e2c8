# SPDX-License-Identifier: Apache-2.0
"""Records the files that PyTorch writes, and what is in them: python tests/files/record_files.py

Needs an environment with PyTorch and safetensors. Writes tests/golden/files.
"""
import json
import pathlib

import torch
from safetensors.torch import save_file
from saved_objects import NO_LEGACY, OBJECTS, described, tensors

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "golden" / "files"
FOLDER.mkdir(exist_ok=True)
expected = {}
for name, make in OBJECTS.items():
    obj = make(torch)
    expected[name] = described(torch, obj)
    torch.save(obj, FOLDER / f"{name}.pt")
    if name not in NO_LEGACY:
        torch.save(obj, FOLDER / f"{name}_legacy.pt", _use_new_zipfile_serialization=False)
torch.save(OBJECTS["containers"](torch), FOLDER / "containers_protocol5.pt", pickle_protocol=5)
(FOLDER / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")
save_file(tensors(torch), FOLDER / "tensors.safetensors", metadata={'k"': "vä\n"})
