# SPDX-License-Identifier: Apache-2.0
"""Operators under the names that charts and routes are written with.

An operator is named as everywhere (`aten::add`, `aten::add.Tensor`) or as GCC prints the port's C++ function for it:
`at::Tensor at::CPUType::{anonymous}::add(const at::Tensor&, const at::Tensor&, c10::Scalar)`. The latter are made from
schemas, so every operator has one. A number beside a tensor is a Scalar overload here and a tensor that wraps the number
there: `mul(Tensor, Tensor)` means both overloads, `mul(Tensor, Scalar)` only its own.
"""

import difflib
import functools
import re
from typing import NamedTuple

from facula import _C

_CPP = {
    "Tensor": "const at::Tensor&", "Tensor[]": "at::TensorList", "Scalar": "c10::Scalar", "int": "int64_t", "int[]": "c10::IntArrayRef",
    "float": "double", "bool": "bool", "str": "std::string", "ScalarType": "c10::ScalarType", "Layout": "c10::Layout",
    "Device": "c10::Device", "MemoryFormat": "c10::MemoryFormat", "Generator": "at::Generator*", "Options": "const c10::TensorOptions&",
    "float[]": "c10::ArrayRef<double>", "Scalar[]": "c10::ArrayRef<c10::Scalar>",
}  # fmt: skip
_INSIDE_TEMPLATE = {"int64_t": "long int", "c10::IntArrayRef": "c10::ArrayRef<long int>"}  # where GCC sees through the name
_KIND = {
    "at::Tensor": "Tensor", "at::TensorList": "Tensor[]", "c10::ArrayRef<at::Tensor>": "Tensor[]", "c10::Scalar": "Scalar", "int64_t": "int",
    "long int": "int", "long": "int", "double": "float", "bool": "bool", "c10::IntArrayRef": "int[]", "c10::ArrayRef<long int>": "int[]",
    "c10::TensorOptions": "Options", "c10::ScalarType": "ScalarType", "c10::Layout": "Layout", "c10::Device": "Device",
    "c10::MemoryFormat": "MemoryFormat", "at::Generator": "Generator", "std::string": "str", "std::__cxx11::string": "str",
    "c10::ArrayRef<double>": "float[]", "c10::ArrayRef<c10::Scalar>": "Scalar[]",
}  # fmt: skip
_LONGEST = 2000  # characters of a name; no operator has one like that
_OPTIONS = ["dtype", "layout", "device", "pin_memory"]
_FUNCTION = re.compile(r"at::(?P<type>\w+)::(?:\{anonymous\}::|\(anonymous namespace\)::)?(?P<name>\w+)\((?P<arguments>.*)\)\s*$", re.DOTALL)


class Named(NamedTuple):
    """What a name means."""

    text: str
    exact: frozenset[str]  # full names of operators
    wrapped: frozenset[str]  # those that take a number where the name says tensor
    on_cpu: bool | None  # only calls on the CPU, only those elsewhere; None: all

    def covers(self, operator: str, on_cpu: bool) -> bool:
        """Whether a call of this operator is meant."""
        return (operator in self.exact or operator in self.wrapped) and self.on_cpu in (None, on_cpu)


class _Parameter(NamedTuple):
    kind: str  # "Tensor", "int[]", "Options"
    cpp: str
    required: bool


@functools.cache
def _parameters(operator: str) -> list[_Parameter]:
    """An operator's parameters in the order of the port: what is written to by out= comes first, options are one."""
    schema = _C._find_operator(operator)._schema
    arguments = list(schema.arguments)
    names = [a.name for a in arguments]
    options = next((i for i in range(len(names)) if names[i : i + 4] == _OPTIONS), None)
    found: list[_Parameter] = []
    outs: list[_Parameter] = []
    i = 0
    while i < len(arguments):
        if i == options:
            found.append(_Parameter("Options", _CPP["Options"], False))
            i += 4
            continue
        a = arguments[i]
        i += 1
        parameter = _Parameter(_kind_of_type(a.type), _cpp_of_type(a.type, a.is_write), not a.has_default_value())
        (outs if a.is_write and a.kwarg_only else found).append(parameter)
    return outs + found


def _kind_of_type(text: str) -> str:
    return re.sub(r"\[\d+\]", "[]", text.replace("?", ""))


def _cpp_of_type(text: str, written: bool) -> str:
    kind = _kind_of_type(text)
    if written:
        return "at::Tensor&" if kind == "Tensor" else _CPP.get(kind, kind)
    if size := re.fullmatch(r"bool\[(\d+)\]", text):
        return f"std::array<bool, {size[1]}>"
    cpp = _CPP.get(kind, kind)
    if "?" not in text or kind in ("Tensor", "Tensor[]", "Generator"):
        return cpp
    return f"c10::optional<{_INSIDE_TEMPLATE.get(cpp, cpp)}>"


@functools.cache
def _function_name(operator: str) -> str:
    schema = _C._find_operator(operator)._schema
    base = schema.name.partition("::")[2]
    return base + "_out" if any(a.is_write and a.kwarg_only for a in schema.arguments) else base


