# SPDX-License-Identifier: Apache-2.0
"""Trains with DistributedDataParallel and saves a checkpoint after every step, in parts and in the background by turns, until it is
killed. `killed_training.py FOLDER`; "started RANK PROCESS" on standard output."""
import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

folder = sys.argv[1]
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (size,))
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)))
optimizer = torch.optim.AdamW(model.parameters())
os.write(1, f"started {rank} {os.getpid()}\n".encode())
future = None
for step in range(100_000):
    optimizer.zero_grad()
    model(torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
    if future is not None:
        future.result()
        future = None
    marks = {f"mark{i}": distribute_tensor(torch.full((size * 100, 3), float(step)), mesh, [Shard(i % 2)], src_data_rank=None) for i in range(3)}
    state = {"model": model.module.state_dict(), "step": step, **marks}
    if step % 2:
        future = dcp.async_save(state, checkpoint_id=folder)
    else:
        dcp.save(state, checkpoint_id=folder)
