# SPDX-License-Identifier: Apache-2.0
"""A GPT whose layers are shared out by parallelize_module has the losses of one process, and its parameters."""
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)

import small_gpt

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (size,), mesh_dim_names=("tp",))
wanted, trained = small_gpt.alone()

plain = {
    "blocks.*.wq": ColwiseParallel(), "blocks.*.wk": ColwiseParallel(), "blocks.*.wv": ColwiseParallel(), "blocks.*.wo": RowwiseParallel(),
    "blocks.*.up": ColwiseParallel(), "blocks.*.down": RowwiseParallel(),
}  # fmt: skip
heads = {"wte": RowwiseParallel(input_layouts=Replicate()), "head": ColwiseParallel(output_layouts=Replicate())}
sequence = {
    "wte": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1), use_local_output=False),
    "wpe": PrepareModuleOutput(output_layouts=Replicate(), desired_output_layouts=Replicate(), use_local_output=False),
    "blocks.*.ln_1": SequenceParallel(), "blocks.*.ln_2": SequenceParallel(),
    "blocks.*.wq": ColwiseParallel(input_layouts=Shard(1)), "blocks.*.wk": ColwiseParallel(input_layouts=Shard(1)),
    "blocks.*.wv": ColwiseParallel(input_layouts=Shard(1)),
    "blocks.*.wo": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
    "blocks.*.up": ColwiseParallel(input_layouts=Shard(1)), "blocks.*.down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
    "ln": SequenceParallel(), "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False),
}  # fmt: skip


class Loss:
    """Cross entropy of logits whose classes are shared out."""

    def __call__(self, logits, targets):
        assert logits.placements == (Shard(2),)
        with loss_parallel():
            return small_gpt.loss_of(logits, targets)


for plan, loss in ((plain, small_gpt.loss_of), (plain | heads, small_gpt.loss_of), (sequence, Loss())):
    model = parallelize_module(small_gpt.make(), mesh, plan)
    up = model.blocks[0].up.weight
    assert isinstance(up, DTensor) and up.to_local().shape == (4 * small_gpt.WIDTH // size, small_gpt.WIDTH)
    losses = small_gpt.train(model, small_gpt.optimizer_of(model), small_gpt.batches(), loss_of=loss)
    assert (losses - wanted).abs().max() < 1e-5, (losses - wanted).abs().max()
    for (name, p), q in zip(model.named_parameters(), trained.parameters(), strict=True):
        if name.endswith("wk.bias"):  # whose gradient is zero but for rounding, which Adam makes large
            continue
        p = p.full_tensor() if isinstance(p, DTensor) else p
        torch.testing.assert_close(p, q, rtol=1e-3, atol=1e-4, msg=lambda m: f"{name}: {m}")  # noqa: B023


# A module that is called with names, inputs that are prepared, what is refused.
class Two(torch.nn.Module):
    def forward(self, x, *, y):
        assert isinstance(x, DTensor) and x.placements == (Replicate(),) and not isinstance(y, DTensor)
        return x.to_local() + y


two = parallelize_module(Two(), mesh, PrepareModuleInput(input_layouts=(Shard(0),), desired_input_layouts=(Replicate(),)))
assert two(torch.ones(1, 2), y=torch.ones(size, 2)).shape == (size, 2)
for wrong, error, text in (
    (lambda: parallelize_module(torch.nn.ReLU(), mesh, ColwiseParallel()), NotImplementedError, "nn.Linear and nn.Embedding"),
    (lambda: parallelize_module(torch.nn.ReLU(), mesh, 3), TypeError, "parallelize_plan"),
    (lambda: PrepareModuleInput(input_layouts=Shard(0)), AssertionError, "desired module inputs"),
):
    try:
        wrong()
    except error as e:
        assert text in str(e), e
    else:
        raise AssertionError(text)
dist.barrier()
dist.destroy_process_group()
print(f"rank {rank} passed")
