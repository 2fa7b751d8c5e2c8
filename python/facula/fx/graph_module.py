# SPDX-License-Identifier: Apache-2.0
"""A module whose forward is the code of a graph."""

import copy
import itertools
import linecache

from facula import nn
from facula.fx.graph import Graph
from facula.fx.node import map_arg

__all__ = ["GraphModule", "reduce_graph_module"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_numbers = itertools.count()


def _forward_from_source(source, variables):
    """The function of generated code; tracebacks show its lines."""
    name = f"<eval_with_key>.{next(_numbers)}"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    variables = dict(variables)
    exec(compile(source, name, "exec"), variables)
    return variables["forward"]


def _copy_attr(from_module, to_module, target):
    """Gives to_module the parameter, buffer, submodule or value at a path in from_module, with what lies on the way."""
    *path, name = target.split(".")
    for part in path:
        source, there = getattr(from_module, part), getattr(to_module, part, None)
        if source is there:
            return
        if there is None:
            there = nn.Module()
            setattr(to_module, part, there)
        from_module, to_module = source, there
    value = getattr(from_module, name)
    if name in from_module._buffers:
        to_module.register_buffer(name, value, persistent=name not in from_module._non_persistent_buffers_set)
    else:
        setattr(to_module, name, value)


def _assign_attr(value, to_module, target):
    *path, name = target.split(".")
    for part in path:
        if not hasattr(to_module, part):
            setattr(to_module, part, nn.Module())
        to_module = getattr(to_module, part)
    if hasattr(value, "requires_grad") and not isinstance(value, (nn.Parameter, nn.Module)):
        to_module.register_buffer(name, value)
    else:
        setattr(to_module, name, value)


class _CodeOnlyModule(nn.Module):
    """A module with a GraphModule's attributes and no graph."""

    def __init__(self, body):
        super().__init__()
        self.__dict__ = body


class GraphModule(nn.Module):
    """Runs a graph with the parameters and submodules of the module that it came from.

    `graph` may be changed; `recompile` makes `forward` anew. `code` is its source.
    """

    def __new__(cls, *args, **kwargs):
        # Every object has a forward of its own, which Python looks for in the class.
        for base in cls.__mro__:
            if base.__qualname__ != "GraphModuleImpl":
                cls = base
                break
        return super().__new__(type("GraphModuleImpl", (cls,), {}))

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        self.__class__.__name__ = class_name
        targets = [n.target for n in graph.nodes if n.op in ("get_attr", "call_module")]
        if isinstance(root, nn.Module):
            if hasattr(root, "training"):
                self.training = root.training
            for target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for target in sorted(set(targets), key=lambda t: t.count(".")):
                if target not in root:
                    raise RuntimeError(f"Node referenced target {target} but that target was not provided in ``root``!")
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError("Unsupported type " + str(root) + " passed for root!")
        self.graph = graph
        self._tracer_cls = graph._tracer_cls
        self.meta: dict = dict(getattr(root, "meta", {}))

    @property
    def graph(self):
        """What is run."""
        return self._graph

    @graph.setter
    def graph(self, g):
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self):
        """The source of forward."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self):
        """Makes forward of the graph as it is now."""
        code = self._graph.python_code(root_module="self")
        self._code = code.src
        type(self).forward = _forward_from_source(code.src, code.globals)
        return code

    def add_submodule(self, target, m):
        """Puts a module at a path; False where something else is in the way."""
        *path, name = target.split(".")
        module = self
        for part in path:
            if not hasattr(module, part):
                setattr(module, part, nn.Module())
            module = getattr(module, part)
            if not isinstance(module, nn.Module):
                return False
        module.add_module(name, m)
        return True

    def delete_submodule(self, target):
        """Takes the module at a path out; False where there is none."""
        *path, name = target.split(".")
        module = self
        for part in path:
            module = getattr(module, part, None)
            if not isinstance(module, nn.Module):
                return False
        if not isinstance(getattr(module, name, None), nn.Module):
            return False
        delattr(module, name)
        return True

    def delete_all_unused_submodules(self):
        """Takes out every submodule that no node calls or reads."""
        used = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used |= {".".join(parts[:i]) for i in range(1, len(parts) + 1)}
                if node.op == "call_module":
                    try:
                        used |= {f"{node.target}.{name}" for name, _ in self.get_submodule(node.target).named_modules() if name}
                    except AttributeError:
                        pass
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    def print_readable(self, print_output=True, include_stride=False, include_device=False, colored=False, **kwargs):
        """The code of this module and of the graph modules in it."""
        code = f"class {type(self).__name__}(torch.nn.Module):\n" + "\n".join(f"    {line}" if line.strip() else "" for line in self.code.strip("\n").split("\n"))
        inner = [m.print_readable(print_output=False) for m in self.children() if isinstance(m, GraphModule)]
        text = "\n".join([code.rstrip() + "\n", *("\n".join(f"    {line}" if line else "" for line in t.split("\n")) for t in inner)])
        if print_output:
            print(text)
        return text

    def __str__(self):
        return "\n".join([super().__str__(), self._code, "# To see more debug info, please use `graph_module.print_readable()`"])

    def __deepcopy__(self, memo):
        state = {k: v for k, v in self.__dict__.items() if k != "_graph"}
        copied = self._from_state(copy.deepcopy(state, memo), copy.deepcopy(self._graph, memo))
        return copied

    def __copy__(self):
        return self._from_state({k: v for k, v in self.__dict__.items() if k != "_graph"}, copy.deepcopy(self._graph))

    def _from_state(self, state, graph):
        base = next(b for b in type(self).__mro__ if b.__qualname__ != "GraphModuleImpl")
        made = base.__new__(base)
        nn.Module.__init__(made)
        type(made).__name__ = type(self).__name__
        made.__dict__.update(state)
        made.graph = graph
        return made

    def __reduce__(self):
        base = next(b for b in type(self).__mro__ if b.__qualname__ != "GraphModuleImpl")
        state = {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_code")}
        return reduce_graph_module, (base, type(self).__name__, state, _to_rows(self._graph))


class _Place:
    """In rows: the result of an earlier row."""

    def __init__(self, index):
        self.index = index


def _to_rows(graph):
    """A graph as a list, without references from node to node."""
    index = {node: i for i, node in enumerate(graph.nodes)}
    return [(n.op, n.name, n.target, map_arg(n.args, lambda x: _Place(index[x])), map_arg(n.kwargs, lambda x: _Place(index[x])), n.type) for n in graph.nodes]


def _from_rows(rows):
    from facula.fx.node import map_aggregate

    graph, nodes = Graph(), []

    def node(x):
        return nodes[x.index] if isinstance(x, _Place) else x

    for op, name, target, args, kwargs, kind in rows:
        nodes.append(graph.create_node(op, target, map_aggregate(args, node), map_aggregate(kwargs, node), name, kind))
    return graph


def reduce_graph_module(base, class_name, state, rows):
    """A GraphModule from what pickle keeps of it."""
    made = base.__new__(base)
    nn.Module.__init__(made)
    type(made).__name__ = class_name
    made.__dict__.update(state)
    made.graph = _from_rows(rows)
    return made
