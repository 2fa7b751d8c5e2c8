# SPDX-License-Identifier: Apache-2.0
"""Modules of TorchScript: nn.Module's behaviour over an object whose attributes and methods graphs read and call."""

import functools
import sys
import types
from collections.abc import MutableMapping

from facula import _C, nn
from facula.jit import _serialization
from facula.jit._names import qualified_name


class _Attributes(MutableMapping):
    """The parameters or the buffers of an object, by name, as nn.Module keeps them."""

    def __init__(self, c, role):
        self._c, self._role = c, role

    def __iter__(self):
        return iter([name for name, role in self._c._attributes() if role == self._role])

    def __len__(self):
        return sum(1 for _ in self)

    def __contains__(self, name):
        return any(own == name for own in self)

    def __getitem__(self, name):
        if name not in self:
            raise KeyError(name)
        return self._c.getattr(name)

    def __setitem__(self, name, value):
        if name not in self:
            raise RuntimeError(f"Can't add a new {self._role} after ScriptModule construction. Tried to add '{name}'")
        self._c.setattr(name, value)

    def __delitem__(self, name):
        raise RuntimeError(f"cannot delete '{name}' of a ScriptModule")


class _Submodules(dict):
    """The modules of an object, by name: none comes later, and none is replaced."""

    def __setitem__(self, name, module):
        what = f"replace existing module '{name}'" if name in self else f"add a new module '{name}'"
        raise RuntimeError(f"Cannot re-assign modules in a ScriptModule with non-scripted module, tried to {what}: {module}")


class ConstMap:
    """The constants of a text of code by their names."""

    def __init__(self, const_mapping):
        self.const_mapping = const_mapping

    def __getattr__(self, attr):
        return self.const_mapping[attr]


class _Forward:
    """`forward` of a class whose objects have it as a compiled method."""

    def __get__(self, module, cls):
        return self if module is None else module.__getattr__("forward")


class ScriptMethodStub:
    """A method of a ScriptModule's class that is compiled when an object is made."""

    def __init__(self, fn):
        self.original_method = fn


class ScriptModule(nn.Module):
    """A module whose methods are graphs. A program's subclass marks them with torch.jit.script_method; when its __init__ is
    done the object is compiled, and from then on it stands for the compiled module."""

    _methods: dict = {}

    def __init_subclass__(cls, compiled=False, **kwargs):
        super().__init_subclass__(**kwargs)
        if compiled:
            return
        stubs = {name: item for name, item in vars(cls).items() if isinstance(item, ScriptMethodStub)}
        cls._methods = {**cls._methods, **stubs}
        for name, stub in stubs.items():
            setattr(cls, name, _Compiled(name, stub.original_method))
        own = cls.__init__

        @functools.wraps(own)
        def init_then_script(self, *args, **kwargs):
            own(self, *args, **kwargs)
            if type(self) is cls:
                from facula.jit import _modules

                made = _modules.script_module(self, lambda module: list(cls._methods) + [n for n in _modules.methods_of(module) if n not in cls._methods], share=False)
                state = self.__dict__
                for name in ("_parameters", "_buffers", "_modules", "_c"):
                    state[name] = made.__dict__[name]
                for name, _ in made._c._attributes():
                    state.pop(name, None)
                state["_actual_script_module"] = made

        cls.__init__ = init_then_script

    def __getattr__(self, name):
        made = self.__dict__.get("_actual_script_module")
        return super().__getattr__(name) if made is None else getattr(made, name)

    def __setattr__(self, name, value):
        made = self.__dict__.get("_actual_script_module")
        if made is None or not made._c.hasattr(name):
            super().__setattr__(name, value)
        else:
            setattr(made, name, value)


class _Compiled:
    """A method marked by script_method: that of the object's compiled module."""

    def __init__(self, name, fn):
        self.name, self.original_method = name, fn

    def __get__(self, module, cls):
        return self if module is None else getattr(module._actual_script_module, self.name)


