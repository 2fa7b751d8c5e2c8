# SPDX-License-Identifier: Apache-2.0
"""MobileNet-V2 of Sandler et al. 2018, as torchvision builds it; dropout is left out, whose numbers differ by build."""

from torch import nn

from _common import cross_entropy, pictures, sgd, unit

BATCH, TINY_BATCH, PARAMETERS = (96, 16), 2, 3_504_872
loss, optimiser = cross_entropy, sgd
# expansion, channels, blocks, stride of the first
STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


class Inverted(nn.Module):
    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        inner = inputs * expansion
        parts = [unit(inputs, inner, 1, activation=nn.ReLU6)] if expansion > 1 else []
        self.path = nn.Sequential(*parts, unit(inner, inner, 3, stride, inner, nn.ReLU6), unit(inner, outputs, 1, activation=None))
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.path(x) if self.adds else self.path(x)


class MobileNet(nn.Module):
    def __init__(self, stages=STAGES, first=32, last=1280, classes=1000):
        super().__init__()
        parts, inputs = [unit(3, first, 3, 2, activation=nn.ReLU6)], first
        for expansion, outputs, count, stride in stages:
            for i in range(count):
                parts.append(Inverted(inputs, outputs, stride if i == 0 else 1, expansion))
                inputs = outputs
        self.features = nn.Sequential(*parts, unit(inputs, last, 1, activation=nn.ReLU6))
        self.head = nn.Linear(last, classes)

    def forward(self, x):
        return self.head(self.features(x).mean((2, 3)))


def model(tiny):
    return MobileNet(((1, 8, 1, 1), (2, 12, 2, 2)), 8, 16, 5) if tiny else MobileNet()


def data(batch, tiny, training):
    return pictures(batch, 16 if tiny else 224, 5 if tiny else 1000)
