# SPDX-License-Identifier: Apache-2.0
"""Memory that others look at, own or protect; results that lie where inputs do; tensors of several devices."""
import ctypes
import gc
import mmap
import os
import tempfile

import numpy as np
from hostile import MIN64, bad, equal, fine
from hostile_interop import DLTensor, capsule

# ---- memory that NumPy or DLPack looks at stays where it is ------------------------------------------------


def refuses(error, words, call):
    try:
        call()
    except error as e:
        assert words in str(e), e
    else:
        raise AssertionError(f"no {error.__name__} was raised")


def lent(export):
    """Growing is refused; what exchanges the tensor's storage leaves the old one to the array."""
    def run(t):
        x = t.arange(3.0)
        a = export(x)
        refuses(RuntimeError, "not resizable", lambda: x.resize_(10**6))
        refuses(RuntimeError, "not resizable", lambda: t.ones(10**5, out=x[:0]))
        x.resize_(2)
        x.resize_(3)
        assert a.tolist() == [0, 1, 2]
        x.set_()
        [t.full((3,), 7.0) for _ in range(100)]
        gc.collect()
        assert a.tolist() == [0, 1, 2]
        y = t.arange(3.0)
        b = export(y)
        y.data = t.zeros(5)
        del y
        [t.full((3,), 7.0) for _ in range(100)]
        b[:] = 5
        assert b.tolist() == [5, 5, 5]
    return run


fine("resize after numpy", lent(lambda x: x.numpy()))
fine("resize after np.asarray", lent(np.asarray))
fine("resize after DLPack", lent(np.from_dlpack), quirk="frees the memory")


def no_way_in(t):
    """The object that keeps an array's memory has nothing that could be taken away."""
    a = t.arange(3.0).numpy()
    for name in dir(a.base):
        if not name.startswith("__"):
            delattr(a.base, name)
    a.base.__array_interface__.clear()
    [t.full((3,), 7.0) for _ in range(100)]
    assert a.tolist() == [0, 1, 2]


fine("what keeps an array's memory", no_way_in, quirk="it is the tensor")
bad("resize of NumPy's memory", "RuntimeError", ("not resizable",), lambda t: t.from_numpy(np.zeros(3)).resize_(100))
bad("out= into NumPy's memory, too small", "RuntimeError", ("not resizable",), lambda t: t.neg(t.zeros(9), out=t.from_numpy(np.zeros(3, "f4"))[:0]))

# ---- read-only memory --------------------------------------------------------------------------------------


def file_map():
    with tempfile.NamedTemporaryFile(delete=False) as f:
        f.write(bytes(4096))
    m = np.memmap(f.name, dtype="f4", mode="r")
    os.unlink(f.name)
    return m


def mapped_bytes(t):
    m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ)
    return t.frombuffer(m, dtype=t.float32)


def frozen():
    a = np.zeros(1024, "f4")
    a.flags.writeable = False
    return a


SOURCES = {"file map": lambda t: t.from_numpy(file_map()), "mapped bytes": mapped_bytes, "array": lambda t: t.from_numpy(frozen()), "bytes": lambda t: t.frombuffer(bytes(4096), dtype=t.float32),
           "as_tensor": lambda t: t.as_tensor(frozen()), "asarray": lambda t: t.asarray(frozen()), "DLPack": lambda t: t.from_dlpack(frozen()), "view": lambda t: t.from_numpy(frozen())[3:].view(-1)[::2],
           "detached": lambda t: t.from_numpy(frozen()).detach(), "reinterpreted": lambda t: t.from_numpy(frozen()).view(t.int32), "data": lambda t: t.from_numpy(frozen()).data,
           "set_": lambda t: t.zeros(0).set_(t.from_numpy(frozen())), "DLPack of a tensor": lambda t: t.from_dlpack(t.from_numpy(frozen()))}
