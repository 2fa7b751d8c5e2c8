# SPDX-License-Identifier: Apache-2.0
"""ResNet-18."""

from _common import cross_entropy, pictures, sgd
from _resnet import Basic, ResNet, tiny as tiny_resnet

BATCH, TINY_BATCH, PARAMETERS = (16, 8), 2, 11_689_512
loss, optimiser = cross_entropy, sgd


def model(tiny):
    return tiny_resnet(Basic) if tiny else ResNet(Basic, (2, 2, 2, 2))


def data(batch, tiny, training):
    return pictures(batch, 32 if tiny else 224, 5 if tiny else 1000)
