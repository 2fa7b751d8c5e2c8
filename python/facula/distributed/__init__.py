# SPDX-License-Identifier: Apache-2.0
"""torch.distributed: process groups and collectives over Gloo, MPI and what programs bring (docs/distributed.md)."""

from facula import _missing
from facula.distributed import constants, distributed_c10d
from facula.distributed._engine import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    FileStore,
    HashStore,
    PrefixStore,
    QueueEmptyError,
    Store,
    TCPStore,
    Work,
)
from facula.distributed._group import ProcessGroup, ReduceOp
from facula.distributed._objects import *  # noqa: F403
from facula.distributed.distributed_c10d import *  # noqa: F403
from facula.distributed.distributed_c10d import _all_gather_base, _reduce_scatter_base  # noqa: F401
from facula.distributed._rendezvous import register_rendezvous_handler, rendezvous

reduce_op = ReduceOp
default_pg_timeout = constants.default_pg_timeout

__all__ = [
    "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "FileStore", "HashStore", "PrefixStore",
    "ProcessGroup", "QueueEmptyError", "ReduceOp", "Store", "TCPStore", "Work", "is_available", "reduce_op",
    "register_rendezvous_handler", "rendezvous", "breakpoint",
]  # fmt: skip
__all__ += distributed_c10d.__all__ + distributed_c10d._objects.__all__


def is_available() -> bool:
    """Whether this build has torch.distributed: yes. Engines beyond one process: is_backend_available."""
    return True


def breakpoint(rank: int = 0, skip: int = 0, timeout_s: float = 3600) -> None:
    """Stops in the debugger on one rank; the others wait for it."""
    import pdb
    from datetime import timedelta

    world = distributed_c10d._get_default_group()
    before = world.timeout
    world.set_timeout(timedelta(seconds=timeout_s))
    if world.rank() == rank:
        pdb.Pdb().set_trace()
    distributed_c10d.barrier()
    world.set_timeout(before)


__getattr__ = _missing.missing(
    __name__,
    ("_composable", "_functional_collectives", "_tensor", "algorithms", "checkpoint", "device_mesh", "elastic", "fsdp", "nn", "optim", "rpc", "run",
     "schedule", "tensor", "utils"),
    {"DeviceMesh": "facula.distributed.device_mesh", "init_device_mesh": "facula.distributed.device_mesh"},
)  # fmt: skip