QUIRK = "writes to it, or dies"
for name, source in SOURCES.items():
    bad(f"in-place on read-only memory ({name})", "RuntimeError", ("read-only",), lambda t, s=source: s(t).add_(1), quirk=QUIRK)
WRITES = {
    "fill_": lambda t, x: x.fill_(1), "zero_": lambda t, x: x.zero_(), "copy_": lambda t, x: x.copy_(x + 1), "setitem": lambda t, x: x.__setitem__(0, 1.0), "setitem slice": lambda t, x: x.__setitem__(slice(3), t.ones(3)),
    "setitem mask": lambda t, x: x.__setitem__(x == 0, 1.0), "setitem index": lambda t, x: x.__setitem__(t.tensor([0, 1]), t.ones(2)), "out=": lambda t, x: t.neg(x + 1, out=x), "out= sum": lambda t, x: t.sum(t.ones(3), 0, out=x[0]),
    "out= of two": lambda t, x: t.sort(t.ones(1024), out=(x, t.empty(0, dtype=t.int64))), "zeros out=": lambda t, x: t.zeros(1024, out=x), "arange out=": lambda t, x: t.arange(1024, out=x), "normal_": lambda t, x: x.normal_(),
    "uniform_": lambda t, x: x.uniform_(), "random_": lambda t, x: x.random_(), "bernoulli_": lambda t, x: x.bernoulli_(), "relu_": lambda t, x: x.relu_(), "masked_fill_": lambda t, x: x.masked_fill_(x == 0, 1.0),
    "index_put_": lambda t, x: x.index_put_((t.tensor([0]),), t.ones(1)), "index_add_": lambda t, x: x.index_add_(0, t.tensor([0]), t.ones(1)), "scatter_": lambda t, x: x.scatter_(0, t.tensor([0]), 1.0), "put_": lambda t, x: x.put_(t.tensor([0]), t.ones(1)),
    "cumsum_": lambda t, x: x.cumsum_(0), "clamp_": lambda t, x: x.clamp_(1, 2), "addcmul_": lambda t, x: x.addcmul_(x, x), "iadd": lambda t, x: x.__iadd__(1), "tril_": lambda t, x: x.view(32, 32).tril_(), "addmm_": lambda t, x: x.view(32, 32).addmm_(t.ones(32, 32), t.ones(32, 32)),
    "masked_scatter_": lambda t, x: x.masked_scatter_(x == 0, t.ones(1024)), "fill_diagonal_": lambda t, x: x.view(32, 32).fill_diagonal_(1), "dropout_": lambda t, x: t.nn.functional.dropout(x, 0.5, True, inplace=True),
    "running statistics": lambda t, x: t.nn.functional.batch_norm(t.ones(2, 4), x[:4], x[4:8], training=True),
    "running statistics of instances": lambda t, x: t.nn.functional.instance_norm(t.ones(2, 4, 3), x[:4], x[4:8]),
}
for name, run in WRITES.items():
    bad(f"{name} on a read-only file map", "RuntimeError", ("read-only",), lambda t, f=run: f(t, t.from_numpy(file_map())), quirk=QUIRK)


def reading(t):
    x = t.from_numpy(file_map())
    assert (x + 1).sum().item() == 1024 and x.clone().add_(1)[0].item() == 1 and x[0].item() == 0
    assert tuple(x.unsqueeze_(0).shape) == (1, 1024) and tuple(x.t_().shape) == (1024, 1) and tuple(x.squeeze_().shape) == (1024,)
    y = x.requires_grad_()
    (y * 2).sum().backward()
    assert y.grad[0].item() == 2
    x = t.from_numpy(frozen())
    x.set_()
    x.resize_(4).fill_(3)
    assert x.tolist() == [3, 3, 3, 3]


def handed_on(t):
    x = t.from_numpy(frozen())
    assert not x.numpy().flags.writeable and not x[3:].numpy().flags.writeable and x.clone().numpy().flags.writeable
    assert not np.from_dlpack(x).flags.writeable
    refuses(BufferError, "read-only", x.__dlpack__)


