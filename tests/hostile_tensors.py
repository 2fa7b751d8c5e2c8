# SPDX-License-Identifier: Apache-2.0
"""Hostile shapes, strides, dimensions, aliasing, numbers, dtypes, devices and Python objects."""
import functools

import numpy as np
from hostile import MAX64, MIN64, bad, equal, fine, survives, zero

inf, nan = float("inf"), float("nan")

# ---- shapes and strides ----------------------------------------------------------------------------------
for name, call in {"zeros": lambda t, s: t.zeros(s), "ones": lambda t, s: t.ones(s), "empty": lambda t, s: t.empty(s), "full": lambda t, s: t.full(s, 1),
                   "new_zeros": lambda t, s: t.zeros(1).new_zeros(s)}.items():
    bad(f"{name} negative size", "RuntimeError", ("negative",), lambda t, f=call: f(t, (2, -3)))
    bad(f"{name} numel over 2^63", "RuntimeError", (), lambda t, f=call: f(t, (2**32, 2**32, 2**32)))
    bad(f"{name} bytes over 2^63", "RuntimeError", (), lambda t, f=call: f(t, (2**62,)))
    bad(f"{name} no memory", "RuntimeError|MemoryError", ("memory",), lambda t, f=call: f(t, (2**50,)))
    bad(f"{name} size over 2^63", "TypeError|RuntimeError|OverflowError", (), lambda t, f=call: f(t, (2**70,)))
    bad(f"{name} size is a float", "TypeError", ("float",), lambda t, f=call: f(t, (2.0,)))
    bad(f"{name} size is a string", "TypeError", ("str",), lambda t, f=call: f(t, ("3",)))
    bad(f"{name} size is None", "TypeError", (), lambda t, f=call: f(t, (None,)))

