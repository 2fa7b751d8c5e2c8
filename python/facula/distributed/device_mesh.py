# SPDX-License-Identifier: Apache-2.0
"""Ranks in a grid of named dimensions, with a process group along each."""

import math
import weakref

import facula
from facula import _missing
from facula.distributed import distributed_c10d as c10d

__all__ = ["DeviceMesh", "init_device_mesh"]

_live: weakref.WeakSet = weakref.WeakSet()  # meshes of this process


class DeviceMesh:
    """The ranks of a program in a grid: `mesh[i, j]` is a rank. Every process makes it, in the same order."""

    _root: "DeviceMesh | None" = None  # the mesh that this is a part of

    def __init__(self, device_type: str, mesh, *, mesh_dim_names: tuple[str, ...] | None = None, _init_backend: bool = True, _groups=None) -> None:
        if device_type not in ("cpu", "cuda", "xpu", "meta") and not hasattr(facula, device_type):
            raise RuntimeError(f"DeviceMesh: unknown device type {device_type!r}")
        self.device_type = device_type
        self.mesh = facula.as_tensor(mesh, dtype=facula.int64) if not isinstance(mesh, facula.Tensor) else mesh.to(facula.int64)
        self.mesh_dim_names = tuple(mesh_dim_names) if mesh_dim_names is not None else None
        ranks = self.mesh.flatten().tolist()
        if len(set(ranks)) != len(ranks):
            raise RuntimeError(f"DeviceMesh: a rank is in {self.mesh.tolist()} twice")
        if self.mesh_dim_names is not None:
            if len(self.mesh_dim_names) != self.mesh.dim():
                raise RuntimeError(f"mesh_dim_names must have same length as mesh dims: {self.mesh_dim_names} for {self.mesh.dim()}")
            if len(set(self.mesh_dim_names)) != len(self.mesh_dim_names):
                raise RuntimeError(f"Each mesh_dim_name must be unique: {self.mesh_dim_names}")
        if not c10d.is_initialized():
            c10d.init_process_group()
        if max(ranks) >= c10d.get_world_size():
            raise RuntimeError(f"DeviceMesh: rank {max(ranks)} is none of {c10d.get_world_size()} processes")
        here = (self.mesh == c10d.get_rank()).nonzero()
        self._coordinate = here[0].tolist() if len(here) else None
        self._groups = _groups if _groups is not None else [self._along(d) for d in range(self.mesh.dim())]
        _live.add(self)

    def __reduce__(self):
        return _found_or_made, (self.device_type, self.mesh.tolist(), self.mesh_dim_names)

    def __deepcopy__(self, memo: dict) -> "DeviceMesh":
        return self

    def _along(self, dim: int):
        lines = self.mesh.movedim(dim, -1).reshape(-1, self.mesh.size(dim)).tolist()
        if len(lines) == 1 and sorted(lines[0]) == list(range(c10d.get_world_size())):
            return c10d._get_default_group()
        name = self.mesh_dim_names[dim] if self.mesh_dim_names else f"dimension {dim}"
        made = [c10d.new_group(line, group_desc=f"mesh {name}") for line in lines]
        return next((g for g in made if not c10d._no_member(g)), None)

    @staticmethod
    def from_group(group, device_type: str, mesh=None, *, mesh_dim_names=None) -> "DeviceMesh":
        """A mesh of groups that exist: one group, or one along each dimension of `mesh`."""
        groups = list(group) if isinstance(group, (list, tuple)) else [group]
        if mesh is None:
            if len(groups) > 1:
                raise ValueError("from_group: several groups need the mesh")
            mesh = c10d.get_process_group_ranks(groups[0])
        return DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names, _groups=groups)

    def _dim(self, dim: int | str | None) -> int:
        if dim is None:
            if self.ndim > 1:
                raise RuntimeError(f"this mesh has {self.ndim} dimensions: which one is meant?")
            return 0
        if isinstance(dim, str):
            if self.mesh_dim_names is None or dim not in self.mesh_dim_names:
                raise KeyError(f"this mesh has no dimension {dim!r}: {self.mesh_dim_names}")
            return self.mesh_dim_names.index(dim)
        return range(self.ndim)[dim]

    def __getitem__(self, names: str | tuple[str, ...]) -> "DeviceMesh":
        """The part of the mesh that holds this rank, in the named dimensions."""
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        names = (names,) if isinstance(names, str) else tuple(names)
        if len(names) == 1 and names[0] not in self.mesh_dim_names and names[0] in self.__dict__.get("_flattened", {}):
            return self._flattened[names[0]]
        dims = [self._dim(n) for n in names]
        if dims != sorted(set(dims)):
            raise KeyError(f"dimensions of a part come in the order of the mesh: {self.mesh_dim_names}")
        if self._coordinate is None:
            raise RuntimeError(f"rank {c10d.get_rank()} is not in this mesh")
        at = tuple(slice(None) if d in dims else self._coordinate[d] for d in range(self.ndim))
        part = DeviceMesh(self.device_type, self.mesh[at], mesh_dim_names=names, _groups=[self._groups[d] for d in dims])
        part._root = self._root if self._root is not None else self
        return part

    def _flatten(self, mesh_dim_name: str | None = None) -> "DeviceMesh":
        """This part of the mesh with one dimension, in whose group are all its ranks. Every process of the whole mesh calls it."""
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ())
        root = self._root if self._root is not None else self
        found = root.__dict__.setdefault("_flattened", {})
        if name not in found:
            dims = [root._dim(n) for n in self.mesh_dim_names] if root is not self else list(range(root.ndim))
            others = [d for d in range(root.ndim) if d not in dims]
            made = [c10d.new_group(line, group_desc=f"mesh {name}") for line in root.mesh.permute(*others, *dims).reshape(-1, self.mesh.numel()).tolist()]
            mine = next((g for g in made if not c10d._no_member(g)), None)
            flat = DeviceMesh(self.device_type, self.mesh.flatten(), mesh_dim_names=(name,) if name else None, _groups=[mine])
            flat._root = root
            found[name] = flat
        return found[name]

    def get_group(self, mesh_dim: int | str | None = None):
        """The process group along a dimension, through this rank."""
        return self._groups[self._dim(mesh_dim)]

    def get_all_groups(self) -> list:
        return list(self._groups)

    def size(self, mesh_dim: int | str | None = None) -> int:
        return self.mesh.numel() if mesh_dim is None else self.mesh.size(self._dim(mesh_dim))

    @property
    def ndim(self) -> int:
        return self.mesh.dim()

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.mesh.shape)

    def get_rank(self) -> int:
        return c10d.get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This rank's place along a dimension."""
        return self.get_coordinate()[self._dim(mesh_dim)]

    def get_coordinate(self) -> list[int] | None:
        """This rank's place in the mesh; None: it is not in it."""
        return list(self._coordinate) if self._coordinate is not None else None

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, DeviceMesh) and self.device_type == other.device_type and self.mesh_dim_names == other.mesh_dim_names
            and self.mesh.shape == other.mesh.shape and bool((self.mesh == other.mesh).all())
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((self.device_type, self.mesh_dim_names, tuple(self.mesh.flatten().tolist()), self.shape))

    def __repr__(self) -> str:
        names = f", mesh_dim_names={self.mesh_dim_names}" if self.mesh_dim_names else ""
        return f"DeviceMesh({self.device_type!r}, {self.mesh.tolist()}{names})"