fine("reading read-only memory", reading)
fine("read-only memory handed on", handed_on, quirk="numpy() of it is writable")

# ---- memory that is not aligned ----------------------------------------------------------------------------


def crooked(writable=True):
    return np.frombuffer(bytearray(33) if writable else bytes(33), dtype="u1")[1:].view("f4")


def crooked_capsule(t):
    c = capsule(shape=(2,))
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    DLTensor.from_address(pointer(c, b"dltensor")).data += 1
    t.utils.dlpack.from_dlpack(c)


NEEDS = "lets the processor sort it out"
bad("from_numpy not aligned", "ValueError", ("not aligned",), lambda t: t.from_numpy(crooked()), quirk=NEEDS)
bad("frombuffer not aligned", "ValueError", ("not aligned",), lambda t: t.frombuffer(bytearray(33), dtype=t.float32, offset=1), quirk=NEEDS)
bad("DLPack not aligned", "BufferError", ("not aligned",), crooked_capsule, quirk=NEEDS)
for name, make in {"tensor": lambda t: t.tensor(crooked()), "as_tensor": lambda t: t.as_tensor(crooked()), "from_numpy of read-only": lambda t: t.from_numpy(crooked(False)),
                   "frombuffer of bytes": lambda t: t.frombuffer(bytes(33), dtype=t.float32, offset=1), "complex": lambda t: t.frombuffer(bytearray(36), dtype=t.complex64, offset=4).real}.items():
    fine(f"{name} not aligned, copied", lambda t, f=make: f(t).add(1).sum().item() in (8, 4) or 1 / 0)
fine("zero strides of an array", lambda t: equal(t.from_numpy(np.broadcast_to(np.float32(3), (2,))), t.tensor([3.0, 3.0])))
bad("writing by zero strides of an array", "RuntimeError", ("single memory location",), lambda t: t.from_numpy(np.lib.stride_tricks.as_strided(np.zeros(1), (3,), (0,))).add_(1))

# ---- out= and in-place: where the result lies --------------------------------------------------------------


def grows_out(t):
    """The storage moves when out= grows; inputs are read where they are then."""
    for f in (lambda x, o: t.neg(x, out=o), lambda x, o: t.sub(t.zeros(5), x, out=o), lambda x, o: t.mul(x, -1, out=o), lambda x, o: t.addcmul(t.zeros(5), x, t.tensor(-1.0), out=o), lambda x, o: t.where(x < 0, x, -x, out=o)):
        for n in (10, 5000):
            s = t.full((n,), 5.0)
            out = f(s[:5], s[n:n])
            assert out.tolist() == [-5.0] * 5 and s[:5].tolist() == [5.0] * 5, (out, s)
    s = t.full((10,), 5.0)
    assert t.eq(s[:5], 5, out=t.empty(0, dtype=t.bool)).tolist() == [True] * 5
    s = t.full((10,), 5.0)
    assert t.sum(s, 0, keepdim=True, out=s[10:10]).tolist() == [50] and t.cat([s, s], out=t.empty(0)).shape[0] == 20


fine("out= grows the input's storage", grows_out)
bad("out= is an input of another shape", "RuntimeError", ("doesn't match the broadcast shape",), lambda t: (lambda x: t.add(x, t.ones(2, 3), out=x))(t.ones(3)))
bad("out= is a view of the input, grown over it", "RuntimeError", ("memory location",), lambda t: (lambda s: t.neg(s[:5], out=s[2:2]))(t.zeros(10)))


def index(t, x):
    return t.arange(x.shape[0])