bad("arange no memory", "RuntimeError|MemoryError", (), lambda t: t.arange(2**60))
bad("arange too long", "RuntimeError", (), lambda t: t.arange(0, 1e300, 1e-300))
bad("linspace no memory", "RuntimeError|MemoryError", (), lambda t: t.linspace(0, 1, 2**60))
bad("eye no memory", "RuntimeError|MemoryError", (), lambda t: t.eye(2**31))
bad("eye overflow", "RuntimeError", (), lambda t: t.eye(2**40, 2**40))
bad("repeat overflow", "RuntimeError", (), lambda t: t.zeros(4).repeat(2**40, 2**40))
bad("repeat no memory", "RuntimeError|MemoryError", ("memory",), lambda t: t.zeros(4).repeat(2**50))
bad("expanded contiguous no memory", "RuntimeError|MemoryError", ("memory",), lambda t: t.zeros(1).expand(2**50).contiguous())
bad("expanded add no memory", "RuntimeError|MemoryError", ("memory",), lambda t: t.zeros(1).expand(2**50) + 1)
bad("outer no memory", "RuntimeError|MemoryError", (), lambda t: t.zeros(1).expand(2**25)[:, None] * t.zeros(1).expand(2**25))
bad("expand overflow", "RuntimeError", (), lambda t: t.zeros(1).expand(2**40, 2**40).numel(), quirk="numel wraps around")
bad("as_strided outside", "RuntimeError", ("10",), lambda t: t.zeros(4).as_strided((10,), (1,)))
bad("as_strided stride overflow", "RuntimeError", (), lambda t: t.zeros(4).as_strided((2, 2), (2**62, 2**62)))
bad("as_strided offset overflow", "RuntimeError", (), lambda t: t.zeros(4).as_strided((2,), (1,), MAX64))
bad("as_strided size overflow", "RuntimeError", (), lambda t: t.zeros(4).as_strided((2**40, 2**40), (0, 0)).numel(), quirk="numel wraps around")
bad("as_strided negative stride", "RuntimeError", ("-1",), lambda t: t.zeros(4).as_strided((2,), (-1,)))
bad("empty_strided negative stride", "RuntimeError", (), lambda t: t.empty_strided((2,), (-1,)))
bad("empty_strided overflow", "RuntimeError|MemoryError", (), lambda t: t.empty_strided((2,), (2**62,)))
bad("view overflow", "RuntimeError", (), lambda t: t.zeros(0).view(2**40, 2**40, 0, -1))
survives("view of zero elements", lambda t: t.zeros(0).view(2**32, 2**32, 0))
bad("unfold huge", "RuntimeError", (), lambda t: t.zeros(4).unfold(0, 2**62, 1))
bad("narrow overflow", "RuntimeError|IndexError", (), lambda t: t.zeros(4).narrow(0, MAX64, 2))
bad("narrow length overflow", "RuntimeError|IndexError", (), lambda t: t.zeros(4).narrow(0, 1, MAX64))
bad("unflatten huge", "RuntimeError", (), lambda t: t.zeros(4).unflatten(0, (2**40, 2**40)))
bad("repeat_interleave huge", "RuntimeError|MemoryError", (), lambda t: t.repeat_interleave(t.zeros(4), 2**60))
bad("split by MIN64", "RuntimeError", (), lambda t: t.zeros(4).split(MIN64))
fine("roll by MIN64", lambda t: t.roll(t.arange(4), MIN64, 0).tolist() == [0, 1, 2, 3] or 1 / 0, quirk="has no room for so large a shift")
survives("tril by MIN64", lambda t: t.ones(3, 3).tril(MIN64))
survives("triu by MAX64", lambda t: t.ones(3, 3).triu(MAX64))
survives("diagonal by MIN64", lambda t: t.ones(3, 3).diagonal(MIN64))
survives("diag by MAX64", lambda t: t.ones(3).diag(2**62))
survives("flatten of rank 70", lambda t: t.zeros([1] * 70).flatten())
for rank in (64, 65, 100, 1000):
    survives(f"rank {rank} add", lambda t, r=rank: t.zeros([1] * r) + 1)
    survives(f"rank {rank} sum", lambda t, r=rank: t.zeros([1] * r).sum())
    survives(f"rank {rank} sum dims", lambda t, r=rank: t.zeros([1] * r).sum((0, r - 1)))
    survives(f"rank {rank} permute", lambda t, r=rank: t.zeros([1] * r).permute(*range(r - 1, -1, -1)).contiguous())
    survives(f"rank {rank} index", lambda t, r=rank: t.zeros([1] * r)[(0,) * r])
    survives(f"rank {rank} print", lambda t, r=rank: repr(t.zeros([1] * r)))
    survives(f"rank {rank} list", lambda t, r=rank: t.zeros([1] * r).tolist())
    survives(f"rank {rank} matmul", lambda t, r=rank: t.zeros([1] * r) @ t.zeros([1] * r))
    survives(f"rank {rank} cat", lambda t, r=rank: t.cat([t.zeros([1] * r), t.zeros([1] * r)], r - 1))
    survives(f"rank {rank} sort", lambda t, r=rank: t.zeros([1] * r).sort(r - 1))


def over_two_billion(t):
    x = t.zeros(1).expand(2**33)
    assert x.numel() == 2**33 and x[2**32 + 5].item() == 0 and x[-1].item() == 0
    assert tuple(x.view(2**16, 2**17).shape) == (2**16, 2**17)
    assert tuple(x[2**32:].shape) == (2**32,) and tuple(x[::2].shape) == (2**32,)
    y = t.empty(2**33, device="meta")
    assert tuple((y + 1).shape) == (2**33,) and tuple(t.cat([y, y]).shape) == (2**34,)
    assert tuple(y.view(2**20, -1).sum(1).shape) == (2**20,)


def large_offset(t):
    """An element beyond 2^31 of a real (lazily mapped) allocation."""
    x = t.empty(2**31 + 16, dtype=t.uint8)
    x[2**31 + 3] = 7
    assert x[2**31 + 3].item() == 7 and x[2**31:].max().item() >= 7
    x[2**31 + 4:2**31 + 6].fill_(9)
    assert x[2**31 + 4:2**31 + 6].tolist() == [9, 9]


fine("more than 2^31 elements", over_two_billion)
fine("offset beyond 2^31", large_offset)

