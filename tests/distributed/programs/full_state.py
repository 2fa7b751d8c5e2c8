# SPDX-License-Identifier: Apache-2.0
"""A whole state dict on the first rank is held once there, and nowhere else."""
import resource

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, zeros

MIB, LAYERS = 1 << 20, 4
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (size,))
model = torch.nn.Module()
for i in range(LAYERS):  # 16 MiB each
    model.register_parameter(f"w{i}", torch.nn.Parameter(zeros(4096, 1024, device_mesh=mesh, placements=[Shard(i % 2)])))
    with torch.no_grad():
        model.get_parameter(f"w{i}").add_(i + 1)


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MIB


before = peak()
whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
grown = peak() - before
if rank == 0:
    assert [whole[f"w{i}"].sum().item() for i in range(LAYERS)] == [(i + 1) * 4096 * 1024 for i in range(LAYERS)]
    assert 60 < grown < 64 + 16 + 16, grown  # the state dict, and parts on their way
else:
    assert not whole and grown < 24, grown
dist.barrier()
dist.destroy_process_group()
print(f"rank {rank} passed")
