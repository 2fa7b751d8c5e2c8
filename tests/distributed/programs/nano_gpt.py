# SPDX-License-Identifier: Apache-2.0
"""A small GPT that trains alone, or under torchrun, in the manner of nanoGPT and llama2.c: RANK in the environment decides,
batches are cut over the ranks, gradients are added up over micro-steps and reduced at the last one."""
import math
import os
from contextlib import nullcontext

import torch
from torch import nn
from torch.distributed import destroy_process_group, init_process_group
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

VOCABULARY, BLOCK, WIDTH, HEADS, LAYERS = 50, 16, 32, 4, 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, HEADS, c // HEADS).transpose(1, 2) for y in self.qkv(self.ln_1(x)).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).contiguous().view(b, t, c))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.blocks, self.ln = nn.ModuleList(Block() for _ in range(LAYERS)), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.wte.weight = self.head.weight  # tied

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.ln(x))
        return logits, F.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1))


gradient_accumulation_steps = 4
ddp = int(os.environ.get("RANK", -1)) != -1
if ddp:
    init_process_group(backend="gloo")
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    assert gradient_accumulation_steps % world == 0
    gradient_accumulation_steps //= world
else:
    rank, world = 0, 1
torch.manual_seed(1337)
model = GPT()
decay = [p for p in model.parameters() if p.dim() >= 2]
plain = [p for p in model.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}], lr=1e-2, betas=(0.9, 0.95))
raw_model = model
if ddp:
    model = DDP(model)
draws = torch.Generator().manual_seed(7)
text = torch.randint(0, VOCABULARY, (4000,), generator=draws)
losses = []
for step in range(20):
    for group in optimizer.param_groups:
        group["lr"] = 1e-2 * (0.5 + 0.5 * math.cos(math.pi * step / 20))
    places = torch.randint(len(text) - BLOCK - 1, (4, 3), generator=draws)  # of all ranks' micro-steps
    total = torch.zeros(())
    for micro in range(gradient_accumulation_steps):
        at = places[micro * world + rank]
        x, y = (torch.stack([text[i + o : i + o + BLOCK] for i in at]) for o in (0, 1))
        if ddp:
            model.require_backward_grad_sync = micro == gradient_accumulation_steps - 1
        with nullcontext():
            _, loss = model(x, y)
            loss = loss / gradient_accumulation_steps
        total += loss.detach()
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if ddp:
        torch.distributed.all_reduce(total, op=torch.distributed.ReduceOp.AVG)
    losses.append(total.item())
if rank == 0:
    print("losses", *(f"{x:.7f}" for x in losses))
    torch.save(raw_model.state_dict(), "ckpt.pt")
if ddp:
    destroy_process_group()
