# SPDX-License-Identifier: Apache-2.0
"""Properties against NumPy: views, strides, broadcasting, indexing, reductions, joins, type promotion.

NumPy and PyTorch agree on all of this except where a comment says so. HYPOTHESIS_PROFILE=explore runs many
more examples with fresh seeds; the default ones are fixed, so that a run can be repeated.
"""
import importlib.util
import json
import os
import pathlib

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile("default", max_examples=120, deadline=None, derandomize=True, suppress_health_check=CHECKS)
settings.register_profile("explore", max_examples=5000, deadline=None, suppress_health_check=CHECKS)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

pytestmark = pytest.mark.filterwarnings("ignore")
DTYPES = ["bool", "uint8", "int32", "int64", "float32", "float64", "complex64"]
shapes = st.lists(st.integers(0, 4), min_size=0, max_size=4).map(tuple)
full_shapes = st.lists(st.integers(1, 4), min_size=0, max_size=4).map(tuple)


def numbered(shape, dtype="int64"):
    """Distinct values, so that any misplaced element shows."""
    n = int(np.prod(shape, dtype=np.int64))
    values = np.arange(n) * 7 % 251 - (0 if dtype.startswith(("u", "bool")) else 20)
    return (values % 2 if dtype == "bool" else values).astype(dtype).reshape(shape)


def same(tensor, array):
    """Shape, dtype name and every value."""
    assert tuple(tensor.shape) == array.shape
    assert str(tensor.dtype).split(".")[-1] == array.dtype.name
    np.testing.assert_array_equal(tensor.numpy(), array)


