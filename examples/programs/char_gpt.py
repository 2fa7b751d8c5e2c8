# SPDX-License-Identifier: Apache-2.0
"""A small GPT over characters: causal attention, GELU, tied embedding, AdamW with two groups and clipped gradients."""

import _losses
import torch
import torch.nn.functional as F
from torch import nn

TEXT = (
    "a tensor is a view of memory with sizes and strides. an operator reads tensors and writes tensors. "
    "autograd remembers what was called, and walks back from the loss to the leaves. a module holds parameters; "
    "an optimiser moves them a little downhill. that is all, and the rest is speed. "
)
CONTEXT, WIDTH, HEADS, LAYERS = 32, 48, 4, 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(approximate="tanh"), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (p.view(b, t, HEADS, c // HEADS).transpose(1, 2) for p in self.qkv(self.norm1(x)).split(c, dim=2))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, vocabulary, bias=False)
        self.apply(self.initialise)
        self.head.weight = self.tokens.weight

    @staticmethod
    def initialise(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, index):
        x = self.tokens(index) + self.positions(torch.arange(index.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def train(steps):
    torch.manual_seed(0)
    letters = sorted(set(TEXT))
    text = torch.tensor([letters.index(c) for c in TEXT])
    model = GPT(len(letters))
    decay = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=3e-3, betas=(0.9, 0.95))
    warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))
    for _ in range(steps):
        start = torch.randint(len(text) - CONTEXT - 1, (8,))
        x = torch.stack([text[s:s + CONTEXT] for s in start.tolist()])
        y = torch.stack([text[s + 1:s + CONTEXT + 1] for s in start.tolist()])
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warmup.step()
        yield loss.item()


if __name__ == "__main__":
    _losses.main(train, 50)
