# SPDX-License-Identifier: Apache-2.0
"""ViT-S/16 of Dosovitskiy et al. 2020 and Touvron et al. 2020 (timm's vit_small_patch16_224)."""

import torch
from torch import nn

from _common import Block, adamw, cross_entropy, pictures, small

BATCH, TINY_BATCH, PARAMETERS = (32, 32), 2, 22_050_664
loss, optimiser = cross_entropy, adamw


class Vit(nn.Module):
    def __init__(self, size=224, patch=16, width=384, heads=6, layers=12, classes=1000):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token, self.places = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.02)
        self.blocks = nn.Sequential(*(Block(width, heads, eps=1e-6) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width, 1e-6), nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.places
        return self.head(self.norm(self.blocks(x))[:, 0])


def model(tiny):
    return small(Vit(32, 16, 16, 2, 2, 5) if tiny else Vit())


def data(batch, tiny, training):
    return pictures(batch, 32 if tiny else 224, 5 if tiny else 1000)