# ---- dimensions ------------------------------------------------------------------------------------------
for name, call in {
        "sum": lambda t, x, d: x.sum(d), "mean": lambda t, x, d: x.mean(d), "softmax": lambda t, x, d: x.softmax(d), "argmax": lambda t, x, d: x.argmax(d), "cumsum": lambda t, x, d: x.cumsum(d),
        "sort": lambda t, x, d: x.sort(d), "transpose": lambda t, x, d: x.transpose(0, d), "squeeze": lambda t, x, d: x.squeeze(d), "flip": lambda t, x, d: x.flip(d), "cat": lambda t, x, d: t.cat([x, x], d),
        "size": lambda t, x, d: x.size(d), "stride": lambda t, x, d: x.stride(d), "select": lambda t, x, d: x.select(d, 0), "index_select": lambda t, x, d: x.index_select(d, t.tensor([0])),
        "unbind": lambda t, x, d: x.unbind(d), "logsumexp": lambda t, x, d: x.logsumexp(d), "all": lambda t, x, d: x.all(d), "var": lambda t, x, d: x.var(d), "permute": lambda t, x, d: x.permute(0, d)}.items():
    for d in (2, -3, MAX64, MIN64):
        bad(f"{name} dim {d}", "IndexError", ("Dimension out of range", str(d)), lambda t, f=call, d=d: f(t, t.zeros(2, 3), d))
for name in ("sum", "mean", "amax", "amin", "logsumexp", "all", "any", "var", "std"):
    bad(f"{name} repeated dim", "RuntimeError", ("dim",), lambda t, n=name: getattr(t.ones(2, 3), n)((0, 0)))
    bad(f"{name} repeated dim by sign", "RuntimeError", ("dim",), lambda t, n=name: getattr(t.ones(2, 3), n)((1, -1)))
bad("dim is too large a number", "TypeError|RuntimeError|OverflowError|IndexError|ValueError", (), lambda t: t.zeros(2, 3).sum(2**70))
bad("permute repeated dim", "RuntimeError", (), lambda t: t.zeros(2, 3).permute(0, 0))
bad("amax of no elements", "IndexError|RuntimeError", (), lambda t: t.zeros(0, 3).amax(0))
bad("max of no elements", "RuntimeError", (), lambda t: t.zeros(0).max())
bad("argmin of no elements", "IndexError|RuntimeError", (), lambda t: t.zeros(0).argmin())

# ---- overlapping memory, aliasing, versions --------------------------------------------------------------
for name, call in {"add_": lambda x: x.add_(1), "mul_": lambda x: x.mul_(2), "fill by copy_": lambda x: x.copy_(x.clone()), "sigmoid_": lambda x: x.sigmoid_(), "setitem": lambda x: x.__setitem__(slice(None), x.clone() + 1),
                   "scatter_": lambda x: x.scatter_(0, x.long() * 0, x.clone()), "index_add_": lambda x: x.index_add_(0, x.long()[0] * 0, x.clone()[:1]),
                   "cumsum_": lambda x: x.cumsum_(0), "clamp_": lambda x: x.clamp_(0, 1), "addcmul_": lambda x: x.addcmul_(x.clone(), x.clone())}.items():
    if name in ("scatter_", "index_add_", "cumsum_"):
        survives(f"{name} into an expanded tensor", lambda t, f=call: f(t.zeros(1, 3).expand(2, 3)))
    else:
        bad(f"{name} into an expanded tensor", "RuntimeError", ("single memory location",), lambda t, f=call: f(t.zeros(1, 3).expand(2, 3)))
for name, run in {
    "tril_": lambda x: x.tril_(), "cumsum_": lambda x: x.cumsum_(0), "masked_fill_": lambda x: x.masked_fill_(x > 0, 1.0), "addmm_": lambda x: x.addmm_(x, x),
    "normal_": lambda x: x.normal_(), "index_put_": lambda x: x.index_put_((x.argmax(0),), x[0]), "masked_scatter_": lambda x: x.masked_scatter_(x > 0, x.clone()),
}.items():
    if name in ("masked_fill_", "index_put_"):  # with a warning
        fine(f"{name} into an expanded matrix", lambda t, run=run: run(t.ones(1, 3).expand(3, 3)))
        continue
    bad(f"{name} into an expanded matrix", "RuntimeError", ("single memory location",), lambda t, run=run: run(t.ones(1, 3).expand(3, 3)),
        names=name.strip("_"), quirk="writes" if name == "tril_" else "")
