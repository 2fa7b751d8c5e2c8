# SPDX-License-Identifier: Apache-2.0
"""Records what PyTorch's types answer: `python tests/jit/record_types.py` with PyTorch 2.15 writes tests/golden/jit/types.json."""

import json
import pathlib

import torch
import type_cases

path = pathlib.Path(__file__).parent.parent / "golden/jit/types.json"
path.write_text(json.dumps(type_cases.answers(torch), indent=1) + "\n")
