# SPDX-License-Identifier: Apache-2.0
"""A variational autoencoder of generated pictures: reparameterised samples, binary cross entropy, and a divergence."""

import _losses
import torch
import torch.nn.functional as F
from torch import nn


class VAE(nn.Module):
    def __init__(self, pixels=144, hidden=64, code=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, hidden), nn.Tanh())
        self.mean, self.log_variance = nn.Linear(hidden, code), nn.Linear(hidden, code)
        self.decoder = nn.Sequential(nn.Linear(code, hidden), nn.ReLU(), nn.Linear(hidden, pixels), nn.Sigmoid())

    def forward(self, x):
        h = self.encoder(x)
        mean, log_variance = self.mean(h), self.log_variance(h)
        code = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        return self.decoder(code), mean, log_variance


def blobs(count, size=12):
    """Soft round spots at random places, with values between 0 and 1."""
    centre = torch.rand(count, 2, 1, 1) * size
    y, x = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    return torch.exp(-((x - centre[:, 0]) ** 2 + (y - centre[:, 1]) ** 2) / 8).flatten(1)


def train(steps):
    torch.manual_seed(0)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(steps):
        x = blobs(32)
        seen, mean, log_variance = model(x)
        error = F.binary_cross_entropy(seen, x, reduction="sum")
        divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
        loss = (error + divergence) / len(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


if __name__ == "__main__":
    _losses.main(train, 50)