survives("add_ into an overlapping as_strided", lambda t: t.zeros(6).as_strided((4, 3), (1, 1)).add_(1))
bad("out= is expanded", "RuntimeError", ("single memory location",), lambda t: t.add(t.zeros(2, 3), 1, out=t.zeros(1, 3).expand(2, 3)))
bad("out= overlaps the input", "RuntimeError", ("memory location",), lambda t: (lambda x: t.add(x[:-1], 1, out=x[1:]))(t.arange(5.0)))
bad("copy_ from an overlapping part", "RuntimeError", ("memory location",), lambda t: (lambda x: x[1:].copy_(x[:-1]))(t.arange(5.0)), quirk="copies in some order")


def out_is_input(t):
    x, y = t.arange(6.0), t.ones(6)
    t.add(x, y, out=x)
    assert x.tolist() == [1, 2, 3, 4, 5, 6]
    t.mul(x, x, out=x)
    assert x.tolist() == [1, 4, 9, 16, 25, 36]
    m = t.tensor([[1.0, 2.0], [3.0, 4.0]])
    t.exp(m, out=m)
    assert abs(m[0, 0].item() - 2.7182817) < 1e-5
    s = t.tensor([3.0, 1.0, 2.0])
    t.cumsum(s, 0, out=s)
    assert s.tolist() == [3.0, 4.0, 6.0]
    a = t.arange(4.0)
    a.add_(a)
    assert a.tolist() == [0, 2, 4, 6]
    a[:2].add_(a[2:])
    assert a.tolist() == [4, 8, 4, 6]


fine("out= is an input", out_is_input)
bad("out= of another dtype", "RuntimeError", ("can't be cast", "Float", "Long"), lambda t: t.add(t.zeros(2), 1.5, out=t.zeros(2, dtype=t.int64)))
bad("out= needs gradients", "RuntimeError", ("out=", "grad"), lambda t: t.add(t.zeros(2), 1, out=t.zeros(2, requires_grad=True)))
bad("out= is no tensor", "TypeError", ("out",), lambda t: t.add(t.zeros(2), 1, out=[1, 2]))
bad("in-place on a leaf", "RuntimeError", ("leaf", "in-place"), lambda t: t.zeros(2, requires_grad=True).add_(1))
bad("in-place on a view of a leaf", "RuntimeError", ("leaf", "view", "in-place"), lambda t: t.zeros(2, requires_grad=True)[0].add_(1))
bad("in-place changes the dtype", "RuntimeError", ("Float", "Long", "cast"), lambda t: t.zeros(2, dtype=t.int64).add_(0.5))
bad("in-place changes the shape", "RuntimeError", ("[2]", "[3, 2]"), lambda t: t.zeros(2).add_(t.zeros(3, 2)))
bad("in-place on bool", "RuntimeError", ("Bool", "cast"), lambda t: t.zeros(2, dtype=t.bool).add_(1))


def saved_then_changed(change):
    def run(t):
        x = t.ones(3, requires_grad=True)
        y = x.exp()
        change(y)
        y.sum().backward()
    return run


bad("in-place on a saved tensor", "RuntimeError", ("modified by an inplace operation", "version"), saved_then_changed(lambda y: y.detach().add_(1)))
bad("in-place on a view of a saved tensor", "RuntimeError", ("modified by an inplace operation",), saved_then_changed(lambda y: y.detach()[1:].add_(1)))
fine("in-place through .data is not seen", saved_then_changed(lambda y: y.data.add_(1)))


def saved_input_changed(t):
    x = t.ones(3, requires_grad=True)
    w = t.full((3,), 2.0)
    y = (x * w).sum()
    w[0] = 5
    y.backward()


bad("setitem on a saved tensor", "RuntimeError", ("modified by an inplace operation",), saved_input_changed)

# ---- numbers ---------------------------------------------------------------------------------------------
WIDTH = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def lowest(t, kind):
    return t.tensor([-2**(WIDTH[kind] - 1)], dtype=getattr(t, kind))


