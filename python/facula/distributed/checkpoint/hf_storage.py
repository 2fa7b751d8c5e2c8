# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's files: the format of every checkpoint here is theirs, with parts beside whole tensors."""

import os

from facula import _missing
from facula.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]


class HuggingFaceStorageWriter(FileSystemWriter):
    """A folder of safetensors files and their index. Tensors that lie on several ranks are written as parts, which other readers do
    not put together: give full tensors for those."""

    def __init__(
        self, path: str | os.PathLike, fqn_to_index_mapping: dict[str, int] | None = None, thread_count: int = 1,
        save_distributed: bool = False, enable_consolidation: bool = False,
    ) -> None:  # fmt: skip
        if enable_consolidation:
            raise NotImplementedError("HuggingFaceStorageWriter: parts are not put together after a save; give full tensors")
        super().__init__(path)


class HuggingFaceStorageReader(FileSystemReader):
    """A folder of safetensors files, with an index or with one file."""


__getattr__ = _missing.missing(__name__)
