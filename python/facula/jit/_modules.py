# SPDX-License-Identifier: Apache-2.0
"""How a Python module becomes a class of TorchScript, and an object of it.

A `Shape` says what the compiler may know of a module: types of its attributes, its submodules' shapes, constants, functions.
Modules of one Python class whose shapes are equal share a class, whose methods are compiled once. `self.x` in a source asks
the shape (python/src/jit_module_value.cpp).
"""

import functools
import inspect
import types
import typing
import warnings
from collections.abc import Callable
from typing import Any

from facula import _C, nn
from facula.jit import _builtins, _library, _modifiers, _recursive
from facula.jit._module import RecursiveScriptModule, ScriptModule
from facula.jit._names import qualified_name
from facula.jit.annotations import ann_to_type, try_ann_to_type
from facula.jit.frontend import get_default_args, get_jit_def

# What nn.Module keeps for itself.
_OWN = frozenset(nn.Module().__dict__) - {"training", "_is_full_backward_hook"}
_CONTAINERS = ((nn.Sequential, "list"), (nn.ModuleList, "list"), (nn.ModuleDict, "dict"), (nn.ParameterList, "parameters"), (nn.ParameterDict, "parameter dict"))
_CONSTANTS = (int, float, bool, str, complex, type(None))


class Shape:
    """What a module is to the compiler. `type` is set when the class is made."""

    def __init__(self, cls: type):
        self.cls = cls
        self.type: Any = None
        self.container = next((kind for base, kind in _CONTAINERS if issubclass(cls, base)), "")
        self.attributes: dict[str, tuple[Any, str]] = {}  # name: type, role
        self.modules: dict[str, Any] = {}  # name: shape
        self.interfaces: dict[str, Any] = {}  # name: the interface that a submodule is annotated with
        self.constants: dict[str, Any] = {}
        self.functions: dict[str, Any] = {}
        self.overloads: dict[str, list[str]] = {}
        self.properties: dict[str, bool] = {}  # name: whether it can be set
        self.ignored: set[str] = set()
        self.hints: dict[str, str] = {}
        self.lists: dict[str, list[str]] = {}  # name: the attributes of which it is a list, as they are now
        self.hook_functions: tuple[tuple[Any, ...], tuple[Any, ...]] = ((), ())
        self.pre_hooks: list[Any] = []  # the same, compiled
        self.hooks: list[Any] = []
        self.members: dict[str, Any] = {}  # of a container, what it contains

    def same_as(self, other: "Shape") -> bool:
        return (
            self.cls is other.cls and list(self.attributes.items()) == list(other.attributes.items()) and self.functions == other.functions and self.overloads == other.overloads
            and self.hook_functions == other.hook_functions and self.lists == other.lists and _same(self.constants, other.constants) and list(self.modules) == list(other.modules) and list(self.members) == list(other.members)
            and all(a is other.modules[name] for name, a in self.modules.items())
        )  # fmt: skip

    def hint(self, name: str) -> str:
        """Why there is no such attribute."""
        if name in self.hints:
            return self.hints[name]
        if name in self.ignored:
            return "(This attribute exists on the Python module, but it is listed in __jit_ignored_attributes__)"
        return ""

    def of_object(self, module: RecursiveScriptModule, name: str) -> Any:
        """What Python finds in a compiled module beside its object's attributes and methods."""
        c = module._c
        if name in self.overloads:
            return _Overloads([c._get_method(n) for n in self.overloads[name]])
        if name in self.properties:
            return c._get_method(f"__{name}_getter")()
        return None

    def look_up(self, name: str, place: Any) -> tuple[str, Any] | None:
        """What the compiler asks for attributes that objects do not have."""
        if name in self.overloads:
            return "methods", self.overloads[name]
        if name in self.constants:
            return "constant", self.constants[name]
        if name in self.lists:
            return "list", self.lists[name]
        if name in self.functions:
            return "function", self.functions[name]
        if name in self.hints:
            return None
        if issubclass(self.cls, RecursiveScriptModule):
            return None
        found = inspect.getattr_static(self.cls, name, None) or _library.method(self.cls, name)
        if isinstance(found, staticmethod):
            return "function", found.__func__
        found = getattr(found, "original_method", found)
        if isinstance(found, types.FunctionType):
            if name == "forward" and found is nn.Module.forward:
                return None
            if (stays := _recursive.stays_python(found)) is not None:
                return stays, found
            _compile_method(self, name)
            return "methods", [name]
        owner = next((base for base in self.cls.__mro__ if name in base.__dict__), None)
        if owner is not None and owner.__module__.startswith("facula.") and isinstance(found, (*_CONSTANTS, tuple)):
            return "constant", found  # a class of this library may say what all of its objects have
        return None