CRASH = "the processor traps (SIGFPE)"
for kind in WIDTH:
    quirk = CRASH if kind in ("int32", "int64") else ""
    for mode in ("floor", "trunc"):
        fine(f"lowest {kind} / -1 ({mode})", lambda t, k=kind, m=mode: t.div(lowest(t, k), -1, rounding_mode=m).shape, quirk=quirk)
    fine(f"lowest {kind} // tensor -1", lambda t, k=kind: t.floor_divide(lowest(t, k), t.tensor([-1], dtype=getattr(t, k))).shape, quirk=quirk)
    fine(f"lowest {kind} % -1", lambda t, k=kind: zero(t.remainder(lowest(t, k), t.tensor([-1], dtype=getattr(t, k)))), quirk=quirk)
    fine(f"lowest {kind} fmod -1", lambda t, k=kind: zero(t.fmod(lowest(t, k), t.tensor([-1], dtype=getattr(t, k)))), quirk=quirk)
    fine(f"lowest {kind} abs and neg wrap", lambda t, k=kind: equal(t.abs(lowest(t, k)), t.neg(lowest(t, k))))
    for name, call in {"div floor": lambda t, x, y: t.div(x, y, rounding_mode="floor"), "div trunc": lambda t, x, y: t.div(x, y, rounding_mode="trunc"), "floor_divide": lambda t, x, y: t.floor_divide(x, y),
                       "remainder": lambda t, x, y: t.remainder(x, y), "fmod": lambda t, x, y: t.fmod(x, y)}.items():
        bad(f"{name} {kind} by zero", "RuntimeError", ("ZeroDivisionError",), lambda t, f=call, k=kind: f(t, t.ones(2, dtype=getattr(t, k)), t.zeros(2, dtype=getattr(t, k))))
        bad(f"{name} {kind} by the number 0", "RuntimeError", ("ZeroDivisionError",), lambda t, f=call, k=kind: f(t, t.ones(2, dtype=getattr(t, k)), 0))
    for amount in (WIDTH[kind], WIDTH[kind] + 1, 1000 if kind != "int8" else 100, -1):
        fine(f"{kind} << {amount}", lambda t, k=kind, n=amount: equal(t.ones(1, dtype=getattr(t, k)) << t.tensor([n], dtype=getattr(t, k)), t.zeros(1, dtype=getattr(t, k))))
        fine(f"{kind} >> {amount}", lambda t, k=kind, n=amount: equal(-t.ones(1, dtype=getattr(t, k)) >> t.tensor([n], dtype=getattr(t, k)), -t.ones(1, dtype=getattr(t, k))))


bad("pow of integers, negative", "RuntimeError", ("negative integer power",), lambda t: t.tensor([2, 3]) ** -1)
fine("pow of integers, negative tensor", lambda t: (t.tensor([1, -1, 2]) ** t.tensor([-1, -3, -1])).shape)
for kind in ("uint8", "int8", "int16", "int32", "int64", "bool"):
    for value in (nan, inf, -inf, 1e300, -1e300, 3e9, -3e9):
        fine(f"{value} to {kind}", lambda t, k=kind, v=value: t.tensor([v], dtype=t.float64).to(getattr(t, k)).tolist())
        fine(f"float32 {value} to {kind}", lambda t, k=kind, v=value: t.tensor([v] * 40).to(getattr(t, k)).tolist())
fine("bool arithmetic", lambda t: [equal(t.tensor([True, True]) + t.tensor([True, False]), t.tensor([True, True])), equal(t.tensor([True]) * t.tensor([False]), t.tensor([False])),
                                   equal((t.tensor([True, True]) + 1), t.tensor([2, 2])), equal(t.tensor([True, True]).sum()[None], t.tensor([2]))])
bad("bool minus bool", "RuntimeError", ("bool",), lambda t: t.tensor([True]) - t.tensor([False]), names="sub")
bad("minus bool", "RuntimeError", ("bool",), lambda t: -t.tensor([True]), names="neg")
for name in ("lt", "maximum", "floor", "atan2", "remainder", "floor_divide", "fmax", "hypot"):
    bad(f"{name} of complex numbers", "RuntimeError|NotImplementedError|TypeError", (), lambda t, n=name: getattr(t, n)(*([t.ones(2, dtype=t.complex64)] * (1 if n == "floor" else 2))), names=name)
