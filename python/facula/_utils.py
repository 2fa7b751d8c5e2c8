# SPDX-License-Identifier: Apache-2.0
"""How tensors are rebuilt from their parts: the functions that pickles of tensors name; exceptions that travel."""

import sys

from facula import _C


def _rebuild_tensor(storage, storage_offset, size, stride):
    return _C._on_storage(_memory(storage), storage.dtype, list(size), list(stride), storage_offset)


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    return _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, storage.dtype, metadata)


def _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None):
    tensor = _C._on_storage(_memory(storage), dtype, list(size), list(stride), storage_offset)
    for bit, flip in (("conj", "conj_physical"), ("neg", "neg")):  # views that are not yet computed there
        if metadata and metadata.get(bit):
            tensor = getattr(tensor, flip)()
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    return _C._functions["empty_strided"](list(size), list(stride), dtype=dtype, device="meta").requires_grad_(requires_grad)


def _rebuild_sparse_tensor(layout, data):
    from facula.sparse import _rebuilt

    return _rebuilt(layout, data)


def _rebuild_device_tensor_from_cpu_tensor(data, dtype, device, requires_grad):
    return data.to(dtype=dtype, device=device).requires_grad_(requires_grad)


def _rebuild_parameter(data, requires_grad, backward_hooks):
    from facula.nn.parameter import Parameter

    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    return _set_obj_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


def _flatten_dense_tensors(tensors):
    """All elements in one row."""
    import facula

    return facula.cat([t.reshape(-1) for t in tensors])


def _unflatten_dense_tensors(flat, tensors):
    """A row cut into views of the tensors' sizes."""
    sizes = [t.numel() for t in tensors]
    return tuple(part.view(t.shape) for part, t in zip(flat.split(sizes), tensors, strict=True))


def _get_obj_state(obj):
    """The attributes that an instance has beside its data; None without any."""
    import copyreg

    slots = {name: getattr(obj, name) for name in copyreg._slotnames(type(obj)) if hasattr(obj, name)}
    return (obj.__dict__, slots) if slots else obj.__dict__ or None


def _set_obj_state(obj, state):
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    if isinstance(state, tuple) and len(state) != 2 or not all(isinstance(part, (dict, type(None))) for part in (attributes, slots)):
        raise RuntimeError(f"the state of a {type(obj).__name__} must be a dict or a pair of dicts, got {state!r}")
    if attributes:
        obj.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        setattr(obj, name, value)
    return obj


def _memory(storage):
    """A tensor on the whole of a storage."""
    return getattr(storage, "_untyped", storage)._tensor


def _element_size(dtype):
    """Bytes of an element."""
    if not isinstance(dtype, _C.dtype):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize


def _get_available_device_type():
    """The accelerator's type, or None."""
    from facula import accelerator

    kind = accelerator.current_accelerator()
    return kind and kind.type


def _get_device_index(device, optional=False, allow_cpu=False):
    """The index of a device of the accelerator's type; -1 is the CPU. optional: None is the current device."""
    if isinstance(device, str):
        device = _C.device(device)
    if isinstance(device, _C.device):
        if device.type == "cpu":
            if not allow_cpu:
                raise ValueError(f"Expected a non cpu device, but got: {device}")
            return -1
        device = device.index
    if device is None:
        if not optional:
            raise ValueError("Expected a torch.device with a specified index or an integer, but got: None")
        from facula import accelerator

        return accelerator.current_device_index() if accelerator.is_available() else -1
    if not isinstance(device, int):
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got: {device}")
    return device


class KeyErrorMessage(str):
    """KeyError shows its argument by repr, which would make one line of a traceback."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


class ExceptionWrapper:
    """The exception being handled, as text, to be raised again elsewhere."""

    def __init__(self, exc_info=None, where="in background"):
        import traceback

        exc_info = exc_info or sys.exc_info()
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self):
        """Raises an exception of the same type that says where it happened."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            text = KeyErrorMessage(text)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=text)
        try:
            error = self.exc_type(text)
        except Exception:  # its arguments are others than a text
            raise RuntimeError(text) from None
        raise error
