# SPDX-License-Identifier: Apache-2.0
"""Super SloMo of Jiang et al. 2017: one U-Net finds the flow between two frames, another mends the flow to a frame between
them, and pictures are moved along it. The perceptual part of its loss needs VGG's weights and is left out.
"""

import torch
import torch.nn.functional as F
from torch import nn

BATCH, TINY_BATCH, PARAMETERS = (6, 6), 2, 39_610_473


class UNet(nn.Module):
    def __init__(self, inputs, outputs, width=32):
        super().__init__()
        widths = [width << i for i in range(5)] + [width << 4]
        sizes = (7, 5, 3, 3, 3, 3)
        self.first = nn.ModuleList((nn.Conv2d(inputs, width, 7, 1, 3), nn.Conv2d(width, width, 7, 1, 3)))
        self.down = nn.ModuleList(
            nn.ModuleList((nn.Conv2d(a, b, k, 1, k // 2), nn.Conv2d(b, b, k, 1, k // 2))) for a, b, k in zip(widths, widths[1:], sizes[1:])
        )
        self.up = nn.ModuleList(
            nn.ModuleList((nn.Conv2d(a, b, 3, 1, 1), nn.Conv2d(2 * b, b, 3, 1, 1))) for a, b in zip(widths[::-1], widths[-2::-1])
        )
        self.last = nn.Conv2d(width, outputs, 3, 1, 1)

    @staticmethod
    def twice(pair, x, side=None):
        x = F.leaky_relu(pair[0](x), 0.1)
        return F.leaky_relu(pair[1](x if side is None else torch.cat((x, side), 1)), 0.1)

    def forward(self, x):
        kept = [self.twice(self.first, x)]
        for pair in self.down:
            kept.append(self.twice(pair, F.avg_pool2d(kept[-1], 2)))
        x = kept.pop()
        for pair in self.up:
            x = self.twice(pair, F.interpolate(x, scale_factor=2, mode="bilinear"), kept.pop())
        return F.leaky_relu(self.last(x), 0.1)


def moved(picture, flow):
    """The picture, each place read where the flow points."""
    height, width = picture.shape[2:]
    y, x = torch.meshgrid(torch.arange(height, dtype=flow.dtype), torch.arange(width, dtype=flow.dtype), indexing="ij")
    grid = torch.stack((2 * ((x + flow[:, 0]) / width - 0.5), 2 * ((y + flow[:, 1]) / height - 0.5)), 3)
    return F.grid_sample(picture, grid, align_corners=False)


class SloMo(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.flows, self.mend = UNet(6, 4, width), UNet(20, 5, width)
        self.register_buffer("times", torch.linspace(0.125, 0.875, 7))

    def forward(self, index, first, truth, last):
        flow = self.flows(torch.cat((first, last), 1))
        there, back = flow[:, :2], flow[:, 2:]
        t = self.times[index].view(-1, 1, 1, 1)
        to_first, to_last = -(1 - t) * t * there + t * t * back, (1 - t) ** 2 * there - t * (1 - t) * back
        from_first, from_last = moved(first, to_first), moved(last, to_last)
        out = self.mend(torch.cat((first, last, there, back, to_last, to_first, from_last, from_first), 1))
        to_first, to_last, seen = out[:, :2] + to_first, out[:, 2:4] + to_last, torch.sigmoid(out[:, 4:5])
        weights = (1 - t) * seen, t * (1 - seen)
        between = (weights[0] * moved(first, to_first) + weights[1] * moved(last, to_last)) / (weights[0] + weights[1])
        guessed = (from_first, truth), (from_last, truth), (moved(first, back), last), (moved(last, there), first)
        return between, truth, guessed, there, back


def loss(outputs, targets):
    between, truth, guessed, there, back = outputs
    warped = sum(F.l1_loss(a, b) for a, b in guessed)
    smooth = sum((f[:, :, :, 1:] - f[:, :, :, :-1]).abs().mean() + (f[:, :, 1:] - f[:, :, :-1]).abs().mean() for f in (there, back))
    return 204 * F.l1_loss(between, truth) + 102 * warped + smooth


def model(tiny):
    return SloMo(2) if tiny else SloMo()


def optimiser(parameters):
    return torch.optim.Adam(parameters, lr=1e-4)


def data(batch, tiny, training):
    size = 32 if tiny else 352
    return (torch.randint(0, 7, (batch,)), *(torch.rand(batch, 3, size, size) for _ in range(3))), None
