# SPDX-License-Identifier: Apache-2.0
"""torch.jit.save and torch.jit.load: archives of TorchScript, PyTorch's both ways."""

import os

from facula import _C, device


def _name(f):
    return os.fspath(f) if isinstance(f, (str, os.PathLike)) else None


def _object(m):
    c = getattr(m, "_c", m)
    if not isinstance(c, (_C.ScriptModule, _C.ScriptFunction)):
        raise TypeError(f"a module or function of TorchScript is expected, not {type(m).__name__}: torch.jit.script or torch.jit.trace makes one")
    return c


def save(m, f, _extra_files=None):
    """Write a module or function, with its code, to a file or file object. A file appears whole or not at all."""
    path = _name(f)
    if path is None and not hasattr(f, "write"):
        raise TypeError(f"expected f to be a path or a file object that can be written, got {type(f).__name__}")
    extra = dict(_extra_files or {})
    if path is not None:
        _C._jit_save(_object(m), path, extra)
    else:
        f.write(_C._jit_save_to_buffer(_object(m), extra))


def save_to_buffer(m, _extra_files=None):
    """The bytes that `save` writes."""
    return _C._jit_save_to_buffer(_object(m), dict(_extra_files or {}))


def validate_map_location(map_location=None):
    """A device, or None."""
    if isinstance(map_location, str):
        return device(map_location)
    if map_location is None or isinstance(map_location, device):
        return map_location
    raise ValueError("map_location should be either None, string or torch.device, but got type: " + str(type(map_location)))


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """A module from a file or file object that `save` or PyTorch wrote. Its classes live as long as it does."""
    from facula.jit._module import RecursiveScriptModule

    path = _name(f)
    if path is not None:
        if not os.path.exists(path):
            raise ValueError(f"The provided filename {path} does not exist")
        if os.path.isdir(path):
            raise ValueError(f"The provided filename {path} is a directory")
    target = validate_map_location(map_location)
    data = None if path is not None else f.read()
    module, extra = _C._jit_load(path, data, target, list(_extra_files or ()))
    if _extra_files:
        for name in _extra_files:
            if name in extra:
                _extra_files[name] = extra[name]
    return RecursiveScriptModule(module)


def jit_module_from_flatbuffer(f):
    """Refused: such files are of PyTorch's mobile runtime."""
    raise NotImplementedError("flatbuffer files of PyTorch's mobile runtime are not read; save the module with torch.jit.save")


def save_jit_module_to_flatbuffer(m, f, _extra_files=None):
    """Refused, as above."""
    raise NotImplementedError("flatbuffer files of PyTorch's mobile runtime are not written; use torch.jit.save")
