# SPDX-License-Identifier: Apache-2.0
"""BERT after the description of TorchBench's BERT_pytorch: 12 layers of 12 heads and 768 channels, norms before the branches,
places of sines, three kinds of segments, two heads (the next sentence, masked words), about 20,000 words.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from _common import Block, adamw, small

BATCH, TINY_BATCH, PARAMETERS = (16, 2), 2, 115_798_306
optimiser = adamw


class Bert(nn.Module):
    def __init__(self, width=768, heads=12, layers=12, words=20000, length=128):
        super().__init__()
        self.words, self.kinds = nn.Embedding(words, width, padding_idx=0), nn.Embedding(3, width, padding_idx=0)
        place = torch.arange(length)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        self.register_buffer("places", torch.stack((place.sin(), place.cos()), 2).flatten(1))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.next, self.masked = nn.Linear(width, 2), nn.Linear(width, words)

    def forward(self, tokens, kinds):
        x = self.words(tokens) + self.places[: tokens.shape[1]] + self.kinds(kinds)
        for block in self.blocks:
            x = block(x)
        return F.log_softmax(self.next(x[:, 0]), -1), F.log_softmax(self.masked(x), -1)


def loss(outputs, targets):
    return F.nll_loss(outputs[0], targets[0]) + F.nll_loss(outputs[1].transpose(1, 2), targets[1], ignore_index=0)


def model(tiny):
    return small(Bert(16, 2, 2, 50, 8) if tiny else Bert())


def data(batch, tiny, training):
    length, words = (6, 50) if tiny else (128, 20000)
    inputs = torch.randint(1, words, (batch, length)), torch.randint(1, 3, (batch, length))
    return inputs, (torch.randint(0, 2, (batch,)), torch.randint(0, words, (batch, length)))