for name in ("sort", "argmax", "amax", "max", "topk", "clamp", "relu", "trunc", "sign", "erf"):
    bad(f"{name} of complex numbers", "RuntimeError|NotImplementedError|TypeError", (), lambda t, n=name: getattr(t, n)(t.ones(2, dtype=t.complex64), *{"topk": (1,), "clamp": (0,)}.get(n, ())))
fine("denormals and -0 survive", lambda t: [equal((t.tensor([1e-45, -1e-45]) * 1.0).view(t.int32), t.tensor([1, -2147483647], dtype=t.int32)),
                                            equal(t.signbit(t.tensor([-0.0]) * 1.0), t.tensor([True])), equal(t.signbit(-t.tensor([0.0])), t.tensor([True])),
                                            equal(t.signbit(t.maximum(t.tensor([-0.0]), t.tensor([-0.0]))), t.tensor([True]))])
fine("NaN spreads", lambda t: [equal(t.isnan(f), t.tensor([True])) for f in (t.maximum(t.tensor([nan]), t.tensor([1.0])), t.amax(t.tensor([[1.0, nan, 2.0]]), 1), t.tensor([1.0, nan]).min()[None], t.clamp(t.tensor([nan]), 0, 1),
                                                                            t.relu(t.tensor([nan])), t.tensor([nan]).sort()[0], t.tensor([nan, 1.0]).sum()[None], t.softmax(t.tensor([[nan, 1.0]]), 1)[0, 1:])])
fine("fmax ignores NaN", lambda t: equal(t.fmax(t.tensor([nan, 1.0]), t.tensor([2.0, nan])), t.tensor([2.0, 1.0])))

# ---- dtypes, devices, Python objects ---------------------------------------------------------------------
bad("mm of two dtypes", "RuntimeError", ("same dtype",), lambda t: t.mm(t.ones(2, 2), t.ones(2, 2, dtype=t.float64)), names="mm")
bad("linear of two dtypes", "RuntimeError", ("dtype",), lambda t: t.nn.functional.linear(t.ones(2, 2), t.ones(2, 2, dtype=t.float64)))
bad("index tensor of floats", "IndexError|RuntimeError", (), lambda t: t.ones(3)[t.tensor([0.0])])
bad("gather with int32", "RuntimeError", ("int64",), lambda t: t.gather(t.ones(2, 2), 0, t.zeros(1, 2, dtype=t.float32)), names="index")
bad("where with a float condition", "RuntimeError", ("bool",), lambda t: t.where(t.ones(2), t.ones(2), t.ones(2)))
bad("cpu and meta", "RuntimeError", (), lambda t: t.zeros(2, 2) @ t.zeros(2, 2, device="meta"), quirk="answers with a meta tensor")
bad("add of cpu and meta", "RuntimeError", ("device", "meta", "cpu"), lambda t: t.zeros(2) + t.zeros(2, device="meta"))
fine("0-d cpu tensor beside another device", lambda t: tuple((t.zeros(2, device="meta") + t.tensor(1.0)).shape) == (2,) or 1 / 0)
bad("cat of two devices", "RuntimeError", ("device",), lambda t: t.cat([t.zeros(2), t.zeros(2, device="meta")]))
bad("out= on another device", "RuntimeError", ("device",), lambda t: t.add(t.zeros(2), 1, out=t.zeros(2, device="meta")))
bad("item of a meta tensor", "RuntimeError|NotImplementedError", ("meta",), lambda t: t.zeros((), device="meta").item())
bad("numpy of a meta tensor", "TypeError|RuntimeError|NotImplementedError", ("meta",), lambda t: t.zeros(2, device="meta").numpy())
bad("truth of a meta tensor", "RuntimeError|NotImplementedError", ("meta",), lambda t: bool(t.zeros((), device="meta")))
bad("list of a meta tensor", "RuntimeError|NotImplementedError", ("meta",), lambda t: t.zeros(2, device="meta").tolist())
bad("unknown device", "RuntimeError", ("nosuch",), lambda t: t.zeros(2, device="nosuch"))
bad("device index too large", "RuntimeError", (), lambda t: t.zeros(2, device="cpu:99999999999999999999"))
bad("negative device index", "RuntimeError", (), lambda t: t.device("cpu", -5))
bad("device is a list", "TypeError", ("device",), lambda t: t.zeros(2, device=[1]))
bad("dtype is a string", "TypeError", ("dtype",), lambda t: t.zeros(2, dtype="float32"))
bad("generator is no generator", "TypeError", ("generator",), lambda t: t.rand(2, generator=3))
bad("generator of another device", "RuntimeError", (), lambda t: t.rand(2, generator=t.Generator("meta")), names="generator")
for value in (None, "text", object(), [1, 2], {"a": 1}, b"x", lambda: 0):
    kind = type(value).__name__
    bad(f"add of {kind}", "TypeError", ("add", kind), lambda t, v=value: t.add(t.ones(2), v))
    bad(f"sigmoid of {kind}", "TypeError", ("sigmoid", "must be Tensor", kind), lambda t, v=value: t.sigmoid(v))
    bad(f"tensor + {kind}", "TypeError", (), lambda t, v=value: t.ones(2) + v)
    bad(f"cat of {kind}", "TypeError", (), lambda t, v=value: t.cat([t.ones(2), v]))