OUT = {
    "neg": lambda t, x, o: t.neg(x, out=o), "add": lambda t, x, o: t.add(x, x, out=o), "cumsum": lambda t, x, o: t.cumsum(x, 0, out=o), "take": lambda t, x, o: t.take(x, index(t, x), out=o),
    "gather": lambda t, x, o: t.gather(x, 0, index(t, x), out=o), "index_select": lambda t, x, o: t.index_select(x, 0, index(t, x), out=o), "cat": lambda t, x, o: t.cat([x], out=o),
    "masked_select": lambda t, x, o: t.masked_select(x, x == x, out=o), "sort": lambda t, x, o: t.sort(x, out=(o, t.empty(0, dtype=t.int64))), "bernoulli": lambda t, x, o: t.bernoulli(x, out=o),
    "where": lambda t, x, o: t.where(x == x, x, x, out=o), "clamp": lambda t, x, o: t.clamp(x, 0, 1, out=o), "nan_to_num": lambda t, x, o: t.nan_to_num(x, out=o), "lerp": lambda t, x, o: t.lerp(x, x, x, out=o),
    "addcmul": lambda t, x, o: t.addcmul(x, x, x, out=o), "scatter": lambda t, x, o: t.scatter(x, 0, index(t, x), x, out=o), "index_add": lambda t, x, o: t.index_add(x, 0, index(t, x), x, out=o),
    "logcumsumexp": lambda t, x, o: t.logcumsumexp(x, 0, out=o), "normal": lambda t, x, o: t.normal(x, x, out=o), "hypot": lambda t, x, o: t.hypot(x, x, out=o),
}
IN_PLACE = {
    "add_": lambda t, s, x: s.add_(x), "copy_": lambda t, s, x: s.copy_(x), "addcmul_": lambda t, s, x: s.addcmul_(x, x), "lerp_": lambda t, s, x: s.lerp_(x, 0.5), "index_add_": lambda t, s, x: s.index_add_(0, index(t, x), x),
    "index_copy_": lambda t, s, x: s.index_copy_(0, index(t, x), x), "scatter_": lambda t, s, x: s.scatter_(0, index(t, x), x), "scatter_add_": lambda t, s, x: s.scatter_add_(0, index(t, x), x),
    "put_": lambda t, s, x: s.put_(index(t, x), x), "bernoulli_": lambda t, s, x: s.bernoulli_(x), "clamp_": lambda t, s, x: s.clamp_(x, x), "eq_": lambda t, s, x: s.eq_(x), "setitem": lambda t, s, x: s.__setitem__(slice(None), x),
    "div_": lambda t, s, x: s.div_(x), "index_put_": lambda t, s, x: s.index_put_((index(t, x),), x),
}
for name, run in {**OUT, "kthvalue": lambda t, x, o: t.kthvalue(x.view(1, 3).expand(3, 3), 1, out=(o, t.empty(0, dtype=t.int64)))}.items():
    bad(f"{name}(out=) expanded", "RuntimeError", ("more than one element of the written-to tensor refers to a single memory location",), lambda t, f=run: f(t, t.arange(3.0) / 5, t.zeros(1).expand(3)))
for name, run in OUT.items():
    bad(f"{name}(out=) over a part of the input", "RuntimeError", ("some elements of the input tensor and the written-to tensor refer to a single memory location",), lambda t, f=run: (lambda x: f(t, x[:3], x[1:4]))(t.arange(6.0) / 10))
for name, run in IN_PLACE.items():
    bad(f"{name} from a part of itself", "RuntimeError", ("some elements of the input tensor and the written-to tensor refer to a single memory location",), lambda t, f=run: (lambda x: f(t, x[:3], x[1:4]))(t.arange(6.0) / 10))


def one_value(t):
    x = t.arange(6.0)
    assert x.fill_(x[3]).tolist() == [3] * 6 and t.zeros(1).expand(3).fill_(2).tolist() == [2, 2, 2] and t.ones(1).expand(3).zero_().tolist() == [0, 0, 0]
    x = t.arange(3.0)
    assert x.masked_fill_(x > 1, x[1]).tolist() == [0, 1, 1]
    y = t.zeros(1, 3).expand(2, 3)
    assert tuple(y.t_().shape) == (3, 2) and tuple(y.unsqueeze_(0).shape) == (1, 3, 2)


