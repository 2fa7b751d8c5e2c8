# SPDX-License-Identifier: Apache-2.0
"""The autoencoder of NVIDIA's DeepRecommender (Kuchaiev and Ginsburg 2017) at TorchBench's size: 197,951 items, 512-512-1024
and back, SELU; the loss is of what was rated. Dropout of the code is left out, whose numbers differ by build.
"""

import torch
import torch.nn.functional as F
from torch import nn

BATCH, TINY_BATCH, PARAMETERS = (256, 256), 4, 204_475_711


class Autoencoder(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        pairs = list(zip(sizes, sizes[1:]))
        self.encode = nn.ModuleList(nn.Linear(a, b) for a, b in pairs)
        self.decode = nn.ModuleList(nn.Linear(b, a) for a, b in reversed(pairs))
        for layer in (*self.encode, *self.decode):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        for layer in (*self.encode, *self.decode):
            x = F.selu(layer(x))
        return x


def model(tiny):
    return Autoencoder((30, 8, 8, 12) if tiny else (197951, 512, 512, 1024))


def loss(outputs, targets):
    rated = (targets != 0).float()
    return ((outputs * rated - targets) ** 2).sum() / rated.sum()


def optimiser(parameters):
    return torch.optim.SGD(parameters, lr=0.005, momentum=0.9, weight_decay=0)


def data(batch, tiny, training):
    items = 30 if tiny else 197951
    rated = torch.randint(1, 6, (batch, items)).float() * (torch.rand(batch, items) < (0.3 if tiny else 0.001))
    return (rated,), rated