bad("unknown keyword", "TypeError", ("colour",), lambda t: t.sum(t.ones(2), colour=1))
bad("too many arguments", "TypeError", (), lambda t: t.sigmoid(t.ones(2), 1, 2, 3))
bad("the same argument twice", "TypeError", (), lambda t: t.add(t.ones(2), t.ones(2), other=t.ones(2)))
bad("no arguments", "TypeError", (), lambda t: t.add())
bad("number too big for int64", "RuntimeError|OverflowError|TypeError|ValueError", (), lambda t: t.ones(2, dtype=t.int64) + 2**70)
bad("number too big, below", "RuntimeError|OverflowError|TypeError|ValueError", (), lambda t: t.full((2,), -2**70))
survives("number between int64 and uint64", lambda t: t.ones(2, dtype=t.int64) + (2**64 - 1))
survives("number too big for int8", lambda t: t.ones(2, dtype=t.int8) + 2**40)
survives("huge exponent", lambda t: t.ones(2) ** 2**60)
bad("float() of a huge int", "OverflowError|RuntimeError|TypeError|ValueError", (), lambda t: t.ones(2) + 10**400)
bad("fill_ with a big number", "RuntimeError|OverflowError|TypeError|ValueError", (), lambda t: t.zeros(2, dtype=t.int64).fill_(2**64))
bad("full of uint8 overflow", "RuntimeError", ("overflow",), lambda t: t.tensor(256, dtype=t.uint8))
bad("truth of two elements", "RuntimeError", ("ambiguous",), lambda t: bool(t.ones(2)))
bad("truth of no elements", "RuntimeError", ("ambiguous",), lambda t: bool(t.ones(0)), quirk="")
bad("int of two elements", "RuntimeError|TypeError|ValueError", (), lambda t: int(t.ones(2)))
bad("int of NaN", "ValueError|RuntimeError|OverflowError", (), lambda t: int(t.tensor(nan)))
bad("float of complex", "RuntimeError|TypeError", (), lambda t: float(t.tensor(1 + 2j)))
bad("index with a float tensor", "TypeError", (), lambda t: [1, 2, 3][t.tensor(1.0)])
bad("len of 0-d", "TypeError", ("0-d",), lambda t: len(t.tensor(1)))
bad("iterate 0-d", "TypeError", ("0-d",), lambda t: list(t.tensor(1)))
bad("ragged list", "ValueError", ("sequence of length",), lambda t: t.tensor([[1, 2], [3]]))
bad("list that contains itself", "ValueError|RecursionError|RuntimeError", (), lambda t: (lambda x: (x.append(x), t.tensor(x)))([]))
bad("list of depth 1000", "ValueError|RecursionError|RuntimeError", (), lambda t: t.tensor(functools.reduce(lambda x, _: [x], range(1000), 1)), quirk="")
bad("object array", "TypeError", ("object",), lambda t: t.tensor(np.array([object()])))
bad("string array", "TypeError", (), lambda t: t.tensor(np.array(["a"])))
bad("datetime array", "TypeError", (), lambda t: t.tensor(np.array(["2020-01-01"], dtype="datetime64[D]")))