def same_strides(tensor, array):
    """Equal strides in dimensions that have more than one element."""
    assert tuple(tensor.shape) == array.shape
    if array.size:
        ours = [s for n, s in zip(tensor.shape, tensor.stride()) if n > 1]
        theirs = [s // array.itemsize for n, s in zip(array.shape, array.strides) if n > 1]
        assert ours == theirs


@st.composite
def slices(draw, n):
    start = draw(st.none() | st.integers(-n - 2, n + 2))
    stop = draw(st.none() | st.integers(-n - 2, n + 2))
    step = draw(st.none() | st.integers(1, 3))  # negative steps do not exist in PyTorch
    return slice(start, stop, step)


@st.composite
def view_steps(draw, shape):
    """One view: (name, arguments, function of the NumPy array)."""
    d = len(shape)
    kinds = ["unsqueeze", "expand", "index", "permute"]
    kinds += ["transpose", "select", "narrow", "flatten", "unfold"] if d else []
    kinds += ["squeeze"] if 1 in shape else []
    kinds += ["diagonal"] if d > 1 else []
    kind = draw(st.sampled_from(kinds))
    if kind == "unsqueeze":
        k = draw(st.integers(-d - 1, d))
        return kind, lambda x: x.unsqueeze(k), lambda a: np.expand_dims(a, k)
    if kind == "expand":
        target = [draw(st.integers(1, 3)) if n == 1 else n for n in shape]
        target = [draw(st.integers(1, 2))] * draw(st.integers(0, 1)) + target
        return f"expand{target}", lambda x: x.expand(*target) if target else x.expand(()), lambda a: np.broadcast_to(a, target)
    if kind == "permute":
        order = draw(st.permutations(range(d)))
        return f"permute{order}", lambda x: x.permute(*order) if order else x.permute(()), lambda a: a.transpose(order)
    if kind == "index":
        index = tuple(draw(slices(n)) for n in shape[:draw(st.integers(0, d))])
        return f"[{index}]", lambda x: x[index], lambda a: a[index + (Ellipsis,)]
    if kind == "transpose":
        i, j = draw(st.integers(-d, d - 1)), draw(st.integers(-d, d - 1))
        return f"transpose{i, j}", lambda x: x.transpose(i, j), lambda a: np.swapaxes(a, i, j)
    if kind == "squeeze":
        k = draw(st.sampled_from([i for i, n in enumerate(shape) if n == 1]))
        return f"squeeze({k})", lambda x: x.squeeze(k), lambda a: np.squeeze(a, k)
    if kind == "diagonal":
        k = draw(st.integers(-2, 2))
        return f"diagonal({k})", lambda x: x.diagonal(k), lambda a: np.diagonal(a, k)
    i = draw(st.integers(0, d - 1))
    n = shape[i]
    if kind == "select":
        assume(n > 0)
        k = draw(st.integers(-n, n - 1))
        return f"select{i, k}", lambda x: x.select(i, k), lambda a: a[(slice(None),) * i + (k, Ellipsis)]
    if kind == "narrow":
        start = draw(st.integers(0, n))
        length = draw(st.integers(0, n - start))
        return f"narrow{i, start, length}", lambda x: x.narrow(i, start, length), lambda a: a[(slice(None),) * i + (slice(start, start + length),)]
    if kind == "unfold":
        assume(n > 0)
        size, step = draw(st.integers(1, n)), draw(st.integers(1, 2))
        return (f"unfold{i, size, step}", lambda x: x.unfold(i, size, step),
                lambda a: np.lib.stride_tricks.sliding_window_view(a, size, i)[(slice(None),) * i + (slice(None, None, step),)])
    return "flatten", lambda x: x.flatten(), lambda a: a.reshape(-1)


@given(data=st.data(), shape=shapes, dtype=st.sampled_from(DTYPES))
def test_chain_of_views(torch, data, shape, dtype):
    """Any chain of views has NumPy's shape, strides and values, and shares memory exactly when NumPy's does."""
    base = numbered(shape, dtype)
    array, tensor = base, torch.from_numpy(base)
    for _ in range(data.draw(st.integers(1, 5))):
        name, ours, theirs = data.draw(view_steps(array.shape))
        note(name)
        tensor, array = ours(tensor), theirs(array)
        if array.ndim > 8 or array.size > 4000:
            break
    same(tensor, array)
    if array.size and np.shares_memory(array, base):
        same_strides(tensor, array)
        assert tensor.data_ptr() == array.__array_interface__["data"][0]


@given(data=st.data(), shape=full_shapes)
def test_write_through_a_view(torch, data, shape):
    """Filling a view changes exactly the elements that NumPy changes in the base."""
    array, base = numbered(shape), torch.from_numpy(numbered(shape).copy())
    a, x = array, base
    for _ in range(data.draw(st.integers(1, 4))):
        name, ours, theirs = data.draw(view_steps(a.shape))
        if name.startswith(("expand", "unfold", "diagonal", "flatten")):
            continue  # overlapping or read-only in NumPy
        note(name)
        x, a = ours(x), theirs(a)
    x.fill_(-99)
    a[...] = -99
    same(base, array)
    x.add_(3)
    a += 3
    same(base, array)


@given(a=shapes, b=shapes, data=st.data())
def test_broadcasting(torch, a, b, data):
    """Shapes combine, or fail to, exactly as in NumPy."""
    if data.draw(st.booleans()):  # mostly shapes that do combine
        b = tuple(data.draw(st.sampled_from([1, n])) for n in a[max(len(a) - len(b), 0):])
    x, y = numbered(a, "float64"), numbered(b, "float64")
    try:
        want = x * y + x
    except ValueError:
        for function in (torch.add, torch.mul, torch.maximum, torch.eq):
            with pytest.raises(RuntimeError):
                function(torch.from_numpy(x), torch.from_numpy(y))
        return
    got = torch.from_numpy(x) * torch.from_numpy(y) + torch.from_numpy(x)
    same(got, want)
    assert tuple(torch.broadcast_shapes(a, b)) == np.broadcast_shapes(a, b)


@given(data=st.data(), shape=full_shapes)
def test_strided_arithmetic(torch, data, shape):
    """Arithmetic on views reads the right elements, whatever the strides of both sides."""
    x, y = numbered(shape, "float64"), numbered(shape, "float64")[..., None].repeat(2, -1)[..., 1]
    order = data.draw(st.permutations(range(len(shape))))
    back = np.argsort(order) if order else order
    first = torch.from_numpy(np.ascontiguousarray(x.transpose(order))).permute(*[int(i) for i in back]) if shape else torch.from_numpy(x)
    second = torch.from_numpy(y)
    same(first + second, x + y)
    same(torch.where(first > second, first, second), np.maximum(x, y))
    target = torch.zeros([2 * n for n in shape], dtype=torch.float64)[tuple(slice(None, None, 2) for _ in shape)]
    torch.sub(first, second, out=target)
    same(target, x - y)


@st.composite
def indices(draw, shape, write=False):
    """An index for NumPy: numbers, slices, None, one Ellipsis, masks and integer arrays."""
    parts, left, used_ellipsis = [], list(shape), False
    arrays = draw(st.booleans())
    common = draw(st.sampled_from([(), (1,), (3,), (2, 1), (2, 3)]))
    while left and draw(st.integers(0, 4)):
        choice = draw(st.sampled_from(["number", "slice", "none", "ellipsis"] if not arrays else ["slice", "none", "ellipsis", "array", "array", "mask"]))
        n = left[0]
        if choice == "number" and n:  # not beside arrays: NumPy then counts it as an array, PyTorch as a view
            parts.append(draw(st.integers(-n, n - 1)))
            left.pop(0)
        elif choice == "slice":
            parts.append(draw(slices(n)))
            left.pop(0)
        elif choice == "none":
            parts.append(None)
        elif choice == "ellipsis" and not used_ellipsis:
            used_ellipsis = True
            keep = draw(st.integers(0, len(left)))
            parts.append(Ellipsis)
            left = left[keep:]
            if len(left) and not draw(st.booleans()):
                parts += [slice(None)] * len(left)
                left = []
        elif choice == "array" and n:
            count = int(np.prod(common, dtype=int))
            if write:  # each place once, else the order of writes decides
                assume(count <= n)
                values = draw(st.permutations(range(n)))[:count]
            else:
                values = draw(st.lists(st.integers(-n, n - 1), min_size=count, max_size=count))
            parts.append(np.array(values, np.int64).reshape(common))
            left.pop(0)
        elif choice == "mask" and not any(isinstance(p, np.ndarray) for p in parts):
            parts.append(np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool))
            left.pop(0)
    if used_ellipsis and left:
        parts += [slice(None)] * len(left)
    return tuple(parts)


