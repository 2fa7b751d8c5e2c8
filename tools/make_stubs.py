# SPDX-License-Identifier: Apache-2.0
"""Writes __init__.pyi for editors and type checkers, from the schemas of the registry.

    python tools/make_stubs.py FOLDER    # FOLDER/__init__.pyi
"""

import inspect
import keyword
import pathlib
import re
import sys
import types

import facula
from facula import _C, _docs

TYPES = {
    "Tensor": "Tensor", "Scalar": "Number", "int": "_int", "float": "_float", "bool": "_bool", "str": "str", "ScalarType": "_dtype",
    "Device": "_DeviceLike", "Layout": "_layout", "MemoryFormat": "_memory_format", "Generator": "Generator",
}  # fmt: skip
HEAD = '''# Written by tools/make_stubs.py from the operators' schemas.
# torch.int and its kin, and the tensor's own float() and dtype, hide builtins and classes: hence the underscores.
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, type as _type
from typing import Any, Iterator, NamedTuple, Sequence, TypeVar, overload

Number = _bool | _int | _float | _complex
_S = TypeVar("_S")

class dtype:
    is_floating_point: _bool
    is_complex: _bool
    is_signed: _bool
    itemsize: _int
    def to_real(self) -> dtype: ...
    def to_complex(self) -> dtype: ...
class device:
    type: str
    index: _int | None
    @overload
    def __init__(self, device: device | str | _int) -> None: ...
    @overload
    def __init__(self, type: str, index: _int) -> None: ...
    def __enter__(self) -> device: ...
    def __exit__(self, *exc: Any) -> None: ...
class layout: ...
class memory_format: ...
class Size(tuple[_int, ...]):
    def numel(self) -> _int: ...
_dtype = dtype
_device = device
_layout = layout
_memory_format = memory_format
_DeviceLike = device | str | _int
class Generator:
    def __init__(self, device: _DeviceLike = ...) -> None: ...
    device: _device
    def manual_seed(self, seed: _int) -> Generator: ...
    def initial_seed(self) -> _int: ...
    def seed(self) -> _int: ...
    def get_state(self) -> Tensor: ...
    def set_state(self, state: Tensor) -> Generator: ...
    def clone_state(self) -> Generator: ...
class OutOfMemoryError(RuntimeError): ...
'''
# What the tensor's class has from C.
FACTS = {"_bool": "is_cpu is_cuda is_leaf is_meta is_mps is_nested is_quantized is_sparse is_sparse_csr is_xpu requires_grad retains_grad",
         "_int": "itemsize nbytes ndim output_nr", "Tensor": "data", "Tensor | None": "grad", "_dtype": "dtype", "_device": "device",
         "_layout": "layout", "Size": "shape", "str | None": "name"}  # fmt: skip
METHODS = '''
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def as_subclass(self, cls: _type[_S]) -> _S: ...
    def item(self) -> Any: ...
    def tolist(self) -> Any: ...
    def retain_grad(self) -> None: ...
    def requires_grad_(self, requires_grad: _bool = ...) -> Tensor: ...
    def is_contiguous(self, memory_format: _memory_format = ...) -> _bool: ...
    @overload
    def size(self, dim: None = ...) -> Size: ...
    @overload
    def size(self, dim: _int) -> _int: ...
    @overload
    def stride(self, dim: None = ...) -> tuple[_int, ...]: ...
    @overload
    def stride(self, dim: _int) -> _int: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __reversed__(self) -> Tensor: ...
    def __contains__(self, element: Any) -> _bool: ...
    def __len__(self) -> _int: ...
    def __bool__(self) -> _bool: ...
    def __int__(self) -> _int: ...
    def __float__(self) -> _float: ...
    def __complex__(self) -> _complex: ...
    def __index__(self) -> _int: ...
    def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __hash__(self) -> _int: ...
    def __array__(self, dtype: Any = ..., copy: Any = ...) -> Any: ...
    def __dlpack__(self, *, stream: Any = ..., max_version: Any = ..., dl_device: Any = ..., copy: Any = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor: ...
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = ..., kwargs: Any = ...) -> Any: ...
'''
BINARY = "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow and rand or ror xor rxor lshift rlshift rshift rrshift lt le gt ge"
IN_PLACE = "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift"
# Functions of C, and of Python where more can be told than "something".
KNOWN = {"are_deterministic_algorithms_enabled": "() -> _bool", "can_cast": "(from_: _dtype, to: _dtype) -> _bool", "get_default_dtype": "() -> _dtype",
         "get_num_threads": "() -> _int", "set_num_threads": "(threads: _int) -> None", "is_anomaly_enabled": "() -> _bool", "is_grad_enabled": "() -> _bool",
         "is_inference_mode_enabled": "() -> _bool", "promote_types": "(type1: _dtype, type2: _dtype) -> _dtype",
         "result_type": "(tensor1: Tensor | Number, tensor2: Tensor | Number) -> _dtype"}  # fmt: skip
