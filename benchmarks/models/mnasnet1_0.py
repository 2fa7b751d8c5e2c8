# SPDX-License-Identifier: Apache-2.0
"""MnasNet-B1 of Tan et al. 2018, as torchvision builds it; dropout is left out, whose numbers differ by build."""

from functools import partial

from torch import nn

from _common import cross_entropy, pictures, sgd, unit as plain_unit

BATCH, TINY_BATCH, PARAMETERS = (32, 32), 2, 4_383_312
loss, optimiser = cross_entropy, sgd
unit = partial(plain_unit, momentum=3e-4)
# kernel, channels, expansion, blocks, stride of the first
STAGES = ((3, 24, 3, 3, 2), (5, 40, 3, 3, 2), (5, 80, 6, 3, 2), (3, 96, 6, 2, 1), (5, 192, 6, 4, 2), (3, 320, 6, 1, 1))


class Inverted(nn.Module):
    def __init__(self, inputs, outputs, kernel, stride, expansion):
        super().__init__()
        inner = inputs * expansion
        self.path = nn.Sequential(unit(inputs, inner, 1), unit(inner, inner, kernel, stride, inner), unit(inner, outputs, 1, activation=None))
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.path(x) if self.adds else self.path(x)


class MnasNet(nn.Module):
    def __init__(self, stages=STAGES, first=(32, 16), last=1280, classes=1000):
        super().__init__()
        inputs = first[1]
        parts = [unit(3, first[0], 3, 2), unit(first[0], first[0], 3, groups=first[0]), unit(first[0], inputs, 1, activation=None)]
        for kernel, outputs, expansion, count, stride in stages:
            for i in range(count):
                parts.append(Inverted(inputs, outputs, kernel, stride if i == 0 else 1, expansion))
                inputs = outputs
        self.features, self.head = nn.Sequential(*parts, unit(inputs, last, 1)), nn.Linear(last, classes)

    def forward(self, x):
        return self.head(self.features(x).mean((2, 3)))


def model(tiny):
    return MnasNet(((3, 8, 2, 2, 2), (5, 12, 2, 1, 1)), (8, 8), 16, 5) if tiny else MnasNet()


def data(batch, tiny, training):
    return pictures(batch, 16 if tiny else 224, 5 if tiny else 1000)
