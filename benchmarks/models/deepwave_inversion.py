# SPDX-License-Identifier: Apache-2.0
"""Full-waveform inversion as users of deepwave do it, written out: a scalar wave equation of second order in time and fourth in
space, a damped border, Ricker sources; the loss is the distance of what receivers heard from what they would have heard
in another ground, its gradient the update of the ground's speeds. The batch is a number of shots.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

BATCH, TINY_BATCH, PARAMETERS = (8, 8), 2, 100 * 100
SPACING, STEP = 5.0, 0.0005


class Ground(nn.Module):
    def __init__(self, size=100, steps=300, border=10, frequency=25.0):
        super().__init__()
        self.steps, self.border = steps, border
        depth = torch.linspace(1500.0, 2500.0, size)
        self.speed = nn.Parameter(depth[:, None].repeat(1, size))
        row = torch.tensor([-1 / 12, 4 / 3, -5 / 2, 4 / 3, -1 / 12])
        kernel = torch.zeros(5, 5)
        kernel[2] += row
        kernel[:, 2] += row
        self.register_buffer("laplacian", kernel[None, None] / SPACING**2)
        edge = torch.arange(size).float()
        inside = torch.minimum(edge, size - 1 - edge).clamp(max=border)
        damping = torch.exp(-((0.03 * (border - inside)) ** 2))
        self.register_buffer("damping", damping[:, None] * damping)
        time = torch.arange(steps) * STEP - 1.5 / frequency
        shape = (math.pi * frequency * time) ** 2
        self.register_buffer("wavelet", (1 - 2 * shape) * torch.exp(-shape))

    def forward(self, sources):
        """What every receiver under the border heard: [shots, steps, receivers]."""
        shots, size = sources.shape[0], self.speed.shape[0]
        strength = (self.speed * STEP).square()
        source = F.one_hot(self.border * size + sources, size * size).view(shots, 1, size, size).to(strength.dtype)
        before, now = torch.zeros(2, shots, 1, size, size, dtype=strength.dtype, device=strength.device).unbind(0)
        heard = []
        for i in range(self.steps):
            ahead = 2 * now - before + strength * (F.conv2d(now, self.laplacian, padding=2) + source * self.wavelet[i])
            before, now = now * self.damping, ahead * self.damping
            heard.append(now[:, 0, self.border])
        return torch.stack(heard, 1)


def model(tiny):
    return Ground(24, 40, 4, 100.0) if tiny else Ground()


def loss(outputs, targets):
    return F.mse_loss(outputs, targets) * 1e4


def optimiser(parameters):
    return torch.optim.Adam(parameters, lr=10.0)


def data(batch, tiny, training):
    size, border = (24, 4) if tiny else (100, 10)
    sources = torch.linspace(border, size - border - 1, batch).long()
    with torch.no_grad():
        truth = model(tiny)
        truth.speed *= 1.05
        return (sources,), truth(sources)
