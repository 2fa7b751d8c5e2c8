# SPDX-License-Identifier: Apache-2.0
"""fully_shard: the losses of one process, in every arrangement; what is kept, what is let go of, what is refused."""
import torch
import torch.distributed as dist
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing
from torch.distributed.checkpoint.state_dict import get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.utils.checkpoint import checkpoint

import small_gpt

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
wanted, trained = small_gpt.alone()


def sharded(model=None, blocks=None, **options):
    model = small_gpt.make() if model is None else model
    for b in model.blocks:
        fully_shard(b, **(options | (blocks or {})))
    return fully_shard(model, **options)


def agrees(model, part, ranks=size, tolerance=1e-5, clip=1.0, losses=None):
    optimizer = small_gpt.optimizer_of(model)
    assert all(isinstance(p, DTensor) for g in optimizer.param_groups for p in g["params"])
    found = small_gpt.train(model, optimizer, small_gpt.batches(), part, clip)
    dist.all_reduce(found, dist.ReduceOp.AVG)
    assert (found - (wanted if losses is None else losses)).abs().max() < tolerance, (found - wanted).abs().max()


n = small_gpt.BATCH // size
mine = slice(n * rank, n * (rank + 1))
if size == 4:  # copies of parts, and parts of what tensor parallelism has cut
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("copies", "parts"))
    agrees(sharded(mesh=mesh), mine)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    plan = {"blocks.*.wq": ColwiseParallel(), "blocks.*.wk": ColwiseParallel(), "blocks.*.wv": ColwiseParallel(), "blocks.*.wo": RowwiseParallel(),
            "blocks.*.up": ColwiseParallel(), "blocks.*.down": RowwiseParallel()}  # fmt: skip
    model = sharded(parallelize_module(small_gpt.make(), mesh["tp"], plan), mesh=mesh["dp"])
    up = model.blocks[0].up.weight
    assert up.to_local().shape == (32, 32) and up.device_mesh.ndim == 2
    assert torch.equal(up.full_tensor(), small_gpt.make().blocks[0].up.weight)
    at = mesh.get_local_rank("dp")
    agrees(model, slice(2 * at, 2 * at + 2))
