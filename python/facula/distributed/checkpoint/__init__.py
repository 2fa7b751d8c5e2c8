# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.checkpoint: checkpoints that several processes write and read together (docs/distributed.md)."""

from facula import _missing
from facula.distributed.checkpoint._index import CheckpointException
from facula.distributed.checkpoint._load import load, load_state_dict
from facula.distributed.checkpoint._save import async_save, save, save_state_dict
from facula.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from facula.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from facula.distributed.checkpoint.metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata
from facula.distributed.checkpoint.planner import DefaultLoadPlanner, DefaultSavePlanner
from facula.distributed.checkpoint.stateful import Stateful

__all__ = [
    "BytesStorageMetadata", "CheckpointException", "ChunkStorageMetadata", "DefaultLoadPlanner", "DefaultSavePlanner",
    "FileSystemReader", "FileSystemWriter", "HuggingFaceStorageReader", "HuggingFaceStorageWriter", "Metadata", "Stateful",
    "TensorStorageMetadata", "async_save", "load", "load_state_dict", "save", "save_state_dict",
]  # fmt: skip

__getattr__ = _missing.missing(
    __name__, later=("default_planner", "filesystem", "format_utils", "hf_storage", "metadata", "planner", "state_dict", "stateful")
)
