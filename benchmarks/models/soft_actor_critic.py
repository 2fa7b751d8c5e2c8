# SPDX-License-Identifier: Apache-2.0
"""The actor of soft actor-critic (Haarnoja et al. 2018) for a pendulum: 3-1024-1024-2, a normal distribution through tanh, its
logarithm of the deviation bounded. What is drawn comes with the inputs; the loss is of the action's worth and entropy.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

BATCH, TINY_BATCH, PARAMETERS = (256, 256), 4, 1_055_746


class Actor(nn.Module):
    def __init__(self, states=3, hidden=1024, actions=1):
        super().__init__()
        self.layers = nn.ModuleList((nn.Linear(states, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 2 * actions)))
        for layer in self.layers:
            nn.init.orthogonal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, state, noise):
        a, b, c = self.layers
        mean, deviation = c(F.relu(b(F.relu(a(state))))).chunk(2, 1)
        deviation = -10 + 0.5 * 12 * (torch.tanh(deviation) + 1)
        raw = mean + deviation.exp() * noise
        action = torch.tanh(raw)
        logarithm = -0.5 * noise.square() - deviation - 0.5 * math.log(2 * math.pi) - 2 * (math.log(2) - raw - F.softplus(-2 * raw))
        return action, logarithm.sum(1)


def model(tiny):
    return Actor(3, 8) if tiny else Actor()


def loss(outputs, targets):
    action, logarithm = outputs
    return (0.1 * logarithm - (targets * action).sum(1)).mean()


def optimiser(parameters):
    return torch.optim.Adam(parameters, lr=3e-4)


def data(batch, tiny, training):
    angle = torch.rand(batch) * 2 * math.pi
    state = torch.stack((angle.cos(), angle.sin(), 16 * torch.rand(batch) - 8), 1)
    return (state, torch.randn(batch, 1)), torch.rand(batch, 1)
