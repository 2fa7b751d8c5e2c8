# SPDX-License-Identifier: Apache-2.0
"""From a checkpoint's folder to one file of torch.save, and back."""

import os

import facula
from facula import _missing
from facula.distributed.checkpoint import _index
from facula.distributed.checkpoint._load import load
from facula.distributed.checkpoint._save import save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir: str | os.PathLike, torch_save_path: str | os.PathLike) -> None:
    """Writes what a folder holds as one file, by the names of its values."""
    index = _index.read(os.fspath(dcp_checkpoint_dir))
    state = {n: facula.empty(t.shape, dtype=t.dtype) for n, t in index.tensors.items()} | dict.fromkeys(index.values)
    load(state, checkpoint_id=dcp_checkpoint_dir, no_dist=True)
    facula.save(state, torch_save_path)


def torch_save_to_dcp(torch_save_path: str | os.PathLike, dcp_checkpoint_dir: str | os.PathLike) -> None:
    """Writes what a file holds as a folder."""
    save(facula.load(torch_save_path, weights_only=True), checkpoint_id=dcp_checkpoint_dir, no_dist=True)


__getattr__ = _missing.missing(__name__)
