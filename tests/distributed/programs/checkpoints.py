# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: `save FOLDER` trains some steps and saves; `load FOLDER` goes on from it, on any number of ranks and in any layout,
with the losses of one process that was never interrupted."""
import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

import small_gpt

action, folder = sys.argv[1:3]
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
wanted, trained = small_gpt.alone(clip=None)
SAVED = 6  # steps before the checkpoint
plan = {"blocks.*.wq": ColwiseParallel(), "blocks.*.wk": ColwiseParallel(), "blocks.*.wv": ColwiseParallel(), "blocks.*.wo": RowwiseParallel(),
        "blocks.*.up": ColwiseParallel(), "blocks.*.down": RowwiseParallel()}  # fmt: skip


def fsdp(model, **options):
    for b in model.blocks:
        fully_shard(b, **options)
    return fully_shard(model, **options)


def layouts():
    yield "fsdp", lambda m: fsdp(m), rank, size
    yield "ddp", lambda m: DistributedDataParallel(m), rank, size
    mesh = init_device_mesh("cpu", (size,))
    yield "tp", lambda m: parallelize_module(m, mesh, plan), 0, 1
    if size == 4:
        grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        yield "both", lambda m: fsdp(parallelize_module(m, grid["tp"], plan), mesh=grid["dp"]), grid.get_local_rank("dp"), 2


def steps(model, optimizer, which, part, parts):
    n = small_gpt.BATCH // parts
    found = small_gpt.train(model, optimizer, small_gpt.batches()[which], slice(n * part, n * part + n), clip=None)
    dist.all_reduce(found, dist.ReduceOp.AVG)
    assert (found - wanted[which]).abs().max() < 1e-5, (found, wanted[which])


class Everything:
    """Model and optimizer, as programs hand them to save and load."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def state_dict(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer}

    def load_state_dict(self, state):
        set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])


for number, (name, wrap, part, parts) in enumerate(layouts()):
    model = wrap(small_gpt.make())
    optimizer = small_gpt.optimizer_of(model)
    path = f"{folder}/{name}"
    if action == "save":
        steps(model, optimizer, slice(0, SAVED), part, parts)
        state = {"app": Everything(model, optimizer), "step": SAVED, "notes": ["a", (1, 2.5)], "rank": rank}
        future = dcp.async_save(state, checkpoint_id=path)
        steps(model, optimizer, slice(SAVED, SAVED + 2), part, parts)  # what is saved is what was there when it was called
        metadata = future.result()
        assert tuple(metadata.state_dict_metadata["app.model.head.weight"].size) == (small_gpt.VOCABULARY, small_gpt.WIDTH)
        continue
    others = sorted(os.listdir(folder))
    other = others[number % len(others)]  # whatever layout and number of ranks wrote it
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
    state = {"app": Everything(model, optimizer), "step": 0, "notes": [], "rank": -1}
    dcp.load(state, checkpoint_id=f"{folder}/{other}")
    assert state["step"] == SAVED and state["notes"] == ["a", (1, 2.5)] and state["rank"] == 0
    steps(model, optimizer, slice(SAVED, SAVED + 3), part, parts)

    # Whole state dicts: on the first rank, on all, and from the first rank back.
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    whole, state = get_model_state_dict(model, options=options), get_optimizer_state_dict(model, optimizer, options=options)
    assert (not whole and not state) if rank else (list(whole) == [n for n, _ in trained.named_parameters()])
    everywhere = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
    if rank == 0:
        alone = small_gpt.make()
        alone.load_state_dict(whole)
        losses = small_gpt.train(alone, torch.optim.SGD(alone.parameters(), 0.0), small_gpt.batches()[SAVED + 3 : SAVED + 4], clip=None)
        assert (losses - wanted[SAVED + 3]).abs().max() < 1e-5
        assert all(torch.equal(everywhere[n], t) for n, t in whole.items())
    again = wrap(small_gpt.make())
    back = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    second = small_gpt.optimizer_of(again)
    set_model_state_dict(again, whole, options=back)
    set_optimizer_state_dict(again, second, state, options=back)
    steps(again, second, slice(SAVED + 3, SAVED + 5), part, parts)
    flat = get_optimizer_state_dict(model, optimizer, options=StateDictOptions(flatten_optimizer_state_dict=True))
    assert "state.head.weight.exp_avg" in flat and flat["param_groups.head.weight.lr"] == 1e-2
    third = small_gpt.optimizer_of(model)
    set_optimizer_state_dict(model, third, flat)
    steps(model, third, slice(SAVED + 3, SAVED + 5), part, parts)

# Parts of any kind become parts of any other; what is missing, of another shape or refused raises on every rank.
if action == "save":
    mesh = init_device_mesh("cpu", (size,))
    whole = torch.arange(35.0).view(7, 5)
    os.makedirs(folder, exist_ok=True)
    path = f"{os.path.dirname(folder)}/parts"
    for source in (Replicate(), Shard(0), Shard(1)):
        dcp.save({"x": distribute_tensor(whole, mesh, [source]), "y": torch.tensor(3)}, checkpoint_id=path)
        for target in (Replicate(), Shard(0), Shard(1)):
            x = distribute_tensor(torch.zeros(7, 5), mesh, [target])
            dcp.load({"x": x}, checkpoint_id=path)
            assert isinstance(x, DTensor) and torch.equal(x.full_tensor(), whole)
    assert len([f for f in os.listdir(path) if f.endswith(".safetensors")]) <= size  # nothing is left of older ones
    for wrong, text in (
        (lambda: dcp.load({"z": torch.zeros(1)}, checkpoint_id=path), "Missing key in checkpoint state_dict: z"),
        (lambda: dcp.load({"x": torch.zeros(2)}, checkpoint_id=path), "Size mismatch"),
        (lambda: dcp.load({}, checkpoint_id=path + "nowhere"), "no checkpoint is here"),
        (lambda: dcp.save({"x": torch.zeros(1 + rank)}, checkpoint_id=path), "on one rank and"),
        (lambda: dcp.save({"x": lambda: 0} if rank else {}, checkpoint_id=path), "failed on rank 1"),
    ):
        try:
            wrong()
        except dcp.CheckpointException as e:
            assert text in str(e), e
        else:
            raise AssertionError(text)
    x = torch.zeros(7, 5)
    dcp.load({"x": x}, checkpoint_id=path)
    assert torch.equal(x, whole)
dist.barrier()
dist.destroy_process_group()
print(f"rank {rank} passed")
