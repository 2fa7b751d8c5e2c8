# SPDX-License-Identifier: Apache-2.0
"""Grids of an ocean model, as pyhpc-benchmarks makes them: a number of points becomes a grid of about 4 : 4 : 1."""

import torch


def shape(points):
    across = max(4, round((points / 0.125) ** (1 / 3)))
    return across, across, max(4, points // across**2)


def field(size, low, high):
    return low + (high - low) * torch.rand(size)


def central(x, along):
    """Half of the difference of the neighbours; the last ones of the grid are their own."""
    forward = torch.roll(x, -1, along)
    return 0.5 * (forward - torch.roll(x, 1, along))
