# SPDX-License-Identifier: Apache-2.0
"""What a pickle may say: the names that it may use and what it may do with them.

Reading a pickle calls nothing but what stands here and what the program itself has allowed with
torch.serialization.add_safe_globals. A name is looked up in a table, never imported. Functions that could be made to
take much memory by a small file stand here with bounds on their arguments.
"""

import _compat_pickle
import codecs
from collections import Counter, OrderedDict, defaultdict
from pickle import UnpicklingError

import facula
from facula import _C, _tensor, _utils, serialization
from facula._numpy_data import NumpyData

_BLOCKED = ("sys", "os", "posix", "nt")  # not even when the program allows them

user_globals = []  # what add_safe_globals was given: objects, or (object, full name)


class StorageType:
    """torch.FloatStorage and its kin in a pickle: an element type."""

    def __init__(self, dtype):
        self.dtype = dtype


def _encode(text, encoding="utf-8"):
    if encoding not in ("latin1", "utf-8", "ascii") or not isinstance(text, str):
        raise UnpicklingError("_codecs.encode is read for texts in latin1, utf-8 and ascii only")
    return text.encode(encoding)


def _bytes(data=b""):
    if data != b"":
        raise UnpicklingError("bytes are not made from anything else")
    return data


def _bytearray(data=b"", encoding=None):
    if isinstance(data, str):
        return bytearray(_encode(data, encoding))
    if not isinstance(data, bytes):
        raise UnpicklingError("a bytearray is read from bytes only")
    return bytearray(data)


def _complex(real=0.0, imaginary=0.0):
    if not all(isinstance(part, (int, float)) for part in (real, imaginary)):
        raise UnpicklingError("a complex number is read from two numbers")
    return complex(real, imaginary)


def _members(kind):
    def make(items=()):
        return kind(_checked(items))

    return make


def _checked(items):
    """A list whose items may be hashed, by the rule for keys of dictionaries."""
    if not isinstance(items, (list, tuple)):
        raise UnpicklingError("the members of a set are read from a list")
    return _C._checked_keys(items)


def _ordered_dict(pairs=()):
    out = OrderedDict()
    for key, value in pairs:
        _checked((key,))
        out[key] = value
    return out


def _counter(counts=()):
    if not isinstance(counts, (dict, tuple)):
        raise UnpicklingError("a Counter is read from a dict")
    return Counter(counts)


def _defaultdict(factory=None, *pairs):
    if not any(factory is f for f in _FACTORIES):
        raise UnpicklingError(f"a defaultdict is read with the factories of plain data only, got {factory!r}")
    return defaultdict(factory, _ordered_dict(*pairs))


def _from_type(function, cls, args, state):
    if not any(function is f for f in _REBUILD.values()) or not (isinstance(cls, type) and issubclass(cls, facula.Tensor)):
        raise UnpicklingError("a tensor with attributes must be rebuilt by a function of torch._utils and be of a tensor class")
    return _tensor._rebuild_from_type_v2(function, cls, args, state)


def _from_parts(function):
    """A file may name anything as the parts of what it holds."""

    def make(*parts):
        try:
            return function(*parts)
        except (AttributeError, TypeError, KeyError, IndexError) as e:
            raise UnpicklingError(f"the parts that the file gives to {function.__name__} do not make one: {e}") from e

    return make


_REBUILD = {
    f"torch._utils.{name}": getattr(_utils, name)
    for name in (
        "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_meta_tensor_no_storage", "_rebuild_sparse_tensor",
        "_rebuild_device_tensor_from_cpu_tensor", "_rebuild_parameter", "_rebuild_parameter_with_state",
    )
}  # fmt: skip
_PLAIN = (list, dict, set, frozenset, tuple, int, float, str, bool, bytes, bytearray, complex)
_FACTORIES = (None, *_PLAIN, OrderedDict, Counter, defaultdict)

# What a name stands for.
_GLOBALS = {
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    "collections.defaultdict": defaultdict,
    "_codecs.encode": codecs.encode,
    "torch.Tensor": facula.Tensor,
    "torch.Size": _C.Size,
    "torch.device": _C.device,
    "torch.serialization._get_layout": serialization._get_layout,
    "torch._tensor._rebuild_from_type_v2": _tensor._rebuild_from_type_v2,
    "torch.storage.UntypedStorage": StorageType(_C.uint8),
    "torch.UntypedStorage": StorageType(_C.uint8),
    **{f"builtins.{kind.__name__}": kind for kind in _PLAIN},
    **{str(value): value for value in vars(_C).values() if isinstance(value, (_C.dtype, _C.memory_format))},
    **{f"torch.{name}Storage": StorageType(getattr(_C, dtype)) for dtype, name in _tensor._TYPE_NAMES.items()},
    **_REBUILD,
}
# What is called where a pickle calls it. The rest only stands for itself.
_CALLS = {
    id(what): call
    for what, call in (
        (OrderedDict, _ordered_dict),
        (Counter, _counter),
        (defaultdict, _defaultdict),
        (set, _members(set)),
        (frozenset, _members(frozenset)),
        (bytes, _bytes),
        (bytearray, _bytearray),
        (complex, _complex),
        (codecs.encode, _encode),
        (_tensor._rebuild_from_type_v2, _from_parts(_from_type)),
        *((f, _from_parts(f)) for f in (_C.Size, _C.device, serialization._get_layout, *_REBUILD.values())),
    )
}