fine("one value may be written twice", one_value)
for name in ("zeros", "ones", "empty"):
    bad(f"{name}(out=) of size -2^63", "RuntimeError", ("negative",), lambda t, n=name: getattr(t, n)((MIN64,), out=t.empty(0)))
bad("full(out=) of size -2^63", "RuntimeError", ("negative",), lambda t: t.full((MIN64,), 1, out=t.empty(0)))
bad("resize_ to -2^63", "RuntimeError", ("negative",), lambda t: t.empty(0).resize_(MIN64))

# ---- devices -----------------------------------------------------------------------------------------------


def meta(t, *size, dtype=None):
    return t.zeros(size, dtype=dtype, device="meta")


SAME = {
    "addr": lambda t: t.addr(t.zeros(3, 3), t.zeros(3), meta(t, 3)), "put": lambda t: t.zeros(3).put(t.tensor([0]), meta(t, 1)), "put_": lambda t: t.zeros(3).put_(t.tensor([0]), meta(t, 1)),
    "isin": lambda t: t.isin(t.zeros(3), meta(t, 3)), "bucketize": lambda t: t.bucketize(t.zeros(3), meta(t, 3)), "searchsorted": lambda t: t.searchsorted(meta(t, 3), t.zeros(3)),
    "masked_scatter": lambda t: t.zeros(3).masked_scatter(t.ones(3) > 0, meta(t, 3)), "masked_select": lambda t: t.zeros(3).masked_select(meta(t, 3, dtype=t.bool)), "take": lambda t: t.take(t.zeros(3), meta(t, 1, dtype=t.int64)),
    "add a number": lambda t: t.zeros(3) + meta(t), "mm": lambda t: t.mm(t.zeros(3, 3), meta(t, 3, 3)), "cat": lambda t: t.cat([t.zeros(3), meta(t, 3)]), "stack": lambda t: t.stack([t.zeros(3), meta(t, 3)]),
    "where": lambda t: t.where(t.ones(3) > 0, t.zeros(3), meta(t, 3)), "linear": lambda t: t.nn.functional.linear(t.zeros(2, 3), t.zeros(3, 3), meta(t, 3)), "batch_norm": lambda t: t.nn.functional.batch_norm(t.zeros(2, 3), meta(t, 3), meta(t, 3), training=True),
    "layer_norm": lambda t: t.nn.functional.layer_norm(t.zeros(2, 3), (3,), meta(t, 3)), "embedding": lambda t: t.nn.functional.embedding(meta(t, 2, dtype=t.int64), t.zeros(3, 3)), "dot": lambda t: t.dot(t.zeros(3), meta(t, 3)),
    "nll_loss": lambda t: t.nn.functional.nll_loss(t.zeros(2, 3), meta(t, 2, dtype=t.int64)), "conv2d": lambda t: t.nn.functional.conv2d(t.zeros(1, 1, 3, 3), meta(t, 1, 1, 1, 1)), "gather": lambda t: t.gather(t.zeros(3), 0, meta(t, 1, dtype=t.int64)),
    "scatter": lambda t: t.scatter(t.zeros(3), 0, t.tensor([0]), meta(t, 1)), "index_add": lambda t: t.zeros(3).index_add(0, t.tensor([0]), meta(t, 1)), "index_select": lambda t: t.zeros(3).index_select(0, meta(t, 1, dtype=t.int64)), "bincount": lambda t: t.bincount(t.tensor([1]), meta(t, 1)),
    "lerp": lambda t: t.lerp(t.zeros(3), t.zeros(3), meta(t, 3)), "bmm": lambda t: t.bmm(t.zeros(1, 2, 2), meta(t, 1, 2, 2)), "addmm": lambda t: t.addmm(meta(t, 2, 2), t.zeros(2, 2), t.zeros(2, 2)), "einsum": lambda t: t.einsum("ij,jk", t.zeros(2, 2), meta(t, 2, 2)),
    "out=": lambda t: t.add(t.zeros(3), 1, out=meta(t, 3)), "sum(out=)": lambda t: t.sum(t.zeros(3), 0, out=meta(t)), "equal": lambda t: t.equal(t.zeros(3), meta(t, 3)), "complex": lambda t: t.complex(t.zeros(3), meta(t, 3)), "mse_loss": lambda t: t.nn.functional.mse_loss(t.zeros(3), meta(t, 3)),
    "log_sigmoid_backward": lambda t: t.ops.aten.log_sigmoid_backward(t.zeros(3), t.zeros(3), meta(t, 3)), "index by meta": lambda t: t.zeros(3)[meta(t, 1, dtype=t.int64)], "set_": lambda t: t.zeros(3).set_(meta(t, 3)), "fill_ by meta": lambda t: t.zeros(3).fill_(meta(t)),
    "copy_ out of meta": lambda t: t.zeros(3).copy_(meta(t, 3)), "tensor of meta": lambda t: t.tensor([meta(t, 1)]), "repeat_interleave": lambda t: t.repeat_interleave(t.zeros(3), meta(t, 3, dtype=t.int64)),
    "index_put_": lambda t: t.zeros(3).index_put_((t.tensor([0]),), meta(t, 1)), "masked_fill mask": lambda t: t.zeros(3).masked_fill(meta(t, 3, dtype=t.bool), 1.0), "prelu": lambda t: t.nn.functional.prelu(t.zeros(2, 3), meta(t, 3)), "group_norm": lambda t: t.nn.functional.group_norm(t.zeros(1, 2, 3), 1, meta(t, 2)),
}
for name, run in SAME.items():
    words = () if name in ("index by meta", "set_", "fill_ by meta", "copy_ out of meta", "tensor of meta", "repeat_interleave", "index_put_") else ("Expected all tensors to be on the same device",)
    bad(f"{name} of cpu and meta", "RuntimeError|NotImplementedError", words, run, quirk="words it differently, or computes something")


