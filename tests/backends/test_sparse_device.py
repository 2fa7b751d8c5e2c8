# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors on a device: their parts live there, and products are the device's own gathers, maps and scatters."""

import numpy as np
import pytest

import facula as torch
from facula import backends

pytestmark = pytest.mark.threads


class Sparse(backends.Backend):
    """What a product of a sparse matrix needs, on NumPy."""

    name = "sparsedevice"
    maps = {"mul": lambda a, b: a * b, "add": lambda a, b, alpha: a + alpha * b}

    def supports(self, query):
        if any(t not in (None, "float32", "int64") for t in query.dtypes):
            return False
        return query.family in ("copy", "gather", "reduce") or (query.family == "map" and query.opcode in self.maps) or (
            query.family == "scatter" and query.opcode in ("set", "add"))  # fmt: skip

    def copy(self, call):
        call.out.numpy()[...] = call.inputs[0].numpy()

    def map(self, call):
        call.out.numpy()[...] = self.maps[call.opcode](*(x.numpy() for x in call.inputs), *call.params)

    def reduce(self, call):
        axes = tuple(d for d, s in enumerate(call.out.strides) if s == 0) if call.dim < 0 else (call.dim,)
        call.out.numpy()[tuple(slice(0, 1) if d in axes else slice(None) for d in range(len(call.input.shape)))] = call.input.numpy().sum(axes, keepdims=True)

    def gather(self, call):
        call.out.numpy()[...] = np.take_along_axis(call.input.numpy(), call.index.numpy(), call.dim)

    def scatter(self, call):
        place = np.indices(call.index.shape)
        place[call.dim] = call.index.numpy()
        (np.add.at if call.opcode == "add" else np.ndarray.__setitem__)(call.out.numpy(), tuple(place), call.src.numpy())


@pytest.fixture(scope="module")
def device():
    return backends.register(Sparse())


@pytest.fixture
def no_fallback():
    backends.set_fallback_mode("error")
    yield
    backends.set_fallback_mode("count")


def matrix():
    i = torch.tensor([[1, 0, 1, 1], [0, 2, 2, 2]])
    return torch.sparse_coo_tensor(i, torch.tensor([4.0, 3.0, 5.0, 6.0]), (2, 3))


def test_products_without_a_fallback(device, no_fallback):
    s, dense = matrix(), torch.arange(6.0).reshape(3, 2)
    there = s.to(device)
    assert there.device.type == device and there._indices().device.type == device and there.is_sparse
    assert there.cpu().to_dense().tolist() == s.to_dense().tolist()
    assert (there @ dense.to(device)).cpu().tolist() == (s @ dense).tolist()
    assert there.mv(torch.ones(3).to(device)).cpu().tolist() == [3.0, 15.0]
    assert (there * 2).cpu().to_dense().tolist() == (s * 2).to_dense().tolist()
    assert (there + there).cpu().to_dense().tolist() == (s * 2).to_dense().tolist()
    assert there.t().cpu().to_dense().tolist() == s.t().to_dense().tolist()


def test_the_rest_falls_back_operator_by_operator(device):
    s = matrix()
    there, ones = s.to(device), torch.ones(2, 3)
    assert there.coalesce().cpu().values().tolist() == s.coalesce().values().tolist()
    assert there.to_dense().cpu().tolist() == s.to_dense().tolist()
    assert (ones.to(device) + there).cpu().tolist() == (ones + s).tolist()
    assert (there * there).cpu().to_dense().tolist() == (s * s).to_dense().tolist()
    assert (there @ there.t()).cpu().to_dense().tolist() == (s @ s.t()).to_dense().tolist()
    assert float(there.sum()) == 18.0 and there.sum(0).cpu().to_dense().tolist() == s.sum(0).to_dense().tolist()
    csr = there.to_sparse_csr()
    assert (csr @ torch.ones(3, 1).to(device)).cpu().tolist() == [[3.0], [15.0]]
    assert "device='sparsedevice:0'" in repr(there)
    with pytest.raises(RuntimeError):
        torch.sparse_coo_tensor([[0], [7]], [1.0], (2, 3)).to(device).to_dense()
    with pytest.raises(RuntimeError, match="same device"):
        there @ torch.ones(3, 2)


def test_gradients(device):
    there, ones = matrix().to(device).requires_grad_(), torch.ones(3, 2)
    torch.sparse.mm(there, ones.to(device)).sum().backward()
    assert there.grad.device.type == device and there.grad.cpu().coalesce().values().tolist() == [2.0, 2.0, 2.0]


def test_a_kernel_of_the_devices_own_is_asked(device):
    """By name, as any other operator."""
    calls = []
    library = torch.library.Library("aten", "IMPL", device.upper())

    def product(indices, values, dense, rows):
        calls.append(rows)
        return torch.zeros(rows, dense.shape[1]).to(device)

    try:
        library.impl("_sparse_coo_mm", product)
    except Exception as error:
        pytest.skip(f"no kernels by name from Python here: {error}")
    assert (matrix().to(device) @ torch.ones(3, 2).to(device)).cpu().tolist() == [[0.0, 0.0], [0.0, 0.0]] and calls == [2]
