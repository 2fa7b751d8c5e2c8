# SPDX-License-Identifier: Apache-2.0
"""Process groups and collectives.

Every collective follows one pattern: find the group (a process that is no member warns and leaves), turn ranks of the
program into ranks of the group, begin the call in C++, and hand its Work out or wait for it.
"""

import atexit
import enum
import os
import time
import warnings
from dataclasses import dataclass, field
from datetime import timedelta

import facula
from facula.distributed import _engine
from facula.distributed._engine import DistStoreError, PrefixStore, Store, Work, milliseconds
from facula.distributed._group import _NO_TIMEOUT, Backend, ProcessGroup, ReduceOp, has_backend, op_number
from facula.distributed import _rendezvous as _meeting
from facula.distributed import schedule as _schedule
from facula.distributed.constants import default_pg_timeout

__all__ = [
    "Backend", "GroupMember", "P2POp", "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_reduce",
    "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast",
    "destroy_process_group", "gather", "get_backend", "get_backend_config", "get_default_backend_for_device",
    "get_global_rank", "get_group_rank", "get_node_local_rank", "get_pg_count", "get_process_group_ranks", "get_rank",
    "get_world_size", "group", "init_process_group", "irecv", "is_backend_available", "is_gloo_available",
    "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available",
    "is_xccl_available", "isend", "monitored_barrier", "new_group", "new_subgroups", "new_subgroups_by_enumeration",
    "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "send", "split_group",
    "supports_complex", "DebugLevel", "get_debug_level", "set_debug_level", "set_debug_level_from_env", "abort_process_group",
]  # fmt: skip


