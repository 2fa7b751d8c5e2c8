# SPDX-License-Identifier: Apache-2.0
"""Names and forms of sparse tensors, storages, old methods and old packages; NumPy's names of arguments."""


def coo(t):
    return t.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2))


def one(t, indices, values):
    return t.sparse_coo_tensor(t.tensor([indices], dtype=t.int64), t.tensor(values), (1,))


def empty_coo(t, *size):
    return t.sparse_coo_tensor(t.empty(len(size), 0, dtype=t.int64), t.empty(0), size)


CASES = {
    "new of a sparse tensor": lambda t: coo(t).new(2, 2),
    "new_empty of a sparse tensor": lambda t: coo(t).new_empty(2, 3),
    "new_zeros of a sparse tensor": lambda t: coo(t).new_zeros(2, 3),
    "new_tensor of a sparse tensor": lambda t: coo(t).new_tensor([1.0, 2.0]),
    "resize_as_ of sparse tensors": lambda t: empty_coo(t, 2).resize_as_(empty_coo(t, 5)),
    "item of a sparse tensor": lambda t: one(t, [0], [3.0]).item(),
    "item of repeated entries": lambda t: one(t, [0, 0], [3.0, 4.0]).item(),
    "item of a sparse tensor of two": lambda t: coo(t).item(),
    "bool of a sparse tensor": lambda t: bool(one(t, [0], [3.0])),
    "bool of no entries": lambda t: bool(empty_coo(t, 1)),
    "neg into a sparse tensor": lambda t: t.neg(coo(t), out=empty_coo(t, 2, 2)).to_dense(),
    "sqrt into a sparse tensor": lambda t: t.sqrt(coo(t), out=empty_coo(t, 2, 2)).to_dense(),
    "add_ of a wider sparse tensor": lambda t: coo(t).add_(coo(t).double()).to_dense(),
    "add_ of a wider sparse tensor to a dense one": lambda t: t.ones(2, 2).add_(coo(t).double()),
    "add_ of floats to integers": lambda t: t.ones(2, 2, dtype=t.int64).add_(coo(t)),
    "sparse.DoubleTensor of floats": lambda t: str(t.sparse.DoubleTensor(t.tensor([[0, 1], [1, 0]]), t.tensor([1.0, 2.0]), t.Size([2, 2])).dtype),
    "resize of a tensor": lambda t: t.arange(4).resize(2, 2),
    "resize_as of a tensor": lambda t: t.arange(4).resize_as(t.ones(2, 2)),
    "resize to another number": lambda t: t.arange(4).resize(3),
    "unsafe_split": lambda t: t.arange(4).unsafe_split(2),
    "unsafe_split_with_sizes": lambda t: t.arange(4).unsafe_split_with_sizes([1, 3]),
    "unsafe_chunk": lambda t: t.arange(4).unsafe_chunk(2),
    "nn.functional.grad": lambda t: t.nn.functional.grad.conv2d_input((1, 1, 3, 3), t.ones(1, 1, 2, 2), t.ones(1, 1, 2, 2)),
    "onnx.producer_version": lambda t: isinstance(t.onnx.producer_version, str),
    "Tensor with size=": lambda t: list(t.Tensor(size=(2, 3)).shape),
    "Tensor with a device": lambda t: t.Tensor([1, 2], device="cpu"),
    "Tensor of another device": lambda t: t.Tensor(2, device="cuda"),
    "add of x1 and x2": lambda t: t.add(x1=t.tensor([1]), x2=t.tensor([2])),
    "add of x2": lambda t: t.add(t.tensor([1]), x2=t.tensor([2])),
    "method add of x2": lambda t: t.tensor([1]).add(x2=t.tensor([2])),
    "mul of x1 and a number": lambda t: t.mul(x1=t.tensor([1]), x2=2),
    "abs of x": lambda t: t.abs(x=t.tensor([-1])),
    "sum of a along axis": lambda t: t.sum(a=t.ones(2, 2), axis=1, keepdims=True),
    "matmul of x1 and x2": lambda t: t.matmul(x1=t.ones(2), x2=t.ones(2)),
    "add of x1 twice": lambda t: t.add(x1=t.tensor([1]), input=t.tensor([2])),
    "names that torch does not have": lambda t: [hasattr(t, n) for n in ("add_", "view", "expand", "elu", "new_zeros", "mT")],
    "names that tensors do not have": lambda t: [hasattr(t.Tensor, n) for n in ("conv2d", "zeros_like", "gelu", "rsub", "linspace", "poisson")],
}


def mapped(t):
    import os
    import tempfile

    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "numbers")
        np.arange(4, dtype="f4").tofile(path)
        return t.FloatStorage.from_file(path, False, 4).tolist()


CASES["FloatStorage.from_file"] = mapped