def converted(torch, index):
    return tuple(torch.from_numpy(p.copy()) if isinstance(p, np.ndarray) else p for p in index)


@given(data=st.data(), shape=shapes)
def test_index_read(torch, data, shape):
    array = numbered(shape)
    index = data.draw(indices(shape))
    note(index)
    try:
        want = array[index]
    except IndexError:
        with pytest.raises(IndexError):
            torch.from_numpy(array)[converted(torch, index)]
        return
    got = torch.from_numpy(array)[converted(torch, index)]
    assert tuple(got.shape) == np.shape(want)
    np.testing.assert_array_equal(got.numpy(), want)
    if not any(isinstance(p, np.ndarray) for p in index) and np.size(want):
        assert got.untyped_storage().data_ptr() == torch.from_numpy(array).untyped_storage().data_ptr(), "a basic index is a view"


@given(data=st.data(), shape=shapes, how=st.sampled_from(["number", "broadcast", "exact"]))
def test_index_write(torch, data, shape, how):
    array = numbered(shape)
    tensor = torch.from_numpy(array.copy())
    index = data.draw(indices(shape, write=True))
    note(index)
    try:
        part = array[index]
    except IndexError:
        return
    if how == "number":
        value, ours = -77, -77
    else:
        size = np.shape(part)
        if how == "broadcast" and size:
            size = size[1:] if data.draw(st.booleans()) else tuple(1 if data.draw(st.booleans()) else n for n in size)
        value = (1000 + np.arange(int(np.prod(size, dtype=int)))).reshape(size)
        ours = torch.from_numpy(value)
    array[index] = value
    tensor[converted(torch, index)] = ours
    same(tensor, array)


