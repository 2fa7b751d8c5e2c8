# SPDX-License-Identifier: Apache-2.0
"""LLaMA after the description of TorchBench's small one: 512 channels, 8 layers of 8 heads, 32 words, rotations by complex
numbers, keys and values in a cache that starts one token late. It is for inference: the cache is changed in place.
"""

import torch
import torch.nn.functional as F
from torch import nn

from _common import small

BATCH, TINY_BATCH, PARAMETERS = (32, 32), 2, 27_304_448
START = 1


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-5) * self.weight


def rotated(x, turns):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns[:, None]).flatten(3).type_as(x)


class Layer(nn.Module):
    def __init__(self, width, heads, batch, length):
        super().__init__()
        self.heads, size = heads, 256 * ((8 * width // 3 + 255) // 256) if width >= 256 else 3 * width
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.down, self.up = nn.Linear(width, size, bias=False), nn.Linear(size, width, bias=False), nn.Linear(width, size, bias=False)
        self.norm1, self.norm2 = Norm(width), Norm(width)
        self.register_buffer("keys", torch.zeros(batch, length, heads, width // heads))
        self.register_buffer("values", torch.zeros(batch, length, heads, width // heads))

    def forward(self, x, turns, mask):
        batch, length, width = x.shape
        y = self.norm1(x)
        q, k, v = (f(y).view(batch, length, self.heads, -1) for f in (self.q, self.k, self.v))
        end = START + length
        self.keys[:batch, START:end], self.values[:batch, START:end] = rotated(k, turns), v
        q, k, v = (t.transpose(1, 2) for t in (rotated(q, turns), self.keys[:batch, :end], self.values[:batch, :end]))
        scores = F.softmax((q @ k.transpose(2, 3) / q.shape[-1] ** 0.5 + mask).float(), -1).type_as(q)
        x = x + self.o((scores @ v).transpose(1, 2).reshape(batch, length, width))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, width=512, layers=8, heads=8, words=32, batch=32, length=33):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Layer(width, heads, batch, length) for _ in range(layers))
        self.norm, self.head = Norm(width), nn.Linear(width, words, bias=False)
        size = width // heads
        angles = torch.outer(torch.arange(length).float(), 1.0 / 10000 ** (torch.arange(0, size, 2).float() / size))
        self.register_buffer("turns", torch.view_as_real(torch.polar(torch.ones_like(angles), angles)))

    def forward(self, tokens):
        length = tokens.shape[1]
        x, turns = self.words(tokens), torch.view_as_complex(self.turns[START : START + length].contiguous())
        mask = torch.triu(torch.full((length, START + length), float("-inf")), START + 1).type_as(x)
        for layer in self.layers:
            x = layer(x, turns, mask)
        return self.head(self.norm(x)[:, -1])


def model(tiny):
    return small(Llama(16, 2, 2, 8, 4, 8) if tiny else Llama())


def data(batch, tiny, training):
    length, words = (6, 8) if tiny else (32, 32)
    return (torch.randint(0, words, (batch, length)),), None
