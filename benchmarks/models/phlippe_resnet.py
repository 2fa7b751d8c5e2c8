# SPDX-License-Identifier: Apache-2.0
"""The ResNet for CIFAR-10 of Phillip Lippe's tutorials: 16, 32 and 64 channels, three blocks each."""

import torch
from torch import nn

from _common import cross_entropy, pictures, sgd

BATCH, TINY_BATCH, PARAMETERS = (128, 128), 2, 272_378
loss, optimiser = cross_entropy, sgd


class Block(nn.Module):
    def __init__(self, inputs, outputs, smaller):
        super().__init__()
        self.path = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, 2 if smaller else 1, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs),
        )  # fmt: skip
        self.shortcut = nn.Conv2d(inputs, outputs, 1, 2) if smaller else nn.Identity()

    def forward(self, x):
        return torch.relu(self.path(x) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, widths=(16, 32, 64), count=3, classes=10):
        super().__init__()
        inputs, blocks = widths[0], []
        self.stem = nn.Sequential(nn.Conv2d(3, inputs, 3, padding=1, bias=False), nn.BatchNorm2d(inputs), nn.ReLU())
        for number, width in enumerate(widths):
            for i in range(count):
                blocks.append(Block(inputs, width, i == 0 and number > 0))
                inputs = width
        self.blocks, self.pool, self.head = nn.Sequential(*blocks), nn.AdaptiveAvgPool2d(1), nn.Linear(inputs, classes)
        for part in self.modules():
            if isinstance(part, nn.Conv2d):
                nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        return self.head(self.pool(self.blocks(self.stem(x))).flatten(1))


def model(tiny):
    return ResNet((4, 8), 1, 5) if tiny else ResNet()


def data(batch, tiny, training):
    return pictures(batch, 16 if tiny else 32, 5 if tiny else 10)
