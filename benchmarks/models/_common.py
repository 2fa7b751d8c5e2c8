# SPDX-License-Identifier: Apache-2.0
"""What model files share: data of a seed, losses, blocks of convolutional networks, attention.

A file has BATCH (TorchBench's batch sizes of training and inference), TINY_BATCH, PARAMETERS (of the full size), model(tiny),
data(batch, tiny, training) -> (inputs, targets), and where the default is not meant loss(outputs, targets) and
optimiser(parameters). The same text runs under Facula and PyTorch.
"""

import torch
import torch.nn.functional as F
from torch import nn


def pictures(batch, size, classes, channels=3):
    return (torch.randn(batch, channels, size, size),), torch.randint(0, classes, (batch,))


def cross_entropy(outputs, targets):
    return F.cross_entropy(outputs, targets)


def token_loss(outputs, targets):
    """Of [batch, length, words] and [batch, length]."""
    return F.cross_entropy(outputs.flatten(0, 1), targets.flatten())


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-4)


def unit(inputs, outputs, kernel, stride=1, groups=1, activation=nn.ReLU, eps=1e-5, momentum=0.1):
    """Convolution without bias, batch norm and, unless it is None, an activation in place."""
    parts = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs, eps, momentum)]
    return nn.Sequential(*parts, activation(inplace=True)) if activation else nn.Sequential(*parts)


def eighth(n):
    """The multiple of eight next to n, not under nine tenths of it."""
    rounded = max(8, int(n + 4) // 8 * 8)
    return rounded if rounded >= 0.9 * n else rounded + 8


class Attention(nn.Module):
    """Queries, keys and values from one projection, or from three."""

    def __init__(self, width, heads, causal=False, bias=True):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.project, self.output = nn.Linear(width, 3 * width, bias), nn.Linear(width, width, bias)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.project(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """A transformer's block: norms before the two branches (GPT-2, ViT) or after the sums (BERT)."""

    def __init__(self, width, heads, causal=False, norm_first=True, gelu="none", eps=1e-5):
        super().__init__()
        self.norm_first = norm_first
        self.attention = Attention(width, heads, causal)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(gelu), nn.Linear(4 * width, width))
        self.norm1, self.norm2 = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)

    def forward(self, x):
        if self.norm_first:
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


def small(model, std=0.02):
    """Weights of a transformer as GPT-2's: normal, biases zero."""
    for part in model.modules():
        if isinstance(part, (nn.Linear, nn.Embedding)):
            nn.init.normal_(part.weight, std=std)
            if getattr(part, "bias", None) is not None:
                nn.init.zeros_(part.bias)
    return model


class Gpt2(nn.Module):
    """GPT-2; the output's weights are the embedding's."""

    def __init__(self, width, heads, layers, words, places):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(places, width)
        self.blocks = nn.ModuleList(Block(width, heads, causal=True, gelu="tanh") for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens):
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def words(batch, length, count):
    """Tokens, and for each the next one."""
    tokens = torch.randint(0, count, (batch, length + 1))
    return (tokens[:, :-1].contiguous(),), tokens[:, 1:].contiguous()
