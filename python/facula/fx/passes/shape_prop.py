# SPDX-License-Identifier: Apache-2.0
"""Runs a graph and notes the shape and type of every tensor in it."""

import typing

import facula
from facula.fx.interpreter import Interpreter
from facula.fx.node import map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(typing.NamedTuple):
    """What is noted of a tensor."""

    shape: facula.Size
    dtype: facula.dtype
    requires_grad: bool
    stride: tuple
    memory_format: typing.Any
    is_quantized: bool
    qparams: dict


def _extract_tensor_metadata(result, include_contiguity=True):
    formats = (facula.contiguous_format, facula.channels_last) if include_contiguity and result.dim() else ()
    layout = next((f for f in formats if (f is facula.contiguous_format or result.dim() == 4) and result.is_contiguous(memory_format=f)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), layout, False, {})


class ShapeProp(Interpreter):
    """propagate(*args) runs the graph; node.meta["tensor_meta"] has what came out, node.meta["type"] its type."""

    def run_node(self, n):
        result = super().run_node(n)
        found = []

        def look(x):
            if isinstance(x, facula.Tensor):
                found.append(x)
                return _extract_tensor_metadata(x)
            return x

        meta = map_aggregate(result, look)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        return super().run(*args)
