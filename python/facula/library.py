# SPDX-License-Identifier: Apache-2.0
"""New operators and kernels at run time, from Python.

    @facula.library.custom_op("mylib::double", mutates_args=())
    def double(x: Tensor) -> Tensor: return x * 2

    lib = facula.library.Library("mylib", "FRAGMENT")
    lib.define("triple(Tensor x) -> Tensor")
    lib.impl("triple", lambda x: x * 3, "CPU")
"""

import functools
import inspect
import typing

from facula import _C
from facula._tensor import Tensor

__all__ = ["Library", "custom_op", "define", "impl", "register_fake", "register_kernel", "register_autograd", "infer_schema", "opcheck"]


def _check_qualname(name):
    space, colons, rest = name.partition("::")
    if not (space and rest) or "::" in rest:
        raise ValueError(f'Expected `qualname` to be of the form "namespace::name", but got {name}: an operator has a namespace and a name, e.g. mylib::scale')


def _full_name(name, space="aten"):
    return name if "::" in name else f"{space}::{name}"


def _check_autocast(name, key):
    """Casts of Facula's own operators are facts of their rows, and of devices that are not here nobody asks."""
    if _C._find_operator(name) is None:
        raise RuntimeError(f"library: no operator named {name}")
    if key == "AutocastCPU" and not name.startswith(("aten::", "torchvision::")):
        raise NotImplementedError(f"library: {name} cannot have a rule for autocast in Python yet")


class Library:
    """A namespace to define operators in and to give kernels to."""

    def __init__(self, ns, kind="FRAGMENT", dispatch_key=""):
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"Unsupported library kind: {kind}")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema, alias_analysis="", *, tags=()):
        """Define an operator by its schema; returns its name."""
        return _C._define(_full_name(schema, self.ns)).partition("::")[2]

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False):
        """Give an operator a kernel: for a device ("CPU", "Meta", a backend's name), or for all in terms of others."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        name = op_name.name() if hasattr(op_name, "_schema") else _full_name(str(op_name), self.ns)
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        if key.startswith("Autocast"):
            _check_autocast(name, key)
        else:
            _C._set_kernel(name, key, fn)


def define(qualname, schema, *, lib=None, tags=()):
    """Define an operator: define("mylib::scale", "(Tensor x) -> Tensor")."""
    _check_qualname(qualname)
    _C._define(qualname + schema)


def impl(qualname, types, func=None, *, lib=None):
    """Register a kernel for device types; usable as a decorator. impl(library, name, dispatch_key="") is its older form."""
    if isinstance(qualname, Library):

        def register_with_library(fn):
            qualname.impl(types, fn, func or "")
            return fn

        return register_with_library
    _check_qualname(qualname)

    def register(fn):
        for t in (types,) if isinstance(types, str) else types:
            _C._set_kernel(qualname, {"default": "CompositeExplicitAutograd"}.get(t, t), fn)
        return fn

    return register if func is None else register(func)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    name = op._qualname if isinstance(op, CustomOp) else op
    types = "default" if device_types is None else device_types
    if not isinstance(op, CustomOp):
        return impl(name, types, func)

    def register(fn):
        impl(name, types, _fresh_results(name, fn))
        return fn

    return register if func is None else register(func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """Register the shape rule: what the operator returns on the meta device."""
    name = op._qualname if isinstance(op, CustomOp) else op

    def register(fn):
        _C._set_kernel(name, "Meta", fn)
        return fn

    return register if func is None else register(func)


impl_abstract = register_fake


class _ShapeContext:
    """What a shape rule may ask for."""

    def new_dynamic_size(self, *, min=0, max=None):
        """A size that depends on values: unknown while only shapes are computed."""
        raise NotImplementedError("a shape rule asks for a size that depends on values, which the meta device does not have")

    create_unbacked_symint = new_dynamic_size


def get_ctx():
    """For shape rules of operators whose result's size depends on values."""
    return _ShapeContext()


def fallthrough_kernel(*args, **kwargs):
    """In Library.impl: let the call go on below."""
    raise NotImplementedError("fallthrough_kernel stands for no kernel and cannot be called.")


