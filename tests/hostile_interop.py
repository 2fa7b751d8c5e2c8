# SPDX-License-Identifier: Apache-2.0
"""DLPack capsules, buffers and NumPy arrays that lie, and lifetimes."""
import ctypes
import gc

import numpy as np
from hostile import bad, equal, fine, leaf


class DLDevice(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", DLDevice), ("ndim", ctypes.c_int32), ("dtype", DLDataType),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


KEEP = []


def capsule(shape=(2, 3), strides=None, code=2, bits=32, lanes=1, device=1, device_id=0, data=True, ndim=None, null=False, name=b"dltensor", offset=0, null_shape=False, deleter=True):
    """A hand-made DLPack capsule, well formed unless told otherwise."""
    memory = (ctypes.c_float * 64)(*range(64))
    m = DLManagedTensor()
    m.tensor.data = ctypes.addressof(memory) if data else None
    m.tensor.device = DLDevice(device, device_id)
    m.tensor.ndim = len(shape) if ndim is None else ndim
    m.tensor.dtype = DLDataType(code, bits, lanes)
    sizes = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    m.tensor.shape = None if null_shape else ctypes.cast(sizes, ctypes.POINTER(ctypes.c_int64))
    steps = (ctypes.c_int64 * max(len(strides or ()), 1))(*(strides or ()))
    m.tensor.strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64)) if strides is not None else None
    m.tensor.byte_offset = offset
    calls = []
    m.deleter = DELETER(lambda pointer: calls.append(pointer)) if deleter else DELETER()
    KEEP.append((memory, m, sizes, steps, calls, m.deleter, name))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(1 if null else ctypes.addressof(m), name, None)


def consume(t, **kwargs):
    return t.utils.dlpack.from_dlpack(capsule(**kwargs))


def good_capsule(t):
    x = consume(t)
    equal(x, t.arange(6.0).view(2, 3))
    del x
    gc.collect()
    assert len(KEEP[-1][4]) == 1, "the deleter runs once"


def double_consume(t):
    c = capsule()
    t.utils.dlpack.from_dlpack(c)
    t.utils.dlpack.from_dlpack(c)


fine("DLPack capsule", good_capsule)
fine("DLPack strides", lambda t: equal(consume(t, strides=(1, 2)), t.tensor([[0.0, 2, 4], [1, 3, 5]])))
fine("DLPack byte offset", lambda t: equal(consume(t, shape=(2,), offset=8), t.tensor([2.0, 3.0])), quirk="expects none, though the format has it")
fine("DLPack without deleter", lambda t: equal(consume(t, shape=(2,), deleter=False), t.tensor([0.0, 1.0])))
fine("DLPack 0-d", lambda t: consume(t, shape=()).item() == 0 or 1 / 0)
fine("DLPack no elements, null data", lambda t: consume(t, shape=(0, 3), data=False).tolist())
bad("DLPack consumed twice", "RuntimeError|ValueError", ("capsule",), double_consume)
bad("DLPack null data", "RuntimeError|ValueError|BufferError", (), lambda t: consume(t, data=False), quirk="accepts it and crashes later")
bad("DLPack null shape", "RuntimeError|ValueError|BufferError", (), lambda t: consume(t, null_shape=True), quirk="crashes")
bad("DLPack negative strides", "RuntimeError|ValueError|BufferError", ("-1",), lambda t: consume(t, shape=(2,), strides=(-1,)))
bad("DLPack negative shape", "RuntimeError|ValueError|BufferError", ("-2",), lambda t: consume(t, shape=(-2,)))
bad("DLPack negative rank", "RuntimeError|ValueError|BufferError", (), lambda t: consume(t, ndim=-1), quirk="takes it for an allocation of 2^64 bytes")
bad("DLPack huge shape", "RuntimeError|ValueError|BufferError", (), lambda t: consume(t, shape=(2**40, 2**40)))
bad("DLPack unknown dtype", "RuntimeError|ValueError|BufferError", ("99",), lambda t: consume(t, code=99))
bad("DLPack unknown width", "RuntimeError|ValueError|BufferError", ("24",), lambda t: consume(t, bits=24))
bad("DLPack lanes", "RuntimeError|ValueError|BufferError", ("lanes",), lambda t: consume(t, lanes=4))
bad("DLPack unknown device", "RuntimeError|ValueError|BufferError", ("77",), lambda t: consume(t, device=77))
bad("DLPack wrong capsule name", "RuntimeError|ValueError|TypeError", (), lambda t: consume(t, name=b"other"))
bad("DLPack of a string", "AttributeError|TypeError|RuntimeError", (), lambda t: t.from_dlpack("text"))
bad("DLPack export with gradient", "BufferError|RuntimeError", ("grad",), lambda t: leaf(t).__dlpack__())
bad("DLPack export of a version that is none", "TypeError", ("max_version",), lambda t: t.ones(2).__dlpack__(max_version={}))


