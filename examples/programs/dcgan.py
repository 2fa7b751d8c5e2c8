# SPDX-License-Identifier: Apache-2.0
"""A DCGAN of 16x16 pictures: transposed convolutions against strided ones, two optimisers. Prints both losses' sum."""

import _losses
import torch
from torch import nn


def initialise(module):
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)
        nn.init.zeros_(module.bias)


def generator(code=16, width=16):
    return nn.Sequential(
        nn.ConvTranspose2d(code, 2 * width, 4, 1, 0, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(True),
        nn.ConvTranspose2d(2 * width, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
        nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False), nn.Tanh(),
    ).apply(initialise)


def discriminator(width=16):
    return nn.Sequential(
        nn.Conv2d(3, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(2 * width, 1, 4, 1, 0, bias=False), nn.Flatten(0),
    ).apply(initialise)


def train(steps):
    torch.manual_seed(0)
    make, judge = generator(), discriminator()
    makers = torch.optim.Adam(make.parameters(), lr=2e-4, betas=(0.5, 0.999))
    judges = torch.optim.Adam(judge.parameters(), lr=2e-4, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    ramp = torch.linspace(-1, 1, 16)
    for _ in range(steps):
        real = torch.tanh(torch.randn(16, 3, 1, 1) + ramp[:, None] * torch.randn(16, 1, 1, 1) + ramp)
        fake = make(torch.randn(16, 16, 1, 1))
        judges.zero_grad()
        judged = criterion(judge(real), torch.ones(16)) + criterion(judge(fake.detach()), torch.zeros(16))
        judged.backward()
        judges.step()
        makers.zero_grad()
        made = criterion(judge(fake), torch.ones(16))
        made.backward()
        makers.step()
        yield judged.item() + made.item()


if __name__ == "__main__":
    _losses.main(train, 10)
