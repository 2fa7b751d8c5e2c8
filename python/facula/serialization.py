# SPDX-License-Identifier: Apache-2.0
"""torch.save and torch.load: PyTorch's files, read without executing anything, written so that a crash loses nothing."""

import contextlib
import enum
import io
import os
import sys
import typing
from _thread import _local

from facula import _C, cuda
from facula.storage import TypedStorage, UntypedStorage
from facula.types import Storage

DEFAULT_PROTOCOL = 2
MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
MAP_LOCATION = typing.Union[typing.Callable[[Storage, str], Storage], _C.device, str, dict[str, str], None]

__all__ = [
    "save", "load", "add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals", "get_unsafe_globals_in_checkpoint",
    "skip_data", "register_package", "location_tag", "default_restore_location", "normalize_storage_type", "LoadEndianness", "get_default_load_endianness",
    "set_default_load_endianness", "get_default_mmap_options", "set_default_mmap_options", "get_crc32_options", "set_crc32_options",
]  # fmt: skip


class LoadEndianness(enum.Enum):
    """The byte order of files that do not state theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_MAP_SHARED, _MAP_PRIVATE = 1, 2  # as in the module mmap
_load_endianness = None
_mmap_options = _MAP_PRIVATE
_compute_crc32 = True


class _Local(_local):  # of a thread
    skip_data = False


_thread_state = _Local()


def get_default_load_endianness():
    """The byte order that is assumed where a file states none; None means little."""
    return _load_endianness


def set_default_load_endianness(endianness):
    """Assume this byte order where a file states none."""
    global _load_endianness
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _load_endianness = endianness


def get_crc32_options():
    """Whether saving computes checksums."""
    return _compute_crc32


def set_crc32_options(compute_crc32):
    """Accepted; checksums cost little here and are always computed."""
    global _compute_crc32
    _compute_crc32 = bool(compute_crc32)


def get_default_mmap_options():
    """mmap.MAP_PRIVATE or mmap.MAP_SHARED: how load(mmap=True) maps."""
    return _mmap_options


class set_default_mmap_options:
    """Map privately or shared from now on, or inside of `with`."""

    def __init__(self, flags):
        global _mmap_options
        if flags not in (_MAP_PRIVATE, _MAP_SHARED):
            raise ValueError(f"Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}")
        self._before, _mmap_options = _mmap_options, flags

    def __enter__(self):
        pass

    def __exit__(self, *error):
        global _mmap_options
        _mmap_options = self._before


class skip_data:
    """Inside of `with`, save leaves room for the elements without writing them, and load gives memory without reading them."""

    def __init__(self, materialize_fake_tensors=False):
        if materialize_fake_tensors:
            raise NotImplementedError("skip_data: fake tensors do not exist here")

    def __enter__(self):
        self._before, _thread_state.skip_data = _thread_state.skip_data, True

    def __exit__(self, *error):
        _thread_state.skip_data = self._before


# ---- names that the program allows


def add_safe_globals(safe_globals):
    """Let load call these functions and make objects of these classes; (object, "full.name") gives another name."""
    from facula import _unpickler

    entries = list(safe_globals)
    _unpickler.user_globals.extend(entry for entry in entries if entry not in _unpickler.user_globals)


def get_safe_globals():
    """What add_safe_globals was given."""
    from facula import _unpickler

    return list(_unpickler.user_globals)


def clear_safe_globals():
    """Allow nothing beyond the default any more."""
    from facula import _unpickler

    _unpickler.user_globals.clear()


class safe_globals:
    """add_safe_globals inside of `with`."""

    def __init__(self, safe_globals):
        self.safe_globals = list(safe_globals)

    def __enter__(self):
        add_safe_globals(self.safe_globals)

    def __exit__(self, *error):
        from facula import _unpickler

        _unpickler.user_globals[:] = [entry for entry in _unpickler.user_globals if entry not in self.safe_globals]


def get_unsafe_globals_in_checkpoint(f):
    """The names in a file that load would refuse."""
    from facula import _unpickler

    with _opened(f) as file:
        if not _is_zip(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        archive = _archive(file)
        if "constants.pkl" in archive:
            raise ValueError("Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint")
        names = {_unpickler.full_name(*name)[1] for name in _C._pickled_names(archive.read("data.pkl"))}
    return [name for name in names if not _unpickler.is_known(name) and name not in _unpickler.allowed_by_user()]


# ---- where storages go

_packages = []  # (priority, tagger, deserializer), lowest first


def register_package(priority, tagger, deserializer):
    """tagger(storage) gives the location that save writes, deserializer(storage, location) what load makes of it; None: not mine."""
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda entry: entry[0])


def location_tag(storage):
    """Where a storage is, as save writes it: cpu, cuda:0 …"""
    for _, tagger, _ in _packages:
        if location := tagger(storage):
            return location
    return "cpu" if storage.device.type == "cpu" else str(storage.device)


def default_restore_location(storage, location):
    """The storage at that location."""
    for _, _, deserializer in _packages:
        if (result := deserializer(storage, location)) is not None:
            return result
    if location == "cpu":
        return storage
    if location.startswith("cuda") and not cuda.is_available():
        raise RuntimeError(
            f"Attempting to deserialize object on a CUDA device ('{location}') but torch.cuda.is_available() is False. "
            "With map_location=torch.device('cpu') it is loaded into the memory of the CPU."
        )
    try:
        device = _C.device(location)
    except RuntimeError as error:
        raise RuntimeError(f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location})") from error
    return UntypedStorage(storage._tensor.to(device))


def normalize_storage_type(storage_type):
    """The class of that name in torch."""
    import facula

    return getattr(facula, storage_type.__name__)


def _restorer(map_location):
    """location -> function of a storage."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, str(map_location.get(location, location)))
    if isinstance(map_location, (str, bytes, _C.device, int)):
        where = map_location.decode() if isinstance(map_location, bytes) else str(_C.device(map_location))
        return lambda storage, location: default_restore_location(storage, where)
    if not callable(map_location):
        raise TypeError(f"map_location must be a device, a string, a dict or a function, got {type(map_location).__name__}")

    def restore(storage, location):
        result = map_location(storage, location)
        return default_restore_location(storage, location) if result is None else result

    return restore