@given(data=st.data(), shape=shapes)
def test_index_out_of_range(torch, data, shape):
    """One step outside is an IndexError, for numbers and for index tensors."""
    assume(shape)
    i = data.draw(st.integers(0, len(shape) - 1))
    n = shape[i]
    bad = data.draw(st.sampled_from([n, -n - 1, n + 1000, -(2**62), 2**62]))
    tensor = torch.from_numpy(numbered(shape))
    before = (slice(None),) * i
    with pytest.raises(IndexError):
        tensor[before + (bad,)]
    if tensor.numel():
        with pytest.raises(IndexError):
            tensor[before + (torch.tensor([0, bad]),)]
        with pytest.raises(IndexError):
            tensor[before + (torch.tensor([bad]),)] = 1


REDUCTIONS = {"sum": np.sum, "prod": np.prod, "amax": np.max, "amin": np.min, "mean": np.mean, "any": np.any, "all": np.all}


@given(data=st.data(), shape=full_shapes, name=st.sampled_from(sorted(REDUCTIONS)), keep=st.booleans())
def test_reductions(torch, data, shape, name, keep):
    array = np.asarray(numbered(shape, "float64") / 8)
    dims = tuple(data.draw(st.lists(st.integers(0, max(len(shape) - 1, 0)), unique=True, min_size=1, max_size=max(len(shape), 1)))) if shape else None
    tensor = torch.from_numpy(array)
    if len(shape) > 1 and data.draw(st.booleans()):
        tensor, array = tensor.transpose(0, -1), np.swapaxes(array, 0, -1)
    if dims is None:
        got, want = getattr(torch, name)(tensor), REDUCTIONS[name](array)
    elif name == "prod":
        got, want = torch.prod(tensor, dims[0], keepdim=keep), np.prod(array, axis=dims[0], keepdims=keep)
    else:
        signed = tuple(d - len(shape) if data.draw(st.booleans()) else d for d in dims)
        got, want = getattr(torch, name)(tensor, signed, keepdim=keep), REDUCTIONS[name](array, axis=dims, keepdims=keep)
    assert tuple(got.shape) == np.shape(want)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-12, atol=1e-12)


@given(data=st.data(), shape=full_shapes)
def test_scans_sorts_and_arguments(torch, data, shape):
    assume(shape)
    array = np.random.RandomState(data.draw(st.integers(0, 99))).permutation(int(np.prod(shape))).reshape(shape).astype("float64")
    d = data.draw(st.integers(-len(shape), len(shape) - 1))
    tensor = torch.from_numpy(array)
    same(torch.cumsum(tensor, d), np.cumsum(array, d))
    values, order = torch.sort(tensor, d)
    same(values, np.sort(array, d))
    same(order, np.argsort(array, d))
    same(torch.argmax(tensor, d), np.argmax(array, d))
    same(torch.argmin(tensor, d), np.argmin(array, d))
    same(torch.flip(tensor, (d,)), np.flip(array, d).copy())
    same(torch.roll(tensor, 2, d), np.roll(array, 2, d))
    same(torch.gather(tensor, d, order), np.take_along_axis(array, np.argsort(array, d), d))


