# SPDX-License-Identifier: Apache-2.0
"""A Llama with rotary positions and grouped heads, written as for one process: tensor and sequence parallel by a plan, its blocks
cut by fully_shard over the other dimension of the mesh, has the losses of one process."""
import contextlib
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed._composable.fsdp import fully_shard
from torch.distributed._tensor import DTensor, Replicate, Shard
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel, loss_parallel, parallelize_module
from torch.nn import functional as F

WIDTH, HEADS, KEYS, VOCABULARY, LAYERS, LENGTH, STEPS = 32, 4, 2, 40, 2, 8, 20


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        y = x.float()
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).type_as(x) * self.weight


def turns(width, length):
    angles = 1.0 / (10000.0 ** (torch.arange(0, width, 2).float() / width))
    return torch.polar(torch.ones(length, width // 2), torch.outer(torch.arange(length).float(), angles))


def turned(x, by):
    y = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(y * by.view(1, by.shape[0], 1, by.shape[1])).flatten(3).type_as(x)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = WIDTH // HEADS
        self.wq, self.wo = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2))
        self.wk, self.wv = (nn.Linear(WIDTH, KEYS * self.head, bias=False) for _ in range(2))

    def forward(self, x, by):
        b, t, _ = x.shape
        q, k, v = (w(x).view(b, t, -1, self.head) for w in (self.wq, self.wk, self.wv))
        q, k = turned(q, by), turned(k, by)
        k, v = (y.unsqueeze(3).expand(b, t, y.shape[2], HEADS // KEYS, self.head).reshape(b, t, -1, self.head) for y in (k, v))
        y = F.scaled_dot_product_attention(*(y.transpose(1, 2) for y in (q, k, v)), is_causal=True)
        return self.wo(y.transpose(1, 2).contiguous().view(b, t, -1))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w3 = (nn.Linear(WIDTH, 64, bias=False) for _ in range(2))
        self.w2 = nn.Linear(64, WIDTH, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.feed_forward, self.attention_norm, self.ffn_norm = Attention(), FeedForward(), Norm(), Norm()

    def forward(self, x, by):
        x = x + self.attention(self.attention_norm(x), by)
        return x + self.feed_forward(self.ffn_norm(x))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok_embeddings, self.norm, self.output = nn.Embedding(VOCABULARY, WIDTH), Norm(), nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.register_buffer("turns", turns(WIDTH // HEADS, LENGTH))

    def forward(self, tokens):
        x, by = self.tok_embeddings(tokens), self.turns[: tokens.shape[1]]
        for layer in self.layers:
            x = layer(x, by)
        return self.output(self.norm(x)).float()


def train(model, batches, shared_out=False):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, foreach=True)
    losses = []
    for batch in batches:
        with loss_parallel() if shared_out else contextlib.nullcontext():
            loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten(0, 1))
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        optimizer.zero_grad()
        loss = loss.detach()
        losses.append(loss.full_tensor() if isinstance(loss, DTensor) else loss)
    return torch.stack(losses)


def make():
    torch.manual_seed(1)
    return Llama()


def parallel(model, mesh, shared_out):
    parallelize_module(model, mesh, {
        "tok_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "norm": SequenceParallel(),
        "output": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1) if shared_out else Replicate(), use_local_output=not shared_out),
    })  # fmt: skip
    for layer in model.layers:
        parallelize_module(layer, mesh, {
            "attention_norm": SequenceParallel(),
            "attention": PrepareModuleInput(input_layouts=(Shard(1), Replicate()), desired_input_layouts=(Replicate(), Replicate())),
            "attention.wq": ColwiseParallel(use_local_output=False),
            "attention.wk": ColwiseParallel(use_local_output=False),
            "attention.wv": ColwiseParallel(use_local_output=False),
            "attention.wo": RowwiseParallel(output_layouts=Shard(1)),
            "ffn_norm": SequenceParallel(),
            "feed_forward": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
            "feed_forward.w1": ColwiseParallel(),
            "feed_forward.w2": RowwiseParallel(output_layouts=Shard(1)),
            "feed_forward.w3": ColwiseParallel(),
        })  # fmt: skip
    return model


warnings.simplefilter("error")  # nothing is computed on whole tensors for want of a rule
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
draws = torch.Generator().manual_seed(0)
data = [torch.randint(0, VOCABULARY, (4, LENGTH + 1), generator=draws) for _ in range(STEPS)]
wanted = train(make(), data)
mesh = init_device_mesh("cpu", (size // 2, 2), mesh_dim_names=("dp", "tp"))
model = parallel(make(), mesh["tp"], shared_out=size == 2)
if size == 2:
    found = train(model, data, shared_out=True)
else:
    for layer in model.layers:
        fully_shard(layer, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    at = mesh["dp"].get_local_rank()
    found = train(model, [batch[2 * at : 2 * at + 2] for batch in data])
    dist.all_reduce(found, dist.ReduceOp.AVG)
assert (found - wanted).abs().max() < 1e-5, (found - wanted).abs().max()
dist.barrier()
dist.destroy_process_group()
print(f"rank {rank} passed")
