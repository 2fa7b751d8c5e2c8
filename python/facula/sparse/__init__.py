# SPDX-License-Identifier: Apache-2.0
"""torch.sparse: products, sums and softmax of sparse tensors, and whether new ones are checked."""

import contextlib
import functools
import threading

from facula import _C, _missing
from facula._tensor import _TYPE_NAMES, Tensor

__all__ = ["addmm", "check_sparse_tensor_invariants", "mm", "sampled_addmm", "sum", "softmax", "log_softmax", "as_sparse_gradcheck"]

_op = _C._hidden.__getitem__


def mm(mat1, mat2, reduce=None):
    """The product of two matrices of which one or both are sparse. A sparse factor's gradient has its entries. With reduce
    ("sum", "mean", "amax" or "amin") the terms of a CSR matrix's rows are joined that way."""
    return _op("_sparse_mm")(mat1, mat2) if reduce is None else _op("_sparse_mm")(mat1, mat2, reduce)


def addmm(mat, mat1, mat2, *, beta=1, alpha=1):
    """beta * mat + alpha * (mat1 @ mat2), with a sparse factor, whose gradient has its entries."""
    return _op("_sparse_addmm")(mat, mat1, mat2, beta=beta, alpha=alpha)


def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0, out=None):
    """beta * input + alpha * (mat1 @ mat2) at the entries of a CSR matrix only."""
    result = _op("sparse_sampled_addmm")(input, mat1, mat2, beta=beta, alpha=alpha)
    return result if out is None else out.copy_(result)


def sum(input, dim=None, dtype=None):
    """The sum of a sparse tensor's elements, or along dimensions. Its gradient has the tensor's entries."""
    options = {} if dtype is None else {"dtype": dtype}
    if dim is None:
        return _op("_sparse_sum")(input, **options)
    return _op("_sparse_sum")(input, [dim] if isinstance(dim, int) else list(dim), **options)


def softmax(input, dim, *, dtype=None):
    """The softmax of the entries that each line of a sparse tensor has."""
    return _op("_sparse_softmax")(input, dim, dtype=dtype)


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of the softmax of the entries that each line of a sparse tensor has."""
    return _op("_sparse_log_softmax")(input, dim, dtype=dtype)


class check_sparse_tensor_invariants:
    """Whether sparse tensors are checked when they are made: indices in range, and sorted where that is said.

    A switch (enable, disable, is_enabled), a context and a decorator. Off, only counts and types are checked; operators
    look at indices when they use them.
    """

    _on = False

    def __init__(self, enable=True):
        self._state = enable
        self._before = []

    @staticmethod
    def is_enabled():
        """Whether new sparse tensors are checked."""
        return check_sparse_tensor_invariants._on

    @staticmethod
    def enable():
        """Check every new sparse tensor."""
        check_sparse_tensor_invariants._on = True

    @staticmethod
    def disable():
        """Check new sparse tensors only where check_invariants=True says so."""
        check_sparse_tensor_invariants._on = False

    def __enter__(self):
        self._before.append(check_sparse_tensor_invariants._on)
        check_sparse_tensor_invariants._on = self._state

    def __exit__(self, *error):
        check_sparse_tensor_invariants._on = self._before.pop()

    def __call__(self, function):
        @functools.wraps(function)
        def checked(*args, **kwargs):
            with type(self)(self._state):
                return function(*args, **kwargs)

        return checked


def as_sparse_gradcheck(gradcheck):
    """gradcheck for functions of sparse tensors: they are differentiated by their values."""

    @functools.wraps(gradcheck)
    def check(function, inputs, **options):
        inputs = inputs if isinstance(inputs, (list, tuple)) else (inputs,)
        options.pop("masked", None)
        like = [x if isinstance(x, Tensor) and x.layout is not _C.strided else None for x in inputs]
        plain = [x if s is None else s._values().detach().clone().requires_grad_(x.requires_grad) for x, s in zip(inputs, like, strict=True)]

        def of_values(*args):
            return _strided(function(*(a if s is None else _with_values(s, a) for a, s in zip(args, like, strict=True))))

        return gradcheck(of_values, plain, **options)

    return check


def _strided(result):
    if isinstance(result, (list, tuple)):
        return type(result)(map(_strided, result))
    return result.to_dense() if isinstance(result, Tensor) else result


def _with_values(like, values):
    """A tensor with another's entries and these values."""
    if like.layout is _C.sparse_coo:
        return _coo(like._indices(), values, like.shape, like.is_coalesced())
    return _compressed(*_parts(like)[:2], values, like.shape, like.layout)