@given(data=st.data(), shape=shapes)
def test_reshape_and_view(torch, data, shape):
    """view succeeds exactly when NumPy can reshape without a copy; reshape always agrees."""
    array = numbered(shape, "float32")
    for _ in range(data.draw(st.integers(0, 2))):
        _, _, theirs = data.draw(view_steps(array.shape))
        array = theirs(array)
    assume(array.ndim <= 6 and array.size <= 500)
    if array.size == 0:
        target = data.draw(st.sampled_from([(0,), (0, 3), (2, 0)]))
    else:
        factors, left = [], array.size
        while left > 1 and len(factors) < 4:
            f = data.draw(st.sampled_from([k for k in range(1, left + 1) if left % k == 0]))
            factors.append(f)
            left //= f
        target = tuple(factors + ([left] if left > 1 else []))
    writable = array if array.flags.writeable else np.lib.stride_tricks.as_strided(array, writeable=True)
    tensor = torch.from_numpy(writable)
    want = array.reshape(target)
    same(tensor.reshape(target), want)
    if array.size and (np.shares_memory(want, array)):
        got = tensor.view(target)
        same_strides(got, want)
        assert tensor.reshape(target).data_ptr() == tensor.data_ptr()
    elif array.size:
        with pytest.raises(RuntimeError, match="view"):
            tensor.view(target)
        assert tensor.reshape(target).data_ptr() != tensor.data_ptr()


@given(data=st.data(), shape=full_shapes, count=st.integers(1, 3))
def test_joins_and_splits(torch, data, shape, count):
    assume(shape)
    d = data.draw(st.integers(-len(shape), len(shape) - 1))
    arrays = []
    for _ in range(count):
        size = list(shape)
        size[d] = data.draw(st.integers(0, 3))
        arrays.append(numbered(size))
    same(torch.cat([torch.from_numpy(a) for a in arrays], d), np.concatenate(arrays, d))
    same(torch.stack([torch.from_numpy(arrays[0])] * count, d), np.stack([arrays[0]] * count, d))
    array = numbered(shape)
    pieces = torch.split(torch.from_numpy(array), data.draw(st.integers(1, 3)), d)
    same(torch.cat(pieces, d), array)
    k = data.draw(st.integers(1, 4))
    for got, want in zip(torch.tensor_split(torch.from_numpy(array), k, d), np.array_split(array, k, d)):
        same(got, want)
    reps = tuple(data.draw(st.integers(0, 2)) for _ in shape)
    same(torch.from_numpy(array).repeat(*reps), np.tile(array, reps))


@given(data=st.data(), source=st.sampled_from(DTYPES), target=st.sampled_from(DTYPES))
def test_casts(torch, data, source, target):
    """On values that the target can hold, casts are C's."""
    values = data.draw(st.lists(st.integers(0, 100), max_size=8))
    array = np.array(values, np.float64)
    array = (array + (0.5 if source.startswith("float") else 0)).astype(source)
    with np.errstate(all="ignore"):
        want = array.real.astype(target) if source.startswith("complex") and not target.startswith("complex") and target != "bool" else array.astype(target)
    same(torch.from_numpy(array).to(getattr(torch, target)), want)


@given(data=st.data(), m=st.integers(0, 4), k=st.integers(0, 4), n=st.integers(0, 4), batch=shapes.filter(lambda s: len(s) < 3))
def test_matmul(torch, data, m, k, n, batch):
    """Broadcast batches, vectors, empty inner dimensions (their sum is zero)."""
    a = batch + ((k,) if data.draw(st.booleans()) and not batch else (m, k))
    other = tuple(1 if data.draw(st.booleans()) else s for s in batch)[data.draw(st.integers(0, len(batch))):]
    b = (k,) if data.draw(st.booleans()) and not other else other + (k, n)
    x, y = np.asarray(numbered(a, "float64") / 16), np.asarray(numbered(b, "float64") / 16)
    got = torch.matmul(torch.from_numpy(x), torch.from_numpy(y))
    want = np.matmul(x, y)
    assert tuple(got.shape) == np.shape(want)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-12, atol=1e-12)


