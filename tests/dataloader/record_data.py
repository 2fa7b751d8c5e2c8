# SPDX-License-Identifier: Apache-2.0
"""Records what PyTorch's torch.utils.data answers: python tests/dataloader/record_data.py, in an environment with PyTorch."""
import json
import pathlib
import warnings

import data_cases
import datapipe_cases
import torch

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for file, module in (("data.json", data_cases), ("datapipes.json", datapipe_cases)):
        found = {name: data_cases.answer(function) for name, function in module.cases(torch)}
        path = pathlib.Path(__file__).parents[1] / "golden" / file
        path.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}\n")
