# SPDX-License-Identifier: Apache-2.0
"""ShuffleNet-V2 of Ma et al. 2018 at the width of one, as torchvision builds it."""

import torch
from torch import nn

from _common import cross_entropy, pictures, sgd, unit

BATCH, TINY_BATCH, PARAMETERS = (128, 64), 2, 2_278_604
loss, optimiser = cross_entropy, sgd


def shuffle(x, groups=2):
    batch, channels, height, width = x.shape
    return x.view(batch, groups, channels // groups, height, width).transpose(1, 2).reshape(batch, channels, height, width)


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        half = outputs // 2
        self.halves = stride == 1
        first = half if self.halves else inputs
        self.other = None if self.halves else nn.Sequential(unit(inputs, inputs, 3, stride, inputs, None), unit(inputs, half, 1))
        self.path = nn.Sequential(unit(first, half, 1), unit(half, half, 3, stride, half, None), unit(half, half, 1))

    def forward(self, x):
        a, b = x.chunk(2, 1) if self.halves else (self.other(x), x)
        return shuffle(torch.cat((a, self.path(b)), 1))


class ShuffleNet(nn.Module):
    def __init__(self, first=24, stages=((116, 4), (232, 8), (464, 4)), last=1024, classes=1000):
        super().__init__()
        parts, inputs = [unit(3, first, 3, 2), nn.MaxPool2d(3, 2, 1)], first
        for outputs, count in stages:
            for i in range(count):
                parts.append(Block(inputs, outputs, 2 if i == 0 else 1))
                inputs = outputs
        self.features, self.head = nn.Sequential(*parts, unit(inputs, last, 1)), nn.Linear(last, classes)

    def forward(self, x):
        return self.head(self.features(x).mean((2, 3)))


def model(tiny):
    return ShuffleNet(8, ((16, 2),), 16, 5) if tiny else ShuffleNet()


def data(batch, tiny, training):
    return pictures(batch, 32 if tiny else 224, 5 if tiny else 1000)