def _same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    if list(a) != list(b):
        return False
    return all(type(x) is type(y) and bool(x == y) for x, y in zip(a.values(), b.values(), strict=True))


class _Overloads:
    """A method of several signatures: the first that takes the arguments is called."""

    def __init__(self, methods: list[Any]):
        self.methods = methods

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for method in self.methods[:-1]:
            if method._takes(*args, **kwargs):
                return method(*args, **kwargs)
        return self.methods[-1](*args, **kwargs)


# --- from an object to its shape
def _annotations(module: nn.Module) -> dict[str, Any]:
    cls = type(module)
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if not issubclass(base, nn.Module) or base is nn.Module:
            continue
        own = base.__dict__.get("__annotations__", {})
        if any(isinstance(a, str) for a in own.values()):
            import sys

            scope = vars(sys.modules[base.__module__])
            for name, a in own.items():
                try:
                    found[name] = eval(a, dict(scope)) if isinstance(a, str) else a
                except Exception:
                    found[name] = a
        else:
            found.update(own)
    return found


def _type_of(name: str, item: Any, annotations: dict[str, Any]) -> Any:
    """An InferredType of an attribute."""
    from facula import jit

    annotation = annotations.get(name)
    if annotation is not None and typing.get_origin(annotation) is not typing.Final:
        found = annotation if isinstance(annotation, str) else try_ann_to_type(annotation)
        if found is not None and not isinstance(found, str):
            return _C.InferredType(found)
        if isinstance(annotation, str):
            return _C.InferredType(f"Unknown type annotation: '{annotation}'")
    if type(item) is jit.Attribute:
        return _C.InferredType(ann_to_type(item.type))
    return _inferred(item)


def _inferred(item: Any) -> Any:
    """The type that a value tells; of a list or a dict one for all elements."""
    if isinstance(item, (list, dict)):
        kind = "List" if isinstance(item, list) else "Dictionary"
        if not item:
            return _C.InferredType(f"{kind} trace inputs must have elements")
        for parts in (item,) if isinstance(item, list) else (item.keys(), item.values()):
            found = [_inferred(part) for part in parts]
            failed = next((f for f in found if not f.success()), None)
            if failed is not None:
                return failed
            if len({str(f.type()) for f in found}) > 1:
                return _C.InferredType(f"{kind} inputs to traced functions must have consistent element type. Found {' and '.join(sorted({str(f.type()) for f in found})[:2])}")
    elif isinstance(item, tuple):
        failed = next((f for f in map(_inferred, item) if not f.success()), None)
        if failed is not None:
            return failed
    return _C._jit_try_infer_type(item)


def compiled_of(module: nn.Module) -> Any:
    """What an object of a program's own ScriptModule class stands for; others as they are."""
    return module.__dict__.get("_actual_script_module", module)


def _shape_of_compiled(module: nn.Module) -> Shape:
    """The shape of a module whose class exists, as a trace or an archive made it."""
    state = module.__dict__
    shape = state.get("_shape")
    if shape is None:
        shape = state["_shape"] = Shape(type(module))
        shape.container = ""
        shape.type = module._c._type()
        shape.modules = {name: _shape_of_compiled(child) for name, child in module._modules.items() if "_c" in child.__dict__}
    return shape


def shape_of(module: nn.Module, share: bool = True) -> Shape:
    """The shape of a module and of what it contains; equal ones are one object, with a class."""
    module = compiled_of(module)
    if isinstance(module, ScriptModule) and "_c" in module.__dict__:
        return _shape_of_compiled(module)
    shape = _infer(module, share)
    if share:
        for known in _known(type(module)):
            if known.same_as(shape):
                return known
        _known(type(module)).append(shape)
    _make_class(shape)
    return shape


@functools.cache
def _known(cls: type) -> list[Shape]:
    return []


