# SPDX-License-Identifier: Apache-2.0
"""Checkpoints in a folder."""

import os

from facula import _missing
from facula.distributed.checkpoint import _index
from facula.distributed.checkpoint.metadata import Metadata

__all__ = ["FileSystemReader", "FileSystemWriter"]


class FileSystemWriter:
    """Where a checkpoint is written: a folder, which is made. The checkpoint that is there stays until the new one is whole;
    with overwrite=False there must be none."""

    def __init__(
        self, path: str | os.PathLike, single_file_per_rank: bool = True, sync_files: bool = True, thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000, cache_staged_state_dict: bool = False, overwrite: bool = True,
    ) -> None:  # fmt: skip
        self.path, self.overwrite = os.fspath(path), overwrite

    @property
    def checkpoint_id(self) -> str:
        return self.path


class FileSystemReader:
    """Where a checkpoint is read."""

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = os.fspath(path)

    @property
    def checkpoint_id(self) -> str:
        return self.path

    def read_metadata(self) -> Metadata:
        """What it holds."""
        return _index.read(self.path).metadata()


__getattr__ = _missing.missing(__name__)
