# SPDX-License-Identifier: Apache-2.0
"""torch.jit: functions, classes and modules as graphs, from their source or from a trace."""

import collections
import contextlib
import functools
import inspect
import os
import types
import typing

from facula import _C, _missing, nn
from facula._C import ScriptFunction
from facula.futures import Future
from facula.jit import _modifiers
from facula.jit._freeze import freeze, optimize_for_inference, run_frozen_optimizations  # noqa: F401
from facula.jit._fuser import explain, fuser, last_executed_optimized_graph, optimized_execution, set_fusion_strategy  # noqa: F401
from facula.jit._module import RecursiveScriptModule, ScriptMethodStub, ScriptModule, TopLevelTracedModule, TracedModule  # noqa: F401
from facula.jit._serialization import jit_module_from_flatbuffer, load, save, save_jit_module_to_flatbuffer  # noqa: F401
from facula.jit._trace import TracerWarning, TracingCheckError, _create_interpreter_name_lookup_fn, _get_trace_graph, is_tracing, trace, trace_module  # noqa: F401

__all__ = ["Attribute", "CompilationUnit", "Error", "Final", "ScriptFunction", "ScriptModule", "TracerWarning", "annotate", "export", "freeze", "ignore", "interface", "is_scripting",
           "is_tracing", "isinstance", "optimize_for_inference", "script", "script_if_tracing", "script_method", "trace", "trace_module", "unused"]  # fmt: skip

Final = typing.Final
Attribute = collections.namedtuple("Attribute", ["value", "type"])
_isinstance = isinstance


class Error(RuntimeError):
    """An error in a compiled function."""


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """A function, class or module, compiled."""
    if os.environ.get("PYTORCH_JIT") == "0" or _isinstance(obj, ScriptFunction):
        return obj
    if hasattr(obj, "__script_if_tracing_wrapper"):
        obj = obj.__original_fn
    if _isinstance(obj, types.MethodType):  # as PyTorch: the function itself, whose first parameter is a tensor like others
        obj = obj.__func__
    if _isinstance(obj, (type, types.FunctionType)) and not (_isinstance(obj, type) and issubclass(obj, nn.Module)):
        from facula.jit import _classes, _script

        with _classes.lock:
            return _script.script_class(obj, _rcb) if _isinstance(obj, type) else _script.script_function(obj, _rcb)
    if _isinstance(obj, nn.Module):
        from facula.jit import _classes, _modules

        with _classes.lock:
            return _modules.script_module(obj)
    if _isinstance(obj, type):
        raise RuntimeError(f"Type '{obj}' cannot be compiled since it inherits from nn.Module, consider passing an instance instead")
    from facula.jit import _classes, _script

    with _classes.lock:
        return _script.script_object(obj)


class CompilationUnit:
    """Functions and classes of a source in the language: `CompilationUnit("def f(x):\\n  return x + 1\\n").f`"""

    def __init__(self, lang=None, _frames_up=0):
        self._c = _C.CompilationUnit()
        if lang is not None:
            self.define(lang, _frames_up=_frames_up + 1)

    def define(self, lang, rcb=None, _frames_up=0):
        """Adds what lang defines; names that it does not define itself are the caller's."""
        from facula.jit import _classes, _recursive

        with _classes.lock:
            _C._jit_define(self._c, lang, rcb or _recursive.create_resolution_callback_from_frame(_frames_up + 1))

    def __getattr__(self, attr):
        found = self._c.find_function(attr)
        if found is None:
            raise AttributeError(f"'CompilationUnit' has no attribute '{attr}'")
        return found


def script_method(fn):
    """Marks a method of a torch.jit.ScriptModule's class to be compiled when an object is made."""
    return fn if os.environ.get("PYTORCH_JIT") == "0" else ScriptMethodStub(fn)


def script_if_tracing(fn):
    """fn, of which a trace has the compiled form: its branches and loops stay."""

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return script(wrapper.__original_fn)(*args, **kwargs) if is_tracing() else fn(*args, **kwargs)

    wrapper.__original_fn = fn
    wrapper.__script_if_tracing_wrapper = True
    return wrapper


_script_if_tracing = script_if_tracing


def export(fn):
    """Marks a method of a module to be compiled though nothing calls it."""
    return _modifiers.mark(fn, _modifiers.EXPORT)


def unused(fn):
    """Marks what is not compiled: a call of it raises."""
    return _modifiers.mark(fn, _modifiers.UNUSED)


def ignore(drop=False, **kwargs):
    """Marks what stays Python when it is called from compiled code; drop: such a call raises. With and without arguments."""
    if callable(drop):
        return _modifiers.mark(drop, _modifiers.IGNORE)
    if not _isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    return lambda fn: _modifiers.mark(fn, _modifiers.UNUSED if drop or kwargs.get("drop_on_export") else _modifiers.IGNORE)


def _overload(func):
    """One signature of a function that has several, for the compiler; the last definition is the function."""
    return _modifiers.add_function_overload(func)


def _overload_method(func):
    """The same of a method."""
    return _modifiers.add_overload(func)


def interface(obj):
    """A class that says what a module must have."""
    if not inspect.isclass(obj):
        raise RuntimeError("interface must be applied to a class")
    from facula.jit import _classes

    with _classes.lock:
        _classes.compile_interface(obj)
    return obj


def annotate(the_type, the_value):
    """the_value; its type is for the compiler."""
    return the_value


def is_scripting():
    """Whether compiled code asks: no."""
    return False


def isinstance(obj, target_type):
    """Whether obj is of a type that may say what it contains, such as List[Tensor]."""
    if _isinstance(target_type, tuple):
        return any(isinstance(obj, t) for t in target_type)
    origin, args = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is typing.Union:
        return any(isinstance(obj, t) for t in args)
    if origin in (list, tuple, dict) and _isinstance(obj, origin):
        if origin is dict:
            return all(isinstance(k, args[0]) and isinstance(v, args[1]) for k, v in obj.items())
        if origin is tuple and not (len(args) == 2 and args[1] is Ellipsis):
            return len(obj) == len(args) and all(isinstance(x, t) for x, t in zip(obj, args))
        return all(isinstance(x, args[0]) for x in obj)
    return _isinstance(obj, origin or target_type)


def fork(func, *args, **kwargs):
    """Runs func at once; `wait` gives its result."""
    future: Future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future):
    """The result of `fork`."""
    return future.wait()


__getattr__ = _missing.missing(__name__, ("annotations", "view", "_trace", "_names", "_module", "_modules", "_recursive", "_library", "_functional", "_nn", "_modifiers", "_dispatch", "_serialization", "_freeze", "_fuser"))
