# SPDX-License-Identifier: Apache-2.0
"""Storages: bytes, elements, and the classes from before dtypes. `--module torch` runs the same tests on PyTorch."""
import pickle

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")


def test_elements(torch):
    s = torch.FloatStorage([1, 2, 3])
    assert len(s) == s.size() == 3 and s.nbytes() == 12 and s.element_size() == 4 and s.dtype is torch.float32
    assert s.tolist() == list(s) == [1, 2, 3] and s[-1] == 3.0 and s.type() == "torch.FloatStorage" and not s.is_cuda
    s[0] = 5
    s[1:] = 7
    assert s.tolist() == [5, 7, 7] and s.clone().fill_(2).tolist() == [2, 2, 2] and s.tolist() == [5, 7, 7]
    assert s.double().dtype is torch.float64 and s.int().tolist() == [5, 7, 7] and s.bool().tolist() == [True] * 3
    assert torch.IntStorage([1.5]).tolist() == [1] and torch.ComplexFloatStorage([1j]).tolist() == [1j]
    assert torch.FloatStorage().size() == 0 and torch.FloatStorage(4).size() == 4
    assert torch.FloatStorage.from_buffer(b"\0\0\x80?", "little").tolist() == [1.0]
    assert torch.ShortStorage.from_buffer(b"\0\1", "big").tolist() == [1]
    for wrong, kind in ((7, IndexError), (-4, IndexError), ("a", RuntimeError), (slice(0, 2), RuntimeError)):
        with pytest.raises(kind):
            s[wrong]
    assert str(torch.LongStorage([1, 2])) == " 1\n 2\n[torch.storage.TypedStorage(dtype=torch.int64, device=cpu) of size 2]"


def test_classes(torch):
    s = torch.tensor([1.0]).storage()
    assert isinstance(s, torch.FloatStorage) and not isinstance(s, torch.DoubleStorage) and isinstance(s, torch.TypedStorage)
    assert torch.is_storage(s) and torch.tensor([1]).storage_type() is torch.LongStorage and torch.Storage.dtype is torch.float32
    assert torch.FloatStorage.__name__ == "FloatStorage" and torch.FloatStorage.__module__ == "torch"
    for wrong in ("a", torch.ones(1), s.untyped()):
        with pytest.raises(TypeError):
            torch.FloatStorage(wrong)
    with pytest.raises((TypeError, RuntimeError)):
        torch.FloatStorage(1, 2)


def test_bytes(torch):
    s = torch.UntypedStorage([1, 2, 3])
    assert s.tolist() == [1, 2, 3] and s[1:].tolist() == [2, 3] and s[-1] == 3 and s.element_size() == 1 and s.nbytes() == 3
    assert s.copy_(torch.UntypedStorage([4, 5, 6])).tolist() == [4, 5, 6] and s.new().size() == 0 and s.int().tolist() == [4, 5, 6]
    with pytest.raises(RuntimeError, match="size does not match"):
        s.copy_(torch.UntypedStorage(2))
    assert torch.FloatStorage(wrap_storage=torch.UntypedStorage(8)).size() == 2


def test_tensors_over_a_storage(torch):
    s = torch.FloatStorage([1, 2, 3])
    x = torch.FloatTensor(s)
    x[0] = 9
    assert s[0] == 9 and x.data_ptr() == s.data_ptr()
    assert torch.empty(0).set_(s).tolist() == [9, 2, 3] and torch.empty(0).set_(s, 1, (2,), (1,)).tolist() == [2, 3]
    assert torch.empty(0, dtype=torch.int32).set_(s.untyped()).numel() == 3
    with pytest.raises(RuntimeError, match="Expected a Storage of type"):
        torch.empty(0, dtype=torch.int64).set_(s)
    s.resize_(5)
    assert s.size() == 5 and s.tolist()[:3] == [9, 2, 3] and x.tolist() == [9, 2, 3]
    assert pickle.loads(pickle.dumps(s)).tolist()[:3] == [9, 2, 3] and s == s and s != s.clone()


def test_memory_that_tensors_see_does_not_shrink():
    import facula as torch

    x = torch.ones(4)
    with pytest.raises(RuntimeError, match="does not shrink to 4"):
        x.untyped_storage().resize_(4)
    with pytest.raises(RuntimeError, match="not negative"):
        torch.UntypedStorage(-1)
    assert x.tolist() == [1] * 4