def _get_layout(name):
    """torch.strided, torch.sparse_coo … from its name."""
    found = getattr(_C, name.removeprefix("torch."), None) if isinstance(name, str) else None
    if not isinstance(found, _C.layout):
        raise RuntimeError(f"layout {name} does not exist here")
    return found


# ---- saving


def save(obj, f, pickle_module=None, pickle_protocol=DEFAULT_PROTOCOL, _use_new_zipfile_serialization=True, _disable_byteorder_record=False):
    """Write an object to a file or file object, in PyTorch's format. A file appears whole or, if anything goes wrong, not at all."""
    from facula._pickler import Policy

    if not isinstance(f, (str, os.PathLike)) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if pickle_module is not None and pickle_module.__name__ not in ("pickle", "_pickle"):
        raise NotImplementedError(f"save: pickle_module={pickle_module.__name__} is not supported; the pickles of torch.save are written here by Facula itself")
    if not _use_new_zipfile_serialization and _thread_state.skip_data:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    storages = {}  # by key

    def add(storage, dtype):
        key, location, _, _ = known.get(storage._cdata) or (str(len(known)), location_tag(storage), None, None)
        known[storage._cdata] = storages[key] = (key, location, storage, dtype)
        return (key, location) if _use_new_zipfile_serialization else (key, location, None)

    known = {}
    pickled = _C._pickle(obj, Policy(add))  # first: what cannot be pickled touches no file
    with _writer(f) as out:
        if not _use_new_zipfile_serialization:
            _save_legacy(out, pickled, storages)
            return
        archive = _C._ArchiveWriter(out, _archive_name(f))
        archive.add("data.pkl", pickled)
        archive.add(".format_version", b"1")
        archive.add(".storage_alignment", b"64")
        if not _disable_byteorder_record:
            archive.add("byteorder", sys.byteorder.encode())
        for key, (_, _, storage, _) in storages.items():
            if _thread_state.skip_data:
                archive.add_hole(f"data/{key}", storage.nbytes())
            else:
                archive.add_tensor(f"data/{key}", _C._storage_tensor(storage._tensor.detach()).cpu())
        archive.add("version", b"3\n")
        archive.add(".data/serialization_id", archive.id().encode())
        archive.finish()


