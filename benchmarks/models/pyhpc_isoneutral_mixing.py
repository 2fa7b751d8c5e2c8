# SPDX-License-Identifier: Apache-2.0
"""Isoneutral mixing of an ocean model, after the description of pyhpc-benchmarks' (Veros): slopes of surfaces of one density
from gradients of temperature and salinity, tapered where they are steep, and the fluxes of diffusion along them.
"""

import torch
from torch import nn

from _ocean import field, shape

BATCH, TINY_BATCH, PARAMETERS = (1048576, 1048576), 256, 0
DIFFUSIVITY, STEEPEST, WIDTH, LEAST = 1000.0, 2e-3, 1e-3, 1e-20


def expansion(salinity, temperature, depth):
    """How density changes with temperature and salinity: a quadratic equation of state."""
    by_temperature = -(0.16 + 0.01 * temperature + 1e-5 * depth)
    return by_temperature, 0.78 - 0.002 * temperature + 0.0 * salinity


class Mixing(nn.Module):
    def forward(self, temperature, salinity, depth, dx, dy, dz, mask):
        by_t, by_s = expansion(salinity, temperature, depth)

        def gradient(x, along, step):
            cut = x.narrow(along, 1, x.shape[along] - 1) - x.narrow(along, 0, x.shape[along] - 1)
            zero = torch.zeros_like(x.narrow(along, 0, 1))
            return torch.cat((cut / step.narrow(along, 0, cut.shape[along]) if step.shape[along] > 1 else cut / step, zero), along) * mask

        gradients = [[gradient(x, along, step) for along, step in enumerate((dx, dy, dz))] for x in (temperature, salinity)]
        density = [by_t * t + by_s * s for t, s in zip(*gradients)]
        vertical = torch.clamp(density[2], max=-LEAST)
        slopes = [-d / vertical for d in density[:2]]
        tapers = [0.5 * (1.0 + torch.tanh((STEEPEST - slope.abs()) / WIDTH)) for slope in slopes]
        mixing = [DIFFUSIVITY * taper * mask for taper in tapers]
        upward = sum(k * slope * slope for k, slope in zip(mixing, slopes))
        fluxes = []
        for x in gradients:
            along = [k * (x[i] + slopes[i] * x[2]) for i, k in enumerate(mixing)]
            fluxes.append((*along, sum(k * slopes[i] * x[i] for i, k in enumerate(mixing)) + upward * x[2]))
        return [torch.stack(flux) for flux in fluxes], upward


def model(tiny):
    return Mixing()


def loss(outputs, targets):
    return outputs[1].mean()


def data(batch, tiny, training):
    x, y, z = shape(batch)
    steps = field((x, 1, 1), 1e4, 1e5), field((1, y, 1), 1e4, 1e5), field((1, 1, z), 10.0, 100.0)
    mask = (torch.rand(x, y, z) > 0.1).float()
    return (field((x, y, z), -2.0, 25.0), field((x, y, z), 33.0, 37.0), field((1, 1, z), 0.0, 4000.0), *steps, mask), None
