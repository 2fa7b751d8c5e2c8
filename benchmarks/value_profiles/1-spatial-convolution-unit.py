# SPDX-License-Identifier: Apache-2.0
"""ResNet-50's convolutions one by one, without bias, batch 1: the time of each shape, and of all as often as the network has them.

    facula run benchmarks/value_profiles/1-spatial-convolution-unit.py       # or plain python, with PyTorch
"""

import statistics

import timing
import torch
from torch import nn


def shapes(image):
    """(inputs, outputs, kernel, stride, size of the picture, how many of them) of ResNet-50."""
    found = [(3, 64, 7, 2, image, 1)]
    inputs, size = 64, image // 4
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        stride = 2 if stage > 0 else 1
        found += [(inputs, width, 1, 1, size, 1), (width, width, 3, stride, size, 1), (inputs, 4 * width, 1, stride, size, 1)]
        size //= stride
        found += [(width, 4 * width, 1, 1, size, blocks), (4 * width, width, 1, 1, size, blocks - 1), (width, width, 3, 1, size, blocks - 1)]
        inputs = 4 * width
    return found


def main():
    given = timing.options(__doc__, 20, image=224)
    todo, total, checks = shapes(given.image), 0.0, 0.0
    bar = timing.Bar(len(todo) * (given.repeat + 1))
    print(f"{'convolution':>28}  {'picture':>9}  times  median ms   GFLOP/s")
    with torch.no_grad():
        for inputs, outputs, kernel, stride, size, count in todo:
            layer = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False).to(given.device)
            x = torch.randn(1, inputs, size, size).to(given.device)
            if given.naive:
                weight, padding = layer.weight, kernel // 2

                def layer(x, weight=weight, stride=stride, padding=padding):
                    return given.operators.convolution(x, weight, None, [stride] * 2, [padding] * 2)

            median = statistics.median(timing.seconds(lambda layer=layer, x=x: layer(x), given.repeat, given.device, bar))
            y = layer(x)
            total, checks = total + count * median, checks + y.abs().mean().item()
            rate = 2 * y.numel() * inputs * kernel * kernel / median / 1e9
            print(f"{f'{inputs}->{outputs} {kernel}x{kernel} stride {stride}':>28}  {f'{size}x{size}':>9}  {count:5}  {median * 1e3:9.3f}  {rate:8.1f}")
    print(f"all {sum(row[-1] for row in todo)} convolutions {total * 1e3:9.3f} ms")
    print(f"result: sum of mean sizes {checks:.4f}")


if __name__ == "__main__":
    main()
