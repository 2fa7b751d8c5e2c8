# SPDX-License-Identifier: Apache-2.0
"""Collectives of Python objects: pickled into tensors of bytes. What comes from other ranks is unpickled, so every
process of the run is trusted."""

import io
import pickle

import facula
from facula.distributed import distributed_c10d as _c10d

__all__ = [
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list", "scatter_object_list",
    "send_object_list",
]  # fmt: skip


def _packed(value: object) -> facula.Tensor:
    buffer = io.BytesIO()
    pickle.Pickler(buffer, protocol=4).dump(value)
    return facula.frombuffer(bytearray(buffer.getvalue()), dtype=facula.uint8)


def _unpacked(data: facula.Tensor, size: int) -> object:
    import ctypes  # as NumPy need not be there

    return pickle.loads(ctypes.string_at(data.contiguous().data_ptr(), size))


def _gathered_sizes(packed: facula.Tensor, group, n: int) -> list[int]:
    sizes = facula.empty(n, dtype=facula.int64)
    _c10d.all_gather_into_tensor(sizes, facula.tensor([packed.numel()]), group)
    return sizes.tolist()


def _padded(packed: facula.Tensor, size: int) -> facula.Tensor:
    whole = facula.zeros(size, dtype=facula.uint8)
    whole[: packed.numel()] = packed
    return whole


def all_gather_object(object_list, obj, group=None):
    """Gathers an object of every rank into a list on all ranks."""
    if _c10d._no_member(group, "all_gather_object"):
        return
    n, packed = _c10d.get_world_size(group), _packed(obj)
    if len(object_list) < n:
        raise ValueError(f"all_gather_object: a list for {n} objects has {len(object_list)} places")
    sizes = _gathered_sizes(packed, group, n)
    data = facula.empty(n, max(sizes), dtype=facula.uint8)
    _c10d.all_gather_into_tensor(data, _padded(packed, max(sizes)), group)
    for i, size in enumerate(sizes):
        object_list[i] = _unpacked(data[i], size)


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """Gathers an object of every rank into a list on one rank."""
    if _c10d._no_member(group, "gather_object"):
        return
    g = _c10d._group_of(group)
    root = _c10d._root(g, 0 if dst is None and group_dst is None else dst, group_dst, "dst")
    mine = root == g.rank()
    if mine and (object_gather_list is None or len(object_gather_list) < g.size()):
        raise ValueError("Argument ``object_gather_list`` must be specified on destination rank, with a place for each rank.")
    packed = _packed(obj)
    sizes = _gathered_sizes(packed, group, g.size())
    data = [facula.empty(max(sizes), dtype=facula.uint8) for _ in sizes] if mine else None
    _c10d.gather(_padded(packed, max(sizes)), data, group=group, group_dst=root)
    if mine:
        for i, size in enumerate(sizes):
            object_gather_list[i] = _unpacked(data[i], size)


def _pack_list(objects) -> tuple[facula.Tensor, facula.Tensor]:
    packed = [_packed(o) for o in objects]
    return facula.tensor([p.numel() for p in packed], dtype=facula.int64), facula.cat(packed)


def _unpack_list(objects, sizes, data) -> None:
    at = 0
    for i, size in enumerate(sizes.tolist()):
        objects[i] = _unpacked(data[at:], size)
        at += size


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Copies the source's objects into the lists of all ranks."""
    if _c10d._no_member(group, "broadcast_object_list"):
        return
    g = _c10d._group_of(group)
    root = _c10d._root(g, 0 if src is None and group_src is None else src, group_src, "src")
    if not object_list:
        return
    if root == g.rank():
        sizes, data = _pack_list(object_list)
    else:
        sizes = facula.empty(len(object_list), dtype=facula.int64)
    _c10d.broadcast(sizes, group=group, group_src=root)
    if root != g.rank():
        data = facula.empty(int(sizes.sum()), dtype=facula.uint8)
    _c10d.broadcast(data, group=group, group_src=root)
    if root != g.rank():
        _unpack_list(object_list, sizes, data)


def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None):
    """Hands each rank one object of a list on one rank, in the first place of its output list."""
    if _c10d._no_member(group, "scatter_object_list"):
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    g = _c10d._group_of(group)
    root = _c10d._root(g, 0 if src is None and group_src is None else src, group_src, "src")
    parts = None
    sizes = facula.zeros(g.size(), dtype=facula.int64)
    if root == g.rank():
        if not scatter_object_input_list or len(scatter_object_input_list) != g.size():
            raise ValueError(f"scatter_object_list: the source gives {g.size()} objects, one for each rank")
        packed = [_packed(o) for o in scatter_object_input_list]
        sizes = facula.tensor([p.numel() for p in packed], dtype=facula.int64)
        parts = [_padded(p, int(sizes.max())) for p in packed]
    _c10d.broadcast(sizes, group=group, group_src=root)
    data = facula.empty(int(sizes.max()), dtype=facula.uint8)
    _c10d.scatter(data, parts, group=group, group_src=root)
    scatter_object_output_list[0] = _unpacked(data, int(sizes[g.rank()]))


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None, use_batch=False):
    """Sends objects to a rank."""
    if _c10d._no_member(group, "send_object_list"):
        return
    sizes, data = _pack_list(object_list)
    _c10d.send(sizes, dst, group, group_dst=group_dst)
    _c10d.send(data, dst, group, group_dst=group_dst)


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None, use_batch=False):
    """Receives objects into a list; the rank that they came from."""
    if _c10d._no_member(group, "recv_object_list"):
        return -1
    sizes = facula.empty(len(object_list), dtype=facula.int64)
    source = _c10d.recv(sizes, src, group, group_src=group_src)
    data = facula.empty(int(sizes.sum()), dtype=facula.uint8)
    _c10d.recv(data, source, group)
    _unpack_list(object_list, sizes, data)
    return source