# ---- making them


def _coo(indices, values, size, is_coalesced=None):
    return _op("_sparse_coo_tensor_unsafe")(indices, values, list(size), is_coalesced=is_coalesced)


def _compressed(compressed, plain, values, size, layout):
    return _op("_sparse_compressed_tensor_unsafe")(compressed, plain, values, list(size), layout=layout)


def _parts(tensor):
    """What a sparse tensor is made of: indices (of a compressed one also the plain ones), values."""
    if tensor.is_sparse:
        return tensor._indices(), tensor._values()
    if tensor.layout is _C.sparse_csr:
        return tensor.crow_indices(), tensor.col_indices(), tensor.values()
    return tensor.ccol_indices(), tensor.row_indices(), tensor.values()


def _as_tensor(data, dtype, device):
    if isinstance(data, Tensor):
        return data.to(device=device, dtype=dtype)
    return _C._tensor(data, dtype, device, True)


def _finished(tensor, check_invariants, requires_grad):
    if check_sparse_tensor_invariants._on if check_invariants is None else check_invariants:
        _op("_sparse_check_invariants")(tensor)
    return tensor.detach().requires_grad_() if requires_grad else tensor


def _index_range(indices):
    """The sizes that indices [dimensions, n] ask for."""
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if indices.shape[1] == 0:
        return [0] * indices.shape[0]
    if indices.shape[0] == 0:
        return []
    for dim, least in enumerate(indices.amin(1).tolist()):
        if least < 0:
            raise RuntimeError(f"found negative index {least} for dim {dim}")
    return [most + 1 for most in indices.amax(1).tolist()]


def sparse_coo_tensor(
    indices=None, values=None, size=None, *, dtype=None, device=None, pin_memory=False, requires_grad=False, check_invariants=None, is_coalesced=None
):
    """A sparse tensor of values at indices [sparse dimensions, entries]; entries of one index add up.

    size: the sizes, sparse dimensions first; without it as small as the indices allow. is_coalesced: the entries are sorted and
    none is repeated. check_invariants: look whether indices are in range, and sorted if so said (by default as
    torch.sparse.check_sparse_tensor_invariants says). sparse_coo_tensor(size) has no entries.
    """
    if values is None:
        size = size if indices is None else indices
        if size is None:
            raise TypeError("sparse_coo_tensor() needs indices and values, or a size")
        return _C._functions["zeros"](list(size), dtype=dtype, layout=_C.sparse_coo, device=device, requires_grad=requires_grad)
    values = _as_tensor(values, dtype, device)
    indices = _as_tensor(indices, _C.int64, values.device)
    values = values.unsqueeze(0) if values.dim() == 0 else values
    size = [*_index_range(indices), *values.shape[1:]] if size is None else size
    return _finished(_coo(indices, values, size, is_coalesced), check_invariants, requires_grad)


def sparse_compressed_tensor(
    compressed_indices, plain_indices, values, size=None, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, check_invariants=None
):
    """A sparse matrix by rows (layout=torch.sparse_csr) or columns (torch.sparse_csc).

    compressed_indices: where each row begins among the entries, and one past the last; plain_indices: their columns; values: their
    values. Indices are int64, or int32 where both are.
    """
    values = _as_tensor(values, dtype, device)
    kind = _C.int32 if all(isinstance(i, Tensor) and i.dtype == _C.int32 for i in (compressed_indices, plain_indices)) else None
    compressed = _as_tensor(compressed_indices, kind, values.device)
    plain = _as_tensor(plain_indices, kind, values.device)
    if size is None:
        if compressed.dim() != 1 or plain.dim() != 1 or compressed.numel() == 0:
            raise RuntimeError(f"the indices of a compressed tensor have one dimension, got {list(compressed.shape)} and {list(plain.shape)}")
        across = int(plain.max()) + 1 if plain.numel() else 0
        pair = (compressed.numel() - 1, across)
        size = [*(pair if layout is not _C.sparse_csc else pair[::-1]), *values.shape[1:]]
    if layout is None or layout is _C.strided or layout is _C.sparse_coo:
        name = {None: "none", _C.strided: "Strided", _C.sparse_coo: "Sparse"}[layout]
        raise RuntimeError(f"sparse_compressed_tensor expected sparse compressed tensor layout but got {name}")
    return _finished(_compressed(compressed, plain, values, size, layout), check_invariants, requires_grad)


