# SPDX-License-Identifier: Apache-2.0
"""Modules of TorchScript: nn.Module's behaviour over an object whose attributes and methods graphs read and call."""

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


class ScriptModule(nn.Module):
    """A module whose methods are graphs."""


class RecursiveScriptModule(ScriptModule):
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
            if role == "module":
                wrapped = (submodules or {}).get(name)
                dict.__setitem__(modules, name, wrapped or RecursiveScriptModule(cpp_module.getattr(name)))

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
            c.setattr(name, value)
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
        return made

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
        """Refused: no plans are kept."""
        raise NotImplementedError("ScriptModule.get_debug_state: there is no plan to show yet")

    def extra_repr(self):
        return f"original_name={self._original_name}"

    def __dir__(self):
        names = set(super().__dir__()) | {name for name, _ in self._c._attributes()} | set(self._c._method_names())
        return sorted(names)

    def __reduce_ex__(self, protocol):
        raise RuntimeError("ScriptModules cannot be pickled: torch.jit.save writes them")


class TracedModule(RecursiveScriptModule):
    """A module that was called in a trace: part of the traced one."""

    def _get_name(self):
        return self._original_name

    def forward(self, *args, **kwargs):
        raise RuntimeError("Trace submodules cannot be called.")


class TopLevelTracedModule(TracedModule):
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
