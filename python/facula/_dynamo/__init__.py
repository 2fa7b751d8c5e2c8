# SPDX-License-Identifier: Apache-2.0
"""torch._dynamo: what programs ask of PyTorch's compiler front, answered for a build that compiles nothing."""

import types

from facula import _missing
from facula.compiler import allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset  # noqa: F401

config = types.SimpleNamespace(cache_size_limit=8, suppress_errors=False, automatic_dynamic_shapes=True)  # kept as they are set


def mark_static_address(t, guard=True):
    """A hint for recorded work; there is none."""


def mark_static(t, index=None):
    """A hint for the compiler; there is none."""


def mark_dynamic(t, index, **kwargs):
    """A hint for the compiler; there is none."""


maybe_mark_dynamic = mark_dynamic


def graph_break(msg=""):
    """Ends what is compiled as one piece; nothing is."""


__getattr__ = _missing.missing(__name__, ("_trace_wrapped_higher_order_op", "eval_frame", "utils"), {"OptimizedModule": "facula._dynamo.eval_frame"})
