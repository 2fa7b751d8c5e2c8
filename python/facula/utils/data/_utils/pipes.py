# SPDX-License-Identifier: Apache-2.0
"""What a DataLoader does for DataPipes. Without their module, which is imported when a program asks for it, there are none."""

import sys

import facula as torch


def _module():
    return sys.modules.get("facula.utils.data.datapipes.datapipe")


def is_stream(dataset):
    return _module() is not None and isinstance(dataset, _module().IterDataPipe)


def wrapped(dataset):
    """A pipe in a wrapper that can be sent to processes by dill, too; other datasets as they are."""
    pipes = _module()
    if is_stream(dataset):
        return pipes._IterDataPipeSerializationWrapper(dataset)
    if pipes is not None and isinstance(dataset, pipes.MapDataPipe):
        return pipes._MapDataPipeSerializationWrapper(dataset)
    return dataset


def set_shuffle(stream, shuffle):
    from facula.utils.data.graph_settings import apply_shuffle_settings

    return apply_shuffle_settings(stream, shuffle=shuffle)


def set_seed(stream, seed):
    """The same seeds in all processes, so that they shuffle alike and can share the work."""
    from facula.utils.data.graph_settings import apply_random_seed

    apply_random_seed(stream, torch.Generator().manual_seed(seed))


def share(stream, num_workers, worker_id):
    from facula.utils.data.datapipes.iter.sharding import SHARDING_PRIORITIES
    from facula.utils.data.graph_settings import apply_sharding

    apply_sharding(stream, num_workers, worker_id, SHARDING_PRIORITIES.MULTIPROCESSING)