def _infer(module: nn.Module, share: bool) -> Shape:
    from facula.jit import ScriptFunction

    cls = type(module)
    shape = Shape(cls)
    annotations = _annotations(module)
    shape.ignored = set(getattr(module, "__jit_ignored_attributes__", ()))
    skipped = shape.ignored | {name for name, _ in _ignored_properties(cls)}

    def add(name: str, item: Any, role: str) -> None:
        found = _type_of(name, item, annotations)
        if not found.success():
            raise RuntimeError(f"Could not tell the type of {role} '{name}' of {cls.__name__}: {found.reason()}")
        shape.attributes[name] = found.type(), role if item is not None else "attribute"

    for name, item in module._parameters.items():
        if name not in skipped:
            add(name, item, "parameter")
    for name, item in module._buffers.items():
        if name not in skipped:
            add(name, item, "buffer")

    for name, item in module._modules.items():
        if name in skipped:
            continue
        if item is None and name not in annotations:
            shape.attributes[name] = _C.NoneType.get(), "attribute"
            continue
        interface = try_ann_to_type(annotations[name]) if name in annotations else None
        if interface is not None and interface.kind() == "InterfaceType":
            shape.interfaces[name] = interface
        if item is not None:
            shape.modules[name] = shape_of(item, share)
    for name, item in _constants_of(module, annotations, shape):
        shape.constants[name] = item
    for name, item in module.__dict__.items():
        if name in _OWN or name in skipped or name in shape.attributes or name in shape.constants or name in shape.modules:
            continue
        _add_attribute(shape, name, item, annotations, ScriptFunction)
    for name in shape.modules:
        shape.attributes.pop(name, None)
    shape.overloads = _overloads_of(module)
    shape.hook_functions = tuple(module._forward_pre_hooks.values()), tuple(module._forward_hooks.values())
    if isinstance(module, nn.RNNBase):
        shape.lists["_flat_weights"] = module._flat_weights_names
        if _library.method(cls, "forward") is None and cls.forward is nn.RNNBase.forward:
            shape.overloads["forward"] = _library.recurrent_overloads()
    if shape.container in ("list", "dict"):
        shape.members = dict(shape.modules)
    elif shape.container:
        shape.members = dict.fromkeys(module._parameters)
    return shape


def _add_attribute(shape: Shape, name: str, item: Any, annotations: dict[str, Any], script_function: type) -> None:
    from facula import jit, typename

    if isinstance(item, nn.Module):
        return
    if isinstance(item, types.FunctionType) and name not in annotations:
        if _modifiers.is_ignored_fn(item):
            return
        try:
            shape.functions[name] = item if _builtins.find(item) or _library.function(item) else jit.script(item)
        except Exception as e:
            shape.hints[name] = f"(This function exists as an attribute on the Python module, but we failed to compile it to a TorchScript function. \nThe error stack is reproduced here:\n{e}"
        return
    if isinstance(item, script_function) or (callable(item) and _builtins.find(item) is not None):
        shape.functions[name] = item
        return
    found = _type_of(name, item, annotations)
    if found.success():
        shape.attributes[name] = found.type(), "attribute"
        return
    kind = typename(item)
    shape.hints[name] = (
        f"(This attribute exists on the Python module, but we failed to convert Python type: '{kind}' to a TorchScript type. {found.reason()}. "
        "Its type was inferred; try adding a type annotation for the attribute.)"
    )


def _constants_of(module: nn.Module, annotations: dict[str, Any], shape: Shape) -> list[tuple[str, Any]]:
    names = set(getattr(module, "__constants__", ()))
    names |= {name for name, a in annotations.items() if a is typing.Final or typing.get_origin(a) is typing.Final}
    out = []
    for name in sorted(names):
        if name in shape.attributes or name in shape.modules:
            if name in shape.modules or shape.attributes[name][1] in ("parameter", "buffer"):
                what = "submodule" if name in shape.modules else shape.attributes[name][1]
                warnings.warn(f"'{name}' was found in ScriptModule constants,  but it is a non-constant {what}. Consider removing it.", stacklevel=2)
            continue
        if not hasattr(module, name):
            warnings.warn(f"'{name}' was found in ScriptModule constants, but was not actually set in __init__. Consider removing it.", stacklevel=2)
            continue
        out.append((name, _valid_constant(name, getattr(module, name), type(module).__name__)))
    return out


