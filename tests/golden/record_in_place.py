# SPDX-License-Identifier: Apache-2.0
"""Records in_place.json with PyTorch: python tests/golden/record_in_place.py"""
import json
import pathlib
import sys

import torch

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from in_place_cases import methods, outcomes

table = {name: outcomes(torch, name) for name in methods(torch)}
(HERE / "in_place.json").write_text(json.dumps(table, indent=0) + "\n")
