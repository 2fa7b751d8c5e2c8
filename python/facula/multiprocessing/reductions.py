# SPDX-License-Identifier: Apache-2.0
"""How tensors and storages travel between processes: their memory moves into shared memory, and only what leads there is sent."""

import os
import weakref
from multiprocessing import reduction, resource_tracker

from facula import _C
from facula._tensor import Tensor
from facula.storage import TypedStorage, UntypedStorage

class _Sent:
    """A storage on its way. One object per storage, so that a pickler sees that two tensors share theirs."""

    _all = weakref.WeakValueDictionary()

    def __new__(cls, tensor):
        key = tensor._storage_id()
        self = cls._all.get(key)
        if self is None:
            self = cls._all[key] = super().__new__(cls)
            self.storage = UntypedStorage(tensor.detach())
        return self

    def __reduce__(self):
        return reduce_storage(self.storage)


def _tracker():
    resource_tracker.ensure_running()
    return resource_tracker.getfd()


def reduce_storage(storage):
    from facula.multiprocessing import get_sharing_strategy

    if storage.device.type != "cpu":
        raise RuntimeError(f"Cannot pickle {storage.device.type} storage; try pickling a {storage.device.type} tensor instead")
    nbytes = storage.nbytes()
    if nbytes == 0:
        return rebuild_storage_empty, ()
    if get_sharing_strategy() == "file_system" or _C._has_shared_name(storage._tensor):
        name = _C._share_by_name(storage._tensor, _tracker())
        resource_tracker.register(name, "shared_memory")
        return rebuild_storage_filename, (name, nbytes)
    return rebuild_storage_fd, (reduction.DupFd(_C._shared_descriptor(storage._tensor)), nbytes)


def rebuild_storage_empty():
    return UntypedStorage(_C._new_shared(0))


def rebuild_storage_fd(descriptor, nbytes):
    fd = descriptor.detach()
    try:
        return UntypedStorage(_C._map_descriptor(fd, nbytes, True))
    finally:
        os.close(fd)


def rebuild_storage_filename(name, nbytes):
    return UntypedStorage(_C._map_name(name, nbytes, _tracker()))


def reduce_tensor(tensor):
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing process "
            "boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing (e.g., putting it on the queue)."
        )
    if tensor.device.type != "cpu" or tensor.layout is not _C.strided:
        return _by_value(tensor)
    geometry = (list(tensor.shape), list(tensor.stride()), tensor.storage_offset())
    cls = None if type(tensor) is Tensor else type(tensor)
    return rebuild_tensor, (cls, _Sent(tensor), tensor.dtype, geometry, tensor.requires_grad), tensor.__dict__ or None


def _by_value(tensor):
    return Tensor.__reduce_ex__(tensor, 2)


def rebuild_tensor(cls, storage, dtype, geometry, requires_grad):
    new = _C._on_storage(storage._tensor, dtype, *geometry)
    if cls is not None:
        new = new.as_subclass(cls)
    return new.requires_grad_() if requires_grad else new


def reduce_typed_storage(storage):
    return rebuild_typed_storage, (storage.untyped(), storage.dtype)


def rebuild_typed_storage(storage, dtype):
    return TypedStorage(_C._on_storage(storage._tensor, dtype, [storage.nbytes() // dtype.itemsize], [1], 0))


def init_reductions():
    """Tells multiprocessing's pickler what to do with tensors and storages."""
    reduction.register(Tensor, reduce_tensor)
    reduction.register(UntypedStorage, reduce_storage)
    reduction.register(TypedStorage, reduce_typed_storage)
