# SPDX-License-Identifier: Apache-2.0
"""Records what PyTorch's torch.utils.data answers: python tests/dataloader/record_data.py, in an environment with PyTorch."""
import json
import pathlib
import warnings

import torch
from data_cases import answer, cases

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = {name: answer(function) for name, function in cases(torch)}
    path = pathlib.Path(__file__).parents[1] / "golden" / "data.json"
    path.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}\n")