RESULTS = {"Tensor": "as_tensor asarray cartesian_prod chain_matmul einsum from_dlpack from_numpy frombuffer get_rng_state norm tensor tensordot cpu cuda to type_as "
                     "float double half bfloat16 int long short char byte bool chalf cfloat cdouble T H mT mH real imag where polygamma new_tensor",
           "_bool": "is_complex is_floating_point is_nonzero is_storage is_tensor is_shared is_pinned is_set_to", "_int": "initial_seed seed numel",
           "Generator": "manual_seed", "Size": "broadcast_shapes", "tuple[Tensor, ...]": "broadcast_tensors meshgrid split", "str": "typename load_backend",
           "None": "backward set_default_device set_default_dtype set_printoptions set_rng_state use_deterministic_algorithms"}  # fmt: skip


def result_of(name):
    return next((kind for kind, names in RESULTS.items() if name in names.split()), "Any")


def type_of(text, argument):
    optional = text.endswith("?")
    match = re.fullmatch(r"(\w+)(\?)?(\[\d*\])?", text.removesuffix("?"))
    name = TYPES[match[1]] + (" | None" if match[2] else "")
    if match[3]:
        name = f"Sequence[{name}]" if argument else f"tuple[{name}, ...]"
        if argument and match[3] != "[]" and match[1] == "int":
            name = f"_int | {name}"
    return name + (" | None" if optional else "")


def signatures(op, method, named):
    """(parameters, result) as Python text: one, or two where sizes may be given one by one."""
    schema = op._schema
    arguments = schema.arguments[1:] if method else schema.arguments
    texts, star, by_position = ["self"] if method else [], False, [a for a in arguments if not a.kwarg_only]
    for a in arguments:
        if a.kwarg_only and not star:
            texts.append("*")
            star = True
        name = "input" if a.name == "self" else a.name + "_" * keyword.iskeyword(a.name)
        texts.append(f"{name}: {type_of(a.type, True)}" + (" = ..." if a.has_default_value() else ""))
    names = {a.name for a in arguments}
    if not method and {"dtype", "layout", "pin_memory"} <= names:
        texts.append("requires_grad: _bool = ...")
    outs = [a for a in arguments if a.kwarg_only and a.is_write]
    if len(outs) > 1:
        texts = [t for t in texts if t.partition(":")[0] not in {a.name for a in outs}] + [f"out: tuple[{', '.join(['Tensor'] * len(outs))}]"]
    results = [type_of(r.type, False) for r in schema.returns]
    result = "None" if not results else results[0] if len(results) == 1 else f"tuple[{', '.join(results)}]"
    if len(results) > 1 and schema.returns[0].name and not op.is_out:
        result = f"_{op._opname}_result"
        named[result] = [(r.name, kind) for r, kind in zip(schema.returns, results)]
    yield ", ".join(texts), result
    if len(by_position) == 1 and by_position[0].type.startswith("int["):
        at = int(method)
        yield ", ".join([*texts[:at], f"*{by_position[0].name}: _int", *(t for t in texts[at + 1 :] if t != "*")]), result


def functions(table, method, skip, named):
    indent = "    " if method else ""
    for name, function in sorted(table.items()):
        if not name.isidentifier() or keyword.iskeyword(name) or name in skip:
            continue
        operators = [_C._find_operator(f"aten::{name}" + ("" if o == "default" else f".{o}")) for o in function._overload_names]
        # PyTorch's methods take no out=.
        lines = dict.fromkeys(f"def {name}({p}) -> {r}: ..." for op in operators if not (method and op.is_out) for p, r in signatures(op, method, named))
        for i, line in enumerate(lines):
            if len(lines) > 1:
                yield indent + "@overload"
            if i == 0 and (told := _docs.docstring(name)):  # editors show the first overload's
                line = f'{line.removesuffix(" ...")}\n{indent}    """{told}"""'
            yield indent + line


