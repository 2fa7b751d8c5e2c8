# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.checkpoint: names for questions. Checkpoints of several processes are not in this build; torch.save on one
rank is."""

from facula import _missing
from facula.distributed import _refused

__all__ = [
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "FileSystemReader",
    "FileSystemWriter",
    "HuggingFaceStorageReader",
    "HuggingFaceStorageWriter",
    "async_save",
    "load",
    "load_state_dict",
    "save",
    "save_state_dict",
]

DefaultLoadPlanner = _refused.kind(__name__, "DefaultLoadPlanner")
DefaultSavePlanner = _refused.kind(__name__, "DefaultSavePlanner")
FileSystemReader = _refused.kind(__name__, "FileSystemReader")
FileSystemWriter = _refused.kind(__name__, "FileSystemWriter")
HuggingFaceStorageReader = _refused.kind(__name__, "HuggingFaceStorageReader")
HuggingFaceStorageWriter = _refused.kind(__name__, "HuggingFaceStorageWriter")
async_save = _refused.function(__name__, "async_save")
load = _refused.function(__name__, "load")
load_state_dict = _refused.function(__name__, "load_state_dict")
save = _refused.function(__name__, "save")
save_state_dict = _refused.function(__name__, "save_state_dict")

__getattr__ = _missing.missing(__name__, later=("default_planner", "hf_storage", "state_dict",))
