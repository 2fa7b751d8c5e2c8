# SPDX-License-Identifier: Apache-2.0
"""Collectives as operators and functions with derivatives, SyncBatchNorm, ZeroRedundancyOptimizer, a Python engine."""
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.distributed.nn.functional as dnn
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
everyone = range(size)


def seeded(r, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(r), dtype=torch.float64)


def check(distributed, alone, *shape):
    """distributed(x) on each rank; alone(all) -> the list of what each rank gets. Values, and gradients of a weighted sum."""
    x = seeded(rank, *shape).requires_grad_()
    out = distributed(x)
    all_ = [seeded(r, *shape).requires_grad_() for r in everyone]
    wanted = alone(all_)
    torch.testing.assert_close(out, wanted[rank])
    (out * seeded(50 + rank, *out.shape)).sum().backward()
    sum((w * seeded(50 + r, *w.shape)).sum() for r, w in enumerate(wanted)).backward()
    torch.testing.assert_close(x.grad, all_[rank].grad if all_[rank].grad is not None else torch.zeros_like(x))


check(lambda x: funcol.all_reduce(x, "sum", dist.group.WORLD), lambda a: [sum(a)] * size, 3, 2)
check(lambda x: funcol.all_reduce(x, "avg", dist.group.WORLD), lambda a: [sum(a) / size] * size, 3, 2)
check(lambda x: dnn.all_reduce(x), lambda a: [sum(a)] * size, 4)
check(lambda x: funcol.all_gather_tensor(x, 0, None), lambda a: [torch.cat(a)] * size, 3, 2)
check(lambda x: funcol.all_gather_tensor(x, 1, None), lambda a: [torch.cat(a, 1)] * size, 3, 2)
check(lambda x: torch.stack(dnn.all_gather(x)), lambda a: [torch.stack(a)] * size, 3, 2)
check(lambda x: funcol.reduce_scatter_tensor(x, "sum", 0, None), lambda a: list(sum(a).chunk(size)), 2 * size, 3)
check(lambda x: funcol.reduce_scatter_tensor(x, "avg", 1, None), lambda a: [c / size for c in sum(a).chunk(size, 1)], 3, 2 * size)
check(lambda x: dnn.broadcast(x, 1), lambda a: [a[1]] * size, 3)
check(lambda x: dnn.scatter(list(x.unbind()), 1), lambda a: [a[1][r] for r in everyone], size, 3)
check(lambda x: torch.stack(dnn.gather(x, 0)), lambda a: [torch.stack(a) if r == 0 else torch.stack(a) * 0 for r in everyone], 3)
check(lambda x: dnn.reduce(x, 0), lambda a: [sum(a) if r == 0 else a[r] for r in everyone], 3)
check(lambda x: dnn.reduce_scatter(torch.empty(3), list(x.unbind())), lambda a: list(sum(a).unbind()), size, 3)
check(lambda x: torch.cat(dnn.all_to_all([torch.empty(2, 3)] * size, list(x.chunk(size)))),
      lambda a: [torch.cat([t.chunk(size)[r] for t in a]) for r in everyone], 2 * size, 3)  # fmt: skip
check(lambda x: funcol.permute_tensor(x, [(r + 1) % size for r in everyone]), lambda a: [a[(r - 1) % size] for r in everyone], 2, 2)

# Operators begin, wait_tensor ends; observers see both; shapes are known without data.
seen = []
with torch.profiler.profile() as p:
    begun = [torch.ops._c10d_functional.all_reduce(torch.full((1000,), float(i)), "sum", dist.group.WORLD.group_name) for i in range(4)]
    done = [torch.ops._c10d_functional.wait_tensor(b) for b in begun]
assert [int(d[0]) for d in done] == [i * size for i in range(4)]
names = {e.key: e.count for e in p.key_averages()}
assert names["_c10d_functional::all_reduce"] >= 4 <= names["_c10d_functional::wait_tensor"], names
meta = torch.ops._c10d_functional.all_gather_into_tensor(torch.empty(3, 2, device="meta"), size, dist.group.WORLD.group_name)
assert meta.shape == (3 * size, 2) and meta.device.type == "meta"
for wrong, text in ((lambda: funcol.all_reduce(torch.ones(1), "median", None), "unknown reduction"),
                    (lambda: funcol.reduce_scatter_tensor(torch.ones(size + 1), "sum", 0, None), "equal parts"),
                    (lambda: funcol.all_reduce(torch.ones(1), "sum", "nobody"), "no process group named")):  # fmt: skip
    try:
        wrong()
    except (ValueError, RuntimeError) as e:
        assert text in str(e), str(e)
    else:
        raise AssertionError(text)

