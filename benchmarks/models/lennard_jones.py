# SPDX-License-Identifier: Apache-2.0
"""An MLP that learns the Lennard-Jones potential, after functorch's example: 1-16-16-16-16-1 with tanh, on energies alone (the
example also compares forces, which it takes by vmap of jacrev).
"""

import torch
from torch import nn

BATCH, TINY_BATCH, PARAMETERS = (1000, 1000), 8, 865
DEPTH, SIZE = 0.0103, 3.4


def model(tiny):
    widths, parts = (1, 4, 1) if tiny else (1, 16, 16, 16, 16, 1), []
    for a, b in zip(widths, widths[1:]):
        parts += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*parts[:-1])


def energy(r):
    return 4 * DEPTH * ((SIZE / r) ** 12 - (SIZE / r) ** 6)


def loss(outputs, targets):
    return torch.nn.functional.mse_loss(outputs, targets)


def data(batch, tiny, training):
    r = torch.linspace(0.5, 2.0, batch)[:, None] * SIZE
    return (r,), energy(r.clamp(min=SIZE))
