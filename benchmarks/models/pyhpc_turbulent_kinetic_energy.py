# SPDX-License-Identifier: Apache-2.0
"""Turbulent kinetic energy of an ocean model, after the description of pyhpc-benchmarks' (Veros, the closure of Gaspar et al.
1990): mixing lengths, production and dissipation, diffusion upward solved as tridiagonal systems, advection across.
"""

import torch
from torch import nn

from _ocean import field, shape

BATCH, TINY_BATCH, PARAMETERS = (1048576, 1048576), 256, 0
STEP, VISCOUS, DISSIPATION, LEAST = 3600.0, 0.1, 0.7, 1e-12


def solve(below, middle, above, right):
    """Thomas's algorithm along the last dimension."""
    count = right.shape[-1]
    factors, values = [above[..., 0] / middle[..., 0]], [right[..., 0] / middle[..., 0]]
    for i in range(1, count):
        pivot = 1.0 / (middle[..., i] - below[..., i] * factors[-1])
        factors.append(above[..., i] * pivot)
        values.append((right[..., i] - below[..., i] * values[-1]) * pivot)
    found = [values[-1]]
    for i in range(count - 2, -1, -1):
        found.append(values[i] - factors[i] * found[-1])
    return torch.stack(found[::-1], -1)


def limited(ratio):
    """Superbee."""
    return torch.clamp(torch.maximum(torch.clamp(2 * ratio, max=1.0), torch.clamp(ratio, max=2.0)), min=0.0)


def advected(x, speed, along):
    """What a current carries through each face, second order where the field is smooth."""
    ahead, behind, far = torch.roll(x, -1, along), torch.roll(x, 1, along), torch.roll(x, -2, along)
    step = ahead - x
    safe = torch.where(step.abs() > 1e-20, step, torch.full_like(step, 1e-20))
    ratio = torch.where(speed > 0, x - behind, far - ahead) / safe
    return speed * 0.5 * (ahead + x) - speed.abs() * (1.0 - limited(ratio)) * 0.5 * step


class Energy(nn.Module):
    def forward(self, energy, stability, shear, u, v, w, dx, dy, dz, mask, forcing):
        root = energy.clamp(min=0.0).sqrt()
        length = 2**0.5 * root / stability.clamp(min=LEAST).sqrt()
        height = torch.cumsum(dz, -1)
        length = torch.minimum(length, torch.minimum(height, height[..., -1:] - height + dz)).clamp(min=1e-8)
        mixing = (VISCOUS * length * root).clamp(min=2e-4, max=100.0) * mask
        production = mixing * shear - mixing / torch.clamp(6.6 * stability / shear.clamp(min=LEAST), 1.0, 10.0) * stability
        flux = STEP * 0.5 * (mixing + torch.roll(mixing, -1, -1)) / dz
        flux = torch.cat((flux[..., :-1], torch.zeros_like(flux[..., :1])), -1)
        below = torch.cat((torch.zeros_like(flux[..., :1]), -flux[..., :-1]), -1) / dz
        above = -flux / dz
        middle = 1.0 - below - above + STEP * DISSIPATION * root / length
        right = energy + STEP * production
        right = torch.cat((right[..., :-1], right[..., -1:] + STEP * forcing[..., None] / (0.5 * dz[..., -1:])), -1)
        energy = torch.where(mask > 0, solve(below, middle, above, right), energy).clamp(min=0.0)
        change = 0.0
        for along, (speed, step) in enumerate(((u, dx), (v, dy), (w, dz))):
            through = advected(energy, speed, along)
            change = change - (through - torch.roll(through, 1, along)) / step
        return energy + STEP * change * mask, mixing


def model(tiny):
    return Energy()


def loss(outputs, targets):
    return outputs[0].mean()


def data(batch, tiny, training):
    size = x, y, z = shape(batch)
    fields = field(size, 1e-6, 1e-3), field(size, 1e-7, 1e-4), field(size, 1e-7, 1e-4)
    currents = field(size, -1.0, 1.0), field(size, -1.0, 1.0), field(size, -1e-4, 1e-4)
    steps = field((x, 1, 1), 1e4, 1e5), field((1, y, 1), 1e4, 1e5), field((1, 1, z), 10.0, 100.0)
    return (*fields, *currents, *steps, (torch.rand(size) > 0.1).float(), field((x, y), 0.0, 1e-6)), None