def _save_legacy(out, pickled, storages):
    from facula._pickler import Policy

    policy = Policy(None)
    sizes = {"short": 2, "int": 4, "long": 4}
    info = {"protocol_version": PROTOCOL_VERSION, "little_endian": sys.byteorder == "little", "type_sizes": sizes}
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, info):
        out.write(_C._pickle(part, policy))
    out.write(pickled)
    out.write(_C._pickle(sorted(storages), policy))
    for key in sorted(storages):
        _, _, storage, dtype = storages[key]
        out.write((storage.nbytes() // dtype.itemsize).to_bytes(8, "little"))
        out.write_tensor(_C._storage_tensor(storage._tensor.detach()).cpu())


@contextlib.contextmanager
def _writer(f):
    is_path = isinstance(f, (str, os.PathLike))
    if is_path:
        folder = os.path.dirname(os.fspath(f))
        if folder and not os.path.isdir(folder):
            raise RuntimeError(f"Parent directory {folder} does not exist.")
    out = _C._Writer(os.fsencode(f) if is_path else f)
    try:
        yield out
        out.close()
    finally:
        out.abandon()
    if not is_path and hasattr(f, "flush"):
        f.flush()


def _archive_name(f):
    """The folder inside of the archive: the file's name without its extension."""
    if not isinstance(f, (str, os.PathLike)):
        return "archive"
    name = os.path.basename(os.fsdecode(f))
    name = name.rpartition(".")[0] or name
    return name if name.isascii() else "archive"


# ---- loading


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Read an object that save wrote, here or in PyTorch. Whatever weights_only says, nothing that the file names is imported or
    executed: only plain data, tensors and what add_safe_globals allows. weights_only=False: NumPy's arrays, scalars and dtypes of numbers
    and texts are plain data, too."""
    if pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    is_path = isinstance(f, (str, os.PathLike))
    if is_path and os.fsdecode(f).endswith(".safetensors"):
        from facula import safetensors

        if map_location is not None and not isinstance(map_location, (str, _C.device)):
            raise RuntimeError("Loading safetensors file with dict or callable map_location is not supported. Use a device string or torch.device instead.")
        return safetensors.load_file(f, device=map_location or "cpu")
    if mmap and not is_path:
        raise ValueError("f must be a file path in order to use the mmap argument")
    encoding = pickle_load_args.pop("encoding", "utf-8")
    if pickle_load_args:
        raise TypeError(f"load() got an unexpected keyword argument '{next(iter(pickle_load_args))}'")
    restore, arrays = _restorer(map_location), weights_only is False
    shared = bool(mmap) and _mmap_options == _MAP_SHARED
    with _opened(f, "r+b" if shared else "rb") as file:
        if _is_zip(file):
            return _load_zip(_archive(file), restore, _is_meta(map_location), bool(mmap), shared, encoding, arrays)
        if mmap:
            raise RuntimeError(
                "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True)`, "
                "please torch.save your checkpoint with this option in order to use mmap."
            )
        return _load_legacy(file, restore, encoding, arrays)


def _load_zip(archive, restore, to_meta, mapped, shared, encoding, arrays):
    from facula._unpickler import Policy

    if "constants.pkl" in archive:
        raise RuntimeError("this is a TorchScript archive, not a file of torch.save; torch.jit.load does not exist here yet")
    swapped = _is_swapped(archive)
    loaded = {}

    def load_storage(dtype, key, location, numel, view):
        nbytes = numel * dtype.itemsize
        storage = loaded.get(key)
        if storage is None or storage.nbytes() != nbytes:
            name = f"data/{key}"
            size = archive.size_of(name)
            if size != nbytes:
                raise RuntimeError(f"record '{name}' has {size} bytes, but {numel} elements of {dtype} take {nbytes}: the file is damaged")
            if to_meta:
                storage = UntypedStorage(_C._functions["empty"](nbytes, dtype=_C.uint8, device="meta"))
                storage._checkpoint_offset = archive.offset_of(name)
            else:
                if _thread_state.skip_data:
                    memory = _C._functions["empty"](nbytes, dtype=_C.uint8)
                else:
                    memory = archive.mapped(name, shared) if mapped and not swapped else archive.tensor(name)
                    if swapped:
                        _swap(memory, dtype)
                storage = restore(UntypedStorage(memory), location)
            storage = loaded[key] = getattr(storage, "_untyped", storage)
        return _typed(storage, dtype)

    return _C._unpickle(archive.read("data.pkl"), 0, Policy(load_storage, arrays), encoding)[0]


def _is_swapped(archive):
    if "byteorder" in archive:
        order = archive.read("byteorder").decode("ascii", "replace")
        if order not in ("little", "big"):
            raise ValueError(f"Unknown endianness type: {order}")
    else:
        order = {None: "little", LoadEndianness.LITTLE: "little", LoadEndianness.BIG: "big", LoadEndianness.NATIVE: sys.byteorder}[_load_endianness]
    return order != sys.byteorder


def _load_legacy(file, restore, encoding, arrays):
    from facula._unpickler import Policy
    from facula.sparse import _checked_later

    begin = file.tell()
    data = file.read()
    if not data:
        raise EOFError("Ran out of input")
    if data[257:262] == b"ustar":
        raise RuntimeError("files in the tar format of PyTorch before 0.1.10 are not read")
    loaded, views = {}, {}
    room = len(data)  # for all storages together

    def load_storage(dtype, key, location, numel, view):
        nonlocal room
        if key not in loaded:
            room -= numel * dtype.itemsize
            if room < 0:
                raise RuntimeError("the storages that the file names are larger than the file")
            storage = restore(UntypedStorage(_C._functions["empty"](numel * dtype.itemsize, dtype=_C.uint8)), location)
            loaded[key] = (getattr(storage, "_untyped", storage), dtype)  # the bytes come last in the file
        storage = loaded[key][0]
        if view is None:
            return _typed(storage, dtype)
        view_key, offset, size = view if type(view) is tuple and len(view) == 3 else (None, None, None)
        if not isinstance(view_key, (str, bytes)) or type(offset) is not int or type(size) is not int or offset < 0 or size < 0:
            raise RuntimeError("the view of a storage is named by a key, an offset and a number of elements")
        if view_key not in views:
            views[view_key] = _C._storage_part(storage._tensor, offset * dtype.itemsize, size * dtype.itemsize)
        return _typed(UntypedStorage(views[view_key]), dtype)

    policy = Policy(load_storage, arrays)
    magic, at = _C._unpickle(data, 0, policy, encoding)
    if magic != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    protocol, at = _C._unpickle(data, at, policy, encoding)
    if protocol != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {protocol}")
    info, at = _C._unpickle(data, at, policy, encoding)
    swapped = isinstance(info, dict) and info.get("little_endian", True) != (sys.byteorder == "little")
    with _checked_later() as sparse_tensors:
        result, at = _C._unpickle(data, at, policy, encoding)
    keys, at = _C._unpickle(data, at, policy, encoding)
    if not isinstance(keys, list):
        raise RuntimeError("the storages of the file must be named by a list of keys")
    missing = dict(loaded)
    for key in keys:
        storage, dtype = missing.pop(key.decode("ascii", "replace") if isinstance(key, bytes) else str(key), (None, None))
        if storage is None:
            raise RuntimeError(f"the file holds a storage {key!r:.50} twice, or one that nothing in it uses")
        count, at = int.from_bytes(data[at : at + 8], "big" if swapped else "little"), at + 8
        end = at + count * dtype.itemsize
        if count * dtype.itemsize != storage.nbytes() or end > len(data):
            raise RuntimeError(f"storage {key} is damaged: it has another size than the file says, or the file ends early")
        if end > at and not _thread_state.skip_data and storage.device.type != "meta":
            memory = _C._from_buffer(memoryview(data)[at:end])
            if swapped:
                memory = memory.clone()
                _swap(memory, dtype)
            _C._storage_tensor(storage._tensor).copy_(memory)
        at = end
    if missing:
        raise RuntimeError("the file lacks a storage that it names")
    if not _thread_state.skip_data:
        for t in sparse_tensors:
            _C._hidden["_sparse_check_invariants"](t)
    file.seek(begin + at)
    return result


def _swap(memory, dtype):
    _C._swap_bytes(memory, dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize)


def _typed(storage, dtype):
    memory = storage._tensor
    return TypedStorage(_C._on_storage(memory, dtype, [storage.nbytes() // dtype.itemsize], [1], 0))


def _is_meta(map_location):
    return isinstance(map_location, (str, _C.device)) and _C.device(map_location).type == "meta"


# ---- files


@contextlib.contextmanager
def _opened(f, mode="rb"):
    if isinstance(f, (str, os.PathLike)):
        with open(f, mode) as file:
            yield file
        return
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        raise type(error)(f"{error}. You can only torch.load from a file that is seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from it instead.") from None
    yield f


def _is_zip(file):
    begin = file.tell()
    head = file.read(4)
    file.seek(begin)
    return head == b"PK\x03\x04"


def _archive(file):
    """The archive that begins where the file object stands."""
    begin = file.tell()
    plain = getattr(file, "file", file)  # of a named temporary file
    if isinstance(plain, (io.FileIO, io.BufferedReader, io.BufferedRandom)) and isinstance(getattr(plain, "raw", plain), io.FileIO):
        if plain.writable():
            plain.flush()
        return _C._Archive(plain.fileno(), begin)
    size = file.seek(0, 2)
    if not isinstance(size, int):
        size = file.tell()
    return _C._Archive(file, begin, max(0, size - begin))
