# SPDX-License-Identifier: Apache-2.0
"""Goes on where an earlier run of the same pipe stood."""

from facula.utils.data.datapipes._hook_iterator import _SnapshotState
from facula.utils.data.datapipes.datapipe import IterDataPipe
from facula.utils.data.graph_settings import apply_random_seed


def _simple_graph_snapshot_restoration(datapipe: IterDataPipe, n_iterations: int, rng=None) -> None:
    """The pipe's next iterator begins after n_iterations samples, which are drawn and dropped; rng seeds the graph."""
    if datapipe._snapshot_state is _SnapshotState.Restored:
        raise RuntimeError("Snapshot restoration cannot be applied: the pipe was restored and has not been iterated over since.")
    datapipe.reset()
    if rng is not None:
        apply_random_seed(datapipe, rng)
    samples = iter(datapipe)
    for _ in range(n_iterations):
        try:
            next(samples)
        except StopIteration as e:
            raise RuntimeError(f"Fast-forward {datapipe} by {n_iterations} iterations exceeds the number of samples available.") from e
    datapipe._fast_forward_iterator = samples
    datapipe._snapshot_state = _SnapshotState.Restored
