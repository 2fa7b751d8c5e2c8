# SPDX-License-Identifier: Apache-2.0
"""MobileNet-V3 large of Howard et al. 2019, as torchvision builds it; dropout is left out, whose numbers differ by build."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from _common import cross_entropy, eighth, pictures, sgd, unit as plain_unit

BATCH, TINY_BATCH, PARAMETERS = (32, 32), 2, 5_483_032
loss, optimiser = cross_entropy, sgd
unit = partial(plain_unit, eps=1e-3, momentum=0.01)
# kernel, inner channels, channels, squeezes, hard swish, stride
BLOCKS = (
    (3, 16, 16, False, False, 1), (3, 64, 24, False, False, 2), (3, 72, 24, False, False, 1), (5, 72, 40, True, False, 2), (5, 120, 40, True, False, 1),
    (5, 120, 40, True, False, 1), (3, 240, 80, False, True, 2), (3, 200, 80, False, True, 1), (3, 184, 80, False, True, 1), (3, 184, 80, False, True, 1),
    (3, 480, 112, True, True, 1), (3, 672, 112, True, True, 1), (5, 672, 160, True, True, 2), (5, 960, 160, True, True, 1), (5, 960, 160, True, True, 1),
)  # fmt: skip


class Squeeze(nn.Module):
    """Squeeze and excitation: channels are weighed by what they hold on average."""

    def __init__(self, channels, inner):
        super().__init__()
        self.pool, self.down, self.up = nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, inner, 1), nn.Conv2d(inner, channels, 1)

    def forward(self, x):
        return x * F.hardsigmoid(self.up(F.relu(self.down(self.pool(x)), inplace=True)))


class Inverted(nn.Module):
    def __init__(self, inputs, kernel, inner, outputs, squeeze, activation, stride):
        super().__init__()
        parts = [unit(inputs, inner, 1, activation=activation)] if inner != inputs else []
        parts.append(unit(inner, inner, kernel, stride, inner, activation))
        if squeeze:
            parts.append(Squeeze(inner, eighth(inner / 4)))
        self.path, self.adds = nn.Sequential(*parts, unit(inner, outputs, 1, activation=None)), stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.path(x) if self.adds else self.path(x)


class MobileNet(nn.Module):
    def __init__(self, blocks=BLOCKS, head=1280, classes=1000):
        super().__init__()
        inputs, parts = 16, [unit(3, 16, 3, 2, activation=nn.Hardswish)]
        for kernel, inner, outputs, squeeze, swish, stride in blocks:
            parts.append(Inverted(inputs, kernel, inner, outputs, squeeze, nn.Hardswish if swish else nn.ReLU, stride))
            inputs = outputs
        self.features, self.pool = nn.Sequential(*parts, unit(inputs, 6 * inputs, 1, activation=nn.Hardswish)), nn.AdaptiveAvgPool2d(1)
        self.head = nn.Sequential(nn.Linear(6 * inputs, head), nn.Hardswish(inplace=True), nn.Linear(head, classes))

    def forward(self, x):
        return self.head(torch.flatten(self.pool(self.features(x)), 1))


def model(tiny):
    return MobileNet(BLOCKS[3:6], 8, 5) if tiny else MobileNet()


def data(batch, tiny, training):
    return pictures(batch, 32 if tiny else 224, 5 if tiny else 1000)
