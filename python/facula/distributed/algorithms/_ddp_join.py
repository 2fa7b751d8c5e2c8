# SPDX-License-Identifier: Apache-2.0
"""What DistributedDataParallel does on a rank that has no batch left."""

import facula
from facula.distributed import _reducer
from facula.distributed.algorithms.join import JoinHook


class DDPJoinHook(JoinHook):
    """Takes part in the collectives of the others' steps with gradients of zero."""

    root = 0
    present = 0

    def __init__(self, ddp, divide_by_initial_world_size: bool) -> None:
        self.ddp, self.initial = ddp, divide_by_initial_world_size

    def main_hook(self) -> None:
        ddp = self.ddp
        if ddp.broadcast_buffers and ddp.training and (buffers := ddp._buffers_to_sync()):
            _reducer.broadcast_coalesced(ddp.process_group, buffers, self.root)
        reducer = ddp.reducer
        kept = [p.grad for p in reducer.parameters]
        reducer.divide_by = reducer.size if self.initial else self.present
        reducer.prepare(())
        reducer.unused, reducer.running = [], True
        with facula.no_grad():
            for p in reducer.parameters:
                p.grad = None
        for bucket in reducer.buckets:
            for i in bucket.indices:
                reducer._mark(i)
        reducer._finish()
        for p, grad in zip(reducer.parameters, kept, strict=True):
            p.grad = grad

    def post_hook(self, is_last_joiner: bool) -> None:
        """All ranks end with the parameters of one that did every step."""
        ddp = self.ddp
        from facula.distributed import distributed_c10d as c10d

        rank = ddp.process_group.rank()
        root = facula.tensor([rank if is_last_joiner else -1], dtype=facula.int64)
        c10d.all_reduce(root, c10d.ReduceOp.MAX, group=ddp.process_group)
        state = [*ddp.module.parameters(), *ddp.module.buffers()]
        _reducer.broadcast_coalesced(ddp.process_group, state, max(int(root), 0))
