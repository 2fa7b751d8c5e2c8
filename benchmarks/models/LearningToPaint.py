# SPDX-License-Identifier: Apache-2.0
"""The actor of Learning to Paint (Huang et al. 2019): a ResNet-18 from nine channels of canvas, picture, step and places to 65
numbers of strokes, through a sigmoid.
"""

import torch
from torch import nn

from _resnet import Basic, ResNet

BATCH, TINY_BATCH, PARAMETERS = (96, 96), 2, 11_228_673


class Actor(nn.Module):
    def __init__(self, counts=(2, 2, 2, 2), width=64, outputs=65):
        super().__init__()
        self.net = ResNet(Basic, counts, outputs, 9, width=width)

    def forward(self, x):
        return torch.sigmoid(self.net(x))


def model(tiny):
    return Actor((1, 1), 8, 5) if tiny else Actor()


def loss(outputs, targets):
    return (outputs - targets).square().mean()


def data(batch, tiny, training):
    size = 32 if tiny else 128
    return (torch.rand(batch, 9, size, size),), torch.rand(batch, 5 if tiny else 65)