def _valid_constant(name: str, value: Any, owner: str) -> Any:
    from facula import device, dtype, layout, memory_format, typename

    if isinstance(value, (*_CONSTANTS, dtype, layout, memory_format, device)):
        return value
    if isinstance(value, (tuple, list)):
        return tuple(_valid_constant(name, v, owner) for v in value)
    if callable(value) and _builtins.find(value) is not None:
        return value
    raise TypeError(
        f"\n'{typename(value)}' object in attribute '{owner}.{name}' is not a valid constant.\n"
        "Valid constants are:\n1. a nn.ModuleList\n2. a value of type {bool, float, int, str, NoneType, torch.device, torch.layout, torch.dtype, torch.qscheme}\n"
        "3. a list or tuple of (2)\n"
    )


def _overloads_of(module: nn.Module) -> dict[str, list[str]]:
    found = dict(getattr(module, "__overloads__", {}))
    for base in reversed(type(module).__mro__):
        for name, fns in _modifiers.overloaded_methods(base).items():
            if base.__dict__.get(name) is not None:
                found[name] = [f"{name}__{i}" for i in range(len(fns))]
    return found


def _make_class(shape: Shape) -> None:
    shape.type = _C._jit_new_module_type(qualified_name(shape.cls))
    for name, (kind, role) in shape.attributes.items():
        _C._jit_add_module_attribute(shape.type, name, kind, role)
    for name, inner in shape.modules.items():
        _C._jit_add_module_attribute(shape.type, name, shape.interfaces.get(name, inner.type), "module")


# --- methods
@functools.cache
def _exported(cls: type) -> tuple[str, ...]:
    properties = {name for name, p in inspect.getmembers(cls, lambda m: isinstance(m, property))}
    return tuple(name for name in dir(cls) if name not in properties and _modifiers.is_exported(inspect.getattr_static(cls, name)))


def _ignored_properties(cls: type) -> list[tuple[str, property]]:
    unused = getattr(cls, "__jit_unused_properties__", ())
    found = []
    for name, p in inspect.getmembers(cls, lambda m: isinstance(m, property)):
        if name in unused or p.fget is None or not isinstance(p.fget, types.FunctionType) or _modifiers.is_ignored_or_unused(p.fget) or _is_ours(p.fget):
            found.append((name, p))
    return found


def _is_ours(fn: Any) -> bool:
    return fn.__module__ is not None and fn.__module__.startswith("facula.")


def source_of(cls: type, name: str) -> Callable:
    """The function to compile for a method: the class's own, or the library's form of it in the language."""
    form = _library.method(cls, name)
    found = getattr(cls, name) if form is None else form
    return getattr(found, "original_method", found)  # of script_method


def _stub(cls: type, fn: Callable, name: str) -> tuple[Any, Any, dict[str, Any]]:
    return get_jit_def(fn, name, self_name="RecursiveScriptModule"), _recursive.create_resolution_callback_from_closure(fn), get_default_args(fn)


def _compile_method(shape: Shape, name: str) -> None:
    if name not in _C._jit_module_methods(shape.type):
        _C._jit_create_module_methods(shape, [_stub(shape.cls, source_of(shape.cls, name), name)])


def methods_of(module: nn.Module) -> list[str]:
    """The methods of a module that are compiled though nothing calls them."""
    cls = type(module)
    names = []
    forward = getattr(cls, "forward", None)
    own = module.__dict__.get("forward")
    if own is None and forward is not None and forward is not nn.Module.forward and not _modifiers.is_ignored_fn(forward):
        names.append("forward")
    names += [name for name in _exported(cls) if name not in names]
    return names


