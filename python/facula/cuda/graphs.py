# SPDX-License-Identifier: Apache-2.0
"""torch.cuda.graphs: graphs of CUDA devices, of which there is none."""

from facula.cuda import CUDAGraph, graph, graph_pool_handle, is_current_stream_capturing, make_graphed_callables

__all__ = [
    "CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables",
]  # fmt: skip
