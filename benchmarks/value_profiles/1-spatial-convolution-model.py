# SPDX-License-Identifier: Apache-2.0
"""ResNet-50's inference on one picture: time end to end, and of each of its 53 convolutions.

    facula run benchmarks/value_profiles/1-spatial-convolution-model.py      # or plain python, with PyTorch

Weights are drawn from a fixed seed. Layers are timed in passes of their own, since watching them takes time as well.
"""

import statistics
import time

import timing
import torch
from torch import nn


class Bottleneck(nn.Module):
    """1x1 to the inner width, 3x3, 1x1 to four times it; around it the identity, or a 1x1 where the size changes."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.inner = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs),
        )  # fmt: skip
        same = inputs == outputs and stride == 1
        self.around = nn.Identity() if same else nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return torch.relu(self.inner(x) + self.around(x))


def resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            layers.append(Bottleneck(inputs, width, 2 if stage > 0 and block == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000)).eval()


def layer_times(model, x, repeat, device, bar):
    """{convolution: [seconds]}, by hooks around each."""
    started, times = {}, {}

    def before(layer, args):
        timing.wait(device)
        started[layer] = time.perf_counter()

    def after(layer, args, y):
        timing.wait(device)
        times.setdefault(layer, []).append(time.perf_counter() - started[layer])

    layers = [m for m in model.modules() if isinstance(m, nn.Conv2d)]
    handles = [handle for m in layers for handle in (m.register_forward_pre_hook(before), m.register_forward_hook(after))]
    timing.seconds(lambda: model(x), repeat, device, bar)
    for handle in handles:
        handle.remove()
    return {layer: found[1:] for layer, found in times.items()}  # the first one warms up


def main():
    given = timing.options(__doc__, 20, image=224)
    model, x = resnet50().to(given.device), torch.randn(1, 3, given.image, given.image).to(given.device)
    bar = timing.Bar(2 * (given.repeat + 1))
    with torch.no_grad():
        whole = timing.seconds(lambda: model(x), given.repeat, given.device, bar)
        layers = layer_times(model, x, given.repeat, given.device, bar)
        y = model(x)
    print(f"{'convolution':>40}  median ms  share of all")
    total = statistics.median(whole)
    for layer, times in layers.items():
        text = f"{layer.in_channels}->{layer.out_channels} {layer.kernel_size[0]}x{layer.kernel_size[1]} stride {layer.stride[0]}"
        print(f"{text:>40}  {statistics.median(times) * 1e3:9.3f}  {100 * statistics.median(times) / total:10.1f} %")
    inside = sum(map(statistics.median, layers.values()))
    print(f"{len(layers)} convolutions {inside * 1e3:9.3f} ms, {100 * inside / total:.0f} % of the model")
    print(f"end to end {timing.milliseconds(whole)}")
    print(f"result: mean {y.mean().item():.5f}, first {y[0, 0].item():.5f}, size {y.abs().mean().item():.5f}")


if __name__ == "__main__":
    main()
