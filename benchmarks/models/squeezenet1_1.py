# SPDX-License-Identifier: Apache-2.0
"""SqueezeNet 1.1 of Iandola et al. 2016, as torchvision builds it; dropout is left out, whose numbers differ by build."""

import torch
import torch.nn.functional as F
from torch import nn

from _common import cross_entropy, pictures, sgd

BATCH, TINY_BATCH, PARAMETERS = (32, 16), 2, 1_235_496
loss, optimiser = cross_entropy, sgd


class Fire(nn.Module):
    def __init__(self, inputs, inner, outputs):
        super().__init__()
        self.squeeze, self.one, self.three = nn.Conv2d(inputs, inner, 1), nn.Conv2d(inner, outputs, 1), nn.Conv2d(inner, outputs, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.squeeze(x), inplace=True)
        return torch.cat((F.relu(self.one(x), inplace=True), F.relu(self.three(x), inplace=True)), 1)


class SqueezeNet(nn.Module):
    def __init__(self, first=64, stages=(((16, 64), (16, 64)), ((32, 128), (32, 128)), ((48, 192), (48, 192), (64, 256), (64, 256))), classes=1000):
        super().__init__()
        parts, inputs = [nn.Conv2d(3, first, 3, 2), nn.ReLU(True)], first
        for stage in stages:
            parts.append(nn.MaxPool2d(3, 2, ceil_mode=True))
            for inner, outputs in stage:
                parts.append(Fire(inputs, inner, outputs))
                inputs = 2 * outputs
        self.features, self.last = nn.Sequential(*parts), nn.Conv2d(inputs, classes, 1)

    def forward(self, x):
        return F.relu(self.last(self.features(x)), inplace=True).mean((2, 3))


def model(tiny):
    return SqueezeNet(8, (((4, 8),), ((4, 8), (4, 8))), 5) if tiny else SqueezeNet()


def data(batch, tiny, training):
    return pictures(batch, 32 if tiny else 224, 5 if tiny else 1000)
