# SPDX-License-Identifier: Apache-2.0
"""Modules on several devices."""

from facula.nn.parallel.data_parallel import DataParallel, data_parallel
from facula.nn.parallel.distributed import DistributedDataParallel
from facula.nn.parallel.parallel_apply import parallel_apply
from facula.nn.parallel.replicate import replicate
from facula.nn.parallel.scatter_gather import gather, scatter

__all__ = ["replicate", "scatter", "parallel_apply", "gather", "data_parallel", "DataParallel", "DistributedDataParallel"]
