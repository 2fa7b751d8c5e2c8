# SPDX-License-Identifier: Apache-2.0
"""Residual networks of He et al. 2015 as torchvision builds them: the stride in the 3 x 3 convolution of a bottleneck."""

import torch
import torch.nn.functional as F
from torch import nn

from _common import unit


class Basic(nn.Module):
    grows = 1

    def __init__(self, inputs, width, stride, groups, base):
        super().__init__()
        self.path = nn.Sequential(unit(inputs, width, 3, stride), unit(width, width, 3, activation=None))
        self.shortcut = unit(inputs, width, 1, stride, activation=None) if stride > 1 or inputs != width else nn.Identity()

    def forward(self, x):
        return F.relu(self.path(x) + self.shortcut(x), inplace=True)


class Bottleneck(nn.Module):
    grows = 4

    def __init__(self, inputs, width, stride, groups, base):
        super().__init__()
        inner, outputs = width * base // 64 * groups, 4 * width
        self.path = nn.Sequential(unit(inputs, inner, 1), unit(inner, inner, 3, stride, groups), unit(inner, outputs, 1, activation=None))
        self.shortcut = unit(inputs, outputs, 1, stride, activation=None) if stride > 1 or inputs != outputs else nn.Identity()

    def forward(self, x):
        return F.relu(self.path(x) + self.shortcut(x), inplace=True)


class ResNet(nn.Module):
    def __init__(self, block, counts, classes=1000, channels=3, groups=1, base=64, width=64):
        super().__init__()
        inputs, blocks = width, []
        self.stem = nn.Sequential(unit(channels, width, 7, 2), nn.MaxPool2d(3, 2, 1))
        for number, count in enumerate(counts):
            for i in range(count):
                blocks.append(block(inputs, width << number, 2 if i == 0 and number > 0 else 1, groups, base))
                inputs = (width << number) * block.grows
        self.blocks = nn.Sequential(*blocks)
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(inputs, classes)
        for part in self.modules():
            if isinstance(part, nn.Conv2d):
                nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        return self.head(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


def tiny(block, **options):
    return ResNet(block, (1, 1), classes=5, width=8 if not options else 16, **options)
