# SPDX-License-Identifier: Apache-2.0
"""AlexNet of Krizhevsky 2014 (one tower), as torchvision builds it; dropout is left out, whose numbers differ by build."""

import torch
from torch import nn

from _common import cross_entropy, pictures, sgd

BATCH, TINY_BATCH, PARAMETERS = (128, 128), 2, 61_100_840
loss, optimiser = cross_entropy, sgd


class AlexNet(nn.Module):
    def __init__(self, widths=(64, 192, 384, 256, 256), hidden=4096, places=6, classes=1000):
        super().__init__()
        a, b, c, d, e = widths
        self.features = nn.Sequential(
            nn.Conv2d(3, a, 11, 4, 2), nn.ReLU(True), nn.MaxPool2d(3, 2), nn.Conv2d(a, b, 5, padding=2), nn.ReLU(True), nn.MaxPool2d(3, 2),
            nn.Conv2d(b, c, 3, padding=1), nn.ReLU(True), nn.Conv2d(c, d, 3, padding=1), nn.ReLU(True), nn.Conv2d(d, e, 3, padding=1),
            nn.ReLU(True), nn.MaxPool2d(3, 2),
        )  # fmt: skip
        self.pool = nn.AdaptiveAvgPool2d(places)
        self.head = nn.Sequential(nn.Linear(e * places**2, hidden), nn.ReLU(True), nn.Linear(hidden, hidden), nn.ReLU(True), nn.Linear(hidden, classes))

    def forward(self, x):
        return self.head(torch.flatten(self.pool(self.features(x)), 1))


def model(tiny):
    return AlexNet((4, 6, 8, 6, 6), 16, 1, 5) if tiny else AlexNet()


def data(batch, tiny, training):
    return pictures(batch, 64 if tiny else 224, 5 if tiny else 1000)
