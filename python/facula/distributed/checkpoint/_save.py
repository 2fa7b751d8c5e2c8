# SPDX-License-Identifier: Apache-2.0
"""Saving: every rank writes a file of its parts, then one writes the index."""

import contextlib
import os
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import facula
from facula.distributed import distributed_c10d as c10d
from facula.distributed.checkpoint import _index
from facula.distributed.checkpoint._index import CheckpointException, Index, Part, Stored
from facula.distributed.checkpoint._values import flattened, to_json
from facula.distributed.checkpoint.filesystem import FileSystemWriter
from facula.distributed.checkpoint.metadata import Metadata
from facula.distributed.checkpoint.planner import DefaultSavePlanner
from facula.distributed.checkpoint.stateful import Stateful
from facula.distributed.tensor._dtensor import DTensor
from facula.distributed.tensor._utils import local_box
from facula.distributed.tensor.placement_types import Partial, Replicate

__all__ = ["async_save", "save", "save_state_dict"]


class Ranks:
    """The processes that save or load together: a group, or this one alone."""

    def __init__(self, group, no_dist: bool) -> None:
        self.group = None if no_dist or not c10d.is_initialized() else c10d._group_of(group)
        self.rank = 0 if self.group is None else self.group.rank()
        self.size = 1 if self.group is None else self.group.size()

    def all(self, value: object) -> list:
        """Every rank's value."""
        if self.size == 1:
            return [value]
        found = [None] * self.size
        c10d.all_gather_object(found, value, group=self.group)
        return found

    def together(self, what: str, step: Callable):
        """step() on every rank; if it fails on one, all raise."""
        result = error = None
        try:
            result = step()
        except Exception as e:  # whatever it is, the others hear of it
            error = e
        failed = {r: text for r, text in enumerate(self.all(None if error is None else f"{type(error).__name__}: {error}")) if text}
        if failed:
            rank, text = next(iter(failed.items()))
            raise CheckpointException(f"{what} failed on rank {rank}: {text}", failed) from error
        return result


def state_of(state_dict: dict) -> dict:
    """The state dict with the states of its stateful objects."""
    return {k: v.state_dict() if isinstance(v, Stateful) and not isinstance(v, facula.Tensor) else v for k, v in state_dict.items()}


def box_of(t: facula.Tensor) -> tuple[facula.Tensor, tuple[int, ...], tuple[int, ...]]:
    """What this rank has of a tensor: (part, offset, shape of the whole)."""
    if not isinstance(t, DTensor):
        return t.detach(), (0,) * t.dim(), tuple(t.shape)
    if any(isinstance(p, Partial) for p in t.placements):
        t = t._placed(tuple(Replicate() if isinstance(p, Partial) else p for p in t.placements))
    place = t.device_mesh.get_coordinate()
    if place is None:
        return t._local_tensor.detach(), (0,) * t.dim(), tuple(t.shape)
    return t._local_tensor.detach(), local_box(t.shape, t.device_mesh.shape, place, t.placements)[1], tuple(t.shape)


def _writer_of(checkpoint_id, storage_writer, planner) -> FileSystemWriter:
    if planner is not None and not isinstance(planner, DefaultSavePlanner):
        raise NotImplementedError(f"save: planners of one's own are not asked, got {type(planner).__name__}")
    if storage_writer is None:
        if checkpoint_id is None:
            raise ValueError("save: a checkpoint_id (a folder) or a storage_writer is needed")
        return FileSystemWriter(checkpoint_id)
    if not isinstance(storage_writer, FileSystemWriter):
        raise NotImplementedError(f"save: checkpoints are written to folders (FileSystemWriter), not by {type(storage_writer).__name__}")
    if checkpoint_id is not None:
        storage_writer.path = os.fspath(checkpoint_id)
    return storage_writer


def save(
    state_dict: dict, *, checkpoint_id: str | os.PathLike | None = None, storage_writer: FileSystemWriter | None = None,
    planner: DefaultSavePlanner | None = None, process_group=None, no_dist: bool = False, use_collectives: bool = True,
) -> Metadata:  # fmt: skip
    """Writes a state dict to a folder, as a whole: until it returns (on one rank) the folder holds the checkpoint that was there
    before. Every rank calls it with the same names. DTensors are written in their parts, what all ranks have by one of
    them; if a rank fails, all raise."""
    writer = _writer_of(checkpoint_id, storage_writer, planner)
    return _saved(flattened(state_of(state_dict)), writer, Ranks(process_group, no_dist))


