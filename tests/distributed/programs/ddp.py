# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel against one process with the whole batch: the same losses."""
import copy
import io

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms import ddp_comm_hooks
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
STEPS, PART = 20, 4
torch.manual_seed(1)
X, Y = torch.randn(STEPS, PART * size, 8), torch.randint(0, 3, (STEPS, PART * size))
mine = slice(PART * rank, PART * (rank + 1))


class Net(nn.Module):
    """With a parameter that some steps do not use, one that is used twice, and a layout that is not contiguous."""

    def __init__(self, skips=False):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(8, 64), nn.Linear(64, 64), nn.Linear(64, 3)
        self.conv = nn.Conv2d(1, 4, 3, padding=1).to(memory_format=torch.channels_last)
        self.spare, self.skips, self.step = nn.Linear(64, 64), skips, 0

    def forward(self, x):
        self.step += 1
        x = self.conv(x.reshape(-1, 1, 2, 4)).sum(1).reshape(-1, 8)
        x = self.b(self.b(self.a(x).relu()).relu())
        return self.c(self.spare(x) if not self.skips or self.step % 2 else x)


def make(**kwargs):
    torch.manual_seed(0)
    return Net(**kwargs)


def train(model, x, y, context=None, steps=STEPS):
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    losses = []
    for i in range(steps):
        optimizer.zero_grad(set_to_none=i % 3 != 2)
        loss = nn.functional.cross_entropy(model(x[i]), y[i])
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def agrees(ddp, wanted, tolerance=1e-5):
    losses = train(ddp, X[:, mine], Y[:, mine])
    dist.all_reduce(losses, dist.ReduceOp.AVG)
    assert (losses - wanted).abs().max() < tolerance, (losses - wanted).abs().max()


plain, skipping = train(make(), X, Y), train(make(skips=True), X, Y)
for options in ({}, {"gradient_as_bucket_view": True}, {"static_graph": True}, {"bucket_cap_mb": 0.001},
                {"find_unused_parameters": True}, {"static_graph": True, "gradient_as_bucket_view": True}):  # fmt: skip
    agrees(DistributedDataParallel(make(), **options), plain)
agrees(DistributedDataParallel(make(skips=True), find_unused_parameters=True), skipping)
for hook, tolerance in ((default_hooks.allreduce_hook, 1e-5), (default_hooks.bf16_compress_hook, 0.05),
                        (default_hooks.fp16_compress_hook, 0.01), (default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook), 0.05)):  # fmt: skip
    ddp = DistributedDataParallel(make())
    ddp.register_comm_hook(None, hook)
    agrees(ddp, plain, tolerance)
ddp = DistributedDataParallel(make())
ddp_comm_hooks.register_ddp_comm_hook(ddp_comm_hooks.DDPCommHookType.BF16_COMPRESS, ddp)
agrees(ddp, plain, 0.05)

# Ranks begin with rank 0's parameters and buffers, and buffers follow it.
torch.manual_seed(rank)
ddp = DistributedDataParallel(nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4)))
ddp(X[0, mine]), ddp(X[1, mine])
sums = torch.stack([ddp.module[0].weight.detach().sum(), ddp.module[1].running_mean.sum()])
both = torch.empty(size, 2)
dist.all_gather_into_tensor(both, sums)
assert (both[:, 0] == both[0, 0]).all()

# no_sync adds gradients up on each rank; the backward after it reduces the sum.
ddp, alone = DistributedDataParallel(make()), make()
with ddp.no_sync():
    ddp(X[0, mine]).sum().backward()
assert not torch.equal(grad := ddp.module.a.weight.grad.clone(), torch.zeros(()))
ddp(X[1, mine]).sum().backward()
(alone(X[0]).sum() / size).backward(), (alone(X[1]).sum() / size).backward()
torch.testing.assert_close(ddp.module.a.weight.grad, alone.a.weight.grad, rtol=1e-4, atol=1e-4)

# Ranks with different numbers of batches, and a sampler that cuts a dataset.
ddp = DistributedDataParallel(make())
optimizer = torch.optim.SGD(ddp.parameters(), 0.01)
with ddp.join():
    for i in range(3 + 2 * rank):
        optimizer.zero_grad()
        ddp(X[i, mine]).sum().backward()
        optimizer.step()
sums = torch.empty(size)
dist.all_gather_into_tensor(sums, sum(p.detach().sum() for p in ddp.parameters()).reshape(1))
assert (sums == sums[0]).all()
try:
    with ddp.join(throw_on_early_termination=True):
        for i in range(2 + rank):
            ddp(X[i, mine]).sum().backward()
    raise AssertionError
except RuntimeError as e:
    assert "exhausted inputs" in str(e)
keys = list(torch.utils.data.distributed.DistributedSampler(range(10), shuffle=False))
assert keys == [(rank + i * size) % 10 for i in range(len(keys))] and len(keys) == -(-10 // size)

# A second forward before backward, copies, files, evaluation without gradients.
ddp = DistributedDataParallel(make(), static_graph=False)
(ddp(X[0, mine]).sum() + 0).backward()
again = copy.deepcopy(ddp)
again(X[0, mine]).sum().backward()
ddp.eval()
with torch.no_grad():
    assert ddp(X[0, mine]).shape == (PART, 3)
buffer = io.BytesIO()
torch.save(ddp.state_dict(), buffer)
buffer.seek(0)
fresh = DistributedDataParallel(make())
fresh.load_state_dict(torch.load(buffer))
assert next(iter(fresh.state_dict())).startswith("module.")

# What is refused.
for wrong, text in (
    (lambda: DistributedDataParallel(nn.ReLU()), "doesn't have any parameter"),
    (lambda: DistributedDataParallel(nn.Linear(2, 2), device_ids=[0, 1]), "single element"),
    (lambda: DistributedDataParallel(nn.Linear(2 + rank, 2)), "parameter 'weight' is [2, 2] torch.float32 on rank 0, and 'weight' [2, 3]"),
    (lambda: DistributedDataParallel(nn.Linear(2, 2, bias=rank == 0)), "has 2 params, while rank 1 has 1"),
    (lambda: DistributedDataParallel(nn.LazyLinear(2)), "uninitialized"),
    (lambda: DistributedDataParallel(nn.Linear(2, 2), bucket_cap_mb=-1), "size above 0"),
):  # fmt: skip
    try:
        wrong()
    except (RuntimeError, ValueError) as e:
        assert text in str(e), (text, str(e))
    else:
        raise AssertionError(text)
ddp = DistributedDataParallel(make(skips=True))
ddp(X[0, mine]).sum().backward()
try:
    ddp(X[0, mine]).sum().backward()
    raise AssertionError
except RuntimeError as e:
    assert "spare.weight" in str(e) and "find_unused_parameters" in str(e)
dist.barrier()
dist.destroy_process_group()
print(f"rank {rank} passed")