def sparse_csr_tensor(crow_indices, col_indices, values, size=None, **options):
    """A sparse matrix by rows: where each begins, the columns of the entries, their values (see sparse_compressed_tensor)."""
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, layout=_C.sparse_csr, **options)


def sparse_csc_tensor(ccol_indices, row_indices, values, size=None, **options):
    """A sparse matrix by columns: where each begins, the rows of the entries, their values (see sparse_compressed_tensor)."""
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, layout=_C.sparse_csc, **options)


# ---- in pickles


def _reduced(tensor):
    """What rebuilds a sparse tensor: the layout and its parts."""
    if tensor.layout is _C.sparse_coo:
        return tensor.layout, (tensor._indices(), tensor._values(), tensor.size(), tensor.is_coalesced())
    return tensor.layout, (*_parts(tensor.detach()), tensor.size())


_unread = threading.local()  # .tensors: rebuilt from storages that are not read yet


@contextlib.contextmanager
def _checked_later():
    """Gives the list of the tensors that are rebuilt meanwhile, whose elements nobody has looked at: in files before the
    archives storages come last."""
    outer, _unread.tensors = getattr(_unread, "tensors", None), []
    try:
        yield _unread.tensors
    finally:
        _unread.tensors = outer


def _rebuilt(layout, data):
    """Whoever wrote the file may have written anything: everything is checked."""
    later = getattr(_unread, "tensors", None)
    if later is not None and isinstance(data, tuple) and any(part is None for part in data[:3]):
        raise RuntimeError("a sparse tensor is rebuilt from its layout, its parts and its size")
    tensor = _unchecked(layout, data, check_invariants=later is None)
    if later is not None:
        later.append(tensor)
    return tensor


def _unchecked(layout, data, check_invariants):
    if not (isinstance(layout, _C.layout) and isinstance(data, tuple) and len(data) in (3, 4) and all(isinstance(t, Tensor) for t in data[:2])):
        raise RuntimeError("a sparse tensor is rebuilt from its layout and its parts")
    if layout is _C.sparse_coo:
        indices, values, size = data[:3]
        is_coalesced = data[3] if len(data) == 4 else None
        return sparse_coo_tensor(indices, values, size, check_invariants=check_invariants, is_coalesced=is_coalesced)
    return sparse_compressed_tensor(*data, layout=layout, check_invariants=check_invariants)


class _LegacyType(type):
    """torch.sparse.FloatTensor and its kin: constructors and classes from before sparse_coo_tensor."""

    def __instancecheck__(cls, obj):
        return isinstance(obj, Tensor) and obj.layout is _C.sparse_coo and obj.dtype is cls.dtype and obj.device.type == "cpu"

    def __call__(cls, *args):
        """FloatTensor(indices, values, size) or (indices, values): these entries; FloatTensor(2, 3): none."""
        if args and isinstance(args[0], Tensor):
            if len(args) not in (2, 3) or not isinstance(args[1], Tensor):
                raise TypeError(f"torch.sparse.{cls.__name__}: expected indices, values and perhaps a size")
            return sparse_coo_tensor(*args)
        return sparse_coo_tensor(args[0] if len(args) == 1 and isinstance(args[0], _C.Size) else args, dtype=cls.dtype)


for _dtype, _name in _TYPE_NAMES.items():
    if not _name.startswith("Complex"):
        globals()[f"{_name}Tensor"] = _LegacyType(f"{_name}Tensor", (), {"dtype": getattr(_C, _dtype), "__module__": "torch.sparse"})
del _dtype, _name

__getattr__ = _missing.missing(__name__)
