# SPDX-License-Identifier: Apache-2.0
"""One ReplicationPad3d(3) on 16 volumes of 100^3: forward and backward.

    facula run benchmarks/value_profiles/2-replication-pad3d.py              # or plain python, with PyTorch
"""

import timing
import torch
from torch import nn


def main():
    given = timing.options(__doc__, 30, size=100)
    pad = (lambda x: given.operators.pad(x, [3] * 6)) if given.naive else nn.ReplicationPad3d(3)
    x = torch.randn(1, 16, given.size, given.size, given.size).to(given.device).requires_grad_()
    gradient = torch.randn(1, 16, *[given.size + 6] * 3).to(given.device)
    bar = timing.Bar(3 * (given.repeat + 1))
    forward = timing.seconds(lambda: pad(x), given.repeat, given.device, bar)
    y = pad(x)
    backward = timing.seconds(lambda: torch.autograd.grad(y, x, gradient, retain_graph=True), given.repeat, given.device, bar)
    both = timing.seconds(lambda: torch.autograd.grad(pad(x), x, gradient), given.repeat, given.device, bar)
    for name, times in (("forward", forward), ("backward", backward), ("both", both)):
        print(f"{name:>8} {timing.milliseconds(times)}")
    (found,) = torch.autograd.grad(y, x, gradient)
    print(f"result: mean {y.mean().item():.6f}, size of the gradient {found.abs().mean().item():.6f}")


if __name__ == "__main__":
    main()
