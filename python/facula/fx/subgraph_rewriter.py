# SPDX-License-Identifier: Apache-2.0
"""Replacing every occurrence of a pattern in a graph."""

import typing

from facula import nn
from facula.fx._symbolic_trace import symbolic_trace
from facula.fx.graph import Graph
from facula.fx.graph_module import GraphModule
from facula.fx.node import Node

__all__ = ["Match", "replace_pattern"]


class Match(typing.NamedTuple):
    """Where a pattern was found: its last node there, and the node for every node of the pattern."""

    anchor: Node
    nodes_map: dict


def _same_arguments(mine, theirs, pairs):
    if isinstance(mine, Node):
        return isinstance(theirs, Node) and _match(mine, theirs, pairs)
    if isinstance(mine, (list, tuple)):
        return isinstance(theirs, (list, tuple)) and len(mine) == len(theirs) and all(_same_arguments(a, b, pairs) for a, b in zip(mine, theirs))
    if isinstance(mine, dict):
        return isinstance(theirs, dict) and mine.keys() == theirs.keys() and all(_same_arguments(v, theirs[k], pairs) for k, v in mine.items())
    if isinstance(mine, slice):
        return isinstance(theirs, slice) and _same_arguments((mine.start, mine.stop, mine.step), (theirs.start, theirs.stop, theirs.step), pairs)
    return type(mine) is type(theirs) and mine == theirs


def _match(pattern, node, pairs):
    """Whether the pattern's node and all that leads to it is found at node; fills pairs."""
    if pattern in pairs:
        return pairs[pattern] is node
    if pattern.op != "placeholder":
        if pattern.op != node.op or pattern.target != node.target or len(pattern.args) != len(node.args):
            return False
    pairs[pattern] = node
    return pattern.op == "placeholder" or (_same_arguments(pattern.args, node.args, pairs) and _same_arguments(pattern.kwargs, node.kwargs, pairs))


def _contained(pairs, last):
    """Whether nobody outside of the match uses what is inside of it."""
    inside = {found for pattern, found in pairs.items() if pattern.op not in ("placeholder", "get_attr")}
    return all(set(found.users) <= inside for found in inside if found not in last)


def _graph_of(callable_or_graph):
    if isinstance(callable_or_graph, GraphModule):
        return callable_or_graph.graph, callable_or_graph
    if isinstance(callable_or_graph, Graph):
        return callable_or_graph, None
    traced = symbolic_trace(callable_or_graph)
    return traced.graph, traced


def replace_pattern(gm, pattern, replacement):
    """Replaces every occurrence of pattern, a function or module, by replacement; returns the matches.

    Both take the same inputs. Occurrences that share nodes are replaced first come, first served.
    """
    pattern_graph, _ = _graph_of(pattern)
    replacement_graph, replacement_module = _graph_of(replacement)
    inputs = [n for n in pattern_graph.nodes if n.op == "placeholder"]
    new_inputs = [n for n in replacement_graph.nodes if n.op == "placeholder"]
    result = pattern_graph.output_node().args[0]
    last = list(result) if isinstance(result, (list, tuple)) else [result]
    if len(inputs) != len(new_inputs):
        raise RuntimeError(f"replace_pattern: the pattern has {len(inputs)} inputs, the replacement {len(new_inputs)}")
    matches, taken = [], set()
    for node in list(gm.graph.nodes):
        if node.op in ("placeholder", "output") or node._erased:
            continue
        pairs: dict = {}
        if not _match(last[-1], node, pairs) or not all(p in pairs for p in last):
            continue
        inside = {f for p, f in pairs.items() if p.op != "placeholder"}
        if inside & taken or not _contained(pairs, {pairs[p] for p in last}):
            continue
        taken |= inside
        matches.append(Match(node, pairs))
    renamed: dict = {}  # what a match's inputs have been replaced by, where they were another match's results

    def current(n):
        while n in renamed:
            n = renamed[n]
        return n

    for match in matches:
        value_map = {new: current(match.nodes_map[old]) for old, new in zip(inputs, new_inputs) if old in match.nodes_map}
        with gm.graph.inserting_before(match.anchor):
            copied = gm.graph.graph_copy(replacement_graph, value_map)
        results = list(copied) if isinstance(copied, (list, tuple)) else [copied]
        if len(results) != len(last):
            raise RuntimeError(f"replace_pattern: the pattern has {len(last)} results, the replacement {len(results)}")
        for old, new in zip(last, results):
            found = match.nodes_map[old]
            if isinstance(new, Node):
                found.replace_all_uses_with(new)
                renamed[found] = new
        inside = [f for p, f in match.nodes_map.items() if p.op not in ("placeholder", "output")]
        for found in reversed(list(gm.graph.nodes)):
            if found in inside and not found.users:
                gm.graph.erase_node(found)
    if isinstance(replacement_module, nn.Module):
        from facula.fx.graph_module import _copy_attr

        for node in replacement_graph.nodes:
            if node.op in ("call_module", "get_attr") and not hasattr(gm, node.target.split(".")[0]):
                _copy_attr(replacement_module, gm, node.target)
    gm.recompile()
    return matches