class RecursiveScriptModule(ScriptModule, compiled=True):
    """A module over `_c`, an object of a class of TorchScript; made by torch.jit.script and torch.jit.trace."""

    forward = _Forward()

    def __init__(self, cpp_module, submodules=None, original_name=None):
        super().__init__()
        state = self.__dict__
        state["_c"] = cpp_module
        state["_original_name"] = original_name or cpp_module.qualified_name.rsplit(".", 1)[-1]
        for name in ("training", "_is_full_backward_hook"):
            if cpp_module.hasattr(name):
                del state[name]
        state["_parameters"] = _Attributes(cpp_module, "parameter")
        state["_buffers"] = _Attributes(cpp_module, "buffer")
        modules = state["_modules"] = _Submodules()
        for name, role in cpp_module._attributes():
            if role == "module":  # or an object of a class that is no module
                found = cpp_module.getattr(name)
                if isinstance(found, _C.ScriptModule):
                    wrapped = (submodules or {}).get(name)
                    dict.__setitem__(modules, name, wrapped or RecursiveScriptModule(found))

    def __getattr__(self, name):
        state = self.__dict__
        c = state.get("_c")
        if c is not None:
            if name in state["_modules"]:
                return state["_modules"][name]
            if c.hasattr(name):
                return c.getattr(name)
            if c._has_method(name):
                method = state[name] = c._get_method(name)
                return method
            shape = state.get("_shape")
            if shape is not None:
                found = shape.of_object(self, name)
                if found is not None:
                    return found
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        c = self.__dict__.get("_c")
        if c is None:
            return super().__setattr__(name, value)
        if name in self._modules:
            self._modules[name] = value
        elif c.hasattr(name):
            try:
                c.setattr(name, value)
            except TypeError as e:
                raise RuntimeError(f"Could not cast attribute '{name}' to type {c._attribute_type(name)}: {e}") from None
        elif (setter := f"__{name}_setter") and c._has_method(setter):
            c._get_method(setter)(value)
        elif isinstance(value, nn.Parameter):
            raise RuntimeError(f"Can't add a new parameter after ScriptModule construction. Tried to add '{name}'")
        else:
            object.__setattr__(self, name, value)

    def __copy__(self):
        return type(self)._over(self, self._c)

    def __deepcopy__(self, memo):
        return type(self)._over(self, self._c._deepcopy())

    copy = __copy__

    @classmethod
    def _over(cls, like, c):
        made = cls.__new__(cls)
        submodules = {name: type(m)._over(m, c.getattr(name)) for name, m in like._modules.items()}
        RecursiveScriptModule.__init__(made, c, submodules, like._original_name)
        for name, value in like.__dict__.items():  # what stays Python
            if name not in made.__dict__ and not isinstance(value, _C.ScriptMethod):
                made.__dict__[name] = types.MethodType(value.__func__, made) if isinstance(value, types.MethodType) and value.__self__ is like else value
        for hooks in ("_forward_pre_hooks", "_forward_hooks"):
            made.__dict__[hooks].update(like.__dict__[hooks])
        return made

    def define(self, src):
        """Adds methods, whose source is given as text; names that they read are the caller's."""
        frame = sys._getframe(1)
        scope = {**frame.f_globals, **frame.f_locals}
        shape = self.__dict__.get("_shape")
        if shape is None:
            raise RuntimeError("define: only modules that torch.jit.script made take further methods")
        from facula.jit import _recursive

        _C._jit_define_module_methods(shape, src, lambda name: scope.get(name, _recursive.absent))

    # A container's own, else those that its class compiled.
    def _magic(self, name, *args):
        if not self._c._has_method(name):
            raise NotImplementedError(f"{self._original_name} has no compiled method {name}")
        return self._c._get_method(name)(*args)

    def __iter__(self):
        shape = self.__dict__.get("_shape")
        if shape is None or not shape.container:
            return self._magic("__iter__")
        if shape.container == "list":
            return iter(self._modules.values())
        return iter(list(shape.members)) if shape.container.endswith("dict") else iter([self._c.getattr(n) for n in shape.members])

    def __getitem__(self, key):
        shape = self.__dict__.get("_shape")
        if shape is None or not shape.container:
            return self._magic("__getitem__", key)
        if shape.container.endswith("dict"):
            return getattr(self, key) if key in shape.members else self._modules[key]
        if isinstance(key, slice):
            return shape.cls(list(self)[key]) if shape.cls is not nn.Sequential else nn.Sequential(*list(self)[key])
        return list(self)[key]

    def __len__(self):
        shape = self.__dict__.get("_shape")
        return len(shape.members) if shape is not None and shape.container else self._magic("__len__")

    def __contains__(self, key):
        shape = self.__dict__.get("_shape")
        return key in list(self) if shape is not None and shape.container else self._magic("__contains__", key)

    def __bool__(self):
        return self._magic("__bool__") if self._c._has_method("__bool__") else True

    @property
    def original_name(self):
        """The class's name in the program."""
        return self._original_name

    @property
    def graph(self):
        """What forward() does."""
        return self._c._get_method("forward").graph

    @property
    def inlined_graph(self):
        """The same with what it calls in place of the calls."""
        graph = self.graph.copy()
        _C._jit_pass_inline(graph)
        return graph

    @property
    def code(self):
        """forward() as Python."""
        return self._c._get_method("forward").code

    @property
    def code_with_constants(self):
        """The same, and what it names as CONSTANTS."""
        text, constants = self._c._get_method("forward").code_with_constants
        return text, ConstMap(constants)

    def save(self, f, _extra_files=None):
        """Write it with its code: torch.jit.save."""
        _serialization.save(self, f, _extra_files)

    def save_to_buffer(self, _extra_files=None):
        """The bytes that `save` writes."""
        return _serialization.save_to_buffer(self, _extra_files)

    def get_debug_state(self, *args, **kwargs):
        """Refused: plans are shown of functions only."""
        raise NotImplementedError("ScriptModule.get_debug_state: only functions show their plans (ScriptFunction.get_debug_state)")

    def extra_repr(self):
        return f"original_name={self._original_name}"

    def __dir__(self):
        names = set(super().__dir__()) | {name for name, _ in self._c._attributes()} | set(self._c._method_names())
        return sorted(names)

    def __reduce_ex__(self, protocol):
        raise RuntimeError("ScriptModules cannot be pickled: torch.jit.save writes them")


