# SPDX-License-Identifier: Apache-2.0
"""From samples to a batch: tensors are stacked, numbers become tensors, containers keep their shape."""

import copy
import re
import sys
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

import facula as torch
from facula import _C

np_str_obj_array_pattern = re.compile(r"[SaUO]")  # the types of arrays that hold texts and objects
default_collate_err_msg_format = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def _is_text_array(array):
    return np_str_obj_array_pattern.search(array.dtype.str) is not None


def _rebuilt(old, keys, values, plain):
    """A container like old with other values; plain(…) where its class cannot be made so."""
    try:
        if isinstance(old, (MutableMapping, MutableSequence)):  # may have attributes of its own
            new = copy.copy(old)
            for k, v in zip(keys, values, strict=True):
                new[k] = v
            return new
        return type(old)(plain(keys, values))
    except TypeError:
        return plain(keys, values)


def _as_dict(keys, values):
    return dict(zip(keys, values, strict=True))


def _as_list(keys, values):
    return list(values)


def default_convert(data):
    """NumPy arrays and numbers inside of data as tensors, the rest as it is."""
    kind = type(data)
    if isinstance(data, torch.Tensor):
        return data
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_", "bytes_"):
        return data if kind.__name__ == "ndarray" and _is_text_array(data) else torch.as_tensor(data)
    if isinstance(data, Mapping):
        return _rebuilt(data, list(data), [default_convert(data[k]) for k in data], _as_dict)
    if isinstance(data, tuple):
        parts = [default_convert(d) for d in data]
        return kind(*parts) if hasattr(data, "_fields") else parts
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _rebuilt(data, range(len(data)), [default_convert(d) for d in data], _as_list)
    return data


def collate(batch, *, collate_fn_map=None):
    """One batch from samples of one structure; collate_fn_map says for leaf types who makes theirs."""
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        function = collate_fn_map.get(kind)
        if function is None:
            function = next((f for t, f in collate_fn_map.items() if isinstance(first, t)), None)
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        parts = [collate([sample[k] for sample in batch], collate_fn_map=collate_fn_map) for k in first]
        return _rebuilt(first, list(first), parts, _as_dict)
    if isinstance(first, Sequence):
        named = isinstance(first, tuple) and hasattr(first, "_fields")
        if not named and any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=False)]
        if named:
            return kind(*parts)
        return parts if isinstance(first, tuple) else _rebuilt(first, range(len(parts)), parts, _as_list)
    raise TypeError(default_collate_err_msg_format.format(kind))


def collate_tensor_fn(batch, *, collate_fn_map=None):
    from facula.utils.data._utils.worker import get_worker_info

    first = batch[0]
    alike = all(type(t) is torch.Tensor and t.shape == first.shape and t.dtype == first.dtype and not t.requires_grad for t in batch)
    if get_worker_info() is None or not alike or first.device.type != "cpu":
        return torch.stack(batch, 0)
    numel = len(batch) * first.numel()  # straight into memory that the main process sees
    flat = _C._on_storage(_C._new_shared(numel * first.itemsize), first.dtype, [numel], [1], 0)
    whole = flat.view(len(batch), *first.shape)
    for place, t in zip(whole.unbind(0), batch, strict=True):
        if not _C._write_shared(place, t):
            place.copy_(t)
    return whole


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    if _is_text_array(batch[0]):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([torch.as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    return torch.as_tensor(batch)


def collate_float_fn(batch, *, collate_fn_map=None):
    return torch.tensor(batch, dtype=torch.float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    return torch.tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    return batch


default_collate_fn_map = {
    torch.Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def _with_numpy():
    """The map, with NumPy's types once the program has imported NumPy: before, no sample can be of them."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and getattr(numpy, "ndarray", None) is not None and numpy.ndarray not in default_collate_fn_map:
        texts_last = [default_collate_fn_map.pop(t) for t in (float, int, str, bytes)]
        default_collate_fn_map[numpy.ndarray] = collate_numpy_array_fn
        default_collate_fn_map[(numpy.bool_, numpy.number, numpy.object_)] = collate_numpy_scalar_fn
        default_collate_fn_map.update(zip((float, int, str, bytes), texts_last, strict=True))
    return default_collate_fn_map


def default_collate(batch):
    """Stacks samples into a batch: tensors, NumPy arrays and numbers along a new first dimension, inside of their containers."""
    return collate(batch, collate_fn_map=_with_numpy())
