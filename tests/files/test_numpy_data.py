# SPDX-License-Identifier: Apache-2.0
"""NumPy's plain data in files: read where weights_only=False is asked, and nothing else of NumPy."""
import io
import pickle

import numpy as np
import pytest

DATA = [np.ones(2), np.arange(6, dtype=">i4").reshape(2, 3), np.asfortranarray(np.ones((2, 3), np.float32)), np.array(["a", "bcd"]), np.array([b"x"]),
        np.array(3.5), np.zeros((0, 4)), np.array([True, False]), np.array([1 + 2j]), np.float64(2), np.int8(-3), np.bool_(True), np.str_("abc"),
        np.dtype("float32"), np.dtype(">i2")]  # fmt: skip


def saved(torch, o, **options):
    f = io.BytesIO()
    torch.save(o, f, **options)
    f.seek(0)
    return f


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("number", range(len(DATA)))
def test_plain_data(torch, number, zipped):
    o = DATA[number]
    got, beside = torch.load(saved(torch, [o, {"a": o}], _use_new_zipfile_serialization=zipped), weights_only=False)
    if isinstance(o, np.dtype):
        assert got == o
    else:
        assert type(got) is type(o) and got.dtype == pickle.loads(pickle.dumps(o, 2)).dtype and got.shape == o.shape and np.array_equal(got, o)
        assert np.isfortran(got) == np.isfortran(o)
    assert got is beside["a"] or got == beside["a"]


def test_only_where_it_is_asked(torch):
    with pytest.raises(pickle.UnpicklingError):
        torch.load(saved(torch, np.ones(2)), weights_only=True)
    with pytest.raises(pickle.UnpicklingError):
        torch.load(saved(torch, np.ones(2)))


@pytest.mark.parametrize("o", [np.array([print, None], dtype=object), np.zeros(2, dtype=[("a", "f4")]), np.dtype("O"), np.datetime64("2020-01-01")], ids=str)
def test_what_is_not_plain_is_refused(torch, facula_only, o):

    with pytest.raises((pickle.UnpicklingError, RuntimeError, TypeError)):
        torch.load(saved(torch, o), weights_only=False)


def test_damaged_arrays_are_refused(torch, facula_only):
    from facula._numpy_data import NumpyData

    reader = NumpyData()
    make, kind = reader.find("numpy._core.multiarray._reconstruct"), np.dtype("f8")
    for state in [(1, (2,), kind, False, b"short"), (1, (2,), np.dtype("O"), False, [1, 2]), (1, (1 << 60, 1 << 60), kind, False, b""), (1, (2,), kind, False), 3]:
        with pytest.raises(pickle.UnpicklingError):
            reader.build(make(np.ndarray, (0,), b"b"), state)
    for arguments in [("O",), ("f8,f8",), ("V8",), (object,)]:
        with pytest.raises(pickle.UnpicklingError):
            reader.calls[id(np.dtype)](*arguments)
    with pytest.raises(pickle.UnpicklingError):
        reader.find("numpy._core.multiarray.scalar")(kind, b"123")
    assert reader.find("numpy.load") is None