class TracedModule(RecursiveScriptModule, compiled=True):
    """A module that was called in a trace: part of the traced one."""

    def _get_name(self):
        return self._original_name

    def forward(self, *args, **kwargs):
        raise RuntimeError("Trace submodules cannot be called.")


class TopLevelTracedModule(TracedModule, compiled=True):
    """What torch.jit.trace makes of a module."""

    forward = _Forward()


def traced_module(module, cls=TopLevelTracedModule):
    """An object with the module's parameters, buffers and submodules, and no methods yet."""
    if isinstance(module, ScriptModule):
        return module
    if module._backward_hooks:
        raise ValueError(f"Modules that have backward hooks assigned can't be compiled: {module}")
    c = _C._create_module(qualified_name(type(module)))
    seen = set()
    for role, values in (("parameter", module._parameters), ("buffer", module._buffers)):
        for name, value in values.items():
            if value is None:
                continue
            if id(value) in seen:
                raise ValueError("TracedModules don't support parameter sharing between modules")
            seen.add(id(value))
            c._register_attribute(name, value, role)
    c._register_attribute("training", module.training)
    c._register_attribute("_is_full_backward_hook", None, type=_C.OptionalType(_C.BoolType.get()))
    submodules = {}
    for name, child in module._modules.items():
        if child is not None:
            submodules[name] = traced_module(child, TracedModule)
            c._register_attribute(name, submodules[name]._c)
    return cls(c, submodules, type(module).__name__)
