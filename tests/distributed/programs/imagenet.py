# SPDX-License-Identifier: Apache-2.0
"""In the manner of the imagenet example: spawn a process a device, meet by tcp://, a DistributedSampler, metres that are
summed over the ranks, rank 0 keeps the checkpoint."""
import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--dist-url", default="tcp://127.0.0.1:23456")
parser.add_argument("--dist-backend", default="gloo")
parser.add_argument("--world-size", type=int, default=1)
parser.add_argument("--rank", type=int, default=0)
parser.add_argument("--processes", type=int, default=1)


def worker(local, args):
    args.rank = args.rank * args.processes + local
    dist.init_process_group(backend=args.dist_backend, init_method=args.dist_url, world_size=args.world_size * args.processes, rank=args.rank)
    torch.manual_seed(0)
    draws = torch.Generator().manual_seed(1)
    data = TensorDataset(torch.randn(64, 3, 8, 8, generator=draws), torch.randint(0, 4, (64,), generator=draws))
    model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
    model = torch.nn.parallel.DistributedDataParallel(model)
    sampler = DistributedSampler(data, shuffle=False)
    loader = DataLoader(data, batch_size=16 // dist.get_world_size(), sampler=sampler, num_workers=0)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        metre = torch.zeros(2, dtype=torch.float64)
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            metre += torch.tensor([loss.item() * len(y), len(y)])
        dist.all_reduce(metre, dist.ReduceOp.SUM, async_op=False)
        if args.rank == 0:
            print(f"epoch {epoch} loss {metre[0] / metre[1]:.6f} over {int(metre[1])}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    arguments = parser.parse_args()
    mp.spawn(worker, nprocs=arguments.processes, args=(arguments,))
