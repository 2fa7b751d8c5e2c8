# SPDX-License-Identifier: Apache-2.0
"""DLRM of Naumov et al. 2019 after TorchBench's sizes: 512 numbers, eight tables of a million rows of 64, a hundred rows of
each a sample, MLPs 512-512-64 and 1024-1024-1024-1, dot products between what they gave.
"""

import torch
import torch.nn.functional as F
from torch import nn

BATCH, TINY_BATCH, PARAMETERS = (1024, 2048), 4, 514_499_137


def mlp(sizes, last):
    parts = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        layer = nn.Linear(a, b)
        nn.init.normal_(layer.weight, 0.0, (2 / (a + b)) ** 0.5)
        nn.init.normal_(layer.bias, 0.0, (1 / b) ** 0.5)
        parts += [layer, last() if i == len(sizes) - 2 else nn.ReLU()]
    return nn.Sequential(*parts)


class Dlrm(nn.Module):
    def __init__(self, rows=1000000, width=64, tables=8, bottom=(512, 512, 64), top=(1024, 1024, 1024, 1)):
        super().__init__()
        self.bottom = mlp(bottom, nn.ReLU)
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        for table in self.tables:
            nn.init.uniform_(table.weight, -((1 / rows) ** 0.5), (1 / rows) ** 0.5)
        pairs = (tables + 1) * tables // 2
        self.top = mlp((pairs + width, *top), nn.Sigmoid)
        i, j = torch.tril_indices(tables + 1, tables + 1, -1)
        self.register_buffer("rows", i)
        self.register_buffer("columns", j)

    def forward(self, dense, indices):
        x = self.bottom(dense)
        parts = torch.stack([x, *(table(indices[i]) for i, table in enumerate(self.tables))], 1)
        dots = parts @ parts.transpose(1, 2)
        return self.top(torch.cat((x, dots[:, self.rows, self.columns]), 1))


def model(tiny):
    return Dlrm(20, 4, 2, (6, 8, 4), (8, 1)) if tiny else Dlrm()


def loss(outputs, targets):
    return F.mse_loss(outputs, targets)


def optimiser(parameters):
    return torch.optim.SGD(parameters, lr=0.1)


def data(batch, tiny, training):
    numbers, tables, rows, each = (6, 2, 20, 3) if tiny else (512, 8, 1000000, 100)
    return (torch.rand(batch, numbers), torch.randint(0, rows, (tables, batch, each))), torch.randint(0, 2, (batch, 1)).float()
