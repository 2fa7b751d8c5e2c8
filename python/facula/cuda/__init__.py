# SPDX-License-Identifier: Apache-2.0
"""torch.cuda: this build has no CUDA device, and behaves as PyTorch's CPU build does."""

from facula import _C, _absent, _missing
from facula._C import OutOfMemoryError  # noqa: F401

globals().update(_absent.names(__name__, "Torch not compiled with CUDA enabled"))

CUDAGraph = type("CUDAGraph", (Stream,), {"__module__": __name__, "__doc__": Stream.__doc__})  # noqa: F821
MemPool = type("MemPool", (Stream,), {"__module__": __name__, "__doc__": Stream.__doc__})  # noqa: F821


class graph:
    """Captures work of a device: there is none."""

    def __init__(self, cuda_graph, pool=None, stream=None, capture_error_mode="global"):
        _lazy_init()  # noqa: F821


def graph_pool_handle():
    """Memory that graphs share: needs a device."""
    raise RuntimeError("Tried to instantiate dummy base class _graph_pool_handle")


class DeferredCudaCallError(Exception):
    """What a call raises that waited until a device was first used."""


has_half, has_magma = True, False


def is_current_stream_capturing():
    """There is no stream, so none is captured."""
    return False


def _tensor_type(name):
    """torch.cuda.FloatTensor and the like: no tensor is one, and none can be made."""

    def __new__(cls, *args, **kwargs):
        raise TypeError(f"type torch.cuda.{name} not available. Torch not compiled with CUDA enabled.")

    return type(name, (), {"__new__": __new__, "__module__": __name__})


def _storage_type(name, dtype):
    """torch.cuda.FloatStorage and the like: no storage is one, and none can be made."""

    def __new__(cls, *args, **kwargs):
        _lazy_init()  # noqa: F821

    return type(name, (), {"__new__": __new__, "__module__": __name__, "dtype": dtype, "is_cuda": True})


for _name, _dtype in (
    ("BFloat16", _C.bfloat16), ("Bool", _C.bool), ("Byte", _C.uint8), ("Char", _C.int8), ("ComplexDouble", _C.complex128),
    ("ComplexFloat", _C.complex64), ("Double", _C.float64), ("Float", _C.float32), ("Half", _C.float16), ("Int", _C.int32),
    ("Long", _C.int64), ("Short", _C.int16),
):  # fmt: skip
    globals()[_name + "Storage"] = _storage_type(_name + "Storage", _dtype)
for _name in ("BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"):
    globals()[_name + "Tensor"] = _tensor_type(_name + "Tensor")
del _name, _dtype
__getattr__ = _missing.missing(__name__, ("amp", "graphs", "memory", "nvtx", "random", "streams"))
