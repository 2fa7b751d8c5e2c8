# SPDX-License-Identifier: Apache-2.0
"""Writes __init__.pyi for editors and type checkers, from the schemas of the registry.

    python tools/make_stubs.py FOLDER    # FOLDER/__init__.pyi
"""

import inspect
import keyword
import pathlib
import re
import sys

import facula
from facula import _docs

TYPES = {
    "Tensor": "Tensor", "Scalar": "Number", "int": "_int", "SymInt": "_int", "float": "_float", "bool": "_bool", "str": "str",
    "ScalarType": "_dtype", "Device": "_device", "Layout": "_layout", "MemoryFormat": "_memory_format", "Generator": "Generator",
}  # fmt: skip
HEAD = '''# Written by tools/make_stubs.py from the operators' schemas.
# torch.int and its kin, and the tensor's own float() and dtype, hide builtins and classes: hence the underscores.
from builtins import bool as _bool, complex as _complex, float as _float, int as _int
from typing import Any, Sequence, overload

from facula import autograd as autograd, backends as backends, cuda as cuda, library as library, nn as nn, overrides as overrides, utils as utils
from facula.autograd import enable_grad as enable_grad, inference_mode as inference_mode, no_grad as no_grad, set_grad_enabled as set_grad_enabled

Number = _bool | _int | _float | _complex

class dtype: ...
class device:
    def __init__(self, type: str, index: _int = ...) -> None: ...
class layout: ...
class memory_format: ...
class Generator: ...
class Size(tuple[_int, ...]): ...
_dtype = dtype
_device = device
_layout = layout
_memory_format = memory_format
'''


def split(text):
    """Parts between commas that stand outside brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return parts + [text[start:].strip()] if text.strip() else []


def type_of(text, argument):
    text = re.sub(r"\([a-z]\S*?\)", "", text)  # alias annotations
    optional = text.endswith("?")
    text = text.removesuffix("?")
    match = re.fullmatch(r"(\w+)(\?)?(\[\d*\])?", text)
    if not match:
        return "Any"
    name = TYPES.get(match[1], "Any") + (" | None" if match[2] else "")
    if match[3]:
        name = f"Sequence[{name}]" if argument else f"tuple[{name}, ...]"
        if argument and match[3] != "[]" and match[1] in ("int", "SymInt"):
            name = f"_int | {name}"
    return name + (" | None" if optional else "")


def signature(schema, method):
    """(parameters, result) as Python text."""
    body, _, result = schema.partition("(")[2].rpartition(" -> ")
    parameters, star = [], False
    for i, part in enumerate(split(body.removesuffix(")"))):
        if part == "*":
            parameters.append("*")
            star = True
            continue
        declared, default = (part.split("=", 1) + [None])[:2]
        kind, _, name = declared.rpartition(" ")
        if method and i == 0:
            parameters.append("self")
            continue
        name = "input" if name == "self" else name + "_" * keyword.iskeyword(name)
        parameters.append(f"{name}: {type_of(kind, True)}" + (" = ..." if default is not None else ""))
    if not method and len([p for p in parameters if p != "*"]) and star and parameters[-1] == "*":
        parameters.pop()
    results = [type_of(p.split(" ")[0], False) for p in split(result.strip().removeprefix("(").removesuffix(")"))] if result.startswith("(") else [type_of(result, False)]
    return ", ".join(parameters), "None" if not results else results[0] if len(results) == 1 else f"tuple[{', '.join(results)}]"


def functions(table, method, skip):
    indent = "    " if method else ""
    for name, function in sorted(table.items()):
        if not name.isidentifier() or keyword.iskeyword(name) or name in skip:
            continue
        # PyTorch's methods take no out=.
        lines = list(dict.fromkeys("def {}({}) -> {}: ...".format(name, *signature(s, method)) for s in function._schemas if not (method and re.search(r"\*,.*!\)", s))))
        for line in lines:
            if len(lines) > 1:
                yield indent + "@overload"
            if line is lines[0] and (told := _docs.sentence(name)):  # editors show the first overload's
                line = f'{line.removesuffix(" ...")}\n{indent}    """{told}"""'
            yield indent + line


def python_functions(owner, names, indent=""):
    """Those that are written in Python: names of arguments, without types."""
    for name in sorted(names):
        value = inspect.getattr_static(owner, name)
        if isinstance(value, property):
            yield f"{indent}@property\n{indent}def {name}(self) -> Any: ..."
        elif inspect.isfunction(value):
            text = re.sub(r"=[^,)]+", "=...", str(inspect.signature(value)))
            yield f"{indent}def {name}{text.partition(' -> ')[0]} -> Any: ..."


def stub():
    lines = [HEAD]
    lines += [f"{name}: {type(value).__name__}" for name, value in sorted(vars(facula).items()) if isinstance(value, (facula.dtype, facula.layout, facula.memory_format)) and not name.startswith("_")]
    lines += ["", "class Tensor:"]
    own = {n for n in vars(facula.Tensor) if n not in facula._C._methods or inspect.isfunction(vars(facula.Tensor)[n]) or isinstance(vars(facula.Tensor)[n], property)}
    builtin = [n for n in vars(facula._C.TensorBase) if not n.startswith("_")]
    lines += [f"    {n}: Any" for n in sorted(builtin) if type(vars(facula._C.TensorBase)[n]).__name__ == "getset_descriptor"]
    lines += [f"    def {n}(self, *args: Any, **kwargs: Any) -> Any: ..." for n in sorted(builtin) if type(vars(facula._C.TensorBase)[n]).__name__ == "method_descriptor"]
    arithmetic = ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "mod", "pow", "rpow", "matmul", "and", "or", "xor", "lt", "le", "gt", "ge")
    lines += [f"    def __{n}__(self, other: Tensor | Number) -> Tensor: ..." for n in arithmetic]
    lines += ["    def __getitem__(self, index: Any) -> Tensor: ...", "    def __setitem__(self, index: Any, value: Any) -> None: ...", "    def __neg__(self) -> Tensor: ..."]
    lines += python_functions(facula.Tensor, [n for n in own if not n.startswith("_")], "    ")
    lines += functions(facula._C._methods, True, own)
    lines.append("")
    front = [n for n, v in vars(facula).items() if inspect.isfunction(v) and not n.startswith("_")]
    lines += python_functions(facula, front)
    lines += functions(facula._C._functions, False, set(front) | {n for n in facula._C._functions if n.startswith("_")})
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (pathlib.Path(sys.argv[1]) / "__init__.pyi").write_text(stub())
