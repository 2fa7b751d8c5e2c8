# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's files, under PyTorch's name of their module."""

from facula import _missing
from facula.distributed.checkpoint import HuggingFaceStorageReader, HuggingFaceStorageWriter

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]

__getattr__ = _missing.missing(__name__)