def python_functions(owner, names, indent=""):
    """Those that are written in Python: names of arguments, without types."""
    for name in sorted(names):
        value = inspect.getattr_static(owner, name)
        if isinstance(value, property):
            yield f"{indent}@property\n{indent}def {name}(self) -> {result_of(name)}: ..."
            if value.fset:
                yield f"{indent}@{name}.setter\n{indent}def {name}(self, value: Any) -> None: ..."
        elif inspect.isfunction(value):
            parameters = []
            for p in inspect.signature(value).parameters.values():
                kind = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
                if p.kind == p.KEYWORD_ONLY and not any(q.startswith("*") for q in parameters):
                    parameters.append("*")
                typed = "" if p.name == "self" and not parameters else ": Any"
                parameters.append(f"{kind}{p.name}{typed}" + (" = ..." if p.default is not p.empty else ""))
            yield f"{indent}def {name}({', '.join(parameters)}) -> {result_of(name)}: ..."


def tensor_class(named):
    own = {n for n, v in vars(facula.Tensor).items() if n not in _C._methods or inspect.isfunction(v) or isinstance(v, property)}
    yield "class Tensor:"
    yield from (f"    {name}: {kind}" for kind, names in FACTS.items() for name in names.split())
    yield METHODS.strip("\n")
    yield from (f"    def __{n}__(self, other: Tensor | Number) -> Tensor: ..." for n in f"{BINARY} {IN_PLACE}".split())
    yield from (f"    def __{n}__(self, other: Tensor) -> Tensor: ..." for n in ("matmul", "rmatmul"))
    yield from (f"    def __{n}__(self) -> Tensor: ..." for n in ("neg", "pos", "abs", "invert"))
    told = set(re.findall(r"def (\w+)", METHODS)) | {n for names in FACTS.values() for n in names.split()}
    yield from (f"    def {n}(self) -> Any: ..." for n in sorted(vars(_C.TensorBase)) if not n.startswith("_") and n not in told)
    yield from python_functions(facula.Tensor, [n for n in own if not n.startswith("_")], "    ")
    skip = own | told | {n for n in _C._methods if n.startswith("__")}
    yield from functions(_C._methods, True, skip, named)


def imports(public):
    """Modules, and classes of modules that are written in Python."""
    modules = sorted(n for n, v in public.items() if isinstance(v, types.ModuleType))
    yield "from facula import " + ", ".join(f"{n} as {n}" for n in modules)
    for name, value in sorted(public.items()):
        if isinstance(value, type) and value.__module__.startswith("facula."):
            yield f"from {value.__module__} import {name} as {name}" if value.__module__ != "facula._C" else f"class {name}: ..."


def stub():
    public = {n: getattr(facula, n) for n in dir(facula) if not n.startswith("__")}
    named = {}
    tensor = list(tensor_class(named))
    front = [n for n, v in public.items() if inspect.isfunction(v)]
    told = list(functions(_C._functions, False, set(front) | {n for n in _C._functions if n not in public}, named))
    lines = [*imports(public), HEAD]
    for name, fields in sorted(named.items()):
        lines += [f"class {name}(NamedTuple):", *(f"    {field}: {kind}" for field, kind in fields)]
    constants = (facula.dtype, facula.layout, facula.memory_format, facula.Generator)
    lines += [f"{n}: {type(v).__name__}" for n, v in public.items() if isinstance(v, constants)]
    lines += [f"{n}: _{type(v).__name__}" for n, v in public.items() if type(v) in (bool, float)] + ["newaxis: None", "ops: Any", "__version__: str"]
    lines += ["", *tensor, ""]
    lines += [f"class {n}(Tensor): ..." for n, v in public.items() if isinstance(v, type) and n.endswith("Tensor") and n != "Tensor"]
    lines += [f"class {n}(TypedStorage): ..." for n, v in public.items() if n.endswith("Storage") and v.__module__ == "torch"]
    lines += [f"class {n}: ..." for n in public if n.startswith("Sym")]
    lines += [f"def {n}{text}: ..." for n, text in KNOWN.items()]
    return "\n".join([*lines, *python_functions(facula, front), *told]) + "\n"


if __name__ == "__main__":
    (pathlib.Path(sys.argv[1]) / "__init__.pyi").write_text(stub())
