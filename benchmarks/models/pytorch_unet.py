# SPDX-License-Identifier: Apache-2.0
"""U-Net of Ronneberger et al. 2015 as in milesial's Pytorch-UNet: batch norm, padded convolutions, bilinear upsampling."""

import torch
import torch.nn.functional as F
from torch import nn

from _common import unit

BATCH, TINY_BATCH, PARAMETERS = (1, 1), 1, 17_263_042


def double(inputs, outputs, inner=None):
    return nn.Sequential(unit(inputs, inner or outputs, 3), unit(inner or outputs, outputs, 3))


class UNet(nn.Module):
    def __init__(self, width=64, classes=2):
        super().__init__()
        w = [width << i for i in range(4)] + [width << 3]
        self.first, self.down = double(3, w[0]), nn.ModuleList(double(a, b) for a, b in zip(w, w[1:]))
        self.up = nn.ModuleList(double(2 * b, a if i < 3 else width, b) for i, (b, a) in enumerate(zip(w[3::-1], [*w[2::-1], width])))
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        kept = [self.first(x)]
        for block in self.down:
            kept.append(block(F.max_pool2d(kept[-1], 2)))
        x = kept.pop()
        for block in self.up:
            side = kept.pop()
            x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)
            dy, dx = side.shape[2] - x.shape[2], side.shape[3] - x.shape[3]
            x = block(torch.cat((side, F.pad(x, (dx // 2, dx - dx // 2, dy // 2, dy - dy // 2))), 1))
        return self.head(x)


def model(tiny):
    return UNet(4) if tiny else UNet()


def loss(outputs, targets):
    """Cross entropy and what is missing of the overlap."""
    shares = F.softmax(outputs, 1)
    truth = F.one_hot(targets, outputs.shape[1]).permute(0, 3, 1, 2).float()
    overlap = 2 * (shares * truth).sum((0, 2, 3)) / (shares.sum((0, 2, 3)) + truth.sum((0, 2, 3))).clamp(min=1e-6)
    return F.cross_entropy(outputs, targets) + 1 - overlap.mean()


def optimiser(parameters):
    return torch.optim.RMSprop(parameters, lr=1e-5, weight_decay=1e-8, momentum=0.9)


def data(batch, tiny, training):
    height, width = (32, 47) if tiny else (640, 959)
    return (torch.randn(batch, 3, height, width),), torch.randint(0, 2, (batch, height, width))
