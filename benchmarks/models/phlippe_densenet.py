# SPDX-License-Identifier: Apache-2.0
"""The DenseNet for CIFAR-10 of Phillip Lippe's tutorials: four blocks of six layers, sixteen more channels each."""

import torch
from torch import nn

from _common import cross_entropy, pictures, sgd

BATCH, TINY_BATCH, PARAMETERS = (128, 128), 2, 239_146
loss, optimiser = cross_entropy, sgd


class Layer(nn.Module):
    def __init__(self, inputs, factor, growth):
        super().__init__()
        self.path = nn.Sequential(
            nn.BatchNorm2d(inputs), nn.ReLU(), nn.Conv2d(inputs, factor * growth, 1, bias=False), nn.BatchNorm2d(factor * growth), nn.ReLU(),
            nn.Conv2d(factor * growth, growth, 3, padding=1, bias=False),
        )  # fmt: skip

    def forward(self, x):
        return torch.cat((self.path(x), x), 1)


class DenseNet(nn.Module):
    def __init__(self, blocks=(6, 6, 6, 6), factor=2, growth=16, classes=10):
        super().__init__()
        channels = growth * factor
        parts = [nn.Conv2d(3, channels, 3, padding=1)]
        for number, count in enumerate(blocks):
            for _ in range(count):
                parts.append(Layer(channels, factor, growth))
                channels += growth
            if number < len(blocks) - 1:
                parts += [nn.BatchNorm2d(channels), nn.ReLU(), nn.Conv2d(channels, channels // 2, 1, bias=False), nn.AvgPool2d(2)]
                channels //= 2
        self.features = nn.Sequential(*parts, nn.BatchNorm2d(channels), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(channels, classes)
        for part in self.modules():
            if isinstance(part, nn.Conv2d):
                nn.init.kaiming_normal_(part.weight, nonlinearity="relu")

    def forward(self, x):
        return self.head(self.features(x))


def model(tiny):
    return DenseNet((2, 2), 2, 4, 5) if tiny else DenseNet()


def data(batch, tiny, training):
    return pictures(batch, 16 if tiny else 32, 5 if tiny else 10)