class WrongPack:
    def __dlpack__(self, **kwargs):
        return 3

    def __dlpack_device__(self):
        return (1, 0)


class RaisingPack(WrongPack):
    def __dlpack__(self, **kwargs):
        raise KeyError("no")


bad("DLPack object without a capsule", "TypeError|RuntimeError|ValueError", (), lambda t: t.from_dlpack(WrongPack()))
bad("DLPack object that raises", "KeyError", (), lambda t: t.from_dlpack(RaisingPack()))


def pack_lifetime(t):
    """The importing side keeps the memory alive; the exporting side may go."""
    a = np.arange(1000.0)
    x = t.from_dlpack(a)
    del a
    gc.collect()
    [np.zeros(1000) for _ in range(50)]
    assert x[999].item() == 999
    y = np.from_dlpack(t.arange(1000.0))
    gc.collect()
    [t.zeros(1000) for _ in range(50)]
    assert y[999] == 999
    c = t.arange(5.0).__dlpack__()
    del c
    gc.collect()


def numpy_lifetime(t):
    a = np.arange(1000.0)
    x = t.from_numpy(a)
    b = t.arange(1000.0).numpy()
    del a
    gc.collect()
    [(np.zeros(1000), t.zeros(1000)) for _ in range(50)]
    assert x[999].item() == 999 and b[999] == 999
    a = np.arange(3.0)
    y = t.from_numpy(a)
    y[0] = 7
    a[1] = 8
    assert a[0] == 7 and y[1].item() == 8


def resized_source(t):
    """NumPy refuses to resize an array that a tensor looks at."""
    a = np.arange(10.0)
    x = t.from_numpy(a)
    try:
        a.resize(100000)
    except ValueError:
        pass
    assert x[9].item() == 9


def read_only(t):
    a = np.arange(3.0)
    a.flags.writeable = False
    assert t.tensor(a).tolist() == [0, 1, 2] and t.from_numpy(a).tolist() == [0, 1, 2]


def buffers(t):
    b = bytearray(np.arange(4, dtype=np.int32).tobytes())
    x = t.frombuffer(b, dtype=t.int32)
    assert x.tolist() == [0, 1, 2, 3]
    x[0] = 9
    assert b[0] == 9
    assert t.frombuffer(b, dtype=t.int32, offset=4, count=2).tolist() == [1, 2]
    try:
        b.extend(b"0123")
    except BufferError:
        pass
    assert x[3].item() == 3


fine("DLPack lifetimes", pack_lifetime)
fine("NumPy lifetimes", numpy_lifetime)
fine("NumPy source resized", resized_source)
fine("NumPy read-only", read_only)
fine("buffers", buffers)
bad("from_numpy big endian", "TypeError|ValueError", (), lambda t: t.from_numpy(np.arange(3.0).astype(">f8")))
bad("tensor of big endian", "TypeError|ValueError", (), lambda t: t.tensor(np.arange(3.0).astype(">f8")))
bad("from_numpy negative strides", "ValueError", ("negative",), lambda t: t.from_numpy(np.arange(3.0)[::-1]))
bad("from_numpy odd strides", "ValueError", ("stride",), lambda t: t.from_numpy(np.zeros(3, dtype=[("a", "f8"), ("b", "i1")])["a"]))
bad("from_numpy of a list", "TypeError", ("list",), lambda t: t.from_numpy([1, 2]))
bad("frombuffer outside", "ValueError", (), lambda t: t.frombuffer(bytearray(8), dtype=t.int32, count=5))
bad("frombuffer offset outside", "ValueError", ("offset",), lambda t: t.frombuffer(bytearray(8), dtype=t.int32, offset=9))
bad("frombuffer negative offset", "ValueError", ("offset",), lambda t: t.frombuffer(bytearray(8), dtype=t.int32, offset=-1))
bad("frombuffer of a part element", "ValueError", (), lambda t: t.frombuffer(bytearray(7), dtype=t.int32))
bad("frombuffer of nothing", "ValueError", (), lambda t: t.frombuffer(bytearray(0), dtype=t.int32))
bad("frombuffer without dtype", "TypeError", ("dtype",), lambda t: t.frombuffer(bytearray(8)))
bad("frombuffer of a number", "TypeError|ValueError", (), lambda t: t.frombuffer(3, dtype=t.int32))
bad("numpy of bfloat16", "TypeError", ("bfloat16",), lambda t: t.zeros(2, dtype=t.bfloat16).numpy())
fine("np.asarray and ufuncs", lambda t: np.add(t.ones(3).numpy(), np.asarray(t.ones(3))).tolist() == [2, 2, 2] or 1 / 0)
