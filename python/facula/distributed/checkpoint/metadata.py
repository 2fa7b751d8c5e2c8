# SPDX-License-Identifier: Apache-2.0
"""What a checkpoint holds, as its index says."""

from dataclasses import dataclass, field

import facula
from facula import _missing

__all__ = ["BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "TensorProperties", "TensorStorageMetadata"]


@dataclass
class ChunkStorageMetadata:
    """A part: where it begins, and its shape."""

    offsets: facula.Size
    sizes: facula.Size


@dataclass
class TensorProperties:
    """What is not shape."""

    dtype: facula.dtype


@dataclass
class TensorStorageMetadata:
    """A tensor: its type, its shape, its parts."""

    properties: TensorProperties
    size: facula.Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """A value that is no tensor."""


@dataclass
class Metadata:
    """Everything by name; storage_data: (name, part) -> (file, name in it)."""

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    planner_data: object = None
    storage_data: dict = field(default_factory=dict)


__getattr__ = _missing.missing(__name__)
