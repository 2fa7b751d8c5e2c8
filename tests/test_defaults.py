# SPDX-License-Identifier: Apache-2.0
"""What a thread takes for granted: the default device, denormal numbers; and ranges whose bounds are tensors."""
import threading

import pytest

FACTORIES = {
    "ones": lambda t: t.ones(2), "zeros": lambda t: t.zeros(2), "empty": lambda t: t.empty(2), "full": lambda t: t.full((2,), 1.0),
    "arange": lambda t: t.arange(3), "linspace": lambda t: t.linspace(0, 1, 3), "eye": lambda t: t.eye(2), "rand": lambda t: t.rand(2),
    "randn": lambda t: t.randn(2), "randint": lambda t: t.randint(3, (2,)), "randperm": lambda t: t.randperm(3),
    "tensor": lambda t: t.tensor([1.0]), "as_tensor": lambda t: t.as_tensor([1.0]), "tril_indices": lambda t: t.tril_indices(2, 2),
    "empty_strided": lambda t: t.empty_strided((2,), (1,)), "scalar_tensor": lambda t: t.scalar_tensor(1.0),
}  # fmt: skip


@pytest.mark.parametrize("make", FACTORIES.values(), ids=FACTORIES)
def test_device_as_a_scope(torch, make):
    with torch.device("meta"):
        assert make(torch).device.type == "meta"
        with torch.device("cpu"):
            assert make(torch).device.type == "cpu"
        assert make(torch).device.type == "meta"
    assert make(torch).device.type == "cpu"


def test_what_a_default_device_leaves_alone(torch):
    numpy = pytest.importorskip("numpy")
    x = torch.ones(2)
    with torch.device("meta"):
        assert torch.zeros_like(x).device.type == "cpu" and (x + 1).device.type == "cpu"
        assert torch.ones(2, device="cpu").device.type == "cpu"
        assert torch.from_numpy(numpy.ones(2)).device.type == "cpu"
        assert torch.FloatTensor([1.0]).device.type == "cpu"
        assert repr(x) == "tensor([1., 1.])" and x.tolist() == [1, 1] and x.sum().item() == 2


def test_set_default_device(torch):
    assert torch.get_default_device() == torch.device("cpu")
    torch.set_default_device("meta")
    try:
        assert torch.ones(1).device.type == "meta" and torch.get_default_device().type == "meta"
        seen = []
        thread = threading.Thread(target=lambda: seen.append(torch.ones(1).device.type))
        thread.start()
        thread.join()
        assert seen == ["cpu"]  # each thread has its own
    finally:
        torch.set_default_device(None)
    assert torch.ones(1).device.type == "cpu"


def test_scope_ends_with_an_exception(torch):
    with pytest.raises(KeyError), torch.device("meta"):
        raise KeyError
    assert torch.ones(1).device.type == "cpu"


def test_flush_denormal(torch):
    x = torch.full((40000,), 1e-39)
    assert (x * 1).ne(0).all()
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot")
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert (x * 1).eq(0).all()  # on every thread
    finally:
        torch.set_num_threads(threads)
        assert torch.set_flush_denormal(False)
    assert (x * 1).ne(0).all()


def test_ranges_with_tensor_bounds(torch):
    a, b = torch.tensor(1.0), torch.tensor(2)
    for start in (1, a, a.clone().requires_grad_()):
        for end in (2, b):
            assert torch.linspace(start, end, 3).tolist() == [1.0, 1.5, 2.0]
            assert torch.logspace(start, end, 2, base=2.0).tolist() == [2.0, 4.0]
    out = torch.empty(3)
    assert torch.linspace(a.clone().requires_grad_(), b, 3, out=out) is out and out.tolist() == [1.0, 1.5, 2.0]
    assert torch.linspace(torch.tensor(1j), 2, 3).dtype == torch.complex64
    with pytest.raises(RuntimeError, match="linspace only supports 0-dimensional start and end tensors, but got end with 1 dimension"):
        torch.linspace(0, torch.ones(1), 3)


def test_vander(torch):
    x = torch.tensor([1, 2, 3])
    assert torch.vander(x).tolist() == [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
    assert torch.vander(x, 2, increasing=True).tolist() == [[1, 1], [1, 2], [1, 3]]
    assert torch.vander(x, N=0).shape == (3, 0) and torch.vander(x[:0]).shape == (0, 0)
    assert torch.vander(torch.tensor([True, False])).tolist() == [[1, 1], [0, 1]]
    v = torch.tensor([2.0, 3.0], requires_grad=True)
    if torch.__name__ == "facula":  # PyTorch's own graph overwrites what it needs
        torch.vander(v, 3).sum().backward()
        assert v.grad.tolist() == [5.0, 7.0]
    for bad, text in ((lambda: torch.vander(x[None]), "one-dimensional"), (lambda: torch.vander(x, -1), "non-negative")):
        with pytest.raises(RuntimeError, match=text):
            bad()