# SyncBatchNorm is BatchNorm of the whole batch.
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 2, 3)).double()
sync = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(*[type(m)(*a) for m, a in ((net[0], (2, 4, 3)), (net[1], (4,)))], nn.ReLU(), nn.Conv2d(4, 2, 3)).double())
sync.load_state_dict(net.state_dict())
x = seeded(7, 3 * size, 2, 6, 6)
ddp = DistributedDataParallel(sync)
out = ddp(x[3 * rank : 3 * rank + 3])
wanted = net(x)
torch.testing.assert_close(out, wanted[3 * rank : 3 * rank + 3])
(out.square().sum() * size / 2).backward()
(wanted.square().sum() / 2).backward()
for a, b in zip(sync.parameters(), net.parameters()):
    torch.testing.assert_close(a.grad, b.grad)
torch.testing.assert_close(sync[1].running_var, net[1].running_var)

# State that is shared out over ranks: the parameters of an optimizer that has all of it.
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(3, 5))
torch.manual_seed(0)
other = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(3, 5))
plain = torch.optim.AdamW(net.parameters(), lr=0.1)
zero = ZeroRedundancyOptimizer(other.parameters(), torch.optim.AdamW, lr=0.1)
schedulers = [torch.optim.lr_scheduler.StepLR(o, 2) for o in (plain, zero)]
for step in range(5):
    for m, o, s in zip((net, other), (plain, zero), schedulers):
        o.zero_grad()
        m(torch.ones(2, 4)).square().sum().backward()
        o.step(), s.step()
for a, b in zip(net.parameters(), other.parameters()):
    torch.testing.assert_close(a, b)
assert len(zero.optim.state) < 6 or size == 1
zero.consolidate_state_dict(to=0)
if rank == 0:
    whole = zero.state_dict()
    assert whole["state"].keys() == plain.state_dict()["state"].keys()
    for i, s in plain.state_dict()["state"].items():
        torch.testing.assert_close(whole["state"][i]["exp_avg"], s["exp_avg"])
box = [whole if rank == 0 else None]
dist.broadcast_object_list(box, 0)
again = ZeroRedundancyOptimizer(other.parameters(), torch.optim.AdamW, lr=0.1)
again.load_state_dict(box[0])
for m, o in ((net, plain), (other, again)):
    o.zero_grad()
    m(torch.ones(2, 4)).square().sum().backward()
    o.step()
for a, b in zip(net.parameters(), other.parameters()):
    torch.testing.assert_close(a, b)


# An engine in twenty lines of Python, over the store.
class OverTheStore:
    def __init__(self, store, rank, size, timeout):
        self.store, self.rank, self.size, self.count = store, rank, size, 0

    def all_gather(self, outputs, tensor):
        self.count += 1
        self.store.set(f"{self.count}/{self.rank}", tensor.numpy().tobytes())
        for r, out in enumerate(outputs):
            out.copy_(torch.frombuffer(bytearray(self.store.get(f"{self.count}/{r}")), dtype=out.dtype).view(out.shape))

    def all_reduce(self, tensor, op):
        outs = [torch.empty_like(tensor) for _ in range(self.size)]
        self.all_gather(outs, tensor)
        tensor.copy_({dist.ReduceOp.SUM: lambda: sum(outs), dist.ReduceOp.MAX: lambda: torch.stack(outs).amax(0)}[op]())

    def broadcast(self, tensor, root):
        outs = [torch.empty_like(tensor) for _ in range(self.size)]
        self.all_gather(outs, tensor)
        tensor.copy_(outs[root])


dist.Backend.register_backend("overstore", OverTheStore, devices=["cpu"])
assert dist.is_backend_available("overstore") and dist.Backend.OVERSTORE == "overstore"
own = dist.new_group(backend="overstore")
x = torch.arange(6.0).view(2, 3).t() + rank
dist.all_reduce(x, dist.ReduceOp.AVG, group=own)
torch.testing.assert_close(x, torch.arange(6.0).view(2, 3).t() + (size - 1) / 2)
out = torch.empty(2)
dist.reduce_scatter_tensor(out, torch.arange(2.0 * size), group=own)
assert out.tolist() == [size * 2.0 * rank, size * (2.0 * rank + 1)]
t = torch.zeros(size)
dist.all_to_all_single(t, torch.arange(float(size)) + 10 * rank, group=own)
assert t.tolist() == [10.0 * r + rank for r in everyone]
dist.barrier(group=own)
found = [None] * size
dist.all_gather_object(found, rank, group=own)
assert found == list(everyone)
try:
    dist.all_reduce(torch.ones(2), dist.ReduceOp.MIN, group=own)
    raise AssertionError
except dist.DistBackendError as e:
    assert "KeyError" in str(e)
dist.barrier()
dist.destroy_process_group()
print(f"rank {rank} passed")
