# SPDX-License-Identifier: Apache-2.0
"""More properties against NumPy: scattered writes, integers that wrap, reductions of long lines, counting and searching."""
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from test_views_hypothesis import full_shapes, numbered, same, shapes

pytestmark = pytest.mark.filterwarnings("ignore")
INTEGERS = ["uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@st.composite
def broadcastable(draw, count):
    """Shapes that broadcast together."""
    shape = draw(shapes)
    return [tuple(draw(st.sampled_from([1, n])) for n in shape[draw(st.integers(0, len(shape))):]) for _ in range(count)]


@given(data=st.data(), source=st.sampled_from(INTEGERS), target=st.sampled_from([*INTEGERS, "bool", "float32", "float64"]))
def test_integers_wrap(torch, data, source, target):
    """Any value of any integer type: casts are modulo 2^n, and to nearest for floats."""
    limits = np.iinfo(source)
    values = data.draw(st.lists(st.integers(int(limits.min), int(limits.max)), min_size=1, max_size=9))
    array = np.array(values, source)
    tensor = torch.tensor(values, dtype=getattr(torch, source))
    assert tensor.tolist() == values
    same(tensor, array)
    same(tensor.to(getattr(torch, target)), array.astype(target))
    same(torch.from_dlpack(array), array)


@given(data=st.data(), dtype=st.sampled_from(INTEGERS), name=st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"]))
def test_integers_compare(torch, data, dtype, name):
    limits = np.iinfo(dtype)
    numbers = st.lists(st.integers(int(limits.min), int(limits.max)) | st.sampled_from([int(limits.min), int(limits.max), 0]), min_size=3, max_size=3)
    a, b = np.array(data.draw(numbers), dtype), np.array(data.draw(numbers), dtype)
    ufunc = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}[name]
    if torch.__name__ != "facula" and dtype in ("uint16", "uint32", "uint64") and name not in ("eq", "ne"):
        return  # PyTorch leaves these out
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    same(getattr(torch, name)(x, y), ufunc(a, b))
    same(getattr(torch, name)(x, int(b[0])), ufunc(a, b[0]))


@given(data=st.data(), dtype=st.sampled_from(["int8", "uint8", "int32", "int64"]), name=st.sampled_from(["add", "sub", "mul", "bitwise_and", "bitwise_xor"]))
def test_integer_arithmetic_wraps(torch, data, dtype, name):
    limits = np.iinfo(dtype)
    numbers = st.lists(st.integers(int(limits.min), int(limits.max)), min_size=5, max_size=5)
    a, b = np.array(data.draw(numbers), dtype), np.array(data.draw(numbers), dtype)
    ufunc = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "bitwise_and": np.bitwise_and, "bitwise_xor": np.bitwise_xor}[name]
    with np.errstate(over="ignore"):
        same(getattr(torch, name)(torch.from_numpy(a), torch.from_numpy(b)), ufunc(a, b))


@given(data=st.data(), shape=full_shapes, accumulate=st.booleans())
def test_scattered_writes(torch, data, shape, accumulate):
    assume(shape)
    d = data.draw(st.integers(0, len(shape) - 1))
    n = shape[d]
    index = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=5, unique=not accumulate)))
    size = list(shape)
    size[d] = len(index)
    source = numbered(size, "float64")
    array = numbered(shape, "float64")
    x, i, s = torch.from_numpy(array.copy()), torch.from_numpy(index), torch.from_numpy(source)
    at = (slice(None),) * d + (index,)
    want = array.copy()
    if accumulate:
        np.add.at(want, at, source)
        same(x.index_add(d, i, s), want)
        rows = torch.from_numpy(np.broadcast_to(index.reshape([-1 if k == d else 1 for k in range(len(shape))]), size).copy())
        same(x.scatter_add(d, rows, s), want)
    else:
        want[at] = source
        same(x.index_copy(d, i, s), want)
    x[(slice(None),) * d + (i,)] = s if not accumulate else 0.0
    want = array.copy()
    want[at] = source if not accumulate else 0.0
    same(x, want)


@given(shapes=broadcastable(3), data=st.data())
def test_where_and_clamp_broadcast(torch, shapes, data):
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        with pytest.raises(RuntimeError):
            torch.where(*[torch.zeros(s, dtype=torch.bool if k == 0 else torch.float64) for k, s in enumerate(shapes)])
        return
    condition, a, b = numbered(shapes[0], "bool"), numbered(shapes[1], "float64"), np.asarray(numbered(shapes[2], "float64") - 5)
    c, x, y = torch.from_numpy(condition), torch.from_numpy(a), torch.from_numpy(b)
    same(torch.where(c, x, y), np.asarray(np.where(condition, a, b)))
    same(torch.maximum(x, y), np.asarray(np.maximum(a, b)))
    same(x.clamp(-3, 7), np.asarray(np.clip(a, -3, 7)))


@given(data=st.data(), rows=st.integers(1, 4), columns=st.integers(1, 3000), dtype=st.sampled_from(["float32", "float64", "int32"]), turned=st.booleans())
def test_long_lines(torch, data, rows, columns, dtype, turned):
    """Reductions of lines longer than any vector or block, along either dimension."""
    array = np.random.RandomState(data.draw(st.integers(0, 99))).randint(-9, 9, (rows, columns)).astype(dtype)
    tensor = torch.from_numpy(array)
    if turned:
        tensor, array = tensor.t(), array.T
    for d in (0, 1):
        np.testing.assert_array_equal(tensor.sum(d).numpy(), array.sum(d, dtype="int64"))  # small integers add up exactly
        same(tensor.amax(d), array.max(d))
        same(tensor.argmin(d), array.argmin(d))
        same(tensor.count_nonzero(d), np.count_nonzero(array, d))
        if dtype != "int32" and array.shape[d] > 1:
            np.testing.assert_allclose(tensor.var(d).numpy(), array.astype("float64").var(d, ddof=1), rtol=1e-5, atol=1e-12)
            np.testing.assert_allclose(tensor.std(d, correction=0).numpy(), array.astype("float64").std(d), rtol=1e-5, atol=1e-6)


@given(data=st.data(), values=st.lists(st.integers(0, 12), max_size=30))
def test_counts_and_searches(torch, data, values):
    array = np.array(values, "int64")
    tensor = torch.from_numpy(array)
    same(torch.bincount(tensor), np.bincount(array))
    edges = np.sort(np.array(data.draw(st.lists(st.integers(-2, 14), min_size=1, max_size=6)), "int64"))
    for right in (False, True):
        same(torch.searchsorted(torch.from_numpy(edges), tensor, right=right), np.searchsorted(edges, array, "right" if right else "left"))
    same(torch.nonzero(tensor), np.argwhere(array))
    same(tensor[tensor > 4], array[array > 4])
    same(torch.isin(tensor, torch.from_numpy(edges)), np.isin(array, edges))
    if len(values):
        same(torch.cumsum(tensor, 0), np.cumsum(array))
        same(torch.cummax(tensor, 0).values, np.maximum.accumulate(array))
        same(torch.diff(tensor), np.diff(array))