def _compile_all(module: nn.Module, shape: Shape, names: list[str]) -> None:
    cls, done = shape.cls, _C._jit_module_methods(shape.type)
    stubs = []
    for name, overloads in shape.overloads.items():
        for i, overload in enumerate(overloads):
            if overload not in done:
                stubs.append(_overload_stub(cls, name, overload, i))
    for name in names:
        if name not in done and name not in shape.overloads:
            stubs.append(_stub(cls, source_of(cls, name), name))
    skipped = {name for name, _ in _ignored_properties(cls)} | shape.ignored
    for name, p in inspect.getmembers(cls, lambda m: isinstance(m, property)):
        if name in skipped or f"__{name}_getter" in done:
            continue
        stubs.append(_stub(cls, p.fget, f"__{name}_getter"))
        setter = ""
        if p.fset is not None and not _modifiers.is_ignored_or_unused(p.fset):
            setter = f"__{name}_setter"
            stubs.append(_stub(cls, p.fset, setter))
        _C._jit_add_module_property(shape.type, name, f"__{name}_getter", setter)
        shape.properties[name] = bool(setter)
    if shape.container in ("list", "dict") and "__len__" not in done:
        text = f"def __len__(self):\n   return {len(shape.members)}\n"
        if shape.container == "dict" and shape.members:
            keys = ", ".join(f'"{key}"' for key in shape.members)
            text += f"def __contains__(self, key: str):\n   return key in [{keys}]\n"
        _C._jit_define_module_methods(shape, text, lambda name: _recursive.absent)
    if stubs:
        _C._jit_create_module_methods(shape, stubs)
    for hooks, made in zip(shape.hook_functions, (shape.pre_hooks, shape.hooks), strict=True):
        for hook in hooks[len(made) :]:
            made.append(_C._jit_create_hook(shape, _stub(cls, hook, hook.__name__)))


def _overload_stub(cls: type, name: str, overload: str, i: int) -> tuple[Any, Any, dict[str, Any]]:
    listed = _modifiers.find_overloads(cls, name)
    if not listed:
        return _stub(cls, source_of(cls, overload), overload)
    declared, body = listed[i], getattr(cls, name)
    declaration = get_jit_def(declared, overload, self_name="RecursiveScriptModule").decl()
    definition = _C._replace_overloaded_method_decl(declaration, get_jit_def(body, overload, self_name="RecursiveScriptModule"), overload)
    return definition, _recursive.create_resolution_callback_from_closure(body), get_default_args(declared)


# --- from a module to its compiled form
def script_module(module: nn.Module, methods: Callable[[nn.Module], list[str]] | None = None, share: bool = True) -> Any:
    """torch.jit.script of a module."""
    module = compiled_of(module)
    if isinstance(module, ScriptModule) and "_c" in module.__dict__:
        return module
    _check(module)
    shape = shape_of(module, share)
    return _construct(module, shape, methods or methods_of)


def _check(module: nn.Module) -> None:
    for m in module.modules():
        if "_parameters" not in m.__dict__:
            raise RuntimeError(f"module {type(m).__name__}: Module.__init__ was not called")
        if m._backward_hooks or m._backward_pre_hooks:
            raise RuntimeError(f"Modules that have backward hooks assigned can't be compiled: {m}")


def _construct(module: nn.Module, shape: Shape, methods: Callable[[nn.Module], list[str]]) -> Any:
    module = compiled_of(module)
    if isinstance(module, ScriptModule) and "_c" in module.__dict__:
        return module
    from facula import jit

    inner = {name: _construct(module._modules[name], part, methods_of) for name, part in shape.modules.items()}
    values = []
    for name in shape.attributes:
        item = module._parameters[name] if name in module._parameters else module._buffers[name] if name in module._buffers else getattr(module, name)
        values.append(item.value if type(item) is jit.Attribute else item)
    try:
        c = _C._jit_new_module(shape.type, [*values, *(m._c for m in inner.values())])
    except TypeError as e:
        raise RuntimeError(f"{type(module).__name__}: {e}") from None
    _compile_all(module, shape, methods(module))
    made = RecursiveScriptModule(c, inner, type(module).__name__)
    state = made.__dict__
    state["_shape"] = shape
    state["_forward_pre_hooks"].update(enumerate(shape.pre_hooks))
    state["_forward_hooks"].update(enumerate(shape.hooks))
    _copy_python(module, shape, made)
    return made


def _copy_python(module: nn.Module, shape: Shape, made: RecursiveScriptModule) -> None:
    """What stays Python: ignored methods and attributes that have no type here."""
    state = made.__dict__
    for name in _ignored_methods(type(module)):
        state[name] = types.MethodType(getattr(type(module), name), made)
    for name in (*shape.constants, *shape.functions, *shape.hints, *shape.ignored):
        if hasattr(module, name):
            state[name] = getattr(module, name)


@functools.cache
def _ignored_methods(cls: type) -> tuple[str, ...]:
    return tuple(name for name in dir(cls) if isinstance(found := inspect.getattr_static(cls, name), types.FunctionType) and _modifiers.is_ignored_fn(found))
