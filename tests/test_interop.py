# SPDX-License-Identifier: Apache-2.0
"""Memory shared with NumPy and other libraries. Capsules that lie are in hostile_interop.py."""
import gc

import numpy as np
import pytest

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_there_and_back(torch, dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    x = torch.from_numpy(array.T)
    assert x.stride() == (1, 3) and x.dtype is getattr(torch, dtype)
    back = x.numpy()
    assert back.dtype == array.dtype and back.__array_interface__["data"] == array.__array_interface__["data"]
    np.testing.assert_array_equal(back, array.T)
    np.testing.assert_array_equal(np.asarray(torch.tensor(array)), array)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_there_and_back(torch, dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    x = torch.from_dlpack(array)
    assert x.dtype is getattr(torch, dtype) and x.data_ptr() == array.__array_interface__["data"][0]
    y = torch.from_dlpack(x[:, 1:])
    assert y.data_ptr() == x[:, 1:].data_ptr() and y.stride() == (3, 1)
    np.testing.assert_array_equal(np.from_dlpack(y), array[:, 1:])


def test_dlpack_versions(torch):
    x = torch.arange(4.0)
    assert x.__dlpack_device__() == (1, 0)
    old, new = x.__dlpack__(), x.__dlpack__(max_version=(1, 0))
    assert '"dltensor"' in repr(old) and '"dltensor_versioned"' in repr(new)
    for capsule in (old, new):
        y = torch.utils.dlpack.from_dlpack(capsule)
        assert y.data_ptr() == x.data_ptr() and y.tolist() == [0, 1, 2, 3]
        with pytest.raises(RuntimeError, match="only once"):
            torch.utils.dlpack.from_dlpack(capsule)
    copied = torch.from_dlpack(x.__dlpack__(max_version=(1, 0), copy=True))
    assert copied.data_ptr() != x.data_ptr() and copied.tolist() == x.tolist()
    assert torch.from_dlpack(torch.ones(2, dtype=torch.bfloat16)).dtype is torch.bfloat16


def test_memory_outlives_its_maker(torch):
    x = torch.from_dlpack(np.arange(1000.0))
    y = np.from_dlpack(torch.arange(1000.0))
    z = torch.frombuffer(bytearray(8000), dtype=torch.float64)
    gc.collect()
    [np.ones(1000) for _ in range(20)]
    assert x[999].item() == 999 and y[999] == 999 and z.sum().item() == 0


def test_arrays_that_no_tensor_can_be(torch):
    for array in (np.array([object()]), np.array(["text"]), np.array(["2020-01-01"], dtype="datetime64[D]")):
        with pytest.raises(TypeError, match="can't convert np.ndarray"):
            torch.from_numpy(array)
        with pytest.raises(TypeError, match="can't convert np.ndarray"):
            torch.tensor(array)
    with pytest.raises(ValueError, match="negative"):
        torch.from_numpy(np.arange(3)[::-1])
    with pytest.raises(ValueError, match="byte order"):
        torch.from_numpy(np.arange(3).astype(">i8"))


def test_read_only_warns(torch):
    array = np.arange(3.0)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        torch.from_numpy(array)


def test_numpy_functions_take_tensors(torch):
    assert np.sum(torch.ones(3).numpy()) == 3 and np.asarray(torch.ones(2), dtype=np.int32).dtype == np.int32
    assert np.array(torch.arange(3)).tolist() == [0, 1, 2]
    assert torch.tensor(np.float32(2.5)).item() == 2.5 and torch.tensor([np.int64(3)]).dtype is torch.int64


@pytest.mark.parametrize("make", ["as_tensor", "asarray"])
@pytest.mark.parametrize("number", [np.float32(1), np.int64(3), np.bool_(True), np.complex64(1j)])
def test_numbers_of_numpy_are_copied(torch, make, number):
    """They lend their memory to read only; a tensor of one can be written to all the same."""
    x = getattr(torch, make)(number)
    assert x.shape == () and x.item() == number.item()
    x.zero_()
    assert x.item() == 0 and number.item() != 0


TYPES_OF_LISTS = {
    "arrays": (lambda t: [np.ones(2), np.ones(2)], "float64"),
    "arrays of another type": (lambda t: [np.arange(2, dtype="int16")], "int16"),
    "arrays of two types": (lambda t: (np.ones(2, "float32"), np.ones(2, "int32")), "float32"),
    "arrays, deeper": (lambda t: [[np.ones(1)], [np.ones(1)]], "float64"),
    "NumPy's number first": (lambda t: [np.float64(2), 1], "float64"),
    "NumPy's number last": (lambda t: [1, np.float32(2)], "float32"),
    "half": (lambda t: [np.float16(2)], "float16"),
    "half beside a number": (lambda t: [np.float16(2), 1.5], "float32"),
    "small integers": (lambda t: [np.int8(2), np.uint8(3)], "int16"),
    "truth": (lambda t: [True, np.bool_(False)], "bool"),
    "complex": (lambda t: [np.complex128(1j), 1.0], "complex128"),
    "double beside a number": (lambda t: [t.tensor(1.0, dtype=t.float64), 2.0], "float64"),
    "a small tensor beside a number": (lambda t: [t.tensor(1, dtype=t.int8), 2], "int64"),
    "a small tensor": (lambda t: [t.tensor(1, dtype=t.int8), True], "int8"),
}


@pytest.mark.parametrize("name", TYPES_OF_LISTS)
@pytest.mark.filterwarnings("ignore:Creating a tensor from a list of numpy")
def test_type_of_a_list(torch, name):
    make, dtype = TYPES_OF_LISTS[name]
    for x in (torch.tensor(make(torch)), torch.as_tensor(make(torch))):
        assert x.dtype is getattr(torch, dtype)
        np.testing.assert_array_equal(x.numpy(), np.asarray([np.asarray(v) for v in make(torch)]))


def test_lists_that_are_no_numbers(torch):
    for data in (["a"], [["a"]]):
        with pytest.raises(ValueError, match="too many dimensions 'str'"):
            torch.tensor(data)
    for data in ("a", [1, "a"], [[1], ["a"]]):
        with pytest.raises(TypeError, match="invalid data type 'str'"):
            torch.tensor(data)
    with pytest.raises(TypeError, match="must be real number, not complex"):
        torch.tensor([1j], dtype=torch.float32)
    with pytest.raises(TypeError, match="invalid data type 'str'"):
        torch.ones(2)["a"]


@pytest.mark.filterwarnings("ignore:__array_wrap__")
def test_arrays_beside_tensors(torch):
    x, array = torch.tensor([1.0, 2.0]), np.array([1.0, 3.0])
    for equal in (x == array, array == x):
        assert equal.tolist() == [True, False] and equal.dtype is torch.bool
    assert (x != array) is True  # PyTorch compares for equality only
    assert (x == np.array([1, 2])).all() and (torch.tensor([[1], [2]]) == np.array([1, 2])).shape == (2, 2)
    with pytest.raises(RuntimeError, match="The size of tensor a"):
        x == np.ones(3)
    assert (x == np.array(["a", "b"])) is False
    quotient = array / x
    assert isinstance(quotient, torch.Tensor) and quotient.tolist() == [1.0, 1.5] and quotient.dtype is torch.float64
    for mixed in (lambda: array * x, lambda: array - x, lambda: array @ x, lambda: x < array):
        with pytest.raises(TypeError):
            mixed()
