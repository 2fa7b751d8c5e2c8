# SPDX-License-Identifier: Apache-2.0
"""A node of a graph: one call, what goes in, and who uses what comes out."""

import builtins
import inspect
import types
import typing

import facula
from facula import _C
from facula._ops import _Packet
from facula.fx.immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "map_arg", "map_aggregate", "has_side_effect"]

Target = typing.Union[typing.Callable[..., typing.Any], str]
Argument = typing.Any
BaseArgumentTypes = typing.Union[str, int, float, bool, complex, facula.dtype, facula.Tensor, facula.device, facula.memory_format, facula.layout]
base_types = (str, int, float, bool, complex, facula.dtype, facula.Tensor, facula.device, facula.memory_format, facula.layout, _C.Operator, _Packet)
_legal_ops = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
_side_effectful_functions: set = set()


def has_side_effect(fn):
    """Calls of fn stay in a graph although nobody uses their result. Usable as a decorator."""
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a, fn):
    """A copy of nested arguments with fn(x) for everything that is no container."""
    if isinstance(a, tuple):
        mapped = tuple(map_aggregate(x, fn) for x in a)
        return type(a)(*mapped) if hasattr(a, "_fields") else mapped
    if isinstance(a, list):
        return immutable_list(map_aggregate(x, fn) for x in a)
    if isinstance(a, dict):
        return immutable_dict((k, map_aggregate(v, fn)) for k, v in a.items())
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a, fn):
    """A copy of nested arguments with fn(node) for every node."""
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


# Where functions of C are reached from; the functions themselves know their name only.
_PLACES = ("", "nn.functional", "special", "linalg", "fft", "functional")


def _c_function_name(func):
    for place in _PLACES:
        owner = facula
        for part in filter(None, place.split(".")):
            owner = getattr(owner, part, None)
        if owner is not None and getattr(owner, func.__name__, None) is func:
            return ".".join(filter(None, ("torch", place, func.__name__)))
    return f"torch._C._functions[{func.__name__!r}]"


def _get_qualified_name(func):
    """The name under which generated code reaches a function."""
    name = getattr(func, "__name__", None)
    if name is not None and getattr(builtins, name, None) is func:
        return name
    if isinstance(func, _C.Operator):
        return f"torch.ops.{func}"
    if isinstance(func, _Packet):
        return f"torch.ops.{func._name.replace('::', '.')}"
    if isinstance(func, _C.Function):
        return _c_function_name(func)
    if isinstance(func, _C.Method) or (isinstance(func, (types.MethodDescriptorType, types.WrapperDescriptorType)) and getattr(facula.Tensor, name, None) is func):
        return f"torch.Tensor.{name}"
    module = func.__module__
    if module is None:
        raise RuntimeError(f"cannot find a module for {func}")
    if module == "facula" or module.startswith("facula."):
        module = "torch" + module[len("facula") :]
    return f"{module}.{getattr(func, '__qualname__', name) if inspect.isclass(func) else name}"


def _type_repr(obj):
    """A type as annotations write it."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return _get_qualified_name(obj)
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj)


def _format_arg(arg):
    if isinstance(arg, Node):
        return "%" + str(arg)
    if isinstance(arg, list):
        return f"[{', '.join(map(_format_arg, arg))}]"
    if isinstance(arg, tuple):
        return f"({', '.join(map(_format_arg, arg))}{',' if len(arg) == 1 else ''})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{k}: {_format_arg(v)}" for k, v in arg.items()) + "}"
    return str(arg)


class Node:
    """One call of a graph: op says of what kind, target what is called or read, args and kwargs what goes in."""

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is none of {_legal_ops}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target).__name__} but a Callable is expected")
        elif not isinstance(target, str):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target).__name__} but a str is expected")
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self._input_nodes: dict = {}
        self.users: dict = {}
        self.type = return_type
        self.meta: dict = {}
        self._prev = self._next = self
        self._erased = False
        self._repr_fn = None
        self._set_arguments(args, kwargs)

    def __repr__(self):
        return self._repr_fn(self) if self._repr_fn else self.name

    def __lt__(self, other):
        """Whether it stands before other in their graph."""
        for node in self.graph.nodes:
            if node is self or node is other:
                return node is self and node is not other
        return False

    def __gt__(self, other):
        return other < self

    @property
    def next(self):
        return self._next

    @property
    def prev(self):
        return self._prev

    def _unlink(self):
        self._prev._next, self._next._prev = self._next, self._prev

    def prepend(self, x):
        """Puts x right before this node."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._unlink()
        p = self._prev
        p._next, x._prev, x._next, self._prev = x, p, self, x

    def append(self, x):
        """Puts x right behind this node."""
        self._next.prepend(x)

    @property
    def args(self):
        return self._args

    @args.setter
    def args(self, a):
        self._set_arguments(a, self._kwargs)

    @property
    def kwargs(self):
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k):
        self._set_arguments(self._args, k)

    def _set_arguments(self, args, kwargs):
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise TypeError(f"arguments of a node are a tuple and a dict, got {type(args).__name__} and {type(kwargs).__name__}")
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._input_nodes = {}

        def note(node):
            self._input_nodes.setdefault(node)
            node.users.setdefault(self)
            return node

        self._args, self._kwargs = map_arg(args, note), map_arg(kwargs, note)

    @property
    def all_input_nodes(self):
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx, arg):
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx, arg):
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = self.args[:idx] + (arg,) + self.args[idx:]

    def update_kwarg(self, key, arg):
        self.kwargs = {**self.kwargs, key: arg}

    @property
    def stack_trace(self):
        """Where the program made the call, if it was recorded."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    def replace_all_uses_with(self, replace_with, delete_user_cb=lambda user: True, *, propagate_meta=False):
        """Everyone who uses this node uses replace_with instead; returns those users."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError("Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already has .meta keys")
            replace_with.meta = dict(self.meta)
        users = [u for u in self.users if delete_user_cb is None or delete_user_cb(u)]
        for user in users:
            user.replace_input_with(self, replace_with)
        return users

    def replace_input_with(self, old_input, new_input):
        """Its arguments with one node in place of another."""

        def replace(node):
            return new_input if node is old_input else node

        self._set_arguments(map_arg(self.args, replace), map_arg(self.kwargs, replace))

    def is_impure(self, impure_random=True):
        """Whether it must stay although nobody uses its result."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            schema = getattr(self.target, "_schema", None)
            return self.target in _side_effectful_functions or (schema is not None and schema.is_mutable)
        if self.op == "call_module":
            if self.graph.owning_module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            module = self.graph.owning_module.get_submodule(self.target)
            return getattr(module, "_is_impure", False)
        return False

    @staticmethod
    def _pretty_print_target(target):
        if isinstance(target, str):
            return target
        if getattr(target, "__module__", None) in ("_operator", "builtins") and not isinstance(target, (_C.Function, _C.Operator)):
            return f"{target.__module__.lstrip('_')}.{target.__name__}"
        return _get_qualified_name(target)

    def format_node(self, placeholder_names=None, maybe_return_typename=None, *, include_tensor_metadata=False):
        """The line that stands for this node in print(graph)."""
        kind = f"{_type_repr(self.type)} " if self.type else ""
        if self.op == "placeholder":
            default = f"(default={self.args[0]})" if self.args else ""
            return f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}[target={self._pretty_print_target(self.target)}]"
        if self.op == "output":
            return f"return {self.args[0]}"
        return (
            f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}[target={self._pretty_print_target(self.target)}]"
            f"(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"
        )

    def _rename(self, candidate):
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)


has_side_effect(facula._assert)