def numbers_beside(t):
    m, c, mask = meta(t, 3), t.tensor(2.0), meta(t, 3, dtype=t.bool)
    for y in (m + c, c + m, m.mul(c), t.lerp(m, m, c), t.addcmul(m, m, c), t.clamp(m, c, c), t.where(mask, c, m), t.where(mask, m, c), m.masked_fill(mask, c), m.copy_(c), m.fill_(c), m.index_put((meta(t, 1, dtype=t.int64),), c),
              t.atan2(m, c), t.maximum(c, m), t.pow(m, c), t.eq(m, c), m[t.tensor([0])], m.copy_(t.zeros(3)), t.add(c, c, out=meta(t))):
        assert y.device.type == "meta", y.device
    m += c
    m[0] = c
    m[t.tensor([0])] = c
    t.zeros(3).to("meta"), t.zeros_like(m, device="cpu").fill_(1), m.new_zeros(3, device="cpu")


def one_cpu(t):
    x = t.zeros(3, device="cpu:0")
    assert (x + t.ones(3)).tolist() == [1, 1, 1] and (t.ones(3) + x).device == t.device("cpu") == x.device
    assert t.cat([x, t.ones(3)]).shape[0] == 6 and (t.eye(3, device="cpu:0") @ t.ones(3)).tolist() == [1, 1, 1] and x.copy_(t.ones(3)).sum().item() == 3
    y = t.ones(3)
    assert y.to("cpu:0") is y and str(y.to("cpu:0").device) == "cpu" and t.device("cpu") != t.device("cpu:0")
    z = t.ones(3, device="cpu:0", requires_grad=True)
    (z * t.ones(3)).sum().backward()
    assert z.grad.tolist() == [1, 1, 1]


fine("numbers of the CPU beside another device", numbers_beside, quirk="some of them are refused for meta")
fine("cpu and cpu:0 are one device", one_cpu)
