# SPDX-License-Identifier: Apache-2.0
"""torch.utils.data: datasets, samplers, and the loader that makes batches of them, in worker processes if asked."""

from facula import _missing
from facula.utils.data._utils.collate import default_collate, default_convert
from facula.utils.data.dataloader import DataLoader, _DatasetKind
from facula.utils.data.dataset import ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split
from facula.utils.data.distributed import DistributedSampler
from facula.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler
from facula.utils.data._utils.worker import WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
    "WeightedRandomSampler", "_DatasetKind", "default_collate", "default_convert", "get_worker_info", "random_split",
]  # fmt: skip

__getattr__ = _missing.missing("facula.utils.data")
