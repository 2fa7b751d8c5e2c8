# SPDX-License-Identifier: Apache-2.0
"""What the programs of this folder share: their command line. Each is an ordinary torch program:

    facula run examples/programs/vae.py
    python examples/programs/vae.py          # the same with PyTorch: the same losses
"""

import argparse
import json


def main(train, steps):
    """Runs train(steps), an iterator of losses, and prints them; --json FILE writes them."""
    parser = argparse.ArgumentParser(description=train.__globals__["__doc__"])
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--json", metavar="FILE", help="write the losses")
    args = parser.parse_args()
    losses = []
    for step, loss in enumerate(train(args.steps)):
        losses.append(loss)
        print(f"step {step:3d}   loss {loss:.6f}", flush=True)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(losses, file)