def full_name(module, name):
    """As Python 3 says it."""
    if (module, name) in _compat_pickle.NAME_MAPPING:
        module, name = _compat_pickle.NAME_MAPPING[module, name]
    else:
        module = _compat_pickle.IMPORT_MAPPING.get(module, module)
    return module, f"{module}.{name}"


def torch_name(name):
    """What is facula's here is torch's in files."""
    return "torch" + name[len("facula") :] if name == "facula" or name.startswith("facula.") else name


def allowed_by_user():
    """Full name: object."""
    out = {}
    for entry in user_globals:
        if isinstance(entry, tuple):
            if len(entry) != 2:
                raise ValueError(f"Expected tuple of length 2 (global, str of callable full path), but got tuple of length: {len(entry)}")
            if type(entry[1]) is not str:
                raise TypeError(f"Expected second item in tuple to be str of callable full path, but got: {type(entry[1])}")
            out[entry[1]] = entry[0]
        else:
            out[torch_name(f"{entry.__module__}.{entry.__qualname__}")] = entry
    return out


def is_known(name):
    return name in _GLOBALS or name == "torch.nn.parameter.Parameter"


class Policy:
    """Decides for one pickle. load_storage(type, key, location, numel, view) gives the storages that it names; arrays: NumPy's
    plain data are data, too."""

    def __init__(self, load_storage, arrays=False):
        self.load_storage = load_storage
        self.arrays = NumpyData() if arrays else None
        self.user = allowed_by_user()
        self.user_objects = {id(o) for o in self.user.values()}

    def find_global(self, module, name):
        module, full = full_name(module, name)
        if module in _BLOCKED:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked.")
        for table in (_GLOBALS, self.user):
            if full in table:
                return table[full]
        if full == "torch.nn.parameter.Parameter":
            return facula.nn.parameter.Parameter
        if self.arrays and (found := self.arrays.find(full)) is not None:
            return found
        if module == "torch._utils" and name.startswith("_rebuild_") or module == "torch" and name not in vars(facula):
            raise UnpicklingError(f"Weights only load failed. GLOBAL {full} does not exist here: the file holds a kind of tensor or value that Facula lacks.")
        shown = full.removeprefix("builtins.")
        raise UnpicklingError(
            f"Weights only load failed. Unsupported global: GLOBAL {shown} was not an allowed global by default. "
            f"If you trust it, allow it with `torch.serialization.add_safe_globals([{shown}])` or, for some lines, with "
            f"`torch.serialization.safe_globals([{shown}])`. With weights_only=False the same holds, but for NumPy's arrays, scalars and dtypes: no file makes Facula import or call anything."
        )

    def reduce(self, function, args):
        if type(args) is not tuple:
            raise UnpicklingError(f"the arguments of a call must be a tuple, got {type(args)}")
        call = function if id(function) in self.user_objects else _CALLS.get(id(function))
        if call is None and self.arrays:
            call = self.arrays.calls.get(id(function))
        if call is None:
            raise UnpicklingError(f"Trying to call reduce for unrecognized function {function}")
        return call(*args)

    def new_object(self, cls, args, kwargs):
        if type(args) is not tuple or type(kwargs) is not dict:
            raise UnpicklingError(f"the arguments of a new object must be a tuple and a dict, got {type(args)}, {type(kwargs)}")
        if isinstance(cls, type) and (id(cls) in self.user_objects or cls is facula.nn.parameter.Parameter):
            return cls.__new__(cls, *args, **kwargs)
        if id(cls) in _CALLS and not kwargs:  # an OrderedDict, a Size
            return self.reduce(cls, args)
        raise UnpicklingError(f"Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got {cls}")

    def build(self, obj, state):
        cls = type(obj)
        if cls is OrderedDict:
            obj.__dict__.update(state)
        elif id(cls) not in self.user_objects:
            if self.arrays and self.arrays.build(obj, state):
                return
            raise UnpicklingError(f"Can only build OrderedDict or types allowlisted via `add_safe_globals`, but got {cls}")
        elif hasattr(obj, "__setstate__"):
            obj.__setstate__(state)
        else:
            _utils._set_obj_state(obj, state)

    def extend(self, obj, items):
        if id(type(obj)) not in self.user_objects:
            raise UnpicklingError(f"Can only extend lists, but got {type(obj)}")
        obj.extend(items)

    def set_items(self, obj, items):
        if type(obj) not in (Counter, defaultdict) and id(type(obj)) not in self.user_objects:
            raise UnpicklingError(f"Can only set items of dict, OrderedDict, Counter and defaultdict, but got {type(obj)}")
        for i in range(0, len(items), 2):
            obj[items[i]] = items[i + 1]

    def persistent_load(self, saved):
        if type(saved) is not tuple or len(saved) not in (5, 6) or _decoded(saved[0]) != "storage":
            raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {saved!r:.100}")
        kind, key, location, numel = saved[1:5]
        key, location = _decoded(key), _decoded(location)
        if not (isinstance(kind, StorageType) and isinstance(key, str) and isinstance(location, str) and type(numel) is int and numel >= 0):
            raise UnpicklingError("a storage is named by its type, key, location and number of elements")
        return self.load_storage(kind.dtype, key, location, numel, saved[5] if len(saved) == 6 else None)


def _decoded(text):
    """Python 2 wrote bytes."""
    return text.decode("ascii", "replace") if isinstance(text, bytes) else text
