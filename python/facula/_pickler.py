# SPDX-License-Identifier: Apache-2.0
"""How objects are described in the pickles of torch.save: as PyTorch describes them, by the names they have there."""

import _compat_pickle
import copyreg
import functools
import importlib
import sys
import types
from pickle import PicklingError

from facula import _C, serialization, storage
from facula._tensor import _TYPE_NAMES, Tensor, _rebuild_from_type_v2
from facula._unpickler import torch_name

_CONSTANT_TYPES = {type(None): None, type(NotImplemented): NotImplemented, type(...): ...}


class StorageName:
    """torch.FloatStorage in a pickle, whether or not there is such a class."""

    def __init__(self, name):
        self.name = name


_storage_names = {getattr(_C, dtype): StorageName(f"{name}Storage") for dtype, name in _TYPE_NAMES.items()}
_untyped = StorageName("UntypedStorage")


class Policy:
    """What a pickle holds for the objects that the writer in C++ does not know itself.

    add_storage(storage, dtype) is called for every storage that is met; it returns (key, location, and what follows).
    """

    def __init__(self, add_storage):
        self.add_storage = add_storage
        self.dtypes = {}  # by storage: all tensors on it must have one

    def describe(self, obj):
        """("global", module, name), ("reduce", what __reduce__ returns) or ("persistent", the id's tuple)."""
        cls = type(obj)
        make = _BY_TYPE.get(cls)
        if make is not None:
            return make(obj)
        if cls is storage.TypedStorage or cls is storage.UntypedStorage:
            return self._storage(obj)
        if cls is StorageName:
            return "global", "torch.storage" if obj is _untyped else "torch", obj.name
        if issubclass(cls, type):
            return ("reduce", (type, (_CONSTANT_TYPES[obj],))) if obj in _CONSTANT_TYPES else _global(obj)
        reduce = copyreg.dispatch_table.get(cls)
        value = reduce(obj) if reduce is not None else obj.__reduce_ex__(2)
        if isinstance(value, str):
            return _global(obj, value)
        if cls is Tensor:
            rebuild, args, state = value
            value = (rebuild, args) if state is None else (_rebuild_from_type_v2, (rebuild, Tensor, args, state))
        if isinstance(value, tuple) and len(value) >= 2 and getattr(value[0], "__name__", None) == "__newobj_ex__":
            new, args, kwargs = value[1]
            value = (functools.partial(new.__new__, new, *args, **kwargs), (), *value[2:])
        return "reduce", value

    def _storage(self, obj):
        typed = type(obj) is storage.TypedStorage
        untyped = obj.untyped() if typed else obj
        dtype = obj.dtype if typed else _C.uint8
        if self.dtypes.setdefault(untyped._cdata, dtype) is not dtype and untyped.nbytes():
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        key, location, *rest = self.add_storage(untyped, dtype)
        name = _storage_names[dtype] if typed else _untyped
        return "persistent", ("storage", name, key, location, untyped.nbytes() // dtype.itemsize, *rest)


def _global(obj, name=None):
    """Found by its module and name, which must lead back to it."""
    name = name or getattr(obj, "__qualname__", None) or obj.__name__
    module = getattr(obj, "__module__", None) or _module_of(obj, name)
    here = "facula" + module[len("torch") :] if module == "torch" or module.startswith("torch.") else module
    try:
        found = parent = importlib.import_module(here)
        for part in name.split("."):
            parent, found = found, getattr(found, part)
    except (ImportError, AttributeError, KeyError) as error:
        if "<locals>" in name:
            raise AttributeError(f"Can't pickle local object '{name}'") from error
        raise PicklingError(f"Can't pickle {obj!r}: it's not found as {module}.{name}") from error
    if found is not obj:
        raise PicklingError(f"Can't pickle {obj!r}: it's not the same object as {module}.{name}")
    module = torch_name(module)
    if "." in name:  # of a class: protocol 2 has no such names
        return "reduce", (getattr, (parent, name.rpartition(".")[2]))
    if (module, name) in _compat_pickle.REVERSE_NAME_MAPPING:
        return "global", *_compat_pickle.REVERSE_NAME_MAPPING[module, name]
    return "global", _compat_pickle.REVERSE_IMPORT_MAPPING.get(module, module), name


def _module_of(obj, name):
    for module_name, module in list(sys.modules.items()):
        if module_name not in ("__main__", "__mp_main__") and module is not None and getattr(module, name, None) is obj:
            return module_name
    return "__main__"


def _bytes(obj):
    return "reduce", (_encode, (obj.decode("latin1"), "latin1")) if obj else (bytes, ())


def _device(obj):
    return "reduce", (_C.device, (obj.type,) if obj.index is None else (obj.type, obj.index))


_encode = __import__("_codecs").encode
_BY_TYPE = {
    bytes: _bytes,
    bytearray: lambda obj: ("reduce", (bytearray, (bytes(obj),) if obj else ())),
    set: lambda obj: ("reduce", (set, (list(obj),))),
    frozenset: lambda obj: ("reduce", (frozenset, (list(obj),))),
    _C.dtype: lambda obj: ("global", "torch", str(obj).removeprefix("torch.")),
    _C.device: _device,
    _C.Size: lambda obj: ("reduce", (_C.Size, (tuple(obj),))),
    _C.memory_format: lambda obj: ("global", "torch", str(obj).removeprefix("torch.")),
    _C.layout: lambda obj: ("reduce", (serialization._get_layout, (str(obj),))),
    types.FunctionType: _global,
    types.BuiltinFunctionType: lambda obj: _global(obj) if isinstance(obj.__self__, (types.ModuleType, type(None))) else ("reduce", obj.__reduce_ex__(2)),
}
