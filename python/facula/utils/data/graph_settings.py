# SPDX-License-Identifier: Apache-2.0
"""Settings of all pipes of a graph: who shares the work, whether and how is shuffled."""

import inspect
import warnings

from facula.utils.data.datapipes.iter.sharding import SHARDING_PRIORITIES
from facula.utils.data.graph import traverse_dps
from facula.utils.data.sampler import random_seed

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_seed", "apply_shuffle_settings", "get_all_graph_pipes"]


def get_all_graph_pipes(graph):
    """The pipes of a graph, each once."""
    found = {}

    def collect(graph):
        for number, (pipe, below) in graph.items():
            if number not in found:
                found[number] = pipe
                collect(below)

    collect(graph)
    return list(found.values())


def _has(pipe, *methods):
    return all(inspect.ismethod(getattr(pipe, m, None)) for m in methods)


def _all_of(datapipe):
    return get_all_graph_pipes(traverse_dps(datapipe))


def apply_sharding(datapipe, num_of_instances: int, instance_id: int, sharding_group=SHARDING_PRIORITIES.DEFAULT):
    """Tells every pipe that shards (`sharding_filter`) which share is ours. One above another would share twice: an error."""

    def apply(graph, above):
        for pipe, below in graph.values():
            applied = above
            if _has(pipe, "apply_sharding"):
                if above is not None:
                    raise RuntimeError(
                        "Sharding twice on a single pipeline is likely unintended and will cause data loss. "
                        f"Sharding already applied to {above} while trying to apply to {pipe}"
                    )
                applied = pipe
                takes_groups = len(inspect.signature(pipe.apply_sharding).parameters) >= 3
                pipe.apply_sharding(num_of_instances, instance_id, *([sharding_group] if takes_groups else []))
            apply(below, applied)

    apply(traverse_dps(datapipe), None)
    return datapipe


def apply_shuffle_settings(datapipe, shuffle: bool | None = None):
    """Switches all shufflers on or off, and puts one at the end where there is none; None changes nothing."""
    if shuffle is None:
        return datapipe
    shufflers = [p for p in _all_of(datapipe) if _has(p, "set_shuffle", "set_seed")]
    if shuffle and not shufflers:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. Be aware that the "
            "default buffer size might not be sufficient for your task.",
            stacklevel=2,
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for pipe in shufflers:
        pipe.set_shuffle(shuffle)
    return datapipe


def apply_shuffle_seed(datapipe, rng):
    """The older apply_random_seed."""
    warnings.warn(
        "`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future releases. Please use `apply_random_seed` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return apply_random_seed(datapipe, rng)


def apply_random_seed(datapipe, rng):
    """Gives every pipe with `set_seed` a seed of its own, drawn from rng."""
    for pipe in _all_of(datapipe):
        if _has(pipe, "set_seed"):
            pipe.set_seed(random_seed(rng))
    return datapipe
