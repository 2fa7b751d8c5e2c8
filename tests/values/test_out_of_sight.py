# SPDX-License-Identifier: Apache-2.0
"""Bytes that enter or leave without an operator: no finding rests on them until they are written again, and what left was read."""

import copy
import ctypes
import io
import pickle
import warnings

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("facula_only")
N = 20_000
BYTES = 4 * N


def threes():
    return np.full(N, 3, np.float32)


def overwrite(address):
    ctypes.memset(address, 1, BYTES)


def through_dlpack(torch, y):
    torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(y)).fill_(7.0).sum()


def through_an_array(torch, y):
    np.asarray(y)[:] = 7


def through_a_typed_storage(torch, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated
        y.storage()[0] = 9.0


def another_memory(torch, y):
    y.set_(torch.from_numpy(threes()))


def an_attribute(torch, y):
    y.data = torch.from_numpy(threes())


WRITES = {  # what changes y, which held threes
    "numpy": lambda torch, y: y.numpy().fill(7),
    "__array__": through_an_array,
    "memoryview": lambda torch, y: memoryview(y.numpy()).__setitem__(0, 7.0),
    "dlpack, by NumPy": lambda torch, y: np.from_dlpack(y),
    "dlpack": through_dlpack,
    "data_ptr": lambda torch, y: overwrite(y.data_ptr()),
    "untyped_storage": lambda torch, y: y.untyped_storage().__setitem__(0, 9),
    "a storage's data_ptr": lambda torch, y: overwrite(y.untyped_storage().data_ptr()),
    "a typed storage": through_a_typed_storage,
    "set_": another_memory,
    ".data =": an_attribute,
    "shared memory": lambda torch, y: y.share_memory_(),
}


@pytest.mark.parametrize("mode", ["default", "exact"])
@pytest.mark.parametrize("way", WRITES)
def test_written_out_of_sight(torch, way, mode):
    with torch.profiler.values(mode=mode) as v:
        y = torch.full((N,), 3.0)
        y.sum()
        WRITES[way](torch, y)
        y.fill_(3.0)  # what lay there before is unknown
        y.sum()
    assert v.findings == []


def loaded(torch, folder):
    torch.save(torch.full((N,), 3.0), folder / "a")
    return torch.load(folder / "a")


def mapped_checkpoint(torch, folder):
    torch.save(torch.full((N,), 3.0), folder / "a")
    return torch.load(folder / "a", mmap=True)


def mapped_file(torch, folder):
    threes().tofile(folder / "a")
    return torch.from_file(str(folder / "a"), shared=True, size=N)


def a_batch(torch, folder):
    items = torch.utils.data.TensorDataset(torch.full((N // 100, 100), 3.0))
    (batch,) = next(iter(torch.utils.data.DataLoader(items, batch_size=N // 100, num_workers=1)))
    return batch


COMES = {
    "torch.tensor": lambda torch, folder: torch.tensor([3.0] * N),
    "torch.load": loaded,
    "torch.load(mmap=True)": mapped_checkpoint,
    "torch.from_file": mapped_file,
    "from_numpy": lambda torch, folder: torch.from_numpy(threes()),
    "as_tensor": lambda torch, folder: torch.as_tensor(threes()),
    "frombuffer": lambda torch, folder: torch.frombuffer(bytearray(threes().tobytes()), dtype=torch.float32),
    "from_dlpack": lambda torch, folder: torch.from_dlpack(threes()),
    "a loader's worker": a_batch,
}


@pytest.mark.parametrize("way", COMES)
def test_comes_from_elsewhere(torch, way, tmp_path):
    with torch.profiler.values() as v:
        y = COMES[way](torch, tmp_path)
        y.fill_(3.0)
        y.sum()
    assert [f for f in v.findings if f.operator == "aten::fill_"] == []


READS = {
    "numpy": lambda torch, y: y.numpy().sum(),
    "tolist": lambda torch, y: y.tolist(),
    "item": lambda torch, y: y[7].item(),
    "repr": lambda torch, y: repr(y),
    "save": lambda torch, y: torch.save(y, io.BytesIO()),
    "pickle": lambda torch, y: pickle.dumps(y),
    "deepcopy": lambda torch, y: copy.deepcopy(y).sum(),
    "bytes": lambda torch, y: bytes(y.untyped_storage()),
    "data_ptr": lambda torch, y: y.data_ptr(),
    "dlpack": lambda torch, y: np.from_dlpack(y).sum(),
}


@pytest.mark.parametrize("way", READS)
def test_read_out_of_sight(torch, way):
    with torch.profiler.values(patterns="dead") as v:
        y = torch.randn(N)
        READS[way](torch, y)
        y.fill_(1.0)
        y.sum()
    assert v.findings == []


def test_memory_older_than_the_profile(torch):
    y = torch.full((N,), 3.0)
    with torch.profiler.values() as v:
        y.fill_(3.0)
        y.sum()
    assert v.findings == []


def test_empty_writes_nothing_into_out(torch):
    with torch.profiler.values() as v:
        y = torch.randn(N)
        torch.empty(N, out=y)
        y.sum()
    assert v.findings == []
