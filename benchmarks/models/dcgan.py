# SPDX-License-Identifier: Apache-2.0
"""The discriminator of DCGAN (Radford et al. 2015) as in PyTorch's example: what TorchBench's get_module() gives."""

import torch
import torch.nn.functional as F
from torch import nn

BATCH, TINY_BATCH, PARAMETERS = (32, 256), 2, 2_765_568


def discriminator(width, depth):
    parts = [nn.Conv2d(3, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True)]
    for i in range(depth):
        parts += [nn.Conv2d(width << i, width << (i + 1), 4, 2, 1, bias=False), nn.BatchNorm2d(width << (i + 1)), nn.LeakyReLU(0.2, inplace=True)]
    return nn.Sequential(*parts, nn.Conv2d(width << depth, 1, 4, 1, 0, bias=False), nn.Sigmoid(), nn.Flatten(0))


def model(tiny):
    made = discriminator(4, 2) if tiny else discriminator(64, 3)
    for part in made.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.normal_(part.weight, 0.0, 0.02)
        elif isinstance(part, nn.BatchNorm2d):
            nn.init.normal_(part.weight, 1.0, 0.02)
    return made


def loss(outputs, targets):
    return F.binary_cross_entropy(outputs, targets)


def optimiser(parameters):
    return torch.optim.Adam(parameters, lr=2e-4, betas=(0.5, 0.999))


def data(batch, tiny, training):
    return (torch.randn(batch, 3, 32 if tiny else 64, 32 if tiny else 64),), torch.randint(0, 2, (batch,)).float()