class Liar:
    """Says it has three elements, has none."""
    def __len__(self):
        return 3

    def __getitem__(self, i):
        raise IndexError(i)


class Angry:
    def __len__(self):
        raise ValueError("no length")

    def __getitem__(self, i):
        return 1

    def __index__(self):
        raise ValueError("no index")

    def __float__(self):
        raise ValueError("no float")


bad("sequence that lies about its length", "Exception", (), lambda t: t.tensor(Liar()))
bad("sequence that raises", "Exception", (), lambda t: t.tensor(Angry()))
bad("index that raises", "Exception", (), lambda t: t.zeros(3)[Angry()])
bad("size that raises", "Exception", (), lambda t: t.zeros(Angry()))
bad("number that raises", "Exception", (), lambda t: t.zeros(3).fill_(Angry()))


def shrinking(t):
    """A list that gets shorter while it is read."""
    class Item:
        def __init__(self, owner):
            self.owner = owner

        def __float__(self):
            self.owner.clear()
            return 1.0

        def __index__(self):
            self.owner.clear()
            return 1
    values = []
    values.extend(Item(values) for _ in range(5))
    t.tensor(values, dtype=t.float32)


survives("list that shrinks while read", shrinking, quirk="crashes (SIGSEGV)")
bad("multinomial of NaN", "RuntimeError", ("nan",), lambda t: t.multinomial(t.tensor([nan, 1.0]), 1))
bad("multinomial of inf", "RuntimeError", ("inf",), lambda t: t.multinomial(t.tensor([inf, 1.0]), 1))
bad("multinomial below zero", "RuntimeError", ("< 0",), lambda t: t.multinomial(t.tensor([-1.0, 1.0]), 1))
bad("multinomial of zeros", "RuntimeError", ("sum",), lambda t: t.multinomial(t.tensor([0.0, 0.0]), 1))
bad("multinomial of too many", "RuntimeError", (), lambda t: t.multinomial(t.tensor([1.0, 1.0]), 3))
bad("bernoulli outside 0..1", "RuntimeError", ("0", "1"), lambda t: t.bernoulli(t.tensor([1.5])))
bad("normal with negative std", "RuntimeError", ("std",), lambda t: t.zeros(2).normal_(0, -1))
bad("uniform upside down", "RuntimeError", ("from",), lambda t: t.zeros(2).uniform_(1, 0))
bad("randint upside down", "RuntimeError", (), lambda t: t.randint(5, 2, (3,)))
bad("randperm negative", "RuntimeError", ("negative",), lambda t: t.randperm(-1))
bad("rand of negative size", "RuntimeError", ("negative",), lambda t: t.rand(-1))
bad("randn no memory", "RuntimeError|MemoryError", ("memory",), lambda t: t.randn(2**50))

# ---- found by tests/fuzz_operators -------------------------------------------------------------------------
for name in ("numel", "is_complex", "is_floating_point"):
    bad(f"{name} of a number", "TypeError", ("must be Tensor, not int",), lambda t, name=name: getattr(t, name)(1))
for name in ("type_as", "is_set_to"):
    bad(f"{name} a number", "TypeError", ("must be Tensor, not int",), lambda t, name=name: getattr(t.ones(1), name)(1))
bad("tensor of a range without end", "RuntimeError|MemoryError", ("memory",), lambda t: t.tensor(range(2**62)), quirk="walks it to its end")
bad("more views than memory", "MemoryError|RuntimeError", ("memory",), lambda t: t.empty(2**50, device="meta").unbind(), quirk="makes them until memory is used up")
fine("operators named like Python's", lambda t: equal(t.ops.aten.__and__.Tensor(t.tensor([6]), t.tensor([3])), t.tensor([2])))
