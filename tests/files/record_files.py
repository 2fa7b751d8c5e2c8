# SPDX-License-Identifier: Apache-2.0
"""Records the files that PyTorch writes, and what is in them: python tests/files/record_files.py [OBJECT ...]

Needs an environment with PyTorch and, unless objects are named, safetensors. Writes tests/golden/files.
"""
import json
import pathlib
import sys

import torch
from saved_objects import NO_LEGACY, OBJECTS, described, tensors

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "golden" / "files"
FOLDER.mkdir(exist_ok=True)
known = FOLDER / "expected.json"
expected = json.loads(known.read_text()) if sys.argv[1:] else {}
for name in sys.argv[1:] or OBJECTS:
    obj = OBJECTS[name](torch)
    expected[name] = described(torch, obj)
    torch.save(obj, FOLDER / f"{name}.pt")
    if name not in NO_LEGACY:
        torch.save(obj, FOLDER / f"{name}_legacy.pt", _use_new_zipfile_serialization=False)
known.write_text(json.dumps(expected, separators=(",", ":")) + "\n")
if not sys.argv[1:]:
    from safetensors.torch import save_file

    torch.save(OBJECTS["containers"](torch), FOLDER / "containers_protocol5.pt", pickle_protocol=5)
    save_file(tensors(torch), FOLDER / "tensors.safetensors", metadata={'k"': "vä\n"})
