# SPDX-License-Identifier: Apache-2.0
"""Values that stand for a node's result while a program runs, and record what is done to them."""

import dis
import enum
import functools
import inspect
import operator
import sys

from facula import _C
from facula._tensor import Tensor
from facula.fx.graph import magic_methods
from facula.fx.node import Node, base_types, map_aggregate

__all__ = ["TracerBase", "GraphAppendingTracer", "TraceError", "Proxy", "Attribute", "ParameterProxy"]

_reflectable = ("add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor", "matmul")


class TraceError(ValueError):
    """The program does with a value what a graph cannot say."""


class TracerBase:
    """Makes nodes of calls. A subclass may decide otherwise at every step."""

    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """A node of the graph for a call with arguments that are nodes already."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        stack = getattr(self, "module_stack", None)
        if stack:
            node.meta["nn_module_stack"] = dict(stack)
        return node

    def proxy(self, node):
        """What stands for the node."""
        return Proxy(node, self)

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """A node for a call with any arguments, and what stands for it."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        proxy = proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)
        if self.record_stack_traces:
            import traceback

            node.stack_trace = "".join(traceback.StackSummary.extract(traceback.walk_stack(sys._getframe(1))).format()[::-1])
        return proxy

    def create_arg(self, a):
        """An argument as nodes have it: nodes in place of proxies."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            parts = tuple(self.create_arg(x) for x in a)
            return type(a)(*parts) if hasattr(a, "_fields") else parts if type(a) is tuple else type(a)(parts)
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            for key in a:
                if isinstance(key, Proxy):
                    raise RuntimeError("Keys for dictionaries used as an argument cannot contain a Node. Got key: " + str(key))
            return {k: self.create_arg(v) for k, v in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if a is None or a is ... or isinstance(a, (*base_types, enum.Enum, Node, type, _C.Function, _C.Method)) or inspect.isroutine(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj):
        """What `if proxy:` does."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj):
        """What `for x in proxy:` does."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs function argument. "
            "See the torch.fx docs on pytorch.org for a more detailed explanation of what types of control flow can be traced, and check out the "
            "Proxy docstring for help troubleshooting Proxy iteration errors"
        )

    def keys(self, obj):
        """What `**proxy` asks first."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Adds to a graph that is there already."""

    def __init__(self, graph):
        self.graph = graph


def _is_tensor_method(function):
    return isinstance(function, _C.Method) or getattr(Tensor, getattr(function, "__name__", ""), None) is function


class Proxy:
    """Stands for a value while a program is traced: what is done to it becomes a node."""

    def __init__(self, node, tracer=None):
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, k):
        if k in ("node", "tracer", "__fx_create_arg__"):  # while it is being made, and of what asks for it
            raise AttributeError(k)
        return Attribute(self, k)

    def __deepcopy__(self, memo):
        copied = Proxy.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __setstate__(self, d):
        self.__dict__ = d

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def _expected(self, frame):
        """How many values the caller unpacks: `a, b = proxy`; None where it does something else."""
        for instruction in dis.get_instructions(frame.f_code):
            if instruction.offset == frame.f_lasti:
                return instruction.argval if instruction.opname == "UNPACK_SEQUENCE" else None
        return None

    def __iter__(self):
        count = self._expected(sys._getframe(1))
        return self.tracer.iter(self) if count is None else (self[i] for i in range(count))

    def __abs__(self):
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self):
        return self.tracer.to_bool(self)

    def keys(self):
        return self.tracer.keys(self)

    def __len__(self):
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call torch.fx.wrap('len') at module scope")

    @classmethod
    def __torch_function__(cls, orig_method, types, args=None, kwargs=None):
        args, kwargs = args or (), kwargs or {}
        tracers: dict = {}
        map_aggregate((args, kwargs), lambda a: tracers.setdefault(a.tracer) if isinstance(a, Proxy) else None)
        if len(tracers) > 1:
            raise RuntimeError(f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}")
        (tracer,) = tracers
        if _is_tensor_method(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name=tracer.graph._target_to_str(getattr(orig_method, "__name__", "call")))


class Attribute(Proxy):
    """proxy.name: a method if it is called, else a value that is read when it is first used."""

    def __init__(self, root, attr):
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node = None

    @property
    def node(self):
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """Stands for a parameter whose shape and type are known."""

    def __init__(self, tracer, node, name, param):
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    shape = property(lambda self: self.param.shape)
    ndim = property(lambda self: self.param.ndim)

    def size(self, *args):
        return self.param.size(*args)

    def dim(self):
        return self.param.dim()

    def numel(self):
        return self.param.numel()

    def nelement(self):
        return self.param.nelement()


def _recorded(target, swap=False):
    def method(self, *args):
        return self.tracer.create_proxy("call_function", target, (args[0], self) if swap else (self, *args), {})

    return method


for _name in magic_methods:
    _target = getattr(operator, _name)
    setattr(Proxy, f"__{_name.strip('_')}__", functools.wraps(_target)(_recorded(_target)))
for _name in _reflectable:
    setattr(Proxy, f"__r{_name.strip('_')}__", _recorded(getattr(operator, _name), swap=True))
Proxy.__hash__ = object.__hash__
del _name, _target
