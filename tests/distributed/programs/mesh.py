# SPDX-License-Identifier: Apache-2.0
"""Ranks in a grid."""
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
rank = dist.get_rank()
assert mesh.mesh.tolist() == [[0, 1], [2, 3]] and mesh.get_coordinate() == [rank // 2, rank % 2] and mesh.size() == 4
assert mesh["tp"].mesh.tolist() == [rank // 2 * 2, rank // 2 * 2 + 1] and mesh["dp"].get_local_rank() == rank // 2
assert mesh.get_local_rank("tp") == rank % 2 and mesh.size(0) == 2 and mesh.shape == (2, 2) and mesh.ndim == 2
x = torch.tensor(float(rank))
dist.all_reduce(x, group=mesh.get_group("tp"))
assert x == [1, 5][rank // 2]
x = torch.tensor(float(rank))
dist.all_reduce(x, group=mesh["dp"].get_group())
assert x == [2, 4][rank % 2]
assert mesh == DeviceMesh.from_group(mesh.get_all_groups(), "cpu", mesh.mesh, mesh_dim_names=("dp", "tp")) and hash(mesh)
ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2), device_mesh=mesh["dp"])
ddp(torch.ones(1, 2) * rank).sum().backward()
assert ddp.module.weight.grad[0, 0] == (rank % 2 + rank % 2 + 2) / 2
for wrong, text in ((lambda: init_device_mesh("cpu", (3,)), "3 places for 4"), (lambda: mesh["pp"], "no dimension 'pp'"),
                    (lambda: mesh.get_group(), "which one"), (lambda: DeviceMesh("cpu", [0, 0]), "twice"), (lambda: DeviceMesh("cpu", [0, 9]), "rank 9")):  # fmt: skip
    try:
        wrong()
    except (RuntimeError, KeyError) as e:
        assert text in str(e), str(e)
    else:
        raise AssertionError(text)
from torch.distributed.tensor import Replicate, Shard  # noqa: E402
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset as part  # noqa: E402

assert part((5, 4), mesh, [Shard(0), Replicate()]) == ((3 - rank // 2, 4), (3 * (rank // 2), 0))
assert part((5, 4), mesh, [Shard(0), Shard(0)])[0][0] == [2, 1, 1, 1][rank] and part((1,), mesh, [Shard(0), Replicate()])[0] == (1 - rank // 2,)
dist.destroy_process_group()
print(f"rank {rank} passed")
