# SPDX-License-Identifier: Apache-2.0
"""Tracing: a module or function is run once on proxies, and what it does becomes a graph."""

import builtins
import functools
import inspect
import math
import sys
import types

import facula
from facula import nn
from facula._tensor import Tensor
from facula.fx.graph import Graph
from facula.fx.graph_module import GraphModule
from facula.fx.node import base_types, has_side_effect
from facula.fx.proxy import ParameterProxy, Proxy, TracerBase
from facula.nn.modules.module import _look_into_modules

__all__ = ["Tracer", "symbolic_trace", "wrap", "PH"]

_wrapped: dict = {}  # (id of a module's globals, name): those globals
_is_tracing = False


class PHBase:
    """In concrete_args: this part stays an input."""

    def __repr__(self):
        return "PH"


PH = PHBase()


def is_fx_tracing():
    """Whether a program is being traced."""
    return _is_tracing


def is_fx_symbolic_tracing():
    return _is_tracing


@has_side_effect
def _assert_is_none(value, msg):
    if value is not None:
        raise AssertionError(msg)


def wrap(fn_or_name):
    """Calls of a function, named or given at the top level of its module, are recorded instead of traced through."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def _find_proxy(*objects):
    """The first proxy among arguments."""
    found = []

    def look(x):
        if isinstance(x, Proxy):
            found.append(x)
        elif isinstance(x, (list, tuple)):
            for y in x:
                look(y)
        elif isinstance(x, dict):
            for y in x.values():
                look(y)
        elif isinstance(x, slice):
            look((x.start, x.stop, x.step))

    look(objects)
    return found[0] if found else None


def _recording(original):
    """original, but a call with a proxy among its arguments is recorded."""

    @functools.wraps(original)
    def wrapped(*args, **kwargs):
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return original(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", original, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    wrapped._fx_original = original
    return wrapped


class _Patches:
    """Replaces attributes and globals for as long as a trace runs."""

    def __init__(self):
        self.undo = []
        self.seen = set()

    def attribute(self, owner, name, new):
        self.undo.append(functools.partial(setattr, owner, name, getattr(owner, name)))
        setattr(owner, name, new)

    def variable(self, variables, name, new):
        if name in variables:
            self.undo.append(functools.partial(variables.__setitem__, name, variables[name]))
        else:
            self.undo.append(functools.partial(variables.__delitem__, name))
        variables[name] = new

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for undo in reversed(self.undo):
            undo()


class Tracer(TracerBase):
    """Runs a module or function on proxies. Subclasses decide what is a leaf and what becomes of each call."""

    def __init__(self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False):
        # math.sqrt(proxy) is recorded, whether the program says `math.sqrt` or `from math import sqrt`.
        self._autowrap_function_ids = {id(value) for module in autowrap_modules for name, value in vars(module).items() if not name.startswith("_") and callable(value)}
        self._autowrap_function_ids |= {id(f) for f in autowrap_functions}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths = None
        self.module_stack: dict = {}
        self.root_module_name = ""
        self.num_calls: dict = {}

    def get_fresh_qualname(self, prefix):
        """A name for an attribute that the traced module does not have yet."""
        i = 0
        while hasattr(self.root, f"{prefix}{i}"):
            i += 1
        return f"{prefix}{i}"

    def create_arg(self, a):
        if isinstance(a, nn.Parameter):
            for name, parameter in self.root.named_parameters():
                if a is parameter:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            for name, buffer in self.root.named_buffers():
                if a is buffer:
                    return self.create_node("get_attr", name, (), {})
            name = self.tensor_attrs.get(id(a))
            if name is None:
                name = self.get_fresh_qualname("_tensor_constant")
                self.tensor_attrs[id(a)] = name
                setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, nn.Module):
            for name, module in self.root.named_modules():
                if a is module:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and type(a) is not tuple and not hasattr(a, "_fields"):
            return super().create_arg(tuple(a))
        return super().create_arg(a)

    def is_leaf_module(self, m, module_qualified_name):
        """Whether calls of a module are recorded as such: those of torch.nn are, except Sequential."""
        return m.__module__.startswith(("facula.nn", "torch.nn")) and not isinstance(m, nn.Sequential)

    def path_of_module(self, mod):
        """The name of a submodule of what is traced."""
        if self.submodule_paths is not None:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m, forward, args, kwargs):
        """What a call of a submodule becomes: a node for a leaf, else it is traced through."""
        path = self.path_of_module(m)
        if not self.is_leaf_module(m, path):
            self.module_stack[path] = (path, type(m))
            try:
                return forward(*args, **kwargs)
            finally:
                self.module_stack.pop(path, None)
        return self.create_proxy("call_module", path, args, kwargs)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """What reading an attribute of a module becomes: a node for a parameter."""

        def lookup(values):
            for name, value in values:
                if attr_val is value:
                    if name not in parameter_proxy_cache:
                        factory = functools.partial(ParameterProxy, self, name=name, param=attr_val) if self.param_shapes_constant else None
                        parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=factory)
                    return parameter_proxy_cache[name]
            return None

        found = None
        if isinstance(attr_val, nn.Parameter):
            found = lookup(self.root.named_parameters())
        elif self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            found = lookup(self.root.named_buffers())
        return attr_val if found is None else found

    def _placeholder(self, name, parameter, concrete_args):
        default = () if parameter is None or parameter.default is parameter.empty else (parameter.default,)
        kind = None if parameter is None or parameter.annotation is parameter.empty else parameter.annotation
        if concrete_args is None or name not in concrete_args:
            return self.create_proxy("placeholder", name, default, {}, type_expr=kind)
        value = concrete_args[name]
        if not isinstance(value, (*base_types, type(None))):
            raise NotImplementedError(f"concrete_args: {name} is a {type(value).__name__}; only numbers, strings, tensors and None are taken so far")
        # The value is part of the graph from here on, so the caller must pass the same.
        given = self.create_proxy("placeholder", f"{name}_1", default, {})
        if isinstance(value, (bool, int, float, str)):
            facula._assert(given == value, f"{name} has been specialized to have value {value} but got another value")
        elif value is None:
            self.create_proxy("call_function", _assert_is_none, (given, f"{name} has been specialized to have value None but got another value"), {})
        return value

    def create_args_for_root(self, root_fn, is_module, concrete_args=None):
        """Placeholders for the parameters of what is traced; returns the function and its arguments."""
        fn = inspect.unwrap(root_fn)
        if isinstance(fn, types.MethodType):
            fn = fn.__func__
        signature = inspect.signature(fn)
        if isinstance(concrete_args, tuple):
            names = list(signature.parameters)[1 if is_module else 0 :]
            if len(names) != len(concrete_args):
                raise RuntimeError(f"Tracing expected {len(names)} arguments but got {len(concrete_args)} concrete arguments")
            concrete_args = dict(zip(names, concrete_args))
        args, starred, keywords = [], [], []
        for i, (name, parameter) in enumerate(signature.parameters.items()):
            if is_module and i == 0:
                args.append(self.root)
            elif parameter.kind is parameter.VAR_POSITIONAL:
                starred.append(self._placeholder(f"*{name}", None, None))
            elif parameter.kind is parameter.VAR_KEYWORD:
                starred.append(self._placeholder(f"**{name}", None, None))
            elif parameter.kind is parameter.KEYWORD_ONLY:
                keywords.append(name)
                args.append(self._placeholder(name, parameter, concrete_args))
            else:
                args.append(self._placeholder(name, parameter, concrete_args))
        if not starred and not keywords:
            return root_fn, args
        if starred:
            kinds = [p for p in signature.parameters.values() if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
            # *args and **kwargs are themselves the values: the function is called with their proxies in these variables.
            plain = _with_plain_parameters(fn, kinds)
            return plain, [*args, *starred]  # in the order of a code object's variables
        positional = len(args) - len(keywords)
        return (lambda *given: root_fn(*given[:positional], **dict(zip(keywords, given[positional:])))), args

    def trace(self, root, concrete_args=None):
        """The graph of a module or function."""
        global _is_tracing
        outer, _is_tracing = _is_tracing, True
        try:
            return self._trace(root, concrete_args)
        finally:
            _is_tracing = outer

    def _trace(self, root, concrete_args):
        if isinstance(root, nn.Module):
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            fn = getattr(type(root), self.traced_func_name)
            self.root_module_name = type(root).__name__
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            self.root = nn.Module()
            fn = root
        self.graph = Graph(tracer_cls=getattr(self, "__class__", None))
        # Tensors that are attributes, but neither parameters nor buffers.
        self.tensor_attrs = {id(value): f"{prefix}.{name}" if prefix else name for prefix, module in self.root.named_modules()
                             for name, value in vars(module).items() if isinstance(value, Tensor)}  # fmt: skip
        fn, args = self.create_args_for_root(fn, isinstance(root, nn.Module), concrete_args)
        cache: dict = {}
        original_call, original_getattr = nn.Module.__call__, nn.Module.__getattr__

        def module_getattr(module, name):
            return self.getattr(name, original_getattr(module, name), cache)

        with _Patches() as patches:

            def module_call(module, *args, **kwargs):
                self._autowrap(patches, getattr(getattr(module, "forward", module), "__globals__", {}))
                return self.call_module(module, lambda *a, **k: original_call(module, *a, **k), args, kwargs)

            patches.undo.append(_look_into_modules)  # once __getattr__ is back
            patches.attribute(nn.Module, "__getattr__", module_getattr)
            patches.attribute(nn.Module, "__call__", module_call)
            for (_, name), variables in _wrapped.items():
                original = variables.get(name, getattr(builtins, name, None))
                if original is not None and not hasattr(original, "_fx_original"):
                    patches.variable(variables, name, _recording(original))
            self._autowrap(patches, getattr(inspect.unwrap(fn), "__globals__", {}))
            for module in self._autowrap_search:
                self._autowrap(patches, vars(module))
            result = fn(*args)
            self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=_return_type(root, self.traced_func_name))
        self.submodule_paths = None
        return self.graph

    def _autowrap(self, patches, variables):
        """Functions of the modules in autowrap_modules are recorded wherever these variables name them."""
        if id(variables) in patches.seen:
            return
        patches.seen.add(id(variables))
        for name, value in list(variables.items()):
            if not name.startswith("_") and callable(value) and id(value) in self._autowrap_function_ids:
                patches.variable(variables, name, _recording(value))


def _return_type(root, name):
    fn = getattr(type(root), name) if isinstance(root, nn.Module) else root
    return getattr(fn, "__annotations__", {}).get("return")


def _with_plain_parameters(fn, kinds):
    """The function with *args and **kwargs as plain parameters, which take the values themselves."""
    code = fn.__code__
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    count = code.co_argcount + code.co_kwonlyargcount + len(kinds)
    plain = code.replace(co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=flags)
    return types.FunctionType(plain, fn.__globals__, fn.__name__, None, fn.__closure__)


def symbolic_trace(root, concrete_args=None):
    """Traces a module or function; returns a module that runs the graph."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, nn.Module) else getattr(root, "__name__", "GraphModule")
    return GraphModule(tracer.root, graph, name)
