# SPDX-License-Identifier: Apache-2.0
"""torch.utils.data: datasets, samplers, and the loader that makes batches of them, in worker processes if asked."""

from facula import _missing
from facula.utils.data._utils.collate import default_collate, default_convert
from facula.utils.data.dataloader import DataLoader, _DatasetKind
from facula.utils.data.dataset import ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split
from facula.utils.data.distributed import DistributedSampler
from facula.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler
from facula.utils.data._utils.worker import WorkerInfo, get_worker_info

# DataPipes, which most programs do not use, are imported when they are first asked for.
_CLASSES = ("DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe")
_DECORATORS = (
    "argument_validation", "functional_datapipe", "guaranteed_datapipes_determinism", "non_deterministic", "runtime_validation",
    "runtime_validation_disabled",
)  # fmt: skip
_PIPES = {
    **dict.fromkeys(_CLASSES, "facula.utils.data.datapipes.datapipe"),
    **dict.fromkeys(_DECORATORS, "facula.utils.data.datapipes._decorator"),
}

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
    "WeightedRandomSampler", "_DatasetKind", "default_collate", "default_convert", "get_worker_info", "random_split",
]  # fmt: skip
__all__ += [*_PIPES]  # noqa: PLE0604 -- strings, which it cannot see

_LATER = ("backward_compatibility", "datapipes", "graph", "graph_settings")
__getattr__ = _missing.missing("facula.utils.data", _LATER, _PIPES)


def __dir__():
    return sorted({*globals(), *_PIPES, *_LATER})
