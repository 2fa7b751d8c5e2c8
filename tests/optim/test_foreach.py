# SPDX-License-Identifier: Apache-2.0
"""The _foreach_ family gives what a loop over its lists gives."""
import pytest

pytestmark = pytest.mark.not_sanitized

UNARY = ("abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt "
         "sigmoid sign sin sinh sqrt tan tanh trunc").split()  # fmt: skip
DTYPES = ["float32", "float64", "bfloat16", "float16", "int32", "complex64"]
SHAPES = [(3, 4), (), (0,), (65,), (2, 3, 5), (1000,)]


def tensors(torch, dtype, shift=0, shapes=SHAPES):
    """Numbers between 0 and 1 (of integers: 0 to 6), the first matrix transposed."""
    made = []
    for i, shape in enumerate(shapes):
        n = 1
        for size in shape:
            n *= size
        x = ((torch.arange(n, dtype=torch.float64) * 7 + i + shift) % 11 / 12 + 0.05).reshape(shape)
        x = x * 7 if dtype.startswith("int") else x
        made.append(x.to(getattr(torch, dtype)))
    made[0] = made[0].t().contiguous().t() if made[0].dim() == 2 else made[0]
    return made


def copies(xs):
    return [x.clone() for x in xs]


def check(torch, got, want):
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype and g.shape == w.shape
        torch.testing.assert_close(g, w, rtol=0, atol=0, equal_nan=True)


def attempt(f):
    try:
        return f()
    except (RuntimeError, NotImplementedError) as error:
        return type(error)


