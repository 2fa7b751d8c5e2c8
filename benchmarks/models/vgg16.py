# SPDX-License-Identifier: Apache-2.0
"""VGG-16 of Simonyan and Zisserman 2014, as torchvision builds it; dropout is left out, whose numbers differ by build."""

import torch
from torch import nn

from _common import cross_entropy, pictures, sgd

BATCH, TINY_BATCH, PARAMETERS = (64, 4), 2, 138_357_544
loss, optimiser = cross_entropy, sgd
STAGES = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))


class Vgg(nn.Module):
    def __init__(self, stages=STAGES, hidden=4096, places=7, classes=1000):
        super().__init__()
        parts, inputs = [], 3
        for width, count in stages:
            for _ in range(count):
                parts += [nn.Conv2d(inputs, width, 3, padding=1), nn.ReLU(True)]
                inputs = width
            parts.append(nn.MaxPool2d(2))
        self.features, self.pool = nn.Sequential(*parts), nn.AdaptiveAvgPool2d(places)
        self.head = nn.Sequential(nn.Linear(inputs * places**2, hidden), nn.ReLU(True), nn.Linear(hidden, hidden), nn.ReLU(True), nn.Linear(hidden, classes))

    def forward(self, x):
        return self.head(torch.flatten(self.pool(self.features(x)), 1))


def model(tiny):
    return Vgg(((4, 1), (8, 2)), 16, 2, 5) if tiny else Vgg()


def data(batch, tiny, training):
    return pictures(batch, 16 if tiny else 224, 5 if tiny else 1000)