def _found_or_made(device_type: str, mesh: list, names: tuple[str, ...] | None) -> DeviceMesh:
    """A mesh that a file names: the one of this process that is equal to it, as its groups exist."""
    for known in list(_live):
        if known.device_type == device_type and known.mesh_dim_names == names and known.mesh.tolist() == mesh and None not in known._groups:
            return known
    if not c10d.is_initialized():
        raise RuntimeError("a DeviceMesh is loaded in a run of several processes: init_process_group comes first")
    return DeviceMesh(device_type, mesh, mesh_dim_names=names)


def init_device_mesh(device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None) -> DeviceMesh:
    """All ranks in a grid of a shape, in order."""
    if not isinstance(mesh_shape, (tuple, list)) or any(not isinstance(n, int) or n < 1 for n in mesh_shape):
        raise RuntimeError(f"init_device_mesh: a shape is numbers from 1, got {mesh_shape!r}")
    if not c10d.is_initialized():
        c10d.init_process_group()
    if math.prod(mesh_shape) != c10d.get_world_size():
        raise RuntimeError(f"init_device_mesh: a mesh of {tuple(mesh_shape)} has {math.prod(mesh_shape)} places for {c10d.get_world_size()} processes")
    return DeviceMesh(device_type, facula.arange(c10d.get_world_size()).view(tuple(mesh_shape)), mesh_dim_names=mesh_dim_names)


__getattr__ = _missing.missing(__name__)