class GroupMember:
    """The default group, and the answer of new_group to processes that are no members."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


class _Group(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        return GroupMember.WORLD


class group(metaclass=_Group):  # noqa: N801
    """group.WORLD is the default group."""


@dataclass
class _World:
    """What this process knows of its run."""

    default: ProcessGroup | None = None
    store: Store | None = None
    rank: int = -1
    address: str = ""
    monitor: object = None
    groups: dict[str, ProcessGroup] = field(default_factory=dict)
    count: int = 0  # of groups made: the same number on all ranks
    pid: int = 0


_world = _World()


class DebugLevel(enum.IntEnum):
    OFF, INFO, DETAIL = range(3)


_debug = DebugLevel.OFF


def get_debug_level() -> DebugLevel:
    """How much calls are checked: with DETAIL ranks compare every call before it begins."""
    return _debug


def set_debug_level(level: DebugLevel) -> None:
    """Sets the level for groups that are made from now on."""
    global _debug
    _debug = DebugLevel(level)


def set_debug_level_from_env() -> None:
    """Takes the level from TORCH_DISTRIBUTED_DEBUG."""
    text = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF") or "OFF"
    if text not in DebugLevel.__members__:
        raise RuntimeError(f"TORCH_DISTRIBUTED_DEBUG is OFF, INFO or DETAIL, not {text!r}")
    set_debug_level(DebugLevel[text])


# ---- what there is


def is_backend_available(backend: str) -> bool:
    """Whether a backend can be used here."""
    return has_backend(backend.lower())


def is_gloo_available() -> bool:
    return has_backend("gloo")


def is_mpi_available() -> bool:
    return has_backend("mpi")


def is_nccl_available() -> bool:
    return has_backend("nccl")


def is_ucc_available() -> bool:
    return False


def is_xccl_available() -> bool:
    return False


def is_torchelastic_launched() -> bool:
    """Whether a launcher that restarts processes started this one."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def supports_complex(reduceOp: ReduceOp) -> bool:  # noqa: N803
    """Whether a reduction is defined for complex numbers."""
    return reduceOp not in (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


def get_default_backend_for_device(device: str | facula.device) -> str:
    """The backend that a device's tensors take unless told otherwise."""
    kind = device.type if isinstance(device, facula.device) else facula.device(device).type
    return Backend.default_device_backend_map.get(kind, Backend.GLOO)


# ---- the run


def is_initialized() -> bool:
    """Whether the default process group exists."""
    return _world.default is not None


def _get_default_group() -> ProcessGroup:
    if _world.default is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return _world.default


def _group_of(given: ProcessGroup | None) -> ProcessGroup:
    if given is None:
        return _get_default_group()
    if not isinstance(given, ProcessGroup):
        raise TypeError(f"expected a process group, got {given!r}")
    return given


def _no_member(given: object, op: str = "") -> bool:
    if given != GroupMember.NON_GROUP_MEMBER or isinstance(given, ProcessGroup):
        return False
    if op:
        warnings.warn(
            f"Running {op} on global rank {get_rank()} which does not belong to the given group.", stacklevel=3
        )
    return True


def get_rank(group: ProcessGroup | None = None) -> int:
    """This process's rank in a group; -1 where it is no member."""
    return -1 if _no_member(group) else _group_of(group).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """The number of processes in a group; -1 where this one is no member."""
    return -1 if _no_member(group) else _group_of(group).size()


def get_backend(group: ProcessGroup | None = None) -> Backend:
    """The backend of a group."""
    if _no_member(group):
        raise ValueError("Invalid process group specified")
    return Backend(_group_of(group).backend)


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """The backend of each kind of device, as text."""
    return f"cpu:{get_backend(group)}"


def get_pg_count() -> int:
    """How many groups there are."""
    return len(_world.groups)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in a group of a rank of the program."""
    g = _group_of(group)
    if global_rank not in g.number:
        raise ValueError(f"Global rank {global_rank} is not part of group {g}")
    return g.number[global_rank]


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank in the program of a rank of a group."""
    g = _group_of(group)
    if not 0 <= group_rank < len(g.ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {g}")
    return g.ranks[group_rank]


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The members of a group, as ranks of the program."""
    return list(_group_of(group).ranks)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The rank of this process on its machine."""
    try:
        return _meeting.local_rank()
    except RuntimeError:
        if fallback_rank is None:
            raise
        return int(fallback_rank)


def _backend_name(backend: object) -> str:
    if not isinstance(backend, str):
        raise ValueError(f"a backend is a name, got {backend!r}")
    name = str(backend).lower()
    if ":" in name:  # cpu:gloo,cuda:nccl
        by_device = dict(part.split(":", 1) for part in name.split(",") if ":" in part)
        unknown = [b for b in by_device.values() if b not in Backend.backend_list]
        if unknown:
            raise ValueError(f"unknown backend {unknown[0]!r}: there are {', '.join(Backend.backend_list[1:])}")
        name = by_device.get("cpu") or next(iter(by_device.values()))
    if name not in Backend.backend_list or name == Backend.UNDEFINED:
        raise ValueError(f"unknown backend {name!r}: there are {', '.join(Backend.backend_list[1:])}")
    return name


def _make_group(
    name: str, backend: str, ranks: list[int], store: Store | None, timeout: timedelta, description: str
) -> ProcessGroup:
    me = ranks.index(_world.rank)
    own = PrefixStore(name, store) if store is not None else _engine.HashStore()
    if backend in Backend._plugins and len(ranks) > 1:
        from facula.distributed._python_engine import PythonGroup

        made = PythonGroup(name, Backend._plugins[backend](own, me, len(ranks), timeout), me, len(ranks), timeout)
    else:
        made = _engine._c._Group(
            name, backend, ranks, me, own, timeout, _world.address, _debug >= DebugLevel.DETAIL,
            _world.monitor if len(ranks) > 1 else None,
        )  # fmt: skip
    found = ProcessGroup(name, backend, ranks, made, description)
    found._rank = me
    _world.groups[name] = found
    return found


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None, world_size: int = -1,
    rank: int = -1, store: Store | None = None, group_name: str = "", pg_options: object = None,
    device_id: facula.device | int | None = None, _ranks: list[int] | None = None,
) -> None:  # fmt: skip
    """Makes the default process group; every process of the run calls it, and it returns when all have come.

    Who this process is comes from `rank` and `world_size`, else from the launcher's variables; where the others are from
    `store`, from `init_method` (tcp://host:port, file:///path, env://), else from MASTER_ADDR and MASTER_PORT."""
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    set_debug_level_from_env()
    timeout = milliseconds(timeout, default_pg_timeout)
    name = _backend_name(backend) if backend is not None else Backend.GLOO
    if store is None:
        url = init_method or "env://"
        store, rank, world_size = next(iter(_meeting.rendezvous(url, rank, world_size, timeout=timeout)))
        store.set_timeout(timeout)
    elif not isinstance(store, Store):
        raise TypeError(f"store: expected a torch.distributed.Store, got {store!r}")
    else:
        rank, world_size = _meeting._checked(rank, world_size, "store=")
    if world_size > 1 and not has_backend(name):
        raise RuntimeError(f"Distributed package doesn't have {name} built in{_engine._c._engine_missing(name)}")
    _world.rank, _world.store, _world.pid = rank, store, os.getpid()
    _world.address = store.own_address
    try:
        if world_size > 1:
            beats = os.environ.get("TORCH_DISTRIBUTED_HEARTBEAT", "1") not in ("0", "False", "false")
            _world.monitor = _engine._c._make_monitor(PrefixStore("monitor", store), rank, world_size, beats)
        made = _make_group("0", name, list(range(world_size)), PrefixStore("default_pg", store), timeout, "default_pg")
    except BaseException:
        destroy_process_group()
        raise
    _world.count = 1
    _world.default = GroupMember.WORLD = made
    _schedule.begin_where_asked()


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Ends a group; without one, all of them. Calls under way end first."""
    if _no_member(group):
        return
    if group is not None and group is not _world.default:
        g = _world.groups.pop(_group_of(group).group_name, None)
        if g is None:
            raise ValueError("Invalid process group specified")
        g.shutdown()
        return
    if _world.default is not None and _world.pid == os.getpid():
        _schedule.remember_rank()
    default, _world.default, GroupMember.WORLD = _world.default, None, None
    if _world.pid == os.getpid():
        for g in reversed(list(_world.groups.values())):
            g.shutdown()
        _schedule.end_where_asked()
    if default is None and group is not None:
        raise ValueError("Invalid process group specified")
    _world.groups.clear()
    _world.monitor = _world.store = None


def abort_process_group(group: ProcessGroup | None = None) -> None:
    """Breaks a group at once: calls under way raise on all ranks."""
    (_group_of(group) if not _no_member(group) else _get_default_group()).abort()


@atexit.register
def _leave() -> None:  # a process that ends tells the others by closing its connections
    if _world.groups and _world.pid == os.getpid():
        for g in list(_world.groups.values()):
            g._engine.abort("the process ends")
        destroy_process_group()


def new_group(
    ranks: list[int] | None = None, timeout: timedelta | None = None, backend: str | None = None, pg_options: object = None,
    use_local_synchronization: bool = False, group_desc: str | None = None, device_id: object = None,
):  # fmt: skip
    """Makes a group of some ranks. Every process of the run calls it, in the same order (only the members do with
    use_local_synchronization); those that are no members get GroupMember.NON_GROUP_MEMBER."""
    default = _get_default_group()
    members = sorted(ranks) if ranks is not None else list(range(default.size()))
    if not members:
        raise ValueError("new_group: a group has at least one rank")
    if len(set(members)) != len(members):
        raise ValueError(f"new_group: ranks are listed twice in {members}")
    if members[0] < 0 or members[-1] >= default.size():
        raise ValueError(f"the new group's rank should be within the world_size set by init_process_group: {members}")
    if use_local_synchronization:
        name = "ranks:" + ",".join(map(str, members))
        while name in _world.groups:
            name += "'"
    else:
        name = str(_world.count)
        _world.count += 1
    if default.rank() not in members:
        return GroupMember.NON_GROUP_MEMBER
    chosen = _backend_name(backend) if backend is not None else default.backend
    limit = milliseconds(timeout, default.timeout)
    return _make_group(name, chosen, members, PrefixStore("groups", _world.store), limit, group_desc or "")


def new_subgroups(
    group_size: int | None = None, group: ProcessGroup | None = None, timeout: timedelta | None = None,
    backend: str | None = None, pg_options: object = None, group_desc: str | None = None,
):  # fmt: skip
    """Cuts the ranks into groups of one size, in order: (this rank's group, all of them)."""
    size = group_size or int(os.environ.get("LOCAL_WORLD_SIZE", get_world_size()))
    world = get_world_size()
    if size <= 0 or size > world or world % size:
        raise ValueError(f"the group size {size} does not divide the world size {world}")
    lists = [list(range(i, i + size)) for i in range(0, world, size)]
    return new_subgroups_by_enumeration(lists, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: list[list[int]], timeout: timedelta | None = None, backend: str | None = None,
    pg_options: object = None, group_desc: str | None = None,
):  # fmt: skip
    """Makes the listed groups, which share no rank: (this rank's group, all of them)."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    listed = [r for ranks in ranks_per_subgroup_list for r in ranks]
    if len(set(listed)) != len(listed):
        raise ValueError("a rank is in two of the subgroups")
    groups = [
        new_group(r, timeout, backend, pg_options, group_desc=group_desc) for r in ranks_per_subgroup_list
    ]
    return next((g for g in groups if not _no_member(g)), None), groups


def split_group(
    parent_pg: ProcessGroup | None = None, split_ranks: list[list[int]] | None = None, timeout: timedelta | None = None,
    pg_options: object = None, group_desc: str | None = None,
) -> ProcessGroup | None:  # fmt: skip
    """Cuts a group into groups of its ranks; this rank's, or None. Every member of the parent calls it."""
    parent = _group_of(parent_pg)
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    lists = [sorted(parent.ranks[r] for r in ranks) for ranks in split_ranks]
    mine = next((r for r in lists if _world.rank in r), None)
    return new_group(mine, timeout, use_local_synchronization=True, group_desc=group_desc) if mine else None


# ---- collectives


def _finish(work: Work, async_op: bool, tensors: list | None = None) -> Work | None:
    if async_op:
        work.tensors = tensors
        return work
    work.wait()
    return None


def _tensor(value: object, name: str) -> facula.Tensor:
    if not isinstance(value, facula.Tensor):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor, got {type(value)}")
    return facula.view_as_real(value) if value.is_complex() else value


def _tensors(values: object, name: str) -> list[facula.Tensor]:
    if not isinstance(values, (list, tuple)) or not all(isinstance(v, facula.Tensor) for v in values):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type list[torch.Tensor], got {type(values)}")
    return [_tensor(v, name) for v in values]


def _root(g: ProcessGroup, rank: int | None, group_rank: int | None, name: str) -> int:
    if group_rank is not None:
        if rank is not None:
            raise ValueError(f"Can't specify both group_{name} and {name}")
        return group_rank
    if rank is None:
        raise ValueError(f"Must specify {name} or group_{name}")
    return get_group_rank(g, rank)


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Combines the tensors of all ranks; the result replaces every one of them."""
    parts, number = _reducible([tensor], op, "tensor")
    if _no_member(group, "all_reduce"):
        return None
    return _finish(_group_of(group)._engine.all_reduce(parts, number, _NO_TIMEOUT), async_op, [tensor])


def _reducible(tensors, op, name: str):
    for t in tensors:
        if isinstance(t, facula.Tensor) and t.is_complex() and not supports_complex(op):
            raise ValueError(f"all_reduce does not support {op} on complex tensors")
    if op == ReduceOp.PRODUCT:  # real and imaginary part do not multiply on their own
        return [t if isinstance(t, facula.Tensor) else _tensor(t, name) for t in tensors], op_number(op)
    return [_tensor(t, name) for t in tensors], op_number(op)


def all_reduce_coalesced(tensors, op=ReduceOp.SUM, group=None, async_op=False):
    """all_reduce of several tensors of one type, in one call."""
    tensors, number = _reducible(tensors if isinstance(tensors, (list, tuple)) else [tensors], op, "tensors")
    if _no_member(group, "all_reduce_coalesced"):
        return None
    return _finish(_group_of(group)._engine.all_reduce(tensors, number, _NO_TIMEOUT), async_op, tensors)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """Combines the tensors of all ranks; only the destination's changes."""
    if _no_member(group, "reduce"):
        return None
    g = _group_of(group)
    (tensor,), number = _reducible([tensor], op, "tensor")
    return _finish(g._engine.reduce(tensor, _root(g, dst, group_dst, "dst"), number, _NO_TIMEOUT), async_op)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Copies the source's tensor to all ranks."""
    tensor = _tensor(tensor, "tensor")
    if _no_member(group, "broadcast"):
        return None
    g = _group_of(group)
    return _finish(g._engine.broadcast([tensor], _root(g, src, group_src, "src"), _NO_TIMEOUT), async_op, [tensor])


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Gathers the tensors of all ranks into a list on every rank."""
    outputs, tensor = _tensors(tensor_list, "tensor_list"), _tensor(tensor, "tensor")
    if _no_member(group, "all_gather"):
        return None
    g = _group_of(group)
    if len(outputs) != g.size():
        raise ValueError(f"all_gather: expected {g.size()} output tensors, one for each rank, got {len(outputs)}")
    return _finish(g._engine.all_gather(outputs, tensor, _NO_TIMEOUT), async_op, tensor_list)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Gathers the tensors of all ranks into one, one after the other."""
    output, tensor = _tensor(output_tensor, "output_tensor"), _tensor(input_tensor, "input_tensor")
    if _no_member(group, "all_gather_into_tensor"):
        return None
    return _finish(_group_of(group)._engine.all_gather([output], tensor, _NO_TIMEOUT), async_op, [output_tensor])


_all_gather_base = all_gather_into_tensor


class _Works:
    """Several calls as one."""

    def __init__(self, works: list[Work]) -> None:
        self.works = works

    def wait(self, timeout: timedelta = _NO_TIMEOUT) -> bool:
        for w in self.works:
            w.wait(timeout)
        return True

    def is_completed(self) -> bool:
        return all(w.is_completed() for w in self.works)


def all_gather_coalesced(output_tensor_lists, input_tensor_list, group=None, async_op=False):
    """all_gather of several tensors: output_tensor_lists[rank][i] is input i of that rank."""
    inputs = _tensors(input_tensor_list, "input_tensor_list")
    if _no_member(group, "all_gather_coalesced"):
        return None
    engine = _group_of(group)._engine
    columns = zip(*(_tensors(row, "output_tensor_lists") for row in output_tensor_lists), strict=True)
    works = [engine.all_gather(list(column), t, _NO_TIMEOUT) for column, t in zip(columns, inputs, strict=True)]
    return _finish(_Works(works), async_op)


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Gathers the tensors of all ranks into a list on one rank."""
    tensor = _tensor(tensor, "tensor")
    outputs = _tensors(gather_list, "gather_list") if gather_list else []
    if _no_member(group, "gather"):
        return None
    g = _group_of(group)
    root = _root(g, 0 if dst is None and group_dst is None else dst, group_dst, "dst")
    if root == g.rank() and not outputs:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if root != g.rank() and outputs:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    return _finish(g._engine.gather(outputs, tensor, root, _NO_TIMEOUT), async_op)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Hands each rank one tensor of a list on one rank."""
    tensor = _tensor(tensor, "tensor")
    inputs = _tensors(scatter_list, "scatter_list") if scatter_list else []
    if _no_member(group, "scatter"):
        return None
    g = _group_of(group)
    root = _root(g, 0 if src is None and group_src is None else src, group_src, "src")
    if root == g.rank() and not inputs:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    if root != g.rank() and inputs:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    return _finish(g._engine.scatter(tensor, inputs, root, _NO_TIMEOUT), async_op)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Combines lists of tensors; each rank gets its place of the result."""
    output, inputs = _tensor(output, "output"), _tensors(input_list, "input_list")
    if _no_member(group, "reduce_scatter"):
        return None
    g = _group_of(group)
    if len(inputs) != g.size():
        raise ValueError(f"reduce_scatter: expected {g.size()} input tensors, one for each rank, got {len(inputs)}")
    return _finish(g._engine.reduce_scatter(output, inputs, op_number(op), _NO_TIMEOUT), async_op, [output])


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """Combines tensors; each rank gets its part of the first dimension."""
    output, input = _tensor(output, "output"), _tensor(input, "input")
    if _no_member(group, "reduce_scatter_tensor"):
        return None
    return _finish(_group_of(group)._engine.reduce_scatter(output, [input], op_number(op), _NO_TIMEOUT), async_op, [output])


_reduce_scatter_base = reduce_scatter_tensor


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    """Sends each rank a part of the rows of `input`; what comes fills `output`, in the order of ranks."""
    output, input = _tensor(output, "output"), _tensor(input, "input")
    if _no_member(group, "all_to_all_single"):
        return None
    work = _group_of(group)._engine.all_to_all_single(
        output, input, list(output_split_sizes or []), list(input_split_sizes or []), _NO_TIMEOUT
    )
    return _finish(work, async_op, [output])


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Sends each rank one tensor of a list; what comes fills the other list, in the order of ranks."""
    outputs = _tensors(output_tensor_list, "output_tensor_list")
    inputs = _tensors(input_tensor_list, "input_tensor_list")
    if _no_member(group, "all_to_all"):
        return None
    return _finish(_group_of(group)._engine.all_to_all(outputs, inputs, _NO_TIMEOUT), async_op)


def barrier(group=None, async_op=False, device_ids=None):
    """Returns when all ranks have come here."""
    if _no_member(group, "barrier"):
        return None
    return _finish(_group_of(group)._engine.barrier(_NO_TIMEOUT), async_op)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """A barrier that says which ranks did not come; rank 0 of the group raises it, and the others then."""
    if _no_member(group, "monitored_barrier"):
        return
    g = _group_of(group)
    limit = milliseconds(timeout, g.timeout)
    g.barriers = getattr(g, "barriers", 0) + 1
    store = PrefixStore(f"monitored/{g.group_name}/{g.barriers}", _world.store)
    if g.rank():
        store.set(f"here/{g.rank()}", b"1")
        try:
            store.wait(["result"], limit + timedelta(seconds=5))
        except DistStoreError:
            raise RuntimeError(f"Rank {g.rank()} reached monitoredBarrier, but rank 0 did not within {limit}") from None
        if (result := store.get("result").decode()) != "all":
            raise RuntimeError(result)
        return
    end, late = time.monotonic() + limit.total_seconds(), []
    for rank in range(1, g.size()):
        try:
            store.wait([f"here/{rank}"], timedelta(seconds=max(end - time.monotonic(), 0.001)))
        except DistStoreError:
            late.append(rank)
            if not wait_all_ranks:
                break
    if late:
        result = (
            f"{'Ranks' if wait_all_ranks else 'Rank'} {', '.join(map(str, late))} failed to pass monitoredBarrier in "
            f"{limit.total_seconds() * 1000:.0f} ms"
        )
        store.set("result", result)
        raise RuntimeError(result)
    store.set("result", "all")


# ---- between two ranks


def _peer(g: ProcessGroup, rank: int | None, group_rank: int | None, name: str) -> int:
    peer = _root(g, rank, group_rank, name)
    if peer == g.rank():
        raise ValueError(f"Invalid {'destination' if name == 'dst' else 'source'} rank: this process itself")
    return peer


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Sends a tensor to a rank; the Work of it."""
    if _no_member(group, "isend"):
        return None
    g = _group_of(group)
    return g._engine.send(_tensor(tensor, "tensor"), _peer(g, dst, group_dst, "dst"), tag, _NO_TIMEOUT)


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    """Receives a tensor from a rank, or from any; the Work of it."""
    if _no_member(group, "irecv"):
        return None
    g = _group_of(group)
    source = -1 if src is None and group_src is None else _peer(g, src, group_src, "src")
    return g._engine.recv(_tensor(tensor, "tensor"), source, tag, _NO_TIMEOUT)


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Sends a tensor to a rank."""
    if work := isend(tensor, dst, group, tag, group_dst):
        work.wait()


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """Receives a tensor; the rank that it came from."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    if src is not None:
        return src
    return get_global_rank(_group_of(group), group_src if group_src is not None else work._source_rank())


class P2POp:
    """A send or receive of batch_isend_irecv: isend or irecv, the tensor, the other rank."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``.")
        self.op, self.tensor, self.group, self.tag = op, _tensor(tensor, "tensor"), _group_of(group), tag
        self.group_peer = _root(self.group, peer, group_peer, "peer")
        self.peer = get_global_rank(self.group, self.group_peer)

    def __repr__(self) -> str:
        return f"P2POp({self.op.__name__}, peer={self.peer}, {tuple(self.tensor.shape)}, {self.tensor.dtype})"


def batch_isend_irecv(p2p_op_list):
    """Begins sends and receives together, so that their order does not matter: their Works."""
    if not p2p_op_list or not all(isinstance(p, P2POp) for p in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each element must be of type ``torch.distributed.P2POp``.")
    if any(p.group is not p2p_op_list[0].group for p in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    ordered = sorted(p2p_op_list, key=lambda p: p.op is isend)  # receivers are ready before senders begin
    works = {id(p): p.op(p.tensor, p.peer, p.group, p.tag) for p in ordered}
    return [works[id(p)] for p in p2p_op_list]


from facula.distributed import _objects  # noqa: E402, F401  (needs what is above)
from facula.distributed._objects import *  # noqa: E402, F403
