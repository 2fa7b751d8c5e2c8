# SPDX-License-Identifier: Apache-2.0
"""Records the losses of examples/programs in an environment with PyTorch: python tests/golden/record_programs.py."""

import importlib
import json
import pathlib
import sys

import torch

HERE = pathlib.Path(__file__).parent
PROGRAMS = HERE.parents[1] / "examples" / "programs"
STEPS = {"dcgan": 10}

sys.path.insert(0, str(PROGRAMS))
torch.set_num_threads(1)
names = sorted(p.stem for p in PROGRAMS.glob("[a-z]*.py"))
losses = {name: list(importlib.import_module(name).train(STEPS.get(name, 50))) for name in names}
lines = [f'"{name}": {json.dumps(values)}' for name, values in losses.items()]
(HERE / "programs.json").write_text(f'{{"torch": "{torch.__version__}",\n' + ",\n".join(lines) + "}\n")