def both(torch, name, plain, xs, *args, per_item=None, **kwargs):
    """The functional and the in-place form against a loop over `plain`, which may refuse the type."""
    per_item = per_item or (lambda i: [a[i] if isinstance(a, list) else a for a in args])
    want = attempt(lambda: [getattr(x, plain)(*per_item(i), **kwargs) for i, x in enumerate(xs)])
    got = attempt(lambda: getattr(torch, f"_foreach_{name}")(xs, *args, **kwargs))
    if isinstance(want, type):
        assert isinstance(got, type)
        return
    check(torch, got, want)
    if any(w.dtype != x.dtype for w, x in zip(want, xs, strict=True)):
        return  # in place that is an error, or a cast
    written = copies(xs)
    before = [x._version for x in written]
    getattr(torch, f"_foreach_{name}_")(written, *args, **kwargs)
    check(torch, written, want)
    assert all(x._version > b for x, b in zip(written, before, strict=True))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_unary(torch, name, dtype):
    if name == "abs" and dtype == "complex64":
        check(torch, torch._foreach_abs(tensors(torch, dtype)), [x.abs() for x in tensors(torch, dtype)])
        return
    both(torch, name, name, tensors(torch, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_arithmetic(torch, name, dtype):
    xs, ys = tensors(torch, dtype), tensors(torch, dtype, 3)
    ys = [y + 1 for y in ys]
    both(torch, name, name, xs, ys)
    both(torch, name, name, xs, 2)
    both(torch, name, name, xs, [1, 2, 3, 4, 5, 6])
    if dtype != "int32":
        both(torch, name, name, xs, 0.3)
        both(torch, name, name, xs, [0.1 * i + 0.1 for i in range(len(xs))])
        if name in ("add", "sub"):
            both(torch, name, name, xs, ys, alpha=0.7)
    if name != "sub":
        both(torch, name, name, xs, torch.tensor(1.5).to(xs[0].dtype))
    both(torch, name, name, xs, [y.double() if dtype != "complex64" else y for y in ys])  # other types: the loop


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int32"])
@pytest.mark.parametrize(("name", "tensor", "number"), [("clamp_min", "clamp_min", "clamp_min"), ("clamp_max", "clamp_max", "clamp_max"),
                                                        ("maximum", "maximum", "clamp_min"), ("minimum", "minimum", "clamp_max")])  # fmt: skip
def test_bounds(torch, name, tensor, number, dtype):
    xs, ys = tensors(torch, dtype), tensors(torch, dtype, 5)
    both(torch, name, tensor, xs, ys)
    both(torch, name, number, xs, 1)
    if dtype != "int32":
        both(torch, name, number, xs, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])


@pytest.mark.parametrize("dtype", DTYPES)
def test_three_operands(torch, dtype):
    xs, ys, zs = (tensors(torch, dtype, shift) for shift in (0, 3, 5))
    zs = [z + 1 for z in zs]
    values = [1, 2, 3, 4, 5, 6]
    for name in ("addcmul", "addcdiv"):
        def per_item(i, ys=ys, zs=zs):
            return ys[i], zs[i]
        both(torch, name, name, xs, ys, zs)
        plain = attempt(lambda name=name: [getattr(x, name)(y, z, value=2) for x, y, z in zip(xs, ys, zs, strict=True)])
        got = attempt(lambda name=name: getattr(torch, f"_foreach_{name}")(xs, ys, zs, 2))
        listed = attempt(lambda name=name: getattr(torch, f"_foreach_{name}")(xs, ys, zs, values))
        packed = attempt(lambda name=name: getattr(torch, f"_foreach_{name}")(xs, ys, zs, torch.tensor([1.0, 2, 3, 4, 5, 6]).to(xs[0].dtype)))
        if isinstance(plain, type):
            assert isinstance(got, type)
            continue
        check(torch, got, plain)
        want = [getattr(x, name)(y, z, value=v) for x, y, z, v in zip(xs, ys, zs, values, strict=True)]
        check(torch, listed, want)
        check(torch, packed, want)
    if dtype not in ("int32",):
        both(torch, "lerp", "lerp", xs, ys, 0.3)
        both(torch, "lerp", "lerp", xs, ys, zs)
        both(torch, "lerp", "lerp", xs, ys, [0.1, 0.2, 0.3, 0.6, 0.7, 0.8])


def test_pow(torch):
    xs, ys = tensors(torch, "float64"), tensors(torch, "float64", 3)
    both(torch, "pow", "pow", xs, ys)
    both(torch, "pow", "pow", xs, 2)
    both(torch, "pow", "pow", xs, [1, 2, 3, 0.5, -1, 0])
    check(torch, torch._foreach_pow(2.0, xs), [2.0**x for x in xs])


def test_whole_tensors(torch):
    xs = [x for x in tensors(torch, "float32") if x.numel()]
    check(torch, torch._foreach_norm(xs), [torch.linalg.vector_norm(x) if hasattr(torch, "linalg") else x.norm() for x in xs])
    check(torch, torch._foreach_norm(xs, float("inf")), [x.abs().max() for x in xs])
    assert torch._foreach_norm([x.bfloat16() for x in xs], 1, dtype=torch.float32)[0].dtype == torch.float32
    check(torch, torch._foreach_max(xs), [x.max() for x in xs])
    ys = copies(xs)
    torch._foreach_zero_(ys)
    assert all(not y.any() for y in ys)
    torch._foreach_copy_(ys, [x.double() for x in xs])
    check(torch, ys, xs)


def test_gradients(torch):
    xs = [x.double().requires_grad_() for x in tensors(torch, "float64", shapes=[(3, 2), (4,)])]
    ys = [x.double().requires_grad_() for x in tensors(torch, "float64", 3, shapes=[(3, 2), (4,)])]
    assert torch.autograd.gradcheck(lambda a, b, c, d: torch._foreach_addcdiv(torch._foreach_exp([a, b]), [a, b], [c, d], 0.5), (*xs, *ys))

    def in_place(a, b):
        written = [a * 1, b * 1]
        torch._foreach_mul_(written, 3.0)
        torch._foreach_add_(written, written)
        return written

    assert torch.autograd.gradcheck(in_place, xs)
    with pytest.raises(RuntimeError, match="leaf"):
        torch._foreach_mul_(xs, 2.0)
    with torch.no_grad():
        torch._foreach_mul_(xs, 2.0)


def test_items_that_share_memory(torch):
    """The items are treated one after the other, whatever they share."""
    a, b = torch.ones(100), torch.full((100,), 2.0)
    torch._foreach_add_([a, b], [b, a])
    assert a[0] == 3 and b[0] == 5
    x = torch.arange(6.0)
    torch._foreach_mul_([x, x], 2)
    assert x.tolist() == [0, 4, 8, 12, 16, 20]
    halves = [x[:3], x[3:]]
    torch._foreach_add_(halves, 1.0)
    assert x.tolist() == [1, 5, 9, 13, 17, 21]


def test_large_lists_in_one_pass(torch):
    """Ranges of elements, not tensors, are what threads share."""
    sizes = [1, 70000, 0, 3, 40001, 17]
    xs = [torch.arange(n, dtype=torch.float32) for n in sizes]
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        torch._foreach_mul_(xs, 2)
        got = torch._foreach_add(xs, [1.0] * len(xs))
    finally:
        torch.set_num_threads(before)
    for x, n in zip(got, sizes, strict=True):
        assert torch.equal(x, torch.arange(n, dtype=torch.float32) * 2 + 1)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda t, x: t._foreach_add([], 1), "at least one tensor"),
        (lambda t, x: t._foreach_add([x], [x, x]), "same number of tensors"),
        (lambda t, x: t._foreach_add([x, x], [1.0]), "scalar list"),
        (lambda t, x: t._foreach_mul([x], t.ones(2)), "expected to be 0 dim"),
        (lambda t, x: t._foreach_addcmul([x], [x], [x], t.ones(2)), "length of scalars"),
        (lambda t, x: t._foreach_add([x], [t.ones(7)]), "must match"),
        (lambda t, x: t._foreach_add_([x], [t.ones(2, 3, 3)]), "shape"),
        (lambda t, x: t._foreach_add_([t.ones(1).expand(3)], 1), "single memory location"),
        (lambda t, x: t._foreach_norm([]), "at least one tensor"),
    ],
)
def test_refuses(torch, call, text):
    with pytest.raises(RuntimeError, match=text):
        call(torch, torch.ones(3, 3))


def test_in_place_forms_give_the_list_back(torch):
    """torch._foreach_add_ and its like: the list or tuple that was given; torch.ops.aten and what is no _foreach_: nothing."""
    other = [torch.ones(2), torch.ones(3)]
    with_others = {"add_": (1,), "mul_": (other,), "copy_": (other,), "lerp_": (other, 0.5), "addcmul_": (other, other)}
    for given in (copies(other), tuple(copies(other))):
        for name in UNARY + ["zero"]:
            assert getattr(torch, f"_foreach_{name}_")(given) is given, name
        for name, args in with_others.items():
            assert getattr(torch, f"_foreach_{name}")(given, *args) is given, name
        assert torch._foreach_add_(scalar=1, self=given) is given and torch._foreach_add_(given, scalar=1) is given
        assert torch.ops.aten._foreach_add_.Scalar(given, 1) is None and torch.ops.aten._foreach_zero_(given) is None
        assert torch._amp_foreach_non_finite_check_and_unscale_(given, torch.zeros(1), torch.ones(1)) is None

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with Mode():
        assert torch._foreach_add_(other, 1) is other and other[0].tolist() == [2, 2]
