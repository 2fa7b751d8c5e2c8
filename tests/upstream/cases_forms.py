# SPDX-License-Identifier: Apache-2.0
"""Forms of calls that were missing: out= of random factories, several tensors, in-place forms with history, types mixed."""

DRAWS = {
    "rand": lambda t, out: t.rand(2, 3, out=out),
    "rand of a tuple": lambda t, out: t.rand((2, 3), out=out),
    "randn": lambda t, out: t.randn(2, 3, out=out),
    "randint": lambda t, out: t.randint(5, (2, 3), out=out),
    "randint between": lambda t, out: t.randint(1, 5, (2, 3), out=out),
    "normal": lambda t, out: t.normal(0.0, 1.0, (2, 3), out=out),
    "normal with size=": lambda t, out: t.normal(0, 1, size=(2, 3), out=out),
    "rand with a generator": lambda t, out: t.rand(2, 3, generator=t.Generator().manual_seed(3), out=out),
}
CASES = {}


def drawn(t, function, make):
    t.manual_seed(1)
    out = make(t)
    result = function(t, out)
    return out, result is out


for _name, _function in DRAWS.items():
    CASES[f"{_name} into nothing"] = lambda t, f=_function: drawn(t, f, lambda t: t.empty(0))
    CASES[f"{_name} into a part"] = lambda t, f=_function: drawn(t, f, lambda t: t.zeros(4, 4).narrow(0, 0, 2).narrow(1, 1, 3))
for _type in ("int64", "int32", "float32"):
    CASES[f"randperm into {_type}"] = lambda t, d=_type: drawn(t, lambda t, out: t.randperm(5, out=out), lambda t: t.empty(0, dtype=getattr(t, d)))
CASES["randperm into a column"] = lambda t: drawn(t, lambda t, out: t.randperm(5, out=out), lambda t: t.zeros(6, 2, dtype=t.int64)[:5, 0])
CASES["bernoulli into integers"] = lambda t: drawn(t, lambda t, out: t.bernoulli(t.tensor([0.5, 1.0, 0.0]), out=out), lambda t: t.empty(3, dtype=t.int64))


def gradient(t, function):
    x = t.arange(1.0, 7.0, dtype=t.float64).reshape(2, 3).requires_grad_()
    function(x * 1).sum().backward()
    return x.grad


def after_set(t):
    p = t.arange(4.0, requires_grad=True)
    (p * 2).sum().backward()
    with t.no_grad():
        p.set_(p[1:])
    p.grad = None
    (p * 3).sum().backward()
    return p.grad, list(p.shape)


