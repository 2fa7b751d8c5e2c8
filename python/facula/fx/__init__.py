# SPDX-License-Identifier: Apache-2.0
"""torch.fx: programs as graphs that can be read, changed and run again.

symbolic_trace(module) runs it on proxies and records what it does: a Graph of Nodes, in a GraphModule whose forward is
generated from it. Names, printed graphs and generated code are PyTorch's.
"""

from facula.fx import immutable_collections, node, graph, graph_module, proxy  # noqa: F401, I001
from facula.fx import _symbolic_trace, interpreter, subgraph_rewriter  # noqa: F401
from facula.fx._symbolic_trace import PH, Tracer, symbolic_trace, wrap  # noqa: F401
from facula.fx.graph import CodeGen, Graph  # noqa: F401
from facula.fx.graph_module import GraphModule
from facula.fx.interpreter import Interpreter, Transformer
from facula.fx.node import Node, has_side_effect, map_arg
from facula.fx.proxy import Proxy
from facula.fx.subgraph_rewriter import replace_pattern
from facula import _missing

__all__ = ["symbolic_trace", "Tracer", "wrap", "Graph", "GraphModule", "Interpreter", "Transformer", "Node", "Proxy", "replace_pattern", "has_side_effect", "map_arg"]

__getattr__ = _missing.missing(__name__, ("experimental", "passes"))