@given(data=st.data(), shape=shapes)
def test_as_strided_stays_inside(torch, data, shape):
    """Any sizes and strides either stay inside the storage or are refused; nothing is read outside."""
    tensor = torch.from_numpy(numbered(shape))
    size = data.draw(st.lists(st.integers(-1, 5), max_size=3))
    stride = data.draw(st.lists(st.integers(-1, 6), min_size=len(size), max_size=len(size)))
    offset = data.draw(st.integers(-1, 6))
    total = tensor.untyped_storage().nbytes() // 8
    bad = any(n < 0 for n in size) or any(s < 0 for s in stride) or offset < 0
    last = offset + sum((n - 1) * s for n, s in zip(size, stride))
    if not bad and 0 not in size and last >= total:
        bad = True
    if bad:
        with pytest.raises(RuntimeError):
            torch.as_strided(tensor, size, stride, offset)
    else:
        got = torch.as_strided(tensor, size, stride, offset)
        assert tuple(got.shape) == tuple(size) and tuple(got.stride()) == tuple(stride)
        if 0 not in size:
            flat = tensor.reshape(-1).numpy()
            want = np.array([flat[offset + sum(i * s for i, s in zip(where, stride))] for where in np.ndindex(*size)]).reshape(size)
            same(got, want.astype(np.int64))


@given(shape=shapes, value=st.sampled_from([0, 1, -3, 2.5]), dtype=st.sampled_from(DTYPES))
def test_factories(torch, shape, value, dtype):
    kind = getattr(torch, dtype)
    if not (dtype == "uint8" and value < 0):
        with np.errstate(all="ignore"):
            same(torch.full(shape, value, dtype=kind), np.full(shape, value).astype(dtype))
    same(torch.zeros(shape, dtype=kind), np.zeros(shape, dtype))
    same(torch.ones(*shape, dtype=kind) if shape else torch.ones((), dtype=kind), np.ones(shape, dtype))


@given(start=st.integers(-20, 20), stop=st.integers(-20, 20), step=st.integers(-5, 5).filter(bool))
def test_arange(torch, start, stop, step):
    if (stop - start) * step < 0:
        with pytest.raises(RuntimeError):
            torch.arange(start, stop, step)
    else:
        same(torch.arange(start, stop, step), np.arange(start, stop, step))


@given(data=st.data(), shape=full_shapes)
def test_lists_there_and_back(torch, data, shape):
    array = numbered(shape, data.draw(st.sampled_from(["int64", "bool"])))
    tensor = torch.tensor(array.tolist())
    same(tensor, array)
    assert tensor.tolist() == array.tolist()


GOLDEN = pathlib.Path(__file__).parent / "golden"


def test_promotion(torch):
    """result_type, promote_types and can_cast for every pair of dtypes and every kind of operand."""
    spec = importlib.util.spec_from_file_location("record_promotion", GOLDEN / "record_promotion.py")
    recorder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recorder)
    want, got = json.loads((GOLDEN / "promotion.json").read_text()), recorder.record(torch)

    def agrees(ours, theirs):
        if theirs == "!":
            return True  # PyTorch has no rule for the storage-only types; another module may have one
        if theirs in ("complex32", "bcomplex32") and not hasattr(torch, theirs):
            return ours == "complex64"  # the smallest complex type there is
        return ours == theirs
    wrong = [f"{table} {key}: {got[table][key]}, PyTorch has {value}" for table in ("pairs", "promote", "cast")
             for key, value in want[table].items() if not agrees(got[table][key], value)]
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:20])


@given(shape=st.tuples(st.integers(0, 7), st.integers(0, 4)) | st.integers(1, 4).map(lambda n: (n, n, n)), wrap=st.booleans(), turned=st.booleans())
def test_fill_diagonal(torch, shape, wrap, turned):
    array = numbered(shape, "float64")
    array = array.T.copy().T if turned else array
    tensor = torch.from_numpy(array.copy(order="K"))
    assert tensor.fill_diagonal_(-99.0, wrap) is tensor
    if array.size:
        np.fill_diagonal(array, -99.0, wrap)
    same(tensor, array)
