# SPDX-License-Identifier: Apache-2.0
"""How a tensor lies along one dimension of a mesh: cut, whole on every rank, or as parts of a sum."""

from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """The base of the three."""

    def is_shard(self, dim: int | None = None) -> bool:
        return isinstance(self, Shard) and (dim is None or self.dim == dim)

    def is_replicate(self) -> bool:
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        return isinstance(self, Partial) and (reduce_op is None or self.reduce_op == reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Cut in dimension `dim`: parts of equal size, the last ones smaller, or empty."""

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"

    @staticmethod
    def local_shard_size_and_offset(size: int, parts: int, place: int) -> tuple[int, int]:
        """Length and begin of a part."""
        full = -(-size // parts)
        begin = min(full * place, size)
        return min(full, size - begin), begin


@dataclass(frozen=True)
class Replicate(Placement):
    """Whole on every rank."""

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """Every rank has a part of the value: `reduce_op` of all is the tensor."""

    reduce_op: str = "sum"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


@dataclass(frozen=True)
class _StridedShard(Shard):
    """Cut after the later dimensions of the mesh have cut the same dimension: how parameters lie that are first shared out
    for tensor parallelism, and then by fully_shard over an outer dimension of the mesh."""

    split_factor: int = 1

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


@dataclass(frozen=True)
class _NormPartial(Partial):
    """The norms of parts: the norm of them is the tensor."""

    norm_type: float = 2.0

    def __str__(self) -> str:
        return f"P(norm {self.norm_type})"