CASES.update({
    "atleast_1d of several": lambda t: t.atleast_1d(t.tensor(1.0), t.tensor([2.0])),
    "atleast_2d of several": lambda t: t.atleast_2d(t.tensor(1.0), t.tensor([2.0])),
    "atleast_3d of a list": lambda t: t.atleast_3d([t.tensor(1.0), t.tensor([2.0])]),
    "atleast_1d of one": lambda t: t.atleast_1d(t.tensor(1.0)),
    "atleast_1d of nothing": lambda t: list(t.atleast_1d()),
    "float_power_, gradient": lambda t: gradient(t, lambda y: y.float_power_(2.0)),
    "float_power_ by a tensor, gradient": lambda t: gradient(t, lambda y: y.float_power_(t.tensor(3.0))),
    "renorm_, gradient": lambda t: gradient(t, lambda y: y.renorm_(2, 0, 1.0)),
    "float_power_ of float32": lambda t: t.ones(2).float_power_(2),
    "float_power_ of complex64": lambda t: t.ones(2, dtype=t.complex64).float_power_(2),
    "float_power_ of float64": lambda t: t.full((2,), 3.0, dtype=t.float64).float_power_(2),
    "float_power_ of float64 by a complex number": lambda t: t.ones(2, dtype=t.float64).float_power_(1j),
    "float_power_ of int64": lambda t: t.ones(2, dtype=t.int64).float_power_(2),
    "backward after set_": after_set,
    "fftfreq into float64": lambda t: t.fft.fftfreq(4, out=t.empty(4, dtype=t.float64)),
    "rfftfreq into float64": lambda t: t.fft.rfftfreq(4, out=t.empty(3, dtype=t.float64)),
    "searchsorted of floats in integers": lambda t: t.searchsorted(t.tensor([1, 2, 3]), t.tensor([1.5, 2.0])),
    "searchsorted of integers in floats": lambda t: t.searchsorted(t.tensor([1.0, 2.0, 3.0]), t.tensor([1, 2])),
    "searchsorted of int64 in int32": lambda t: t.searchsorted(t.tensor([1, 2, 3], dtype=t.int32), t.tensor([1, 2])),
    "bucketize of floats in integers": lambda t: t.bucketize(t.tensor([1.5]), t.tensor([1, 2])),
    "FloatTensor with a device": lambda t: [list(t.FloatTensor(2, 3, device="cpu").shape), t.FloatTensor([1, 2], device="cpu")],
    "new with size=": lambda t: list(t.ones(1).new(size=(2, 3)).shape),
    "subclass of FloatTensor": lambda t: type("Mine", (t.FloatTensor,), {}),
    "nonzero as a tuple into a tensor": lambda t: t.nonzero(t.ones(2), as_tuple=True, out=t.empty(0, dtype=t.int64)),
    "heaviside of two types": lambda t: t.heaviside(t.ones(2), t.ones(2, dtype=t.float64)),
    "zeros_like of a permuted part": lambda t: t.zeros_like(t.ones(4, 6, 5)[:, ::2].permute(2, 0, 1)),
    "empty_like of a row seen three times": lambda t: list(t.empty_like(t.ones(1, 3).expand(3, 3)).stride()),
    "exp of a transposed matrix into nothing": lambda t: t.exp(t.zeros(2, 3).T, out=t.empty(0)),
    "add of channels-last images into nothing": lambda t: t.add(t.ones(1, 2, 3, 3).contiguous(memory_format=t.channels_last), 1, out=t.empty(0)),
    "half with a memory format": lambda t: t.zeros(1, 2, 2, 2).contiguous(memory_format=t.channels_last).half(memory_format=t.contiguous_format),
    "float with a memory format": lambda t: t.zeros(1, 2, 2, 2).half().float(memory_format=t.channels_last),
    "vector_norm of integers": lambda t: t.linalg.vector_norm(t.tensor([1, 2])),
})  # fmt: skip


def circles_left_by_loading(t):
    import gc

    m = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.BatchNorm1d(2))
    state = m.state_dict()

    def circles():
        m.load_state_dict(state)
        return gc.collect()

    circles()
    gc.disable()
    try:
        return min(circles() for _ in range(3))  # a thread of another test may leave some meanwhile
    finally:
        gc.enable()


CASES["circles left by load_state_dict"] = circles_left_by_loading

for _mode in ("Reflection", "Replication"):
    for _spatial in (1, 2, 3):
        for _sizes in ((0,), (2, 0), (0, 2)):
            CASES[f"{_mode}Pad{_spatial}d of {_sizes}"] = lambda t, n=f"{_mode}Pad{_spatial}d", s=_sizes + (4,) * _spatial: list(getattr(t.nn, n)(1)(t.ones(s)).shape)
CASES.update({
    "unfold without channels": lambda t: list(t.nn.functional.unfold(t.ones(1, 0, 4, 4), 2).shape),
    "unfold of no images": lambda t: list(t.nn.functional.unfold(t.ones(0, 2, 4, 4), 2).shape),
    "group_norm of one value a group": lambda t: t.nn.functional.group_norm(t.ones(1, 2), 2),
    "GroupNorm in evaluation": lambda t: t.nn.GroupNorm(2, 2).eval()(t.ones(1, 2, 1)),
    "group_norm of two values a group": lambda t: t.nn.functional.group_norm(t.ones(1, 4), 2),
    "Module.to with copy": lambda t: t.nn.Linear(2, 2).to("cpu", copy=True),
})  # fmt: skip
