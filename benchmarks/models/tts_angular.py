# SPDX-License-Identifier: Apache-2.0
"""The speaker encoder of Coqui's TTS after TorchBench's description: three LSTMs of 768 with projections to 256, the mean over
time normalised, and the angular prototypical loss of Chung et al. 2020 over pairs of utterances.
"""

import torch
import torch.nn.functional as F
from torch import nn

BATCH, TINY_BATCH, PARAMETERS = (64, 64), 4, 9_381_890


class Layer(nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.lstm, self.project = nn.LSTM(inputs, hidden, batch_first=True), nn.Linear(hidden, outputs, bias=False)

    def forward(self, x):
        return self.project(self.lstm(x)[0])


class Encoder(nn.Module):
    def __init__(self, inputs=40, outputs=256, hidden=768, layers=3):
        super().__init__()
        self.layers = nn.Sequential(Layer(inputs, hidden, outputs), *(Layer(outputs, hidden, outputs) for _ in range(layers - 1)))
        self.scale, self.shift = nn.Parameter(torch.tensor(10.0)), nn.Parameter(torch.tensor(-5.0))

    def forward(self, x):
        voices = F.normalize(self.layers(x)[:, -1], dim=1)
        pairs = voices.view(voices.shape[0] // 2, 2, -1)
        return F.cosine_similarity(pairs[:, None, 1], pairs[None, :, 0], dim=2) * self.scale.clamp(min=1e-6) + self.shift


def model(tiny):
    return Encoder(5, 6, 8, 2) if tiny else Encoder()


def loss(outputs, targets):
    return F.cross_entropy(outputs, targets)


def data(batch, tiny, training):
    batch += batch % 2
    return (torch.rand(batch, 6 if tiny else 50, 5 if tiny else 40),), torch.arange(batch // 2)