def register_vmap(op, func=None, /, *, lib=None):
    """A batching rule: vmap runs operators of Python one by one here, so none is taken."""
    raise NotImplementedError("torch.library.register_vmap: Facula takes no batching rules from Python yet")


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Give an operator a derivative: backward(ctx, *grads), with setup_context(ctx, inputs, output) before it.

    An operator with keyword-only arguments passes them to setup_context as keyword_only_inputs. For an argument that is a
    list of tensors, backward returns a list of gradients.
    """
    from facula._derivative import derivative

    name = op._qualname if isinstance(op, CustomOp) else str(op)
    operator = _C._find_operator(name)
    if operator is None:
        raise RuntimeError(f"register_autograd: no operator named {name}")
    if any(a.is_write for a in operator._schema.arguments):
        raise RuntimeError(f"Cannot register autograd formula for non-functional operator {operator} with schema {operator._schema}")
    _C._set_kernel(name, "Autograd", derivative(operator, backward, setup_context))



_TYPES = {
    Tensor: "Tensor", int: "int", float: "float", bool: "bool", str: "str", _C.dtype: "ScalarType", _C.device: "Device",
    list[Tensor]: "Tensor[]", list[int]: "int[]", list[float]: "float[]", list[bool]: "bool[]",
    typing.Sequence[Tensor]: "Tensor[]", typing.Sequence[int]: "int[]", typing.Sequence[float]: "float[]",
    int | float: "Scalar", typing.Union[int, float, bool]: "Scalar",
}  # fmt: skip


def _type_text(annotation, where):
    args = typing.get_args(annotation)
    if type(None) in args:
        inner = [a for a in args if a is not type(None)]
        return _type_text(inner[0] if len(inner) == 1 else typing.Union[tuple(inner)], where) + "?"
    if typing.get_origin(annotation) in (list, typing.Sequence) or str(typing.get_origin(annotation)).endswith("Sequence'>"):
        return _type_text(args[0], where) + "[]"
    try:
        return _TYPES[annotation]
    except (KeyError, TypeError):
        raise ValueError(f"infer_schema(func): {where} has unsupported type {annotation}") from None


def infer_schema(prototype_function, *, mutates_args=(), op_name=None):
    """The schema of a Python function, from its annotations."""
    signature = inspect.signature(prototype_function)
    hints = typing.get_type_hints(prototype_function)
    unknown = set() if mutates_args == "unknown" else set(mutates_args) - set(signature.parameters)
    if unknown:
        raise ValueError(f"infer_schema(func): {unknown} in mutates_args were not found in the custom op's signature {signature}")
    parts, star = [], False
    for i, p in enumerate(signature.parameters.values()):
        if p.name not in hints:
            raise ValueError(f"infer_schema(func): Parameter {p.name} must have a type annotation. Got func with signature {signature}")
        text = _type_text(hints[p.name], f"Parameter {p.name}")
        if mutates_args == "unknown" or p.name in mutates_args:
            text = text.replace("Tensor", f"Tensor({chr(97 + i)}!)")
        if p.kind is p.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        default = ""
        if p.default is not p.empty:
            default = f'="{p.default}"' if isinstance(p.default, str) else f"={p.default}"
        parts.append(f"{text} {p.name}{default}")
    result = hints.get("return", inspect.Signature.empty)
    if result in (None, type(None)):
        returns = "()"
    elif typing.get_origin(result) is tuple:
        returns = "(" + ", ".join(_type_text(a, "return") for a in typing.get_args(result)) + ")"
    else:
        returns = _type_text(result, "return")
    return f"{op_name or ''}({', '.join(parts)}) -> {returns}"


def _tensors(value):
    """The tensors in an argument or a result."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)


def _fresh_results(qualname, fn):
    """fn, held to what its schema says of results: none shares memory with an argument or with another one."""

    @functools.wraps(fn)
    def run(*args, **kwargs):
        results = fn(*args, **kwargs)
        taken = {t._storage_id() for t in _tensors([*args, *kwargs.values()])}
        for t in _tensors(results):
            if t._storage_id() in taken:
                raise RuntimeError(f"{qualname}: The output of this custom operator (1) must not also be an input to this custom operator and (2) may not alias any inputs to this custom operator or other returns: return a clone.")
            taken.add(t._storage_id())
        return results

    return run


class CustomOp:
    """An operator made from a Python function; call it, or give it kernels, a shape rule and a derivative."""

    _made: typing.ClassVar[dict] = {}

    def __init__(self, qualname, fn, mutates_args, device_types, schema):
        _check_qualname(qualname)
        self._qualname = qualname
        self._opname = qualname.partition("::")[2]
        self._schema_text = qualname + (schema or infer_schema(fn, mutates_args=mutates_args))
        before = CustomOp._made.get(qualname)
        if before is None or before._schema_text != self._schema_text:  # made again (a notebook's cell): new kernels only
            _C._define(self._schema_text)
        impl(qualname, "default" if device_types is None else device_types, _fresh_results(qualname, fn))
        self._raw = _C._find_operator(qualname)
        self.__name__ = self._opname
        self.__doc__ = fn.__doc__
        CustomOp._made[qualname] = self

    def __call__(self, *args, **kwargs):
        return self._raw(*args, **kwargs)

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def register_fake(self, fn):
        return register_fake(self, fn)

    def register_kernel(self, device_types, fn=None):
        return register_kernel(self, device_types, fn)

    def register_autograd(self, backward, *, setup_context=None):
        register_autograd(self, backward, setup_context=setup_context)


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Make an operator out of an annotated function; usable as a decorator.

    name is "namespace::name"; mutates_args names the arguments that the function changes ("unknown": perhaps all).
    """

    def make(function):
        return CustomOp(name, function, mutates_args, device_types, schema)

    return make if fn is None else make(fn)


def opcheck(op, args, kwargs=None, *, test_utils=("test_schema", "test_autograd_registration", "test_faketensor"), raise_exception=True):
    """Test an operator on sample arguments; returns {test: "SUCCESS" or the exception}.

    test_schema: it changes and aliases only what its schema says. test_autograd_registration: where arguments require
    gradients, its results have a derivative. test_faketensor: the meta device gives results of the same shapes, types
    and strides.
    """
    from facula._opcheck import opcheck as check

    return check(op, args, kwargs, test_utils, raise_exception)
