# SPDX-License-Identifier: Apache-2.0
"""DenseNet-121 of Huang et al. 2016, as torchvision builds it."""

import torch
import torch.nn.functional as F
from torch import nn

from _common import cross_entropy, pictures, sgd

BATCH, TINY_BATCH, PARAMETERS = (4, 64), 2, 7_978_856
loss, optimiser = cross_entropy, sgd


class Layer(nn.Module):
    """What grows channels by a few, from all that came before it."""

    def __init__(self, inputs, growth, factor):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(inputs), nn.Conv2d(inputs, growth * factor, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(growth * factor), nn.Conv2d(growth * factor, growth, 3, padding=1, bias=False)

    def forward(self, before):
        x = self.conv1(F.relu(self.norm1(torch.cat(before, 1)), inplace=True))
        return self.conv2(F.relu(self.norm2(x), inplace=True))


class DenseNet(nn.Module):
    def __init__(self, blocks=(6, 12, 24, 16), growth=32, first=64, factor=4, classes=1000):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, first, 7, 2, 3, bias=False), nn.BatchNorm2d(first), nn.ReLU(True), nn.MaxPool2d(3, 2, 1))
        self.blocks, self.transitions, channels = nn.ModuleList(), nn.ModuleList(), first
        for number, count in enumerate(blocks):
            self.blocks.append(nn.ModuleList(Layer(channels + i * growth, growth, factor) for i in range(count)))
            channels += count * growth
            if number < len(blocks) - 1:
                self.transitions.append(nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(True), nn.Conv2d(channels, channels // 2, 1, bias=False), nn.AvgPool2d(2)))
                channels //= 2
        self.norm, self.head = nn.BatchNorm2d(channels), nn.Linear(channels, classes)
        for part in self.modules():
            if isinstance(part, nn.Conv2d):
                nn.init.kaiming_normal_(part.weight)

    def forward(self, x):
        x = self.stem(x)
        for number, block in enumerate(self.blocks):
            before = [x]
            for layer in block:
                before.append(layer(before))
            x = torch.cat(before, 1)
            if number < len(self.transitions):
                x = self.transitions[number](x)
        return self.head(F.relu(self.norm(x), inplace=True).mean((2, 3)))


def model(tiny):
    return DenseNet((2, 2), 4, 8, 2, 5) if tiny else DenseNet()


def data(batch, tiny, training):
    return pictures(batch, 32 if tiny else 224, 5 if tiny else 1000)
