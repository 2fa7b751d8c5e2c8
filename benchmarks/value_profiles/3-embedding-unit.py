# SPDX-License-Identifier: Apache-2.0
"""One Embedding(200, 512, padding_idx=0) looked up with 50 x 20 indices; and with the gradient of its table.

    facula run benchmarks/value_profiles/3-embedding-unit.py                 # or plain python, with PyTorch
"""

import timing
import torch
from torch import nn


def main():
    given = timing.options(__doc__, 200)
    table = nn.Embedding(200, 512, padding_idx=0).to(given.device)
    indices = torch.randint(0, 199, (50, 20)).to(given.device)

    def look_up():
        return given.operators.embedding(table.weight, indices, 0) if given.naive else table(indices)

    def train():
        table.zero_grad()
        look_up().sum().backward()

    bar = timing.Bar(2 * (given.repeat + 1))
    with torch.no_grad():
        forward = timing.seconds(look_up, given.repeat, given.device, bar)
    both = timing.seconds(train, given.repeat, given.device, bar)
    for name, times in (("forward", forward), ("with gradient", both)):
        print(f"{name:>14} {timing.milliseconds(times)}")
    y = look_up()
    print(f"result: mean {y.mean().item():.6f}, gradient {table.weight.grad.abs().mean().item():.6f}, of row 0 {table.weight.grad[0].abs().sum().item():.1f}")


if __name__ == "__main__":
    main()