else:
    agrees(sharded(), mine)
    agrees(sharded(reshard_after_forward=False), mine)
    agrees(sharded(blocks={"shard_placement_fn": lambda p: Shard(p.dim() - 1)}), mine)

    # Blocks that backward computes again; gathers that begin early.
    model = sharded()
    for a, b in zip(model.blocks, list(model.blocks)[1:]):
        a.set_modules_to_forward_prefetch([b])
        b.set_modules_to_backward_prefetch([a])
    for b in model.blocks:
        inner = b.forward
        b.forward = lambda x, inner=inner: checkpoint(inner, x, use_reentrant=False)
    agrees(model, mine)
    model = small_gpt.make()
    apply_activation_checkpointing(model, check_fn=lambda m: isinstance(m, small_gpt.Block))
    assert list(model.state_dict()) == list(trained.state_dict()) == list(get_model_state_dict(model))
    model.load_state_dict(small_gpt.make().state_dict())
    agrees(sharded(model), mine)

    # Types of computation and of sums; the optimizer's stay.
    half = {"param_dtype": torch.bfloat16, "reduce_dtype": torch.float32}
    model = sharded(mp_policy=MixedPrecisionPolicy(**half, output_dtype=torch.float32), blocks={"mp_policy": MixedPrecisionPolicy(**half)})
    agrees(model, mine, tolerance=0.1)
    assert {p.dtype for p in model.parameters()} == {torch.float32} == {p.grad.dtype for p in model.parameters()}

    # Without sums gradients are added up on each rank, and a later backward sums all.
    model, alone = sharded(), small_gpt.make()
    a, b = small_gpt.batches()[:2]
    model.set_requires_gradient_sync(False)
    small_gpt.loss_of(model(a[mine, :-1]), a[mine, 1:]).backward()
    assert all(p.grad is None for p in model.parameters())
    model.set_requires_gradient_sync(True)
    small_gpt.loss_of(model(b[mine, :-1]), b[mine, 1:]).backward()
    for batch in (a, b):
        small_gpt.loss_of(alone(batch[:, :-1]), batch[:, 1:]).backward()
    for p, q in zip(model.parameters(), alone.parameters()):
        assert p.grad.placements == (Shard(0),) and p.to_local().shape == p.grad.to_local().shape
        torch.testing.assert_close(p.grad.full_tensor(), q.grad, rtol=1e-3, atol=1e-6)

    # What is whole when: during a call; the root's from forward to backward. Pages of what is not whole go back.
    block = model.blocks[0]
    assert isinstance(model, FSDPModule) and isinstance(block, small_gpt.Block) and type(block).__name__ == "FSDPBlock"
    parts = block.up.weight
    block.up.register_forward_hook(lambda m, i, o: seen.append(type(m.weight)))
    seen = []
    out = model(a[mine, :-1])
    assert seen == [torch.nn.Parameter] and block.up.weight is parts and not isinstance(model.head.weight, DTensor)
    group = block._fsdp_state.group
    assert not any(p.data.any() for p in group.parameters)
    assert isinstance(model.state_dict()["head.weight"], DTensor)
    out.sum().backward()
    assert isinstance(model.head.weight, DTensor) and block.up.weight is parts
    block.unshard(async_op=True).wait()
    assert torch.equal(block.up.weight, parts.full_tensor())
    with torch.no_grad():
        parts.mul_(2)
    block.unshard()  # what was gathered has changed
    assert torch.equal(block.up.weight, parts.full_tensor())
    block.reshard()
    assert block.up.weight is parts

    # Backward gathers the block before while this one computes, and sums this one's gradients while it goes on.
    model.unshard()
    out = small_gpt.loss_of(model(a[mine, :-1]), a[mine, 1:])
    calls = dist.group.WORLD.last_calls
    first = len(calls()) and calls()[-1]["sequence"]
    out.backward()
    kinds = [c["op"] for c in calls() if c["sequence"] > first]
    assert kinds == ["all_gather", "all_gather", "reduce_scatter", "reduce_scatter", "reduce_scatter"], kinds

    # Frozen parameters, some without a gradient, tied ones, methods that compute.
    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.frozen, self.a, self.spare = torch.nn.Linear(3, 5), torch.nn.Linear(5, 5), torch.nn.Linear(2, 2)
            self.tied = torch.nn.Linear(5, 5, bias=False)
            self.tied.weight = self.a.weight
            self.frozen.requires_grad_(False)

        def forward(self, x):
            return self.tied(self.a(self.frozen(x)).relu())

        def encode(self, x):
            return self.frozen(x)

    torch.manual_seed(3)
    odd = Odd()
    torch.manual_seed(3)
    fsdp = fully_shard(Odd())
    assert fsdp.tied.weight is fsdp.a.weight
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(rank), requires_grad=True)
    both = torch.empty(size * 4, 3)
    dist.all_gather_into_tensor(both, x.detach())
    for _ in range(2):
        fsdp(x).square().mean().backward()
        odd(both).square().mean().backward()
    assert fsdp.spare.weight.grad is None and fsdp.frozen.weight.grad is None
    torch.testing.assert_close(fsdp.a.weight.grad.full_tensor(), odd.a.weight.grad)
    other = x.detach().requires_grad_()
    (odd(other).square().mean() * 2).backward()
    torch.testing.assert_close(x.grad, other.grad)
    register_fsdp_forward_method(fsdp, "encode")
    assert torch.equal(fsdp.encode(x), odd.encode(x))

    # An optimizer's step as soon as a gradient is there.
    first = sharded()
    optimizers = {p: torch.optim.SGD([p], 0.1) for p in first.parameters()}
    seen = []
    for p in first.parameters():
        p.register_post_accumulate_grad_hook(lambda p: (seen.append(p), optimizers[p].step(), optimizers[p].zero_grad()))
    small_gpt.loss_of(first(a[mine, :-1]), a[mine, 1:]).backward()
    second = small_gpt.make()
    small_gpt.loss_of(second(a[:, :-1]), a[:, 1:]).backward()
    torch.optim.SGD(second.parameters(), 0.1).step()
    assert len(seen) == len(optimizers)
    for p, q in zip(first.parameters(), second.parameters()):
        torch.testing.assert_close(p.full_tensor().detach(), q.detach(), rtol=1e-4, atol=1e-6)

    # A model that is made without memory first.
    with torch.device("meta"):
        empty = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Linear(6, 2))
    fully_shard(empty)
    empty.to_empty(device="cpu")
    for p in empty.parameters():
        torch.nn.init.constant_(p, 0.5)
    assert empty(torch.ones(1, 4)).tolist() == [[8.0, 8.0]]

    for wrong, error, text in (
        (lambda: fully_shard(torch.nn.ModuleList([torch.nn.Linear(2, 2)])), ValueError, "containers that do not implement forward"),
        (lambda: fully_shard(fsdp), ValueError, "already been applied"),
        (lambda: fully_shard(torch.nn.Linear(2, 2), shard_placement_fn=lambda p: Shard(3)), ValueError, "cannot be cut"),
        (lambda: fully_shard(3), ValueError, "a module or a list"),
        (lambda: __import__("copy").deepcopy(fsdp), AssertionError, "deepcopy"),
    ):  # fmt: skip
        try:
            wrong()
        except error as e:
            assert text in str(e), e
        else:
            raise AssertionError(text)
dist.barrier()
dist.destroy_process_group()
print(f"rank {rank} passed")
