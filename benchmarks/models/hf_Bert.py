# SPDX-License-Identifier: Apache-2.0
"""BERT-base of Devlin et al. 2018 with the masked words' head (transformers' BertForMaskedLM); dropout is left out."""

import torch
import torch.nn.functional as F
from torch import nn

from _common import Block, adamw, small, token_loss

BATCH, TINY_BATCH, PARAMETERS = (4, 1), 2, 109_514_298
loss, optimiser = token_loss, adamw


class Bert(nn.Module):
    def __init__(self, width=768, heads=12, layers=12, words=30522, places=512):
        super().__init__()
        self.words, self.places, self.kinds = nn.Embedding(words, width), nn.Embedding(places, width), nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, 1e-12)
        self.blocks = nn.ModuleList(Block(width, heads, norm_first=False, eps=1e-12) for _ in range(layers))
        self.transform, self.last = nn.Linear(width, width), nn.LayerNorm(width, 1e-12)
        self.head = nn.Linear(width, words)
        self.head.weight = self.words.weight

    def forward(self, tokens):
        x = self.norm(self.words(tokens) + self.places.weight[: tokens.shape[1]] + self.kinds(torch.zeros_like(tokens)))
        for block in self.blocks:
            x = block(x)
        return self.head(self.last(F.gelu(self.transform(x))))


def model(tiny):
    return small(Bert(16, 2, 2, 50, 8) if tiny else Bert())


def data(batch, tiny, training):
    length, words = (6, 50) if tiny else (512, 30522)
    return (torch.randint(0, words, (batch, length)),), torch.randint(0, words, (batch, length))
