# SPDX-License-Identifier: Apache-2.0
"""ResNet-50."""

from _common import cross_entropy, pictures, sgd
from _resnet import Bottleneck, ResNet, tiny as tiny_resnet

BATCH, TINY_BATCH, PARAMETERS = (32, 32), 2, 25_557_032
loss, optimiser = cross_entropy, sgd


def model(tiny):
    return tiny_resnet(Bottleneck) if tiny else ResNet(Bottleneck, (3, 4, 6, 3))


def data(batch, tiny, training):
    return pictures(batch, 32 if tiny else 224, 5 if tiny else 1000)
