# SPDX-License-Identifier: Apache-2.0
"""Records the steps of PyTorch's optimisers: python tests/optim/record_optim.py, in an environment with PyTorch."""
import json
import pathlib

import optim_cases as cases
import torch

FILE = pathlib.Path(__file__).parents[1] / "golden" / "optim.json"


def record(optimizer, options):
    entry = {}
    for dtype in ("float32", "float64"):
        params, made = cases.run(torch, optimizer, options, dtype)
        entry[dtype] = [x for p in params for x in p.flatten().tolist()]
    entry["state"] = cases.layout(torch, made.state_dict())
    entry["repr"] = repr(made)
    return entry


def record_schedule(case):
    rows, _, scheduler = cases.follow(torch, case)
    return {"rates": rows, "last": scheduler.get_last_lr(), "state": cases.layout(torch, scheduler.state_dict())}


def lines(entries):
    return ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())


if __name__ == "__main__":
    torch.set_num_threads(1)
    steps = {name: record(*case) for name, case in cases.ALL.items()}
    schedules = {name: record_schedule(name) for name in cases.schedulers(torch)}
    FILE.write_text(f'{{"torch": {json.dumps(torch.__version__)}, "cases": {{\n{lines(steps)}\n}}, "schedules": {{\n{lines(schedules)}\n}}}}\n')