@functools.cache
def signature(operator: str, device: str = "cpu") -> str:
    """The port's C++ function for an operator ("aten::add.Tensor") on a type of device, as GCC prints it."""
    op = _C._find_operator(operator)
    schema = op._schema
    one = {"Tensor": "at::Tensor", "Tensor[]": "std::vector<at::Tensor>"}
    results = ["at::Tensor&" if r.is_write else one.get(kind := _kind_of_type(r.type), _CPP.get(kind, kind)) for r in schema.returns]
    returned = results[0] if len(results) == 1 else f"std::tuple<{', '.join(results)}>" if results else "void"
    where = "TypeDefault" if op.is_composite or _is_factory(operator) else f"{_type_name(device)}Type::{{anonymous}}"
    return f"{returned} at::{where}::{_function_name(operator)}({', '.join(p.cpp for p in _parameters(operator))})"


# Factories that had a kernel of each device's own all the same: their memory, or numbers that one device computes.
_OF_A_DEVICE = {"aten::empty", "aten::empty_strided", "aten::tril_indices", "aten::triu_indices", "aten::from_file"}


@functools.cache
def _is_factory(operator: str) -> bool:
    """Whether it makes a tensor from options alone, or like another one: the port had these once for all devices."""
    schema = _C._find_operator(operator)._schema
    names = [a.name for a in schema.arguments]
    if schema.name in _OF_A_DEVICE or not any(names[i : i + 4] == _OPTIONS for i in range(len(names))):
        return False
    base = schema.name.removeprefix("aten::")
    return base.startswith("new_") or base.endswith("_like") or not any(a.type.startswith("Tensor") for a in schema.arguments)


def _type_name(device: str) -> str:
    return {"cpu": "CPU", "cuda": "CUDA", "hammerblade": "HammerBlade"}.get(device, device[:1].upper() + device[1:])


def _overloads(base: str) -> list[str]:
    return [f"{base}.{o}" if o else base for o in _C._overloads(base)]


def _of_function(name: str) -> list[str]:
    """Operators whose C++ function has this name."""
    return [o for base in {name, name.removesuffix("_out")} for o in _overloads("aten::" + base) if _function_name(o) == name]


def _kind_of_cpp(text: str) -> str:
    text = re.sub(r"\bconst\b|[&*]", "", text).strip()
    if inner := re.fullmatch(r"(?:c10|std)::optional<(.*)>", text, re.DOTALL):
        return _kind_of_cpp(inner[1])
    if re.fullmatch(r"std::array<bool, ?\d+u?l?>", text):
        return "bool[]"
    return _KIND.get(text, text)


def _split(arguments: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for i, c in enumerate(arguments):
        depth += (c == "<") - (c == ">")
        if c == "," and depth == 0:
            parts.append(arguments[start:i])
            start = i + 1
    return [*parts, arguments[start:]] if arguments.strip() else []


def _fits(kinds: list[str], parameters: list[_Parameter]) -> bool:
    """Equal, or an older form of it: without parameters at its end that have a default."""
    return [p.kind for p in parameters[: len(kinds)]] == kinds and not any(p.required for p in parameters[len(kinds) :])


def _with_wrapped(exact: list[str], overloads: list[str]) -> frozenset[str]:
    """Overloads that take a Scalar where one of `exact` takes a tensor, and are equal otherwise."""

    def same_but_wrapped(mine: list[str], other: list[str]) -> bool:
        return len(mine) == len(other) and all(a == b or (a, b) == ("Tensor", "Scalar") for a, b in zip(mine, other, strict=True))

    kinds = {o: [p.kind for p in _parameters(o)] for o in overloads}
    return frozenset(o for o in overloads for e in exact if same_but_wrapped(kinds[e], kinds[o])) - frozenset(exact)


def find(text: str) -> Named | None:
    """What a name means; None where no operator has it."""
    if len(text) > _LONGEST:
        return None
    if function := _FUNCTION.search(text):
        overloads = _of_function(function["name"])
        kinds = [_kind_of_cpp(a) for a in _split(function["arguments"])]
        exact = [o for o in overloads if [p.kind for p in _parameters(o)] == kinds] or [o for o in overloads if _fits(kinds, _parameters(o))]
        on_cpu = None if function["type"] == "TypeDefault" else function["type"].endswith("CPUType")
        return Named(text, frozenset(exact), _with_wrapped(exact, overloads), on_cpu) if exact else None
    full = text.removesuffix(".default")
    full = full if "::" in full else "aten::" + full
    all_overloads = _overloads(full.partition(".")[0])
    of_one = "." in full or text.endswith(".default")
    exact = [o for o in all_overloads if o == full] if of_one else all_overloads
    return Named(text, frozenset(exact), _with_wrapped(exact, all_overloads), None) if exact else None


def unknown(text: str) -> str:
    """What to say of a name that no operator has: the nearest, in the same way of writing."""
    text = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    if function := _FUNCTION.search(text):
        names = {_function_name(o) for o in _C._operator_names() if o.startswith("aten::")}
        options = [signature(o) for o in _of_function(_nearest(function["name"], names))]
        near = max(options, key=lambda s: difflib.SequenceMatcher(None, text, s).ratio())
    else:
        near = _nearest(text if "::" in text else "aten::" + text, {name for n in _C._operator_names() for name in (n, n.partition(".")[0])})
    return f"no operator has the name {text!r}; the nearest is {near!r}"


def _nearest(text: str, names: set[str]) -> str:
    return difflib.get_close_matches(text, sorted(names), n=1, cutoff=0)[0]
