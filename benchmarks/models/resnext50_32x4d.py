# SPDX-License-Identifier: Apache-2.0
"""ResNeXt-50 of Xie et al. 2016: 32 groups of 4 channels."""

from _common import cross_entropy, pictures, sgd
from _resnet import Bottleneck, ResNet, tiny as tiny_resnet

BATCH, TINY_BATCH, PARAMETERS = (8, 8), 2, 25_028_904
loss, optimiser = cross_entropy, sgd


def model(tiny):
    return tiny_resnet(Bottleneck, groups=4, base=16) if tiny else ResNet(Bottleneck, (3, 4, 6, 3), groups=32, base=4)


def data(batch, tiny, training):
    return pictures(batch, 32 if tiny else 224, 5 if tiny else 1000)