def _saved(leaves: dict, writer: FileSystemWriter, ranks: Ranks) -> Metadata:
    def described():
        if not writer.overwrite and os.path.exists(os.path.join(writer.path, _index.INDEX)):
            raise FileExistsError(f"{writer.path} holds a checkpoint, and overwrite is False")
        os.makedirs(writer.path, exist_ok=True)
        tensors = {n: box_of(v) for n, (_, v) in leaves.items() if isinstance(v, facula.Tensor)}
        values = {n: to_json(v) for n, (_, v) in leaves.items() if not isinstance(v, facula.Tensor)}
        return tensors, values

    tensors, values = ranks.together("describing a checkpoint", described)
    mine = {n: (str(part.dtype), offset, tuple(part.shape), whole) for n, (part, offset, whole) in tensors.items()}
    everything = ranks.all((mine, values, secrets.token_hex(6)))
    nonce = everything[0][2]
    stored, own = _shared_out(everything, nonce, ranks, tensors)
    merged: dict[str, object] = {}
    for _, theirs, _ in reversed(everything):  # where ranks differ, the first one's
        merged.update(theirs)
    index = Index(stored, merged)
    file = _file_of(nonce, ranks.rank, ranks.size)
    path = os.path.join(writer.path, file)

    def written():
        if own:
            _index.write_file(path, own)

    try:
        ranks.together("writing a checkpoint", written)
        ranks.together("writing a checkpoint's index", lambda: _index.write(writer.path, index) if ranks.rank == 0 else None)
    except CheckpointException:
        if not _index.names(writer.path, file):
            with contextlib.suppress(OSError):
                os.unlink(path)
        raise
    return index.metadata()


def _file_of(nonce: str, rank: int, size: int) -> str:
    return f"model-{nonce}-{rank + 1:05d}-of-{size:05d}.safetensors"


def _shared_out(everything: list, nonce: str, ranks: Ranks, tensors: dict) -> tuple[dict[str, Stored], dict[str, facula.Tensor]]:
    """Who writes what: each part that several ranks have goes to the one that has the least to write so far. All ranks come to
    the same answer: (the tensors of the checkpoint, what this rank writes)."""
    load = [0] * len(everything)
    boxes: dict[str, dict[tuple, list[int]]] = {}
    about: dict[str, tuple] = {}
    for rank, (mine, _, _) in enumerate(everything):
        for name, (dtype, offset, shape, whole) in mine.items():
            known = about.setdefault(name, (dtype, whole))
            if known != (dtype, whole):
                raise CheckpointException(f"save: {name!r} is {known[0]} of shape {list(known[1])} on one rank and {dtype} of shape {list(whole)} on rank {rank}")
            boxes.setdefault(name, {}).setdefault((offset, shape), []).append(rank)
    stored, own, names = {}, {}, set()
    for name, places in boxes.items():
        dtype, whole = getattr(facula, about[name][0].partition(".")[2]), about[name][1]
        parts = []
        for (offset, shape), holders in places.items():
            size = facula.Size(shape).numel()
            if not size and size != facula.Size(whole).numel():
                continue
            writer = min(holders, key=lambda r: load[r])
            load[writer] += size * dtype.itemsize
            spans = ",".join(f"{o}:{o + s}" for o, s in zip(offset, shape, strict=True))
            key = name if shape == whole else f"{name}[{spans}]"
            if key in names:
                raise CheckpointException(f"save: two tensors would be named {key!r}")
            names.add(key)
            parts.append(Part(_file_of(nonce, writer, len(everything)), key, offset, shape))
            if writer == ranks.rank:
                own[key] = tensors[name][0]
        stored[name] = Stored(dtype, whole, parts)
    return stored, own


save_state_dict = save

_executor: ThreadPoolExecutor | None = None
_groups: dict[str, object] = {}  # of saves in the background, by the group that they are made for
_lock = threading.Lock()


def async_save(
    state_dict: dict, *, checkpoint_id: str | os.PathLike | None = None, storage_writer: FileSystemWriter | None = None,
    planner: DefaultSavePlanner | None = None, process_group=None, async_checkpointer_type: object = None,
    async_stager: object = None, no_dist: bool = False, use_collectives: bool = True,
) -> Future:  # fmt: skip
    """The same in the background: it returns when the state has been copied, and its future is done when the checkpoint is whole.
    Saves follow each other in the order of the calls, over a group of their own."""
    global _executor
    writer = _writer_of(checkpoint_id, storage_writer, planner)
    ranks = Ranks(process_group, no_dist)
    if ranks.size > 1:
        key = ranks.group.group_name
        if key not in _groups or _groups[key].group_name not in c10d._world.groups:
            _groups[key] = c10d.new_group(ranks.group.ranks, use_local_synchronization=True, group_desc="checkpoints")
        ranks.group = _groups[key]
    with facula.no_grad():
        leaves = {n: (path, _copied(v)) for n, (path, v) in flattened(state_of(state_dict)).items()}
    with _lock:
        if _executor is None:
            _executor = ThreadPoolExecutor(1, "checkpoint")
    return _executor.submit(_saved, leaves, writer, ranks)


def _copied(value: object) -> object:
    if isinstance(value, DTensor):
        if any(isinstance(p, Partial) for p in value.placements):
            value = value._placed(tuple(Replicate() if isinstance(p, Partial) else p for p in value.placements))
        return DTensor(value._local_tensor.detach().to("cpu", copy=True), value._spec)
    if isinstance(value, facula.Tensor):
        return value.detach().to("cpu", copy=True)
    return value
