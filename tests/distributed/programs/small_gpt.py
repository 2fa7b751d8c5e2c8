# SPDX-License-Identifier: Apache-2.0
"""A small GPT, and the losses of one process that trains it: what programs on several processes are held to."""
import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY, BLOCK, WIDTH, HEADS, LAYERS, BATCH, STEPS = 52, 12, 32, 4, 2, 4, 20


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        h = self.ln_1(x)
        q, k, v = (w(h) for w in (self.wq, self.wk, self.wv))
        b, t, c = q.shape
        head = WIDTH // HEADS  # of as many heads as this rank has
        q, k, v = (y.view(b, t, c // head, head).transpose(1, 2) for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.wo(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.blocks, self.ln = nn.ModuleList(Block() for _ in range(LAYERS)), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln(x))


def make():
    torch.manual_seed(1337)
    return GPT()


def batches():
    draws = torch.Generator().manual_seed(7)
    return [torch.randint(0, VOCABULARY, (BATCH, BLOCK + 1), generator=draws) for _ in range(STEPS)]


def optimizer_of(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)


def loss_of(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def train(model, optimizer, steps, part=slice(None), clip=1.0, loss_of=loss_of):
    """The losses of steps over (tokens, targets), of which this process takes a part."""
    losses = []
    for batch in steps:
        optimizer.zero_grad()
        loss = loss_of(model(batch[part, :-1]), batch[part, 1:])
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        value = loss.detach()
        losses.append(value.full_tensor() if hasattr(value, "full_tensor") else value)
    return torch.stack(losses)


def alone(clip=1.0):
    model = make()
    return train(model, optimizer_of(model), batches(), clip=clip), model
