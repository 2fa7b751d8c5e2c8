# SPDX-License-Identifier: Apache-2.0
"""Answers that were wrong once: values, types and gradients at the edges of operators' arguments, and the exceptions
for what has no answer. Run with `--module torch` to hold PyTorch to the same."""
import warnings

import numpy as np
import pytest

inf = float("inf")


def image(t):
    return t.arange(12.0).view(1, 1, 3, 4)


def twice_given(t):
    class Twice(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            return y, y

        @staticmethod
        def backward(ctx, a, b):
            return a * 3 + b * 5

    x = t.ones(2, requires_grad=True)
    a, b = Twice.apply(x)
    (a.sum() * 2 + b.sum() * 7).backward()
    return [a is b, a.grad_fn is b.grad_fn, a.output_nr, x.grad.tolist()]


def thrice_given(t):
    class Thrice(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y, z = x * 2, x * 3
            ctx.save_for_backward(y)
            return z, y, y

        @staticmethod
        def backward(ctx, a, b, c):
            (y,) = ctx.saved_tensors
            return a + b * 100 + c * y * 5

    x = t.ones(1, requires_grad=True)
    a, b, c = Thrice.apply(x)
    (a.sum() * 6 + b.sum() * 3).backward()
    return [b is c, a.output_nr, b.output_nr, c.output_nr, x.grad.tolist()]


def of_segments(t, reduce, initial):
    x = t.tensor([1.0, 3, 3, 2, 5], requires_grad=True)
    return t.autograd.grad(t.segment_reduce(x, reduce, lengths=t.tensor([3, 0, 2]), initial=initial).sum(), x)[0]


def legit(t):
    mean, var = t.zeros(1), t.zeros(1)
    y = t._native_batch_norm_legit(t.tensor([[1.0], [3.0]]), None, None, mean, var, True, 0.5, 0.0)[0]
    other = t._native_batch_norm_legit(t.tensor([[1.0], [3.0]]), None, None, True, 0.5, 0.0)[0]
    assert other.tolist() == y.tolist()
    return [y.flatten().tolist(), [mean.item(), var.item() / 2]]


def of_sampled(t):
    a, b = t.tensor([[1.0], [2.0]], requires_grad=True), t.tensor([[1.0, 2.0]], requires_grad=True)
    pattern = t.eye(2).to_sparse_csr()
    y = t.sparse.sampled_addmm(pattern, a, b, beta=0)
    (ga,) = t.autograd.grad(y.to_dense().sum(), a, retain_graph=True)
    return [(ga * t.eye(2)).tolist(), (y.to_dense() * t.tensor([[2.0, 1.0], [1.0, 0.5]])).tolist()]


# name: (call, what it must give as nested lists)
ANSWERS = {
    "a list of tensors and arrays without dimensions": (lambda t: t.tensor((t.tensor(1), np.array(2.5))), [1, 2.5]),
    "the type of a list of tensors and arrays": (lambda t: str(t.tensor((t.tensor(1), np.array(2.5))).dtype), "torch.float64"),
    "i is not zero": (lambda t: t.full((1,), 1j, dtype=t.bool), [True]),
    "a truth value filled with i": (lambda t: t.zeros(2, dtype=t.bool).fill_(1j), [True, True]),
    "a truth value set to i": (lambda t: t.zeros(2, dtype=t.bool).masked_fill_(t.tensor([False, True]), 1j), [False, True]),
    "narrow_copy of sparse rows": (lambda t: t.narrow_copy(t.eye(3).to_sparse(), 0, 1, 2).to_dense(), [[0, 1, 0], [0, 0, 1]]),
    "narrow_copy of sparse columns": (lambda t: t.eye(3).to_sparse().narrow_copy(1, 0, 1).to_dense(), [[1], [0], [0]]),
    "narrow_copy along a dense dimension": (
        lambda t: t.arange(12.0).reshape(2, 3, 2).to_sparse(1).narrow_copy(2, 0, 1).to_dense(), [[[0], [2], [4]], [[6], [8], [10]]]),
    "narrow_copy of nothing": (lambda t: t.eye(3).to_sparse().narrow_copy(0, 3, 0).to_dense(), []),
    "narrow_copy keeps entries apart": (lambda t: t.sparse_coo_tensor([[1, 1]], [1.0, 2.0], (3,)).narrow_copy(0, 1, 2)._values(), [1, 2]),
    "a Function's result given twice": (lambda t: twice_given(t), [True, True, 1, [45, 45]]),
    "a Function's result given twice, and another": (lambda t: thrice_given(t), [True, 0, 2, 2, [36]]),
    "sums of segments": (lambda t: t.segment_reduce(t.arange(1.0, 6), "sum", lengths=t.tensor([2, 0, 3])), [3, 0, 12]),
    "means of segments with a start": (lambda t: t.segment_reduce(t.arange(1.0, 6), "mean", lengths=t.tensor([2, 0, 3]), initial=3), [3, 3, 5]),
    "maxima between offsets": (lambda t: t.segment_reduce(t.arange(1.0, 5), "max", offsets=t.tensor([0, 1, 1, 4])), [1, -inf, 4]),
    "minima with a start": (lambda t: t.segment_reduce(t.tensor([4.0, 2, 8]), "min", lengths=t.tensor([1, 0, 2]), initial=3.0), [3, 3, 2]),
    "products of segments": (lambda t: t.segment_reduce(t.tensor([4.0, 2, 8]), "prod", lengths=t.tensor([1, 0, 2]), initial=3.0), [12, 3, 48]),
    "segments of the second dimension": (
        lambda t: t.segment_reduce(t.arange(12.0).view(2, 3, 2), "sum", lengths=t.tensor([[1, 2], [3, 0]]), axis=1), [[[0, 1], [6, 8]], [[24, 27], [0, 0]]]),
    "segments that leave rows out": (lambda t: t.segment_reduce(t.arange(1.0, 6), "sum", lengths=t.tensor([2]), unsafe=True), [3]),
    "offsets that leave rows out": (lambda t: t.segment_reduce(t.arange(1.0, 5), "sum", offsets=t.tensor([1, 2, 3])), [2, 3]),
    "equal maxima of a segment share": (
        lambda t: of_segments(t, "max", 3.0), [0, 0.5, 0.5, 0, 1]),
    "the gradient of a segment's product": (lambda t: of_segments(t, "prod", None), [9, 3, 3, 5, 2]),
    "indices behind a mask": (
        lambda t: t._unsafe_masked_index(t.arange(5.0), t.tensor([True, False, True]), [t.tensor([1, 99, 4])], -1.0), [1, -1, 4]),
    "indices behind a mask into nothing": (lambda t: t._unsafe_masked_index(t.ones(0), t.tensor([False]), [t.tensor([7])], 2.0), [2]),
    "sums at indices behind a mask": (
        lambda t: t._unsafe_masked_index_put_accumulate(t.ones(5), t.tensor([True, False, True]), [t.tensor([1, 99, 1])], t.tensor([1.0, 2, 3])), [1, 5, 1, 1, 1]),
    "chunks side by side": (lambda t: t._chunk_cat([t.arange(5.0), t.arange(4.0)], 0, 2), [[0, 1, 2, 0, 1], [3, 4, 0, 2, 3]]),
    "chunks of rows side by side": (
        lambda t: t._chunk_cat([t.arange(6.0).view(3, 2), t.arange(2.0).view(1, 2)], 0, 2), [[0, 1, 2, 3, 0, 1], [4, 5, 0, 0, 0, 0]]),
    "softmax where all is masked": (lambda t: t._safe_softmax(t.tensor([[-inf, -inf], [-inf, 0.0]]), 1), [[0, 0], [0, 1]]),
    "a hash of floats": (lambda t: t.hash_tensor(t.tensor([[1.0, 2.0], [3.0, 4.0]])).item(), 9216616637413720064),
    "a hash of halves": (lambda t: t.hash_tensor(t.tensor([1.0, 2.0]).half()).item(), 9218868437227405312),
    "a hash of signed bytes": (lambda t: t.hash_tensor(t.tensor([-1, 2], dtype=t.int8)).item(), 18446744073709551613),
    "hashes of rows": (lambda t: t.hash_tensor(t.tensor([[1, 2], [3, 5], [7, 7]]), 1, keepdim=True), [[3], [6], [0]]),
    "hashes of columns": (lambda t: t.hash_tensor(t.tensor([[1, 2], [3, 5], [7, 7]]), 0), [5, 0]),
    "batch norm that says what it changes": (lambda t: legit(t), [[-1, 1], [1, 0.5]]),
    "a product at the entries of a matrix": (
        lambda t: t.sparse.sampled_addmm(t.eye(3).to_sparse_csr(), t.ones(3, 2), t.arange(6.0).view(2, 3), beta=2, alpha=0.5).values(), [3.5, 4.5, 5.5]),
    "gradients of a product at the entries of a matrix": (lambda t: of_sampled(t), [[[1, 0], [0, 2]], [[2, 0], [0, 2]]]),
    "arange to a fraction": (lambda t: t.arange(3.1, dtype=t.int64), [0, 1, 2, 3]),
    "arange from a fraction": (lambda t: t.arange(-0.9, 2.1, 2.0, dtype=t.int64), [0, 2]),
    "arange down past the end": (lambda t: t.arange(0.0, -8.000001, -4.0, dtype=t.int64), [0, -4, -8]),
    "arange by halves": (lambda t: t.arange(0, 2, 0.5, dtype=t.int64), [0, 0, 0, 0]),
    "logspace of complex numbers": (lambda t: t.logspace(0, 2, 3, dtype=t.complex64).real.round(), [1, 10, 100]),
    "diff of order 0 leaves out what would be added": (lambda t: t.diff(t.arange(3), 0, 0, t.ones(1), t.ones(1)), [0, 1, 2]),
    "addr of truth values": (lambda t: t.addr(t.tensor([[True, False]]), t.tensor([False]), t.tensor([True, True])), [[True, False]]),
    "addr of truth values without self": (lambda t: t.addr(t.tensor([[True, False]]), t.tensor([True]), t.tensor([False, True]), beta=0), [[False, True]]),
    "addr of truth values without a product": (lambda t: t.addr(t.tensor([[True, False]]), t.tensor([True]), t.tensor([False, True]), alpha=0), [[True, False]]),
    "max with a 0-d tensor": (lambda t: t.max(t.tensor([5, 7]), t.tensor(6)), [6, 7]),
    "min with a 0-d tensor": (lambda t: t.min(t.tensor([5, 7]), t.tensor(6)), [5, 6]),
    "method max with a 0-d tensor": (lambda t: t.tensor([[5, 7]]).max(t.tensor(0)), [[5, 7]]),
    "max with out": (lambda t: t.max(t.tensor([5, 7]), t.tensor(6), out=t.empty(2, dtype=t.int64)), [6, 7]),
    "max along a dimension": (lambda t: t.max(t.tensor([5, 7]), 0).indices, 1),
    "einsum without rows": (lambda t: list(t.einsum("ij,kj->ik", t.zeros(0, 3), t.zeros(4, 3)).shape), [0, 4]),
    "einsum without anything": (lambda t: list(t.einsum("ij,kj->ik", t.zeros(0, 0), t.zeros(0, 0)).shape), [0, 0]),
    "einsum without a sum": (lambda t: t.einsum("ij,kj->ik", t.zeros(2, 0), t.zeros(1, 0)), [[0], [0]]),
    "circular pad that takes away": (lambda t: t.nn.functional.pad(t.arange(5.0).view(1, 5), (-2, 1), "circular"), [[2, 3, 4, 2]]),
    "circular pad that takes away at the end": (lambda t: t.nn.functional.pad(t.arange(5.0).view(1, 5), (2, -1), "circular"), [[2, 3, 0, 1, 2, 3]]),
    "circular pad": (lambda t: t.nn.functional.pad(t.arange(3.0).view(1, 3), (2, 3), "circular"), [[1, 2, 0, 1, 2, 0, 1, 2]]),
    "nonzero of a number": (lambda t: [list(x) for x in t.nonzero(t.tensor(3), as_tuple=True)], [[0]]),
    "nonzero of zero": (lambda t: [list(x) for x in t.nonzero(t.tensor(0), as_tuple=True)], [[]]),
    "gather by nothing of any type": (lambda t: t.ones(3).gather(0, t.ones(0, dtype=t.uint8)), []),
    "logsumexp of complex numbers": (lambda t: t.logsumexp(t.zeros(4, dtype=t.complex128), 0).exp().real.round(), 4),
    "logcumsumexp of complex numbers": (lambda t: t.logcumsumexp(t.zeros(3, dtype=t.complex128), 0).exp().real.round(), [1, 2, 3]),
    "derivatives do not look for infinities among NaNs": (
        lambda t: t.view_as_real(t.ops.aten.tanh_backward(t.tensor([1j]), t.tensor([complex(1, inf)]))).isnan(), [[True, True]]),
    "batch_norm of nothing": (lambda t: t.nn.functional.batch_norm(t.ones(0), t.ones(0), t.ones(0), training=True), []),
    "dropout of complex numbers": (lambda t: t.unique(t.nn.functional.dropout(t.ones(64, dtype=t.complex64), 0.5).real), [0, 2]),
    "attention whose keys have more dimensions": (
        lambda t: list(t.nn.functional.scaled_dot_product_attention(t.ones(4, 3, 8), t.ones(2, 4, 6, 8), t.ones(2, 4, 6, 8), enable_gqa=True).shape),
        [2, 4, 3, 8],
    ),
    "cosine_similarity along a dimension that is broadcast": (
        lambda t: (t.nn.functional.cosine_similarity(t.ones(1, 2, 3), t.ones(2, 1, 3), dim=-2) * 4).round(), [[4, 4, 4], [4, 4, 4]],
    ),
    "bilinear bytes": (
        lambda t: t.nn.functional.interpolate(t.tensor([[[[0, 255, 3], [9, 100, 7]]]], dtype=t.uint8), size=(3, 5), mode="bilinear"),
        [[[[0, 102, 255, 104, 3], [5, 74, 178, 74, 5], [9, 45, 100, 44, 7]]]],
    ),
    "mse_loss with weights, mean": (lambda t: t.nn.functional.mse_loss(t.arange(4.0), t.ones(4), weight=t.tensor([1.0, 2, 3, 4]), reduction="mean"), 2),
    "mse_loss with weights, sum": (lambda t: t.nn.functional.mse_loss(t.arange(4.0), t.ones(4), weight=t.tensor([1.0, 2, 3, 4]), reduction="sum"), 20),
    "mse_loss with weights, none": (lambda t: t.nn.functional.mse_loss(t.arange(4.0), t.ones(4), weight=t.tensor([1.0, 2, 3, 4]), reduction="none"), [1, 0, 3, 16]),
    "l1_loss with weights, mean": (lambda t: t.nn.functional.l1_loss(t.arange(4.0), t.ones(4), weight=t.tensor([1.0, 2, 3, 4])).mul(10).round(), 12),
    "l1_loss with weights, sum": (lambda t: t.nn.functional.l1_loss(t.arange(4.0), t.ones(4), weight=t.tensor([1.0, 2, 3, 4]), reduction="sum"), 12),
    "l1_loss with weights, none": (lambda t: t.nn.functional.l1_loss(t.arange(4.0), t.ones(4), weight=t.tensor([1.0, 2, 3, 4]), reduction="none"), [1, 0, 3, 8]),
    "huber_loss with weights, mean": (lambda t: t.nn.functional.huber_loss(t.arange(4.0), t.ones(4), weight=t.tensor([1.0, 2, 3, 4]), reduction="mean"), 2),
    "huber_loss with weights, sum": (lambda t: t.nn.functional.huber_loss(t.arange(4.0), t.ones(4), weight=t.tensor([1.0, 2, 3, 4]), reduction="sum"), 8),
    "huber_loss with weights, none": (lambda t: t.nn.functional.huber_loss(t.arange(4.0), t.ones(4), weight=t.tensor([1.0, 2, 3, 4]), reduction="none"), [0.5, 0, 1.5, 6]),
    "instance_norm of one pixel by kept statistics": (
        lambda t: list(t.nn.InstanceNorm2d(3, track_running_stats=True).eval()(t.ones(2, 3, 1, 1)).shape), [2, 3, 1, 1]),
    "type by a class": (lambda t: t.ones(2).type(t.DoubleTensor).type(), "torch.DoubleTensor"),
    "type by a class of integers": (lambda t: t.ones(2).type(t.LongTensor), [1, 1]),
    "ops.aten.__and__": (lambda t: t.ops.aten.__and__(t.tensor(6), 3), 2),
    "ops.aten.__or__": (lambda t: t.ops.aten.__or__.Tensor(t.tensor(6), t.tensor(3)), 7),
    "embedding_renorm_ of two rows, one named twice": (
        lambda t: t.embedding_renorm_(t.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]]), t.tensor([0, 0, 1]), 1.0, 2.0).mul(10).round(), [[6, 8], [3, 4], [60, 80]]),
    "embedding scales its rows down": (
        lambda t: t.nn.functional.embedding(t.tensor([[2, 0]]), t.tensor([[3.0, -4.0], [5.0, 5.0], [0.25, 0.5]]), max_norm=1.0, norm_type=1.0).mul(7).round(decimals=4), [[[1.75, 3.5], [3.0, -4.0]]]),
    "avg_pool2d of integers": (lambda t: t.nn.functional.avg_pool2d(t.full((1, 16, 16), 3), 16), [[[3]]]),
    "bucketize of a fraction among integers": (lambda t: t.bucketize(3.5, t.tensor([1, 3, 5])), 2),
    "searchsorted of a fraction among integers": (lambda t: t.searchsorted(t.tensor([1, 3, 5]), 3.5), 2),
    "searchsorted of a fraction among truth values": (lambda t: t.searchsorted(t.tensor([False, True]), 0.5), 1),
    "group_norm of one element each": (lambda t: t.nn.functional.group_norm(t.linspace(0.5, 2, 6).view(2, 3), 3), [[0, 0, 0], [0, 0, 0]]),
    "std of equal elements that lie apart": (lambda t: t.full((2000,), -0.8580547)[::2].std() < 1e-6, True),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS, ids=lambda n: n.replace(" ", "_"))
def test_answer(torch, name):
    call, wanted = ANSWERS[name]
    got = call(torch)
    got = got.tolist() if isinstance(got, torch.Tensor) else got
    assert got == wanted


# name: (call, exception, words of it)
ERRORS = {
    "an in-place result that does not fit": (lambda t: t.ones(2, dtype=t.int64).gcd_(t.ones(2)), RuntimeError, "Float can't be cast to the desired output type Long"),
    "clamp of truth values by a number": (lambda t: t.ones(2, dtype=t.bool).clamp(True), NotImplementedError, "Bool"),
    "clamp of truth values by truth values": (lambda t: t.clamp(*[t.ones(2, dtype=t.bool)] * 3), NotImplementedError, "Bool"),
    "truth values to the power of truth values": (lambda t: t.ones(2, dtype=t.bool).pow(t.ones(2, dtype=t.bool)), NotImplementedError, "Bool"),
    "narrow_copy of sparse rows that are not there": (lambda t: t.eye(3).to_sparse().narrow_copy(0, 2, 3), RuntimeError, r"subset of range\(0, 3\)"),
    "a sorter out of range": (lambda t: t.searchsorted(t.arange(5.0), t.ones(1), sorter=t.arange(1, 6)), RuntimeError, "sorter index out of range"),
    "segments that do not add up": (lambda t: t.segment_reduce(t.ones(5), "sum", lengths=t.tensor([2])), RuntimeError, "to sum to data.size"),
    "segments of less than nothing": (lambda t: t.segment_reduce(t.ones(5), "sum", lengths=t.tensor([6, -1])), RuntimeError, "negative"),
    "segments without limits": (lambda t: t.segment_reduce(t.ones(5), "sum"), RuntimeError, "lengths or offsets must be defined"),
    "segments of integers": (lambda t: t.segment_reduce(t.ones(5, dtype=t.int32), "sum", lengths=t.tensor([5])), NotImplementedError, "Int"),
    "chunks of nothing": (lambda t: t._chunk_cat([t.ones(0)], 0, 2), RuntimeError, "expects non-empty tensor"),
    "no chunks": (lambda t: t._chunk_cat([t.ones(2)], 0, 0), RuntimeError, "positive num_chunks"),
    "a hash of another kind": (lambda t: t.hash_tensor(t.ones(1), mode=1), RuntimeError, "mode: 1"),
    "a hash of complex numbers": (lambda t: t.hash_tensor(t.ones(1) * 1j), NotImplementedError, "ComplexFloat"),
    "entries of a matrix that is not CSR": (
        lambda t: t.sparse.sampled_addmm(t.eye(2).to_sparse(), t.ones(2, 1), t.ones(1, 2)), (RuntimeError, NotImplementedError), "sparse"),
    "a product of other shape at the entries": (
        lambda t: t.sparse.sampled_addmm(t.eye(2).to_sparse_csr(), t.ones(2, 1), t.ones(2, 2)), RuntimeError, "cannot be multiplied"),
    "a tensor of text": (lambda t: t.tensor("x"), TypeError, "str"),
    "a tensor of nothing": (lambda t: t.tensor(None), RuntimeError, "NoneType"),
    "argmax of nothing": (lambda t: t.zeros(0).argmax(), IndexError, "reduction dim"),
    "argmin of nothing": (lambda t: t.zeros(0, 3).argmin(), IndexError, "reduction dim"),
    "complex of bfloat16": (lambda t: t.complex(t.ones(2).bfloat16(), t.ones(2).bfloat16()), NotImplementedError, "BFloat16"),
    "complex of integers": (lambda t: t.complex(t.ones(2), t.ones(2).int()), NotImplementedError, "Int"),
    "embedding without rows": (lambda t: t.nn.functional.embedding(t.zeros(1, dtype=t.int64), t.zeros(0, 4)), RuntimeError, "."),
    "index_copy into nothing": (lambda t: t.zeros(0, 3).index_copy(0, t.tensor([0]), t.zeros(1, 3)), RuntimeError, "."),
    "index_fill of nothing": (lambda t: t.zeros(0, 3).index_fill(0, t.tensor([0]), 1), RuntimeError, "."),
    "index_add of fewer dimensions": (lambda t: t.zeros(3, 2).index_add(0, t.tensor([0, 1]), t.ones(2)), RuntimeError, "shape"),
    "masked_fill with a complex tensor": (lambda t: t.zeros(2, dtype=t.int64).masked_fill(t.tensor(True), t.tensor(1j)), RuntimeError, "overflow"),
    "masked_fill with too large a tensor": (lambda t: t.zeros(2, dtype=t.int8).masked_fill(t.tensor(True), t.tensor(1000)), RuntimeError, "overflow"),
    "roll of a number along a dimension": (lambda t: t.roll(t.tensor(1.0), 0, 0), IndexError, "Dimension"),
    "group_norm without channels": (lambda t: t.nn.functional.group_norm(t.ones(1, 0, 2), 1), RuntimeError, "channels"),
    "group_norm without pixels": (lambda t: t.nn.functional.group_norm(t.ones(1, 2, 0), 1), RuntimeError, "HxW"),
    "adaptive_avg_pool2d of a matrix": (lambda t: t.nn.functional.adaptive_avg_pool2d(t.ones(2, 2), (2, 2)), ValueError, "dimension"),
    "linear interpolation of bytes": (lambda t: t.nn.functional.interpolate(t.ones(1, 1, 4, dtype=t.uint8), size=3, mode="linear"), NotImplementedError, "Byte"),
    "type by a Python type": (lambda t: t.ones(2).type(int), ValueError, "int"),
    "size of a number": (lambda t: t.tensor(1.0).size(0), IndexError, "Dimension specified as 0 but tensor has no dimensions"),
    "last size of a number": (lambda t: t.tensor(1.0).size(-1), IndexError, "Dimension specified as -1 but tensor has no dimensions"),
    "stride of a number": (lambda t: t.tensor(1.0).stride(0), IndexError, "Dimension specified as 0 but tensor has no dimensions"),
    "unique of a number along a dimension": (lambda t: t.unique(t.tensor(1.0), dim=0), IndexError, "no dimensions"),
    "unique along a dimension without values": (lambda t: t.ops.aten.unique_dim(t.empty(1 << 31, 3, 4, device="meta"), 2), NotImplementedError, "depends on values"),
    "unique_consecutive of a number along a dimension": (lambda t: t.unique_consecutive(t.tensor(1.0), dim=0), IndexError, "no dimensions"),
    "weights of another size": (
        lambda t: t.nn.functional.l1_loss(t.ones(4), t.ones(4), weight=t.ones(3)), ValueError, "Weights and input must have the same size"),
    "weights and an unknown reduction": (
        lambda t: t.nn.functional.mse_loss(t.ones(4), t.ones(4), reduction="x", weight=t.ones(4)), ValueError, "Invalid reduction mode: x"),
    "instance_norm of one pixel": (
        lambda t: t.nn.functional.instance_norm(t.ones(2, 3, 1)), ValueError,
        r"Expected more than 1 spatial element when training, got input size torch.Size\(\[2, 3, 1\]\)"),
    "InstanceNorm of one pixel": (lambda t: t.nn.InstanceNorm1d(3)(t.ones(3, 1)), ValueError, "Expected more than 1 spatial element"),
    "label_smoothing of probabilities": (
        lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.ones(2, 3), label_smoothing=1.5), RuntimeError,
        "label_smoothing must be between 0.0 and 1.0. Got: 1.5"),
    "attention with keys of another width": (
        lambda t: t.nn.MultiheadAttention(8, 2, kdim=4, vdim=4)(t.ones(3, 1, 8), t.ones(3, 1, 8), t.ones(3, 1, 8)), AssertionError,
        r"expecting key weights shape of \(8, 8\), but got torch.Size\(\[8, 4\]\)"),
    "attention with values of another width": (
        lambda t: t.nn.MultiheadAttention(8, 2, kdim=4, vdim=4)(t.ones(3, 1, 8), t.ones(3, 1, 4), t.ones(3, 1, 8)), AssertionError,
        r"expecting value weights shape of \(8, 8\), but got torch.Size\(\[8, 4\]\)"),
    "huber_loss of no integers": (lambda t: t.nn.functional.huber_loss(t.ones(0).long(), t.ones(0).long(), reduction="sum"), NotImplementedError, "huber_cpu.*Long"),
    "smooth_l1_loss of no bytes": (lambda t: t.nn.functional.smooth_l1_loss(t.ones(0).byte(), t.ones(0).byte()), NotImplementedError, "smooth_l1_cpu.*Byte"),
}


@pytest.mark.parametrize("name", ERRORS, ids=lambda n: n.replace(" ", "_"))
def test_error(torch, name):
    call, kind, words = ERRORS[name]
    with pytest.raises(kind, match=words):
        call(torch)


FIRST_IS_NO_TENSOR = ["norm", "split", "numel", "tensordot", "is_complex", "is_floating_point", "nn.functional.softmax", "nn.functional.interpolate",
                      "nn.functional.mse_loss", "nn.functional.adaptive_avg_pool2d", "nn.functional.relu", "nn.functional.kl_div"]  # fmt: skip


@pytest.mark.parametrize("name", FIRST_IS_NO_TENSOR)
@pytest.mark.parametrize("value", [{}, 3, None, object()], ids=["dict", "int", "None", "object"])
def test_what_is_no_tensor_is_a_type_error(torch, name, value):
    if torch.__name__ == "torch":
        pytest.skip("PyTorch says that the object lacks an attribute")
    function = torch
    for part in name.split("."):
        function = getattr(function, part)
    arguments = 0 if name in ("norm", "numel", "is_complex", "is_floating_point", "nn.functional.softmax", "nn.functional.relu") else 1
    with pytest.raises(TypeError, match=f"must be Tensor, not {type(value).__name__}"):
        function(value, *[2] * arguments)


# A number in a formula is not rounded to float32 on its way.
NUMBERS = {
    "lerp": (lambda t, a, b: t.lerp(a, b, 0.3), lambda a, b: (0.7, 0.3)),
    "pow of a number": (lambda t, a, b: 2**a, lambda a, b: (2**a * 0.6931471805599453, None)),
    "pow of a float": (lambda t, a, b: 0.3**a, lambda a, b: (0.3**a * -1.2039728043259361, None)),
    "mul": (lambda t, a, b: a * 0.1, lambda a, b: (0.1, None)),
    "div": (lambda t, a, b: 0.1 / a, lambda a, b: (-0.1 / a**2, None)),
    "add": (lambda t, a, b: t.add(a, b, alpha=0.1), lambda a, b: (1, 0.1)),
    "xlogy": (lambda t, a, b: t.xlogy(0.1, a), lambda a, b: (0.1 / a, None)),
}


@pytest.mark.parametrize("name", NUMBERS, ids=lambda n: n.replace(" ", "_"))
def test_numbers_keep_their_precision_in_gradients(torch, name):
    call, wanted = NUMBERS[name]
    a, b = torch.tensor([1.7, 0.6, 3.1], dtype=torch.float64, requires_grad=True), torch.tensor([0.9, 1.1, 2.3], dtype=torch.float64, requires_grad=True)
    grads = torch.autograd.grad(call(torch, a, b).sum(), (a, b), allow_unused=True)
    for got, want in zip(grads, wanted(a.detach(), b.detach())):
        if want is not None:
            assert (got - want).abs().max().item() < 1e-15


def test_complex_numbers_keep_their_precision_in_gradients(torch):
    a = torch.tensor([1.7 + 1j, 0.6 - 2j], dtype=torch.complex128, requires_grad=True)
    for call in (lambda: a * (0.1 + 0.7j), lambda: torch.add(torch.zeros_like(a), a, alpha=0.1 + 0.7j)):
        (got,) = torch.autograd.grad(call().real.sum(), a)
        assert (got - (0.1 - 0.7j)).abs().max().item() < 1e-15


def test_statistics_of_norms(torch):
    x = torch.arange(12.0, dtype=torch.float64).view(1, 4, 3).requires_grad_()
    assert [y.requires_grad for y in torch.native_layer_norm(x, [3], None, None, 1e-5)] == [True, False, False]
    assert [y.requires_grad for y in torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)] == [True, False, False]
    results = torch.native_group_norm(x, None, None, 1, 4, 3, 2, 1e-5)
    assert [y.requires_grad for y in results] == [True, True, True]
    for which in (1, 2):  # mean and reciprocal deviation of each group
        (got,) = torch.autograd.grad(results[which].sum(), x, retain_graph=True)
        groups = x.detach().view(2, 6).requires_grad_()
        mean = groups.mean(1)
        value = mean if which == 1 else ((groups - mean[:, None]) ** 2).mean(1).add(1e-5).rsqrt()
        (want,) = torch.autograd.grad(value.sum(), groups)
        assert (got.view(2, 6) - want).abs().max().item() < 1e-12


def test_gradient_of_gathering_nothing(torch):
    x = torch.ones(3, requires_grad=True)
    (got,) = torch.autograd.grad(x.gather(0, torch.ones(0, dtype=torch.uint8)).sum(), x)
    assert got.tolist() == [0, 0, 0]


def test_the_derivative_of_nextafter(torch):
    a, b = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor([0.0, 5.0, 3.0], requires_grad=True)
    grads = torch.autograd.grad(torch.nextafter(a, b).sum(), (a, b))
    assert [g.tolist() for g in grads] == [[1, 1, 0], [0, 0, 0]]


def test_the_count_of_a_norm_needs_no_gradient(torch):
    x = torch.ones(3, requires_grad=True)
    assert torch.autograd.grad(torch.norm(x, 0), x, allow_unused=True) == (None,)


def test_embedding_changes_its_weight_and_has_a_gradient(torch):
    w = torch.tensor([[3.0, 4.0], [6.0, 8.0]], dtype=torch.float64, requires_grad=True)
    y = torch.nn.functional.embedding(torch.tensor([1, 1], dtype=torch.int32), w, max_norm=5.0)
    y.sum().backward()
    assert w.detach()[0].tolist() == [3, 4] and (w.detach()[1] - torch.tensor([3.0, 4.0])).abs().max() < 1e-6
    assert w.grad.tolist() == [[0, 0], [2, 2]]
    with pytest.raises(RuntimeError, match="Long, Int"):
        torch.embedding_renorm_(w.detach(), torch.tensor([0.0]), 1.0, 2.0)


@pytest.mark.parametrize("shape", [(300,), (65537,), (3, 70000), (70000, 3)])
def test_counts_beyond_a_byte(torch, shape):
    """Truth values are counted in bytes first, which must not run over, in any layout."""
    x = torch.ones(shape, dtype=torch.bool)
    for dim in range(x.dim()):
        assert set(x.sum(dim).reshape(-1).tolist()) == set(x.count_nonzero(dim).reshape(-1).tolist()) == {x.size(dim)}
    assert x.count_nonzero().item() == x.float().count_nonzero().item() == x.numel()
    assert x[::2].count_nonzero().item() == x[::2].numel()


def test_istft_undoes_stft_with_a_complex_window(torch):
    phase = torch.arange(8.0, dtype=torch.float64)
    window = torch.complex((phase * 0.7).cos() + 1.5, (phase * 0.4).sin())
    x = torch.complex((phase.repeat(4) * 1.3).sin(), (phase.repeat(4) * 0.2).cos())
    y = torch.istft(torch.stft(x, 8, window=window, return_complex=True), 8, window=window, return_complex=True)
    assert (y - x).abs().max() < 1e-12


def test_combinations_of_too_few_have_a_gradient(torch):
    x = torch.ones(2, requires_grad=True)
    y = torch.combinations(x, 4)
    y.sum().backward()
    assert y.shape == (0, 4) and x.grad.tolist() == [0, 0]


def test_a_truth_value_summed_to_no_dimensions(torch):
    assert torch.tensor(True).sum_to_size(()).dtype == torch.int64


@pytest.mark.parametrize(("sizes", "weight", "words"), [((2, 3, 4), (5, 4), "dimensionality 1 or 2"), ((2, 4), (4,), "at least 2"), ((3,), (2, 4, 3), "requires batched input")])
def test_linear_cross_entropy_of_unfit_sizes(torch, sizes, weight, words):
    with pytest.raises(RuntimeError, match=words):
        torch.nn.functional.linear_cross_entropy(torch.ones(sizes), torch.ones(weight), torch.zeros(2, dtype=torch.int64))


def test_gradient_of_many_windows_of_nothing(torch):
    x = torch.empty(4, 2**31, device="meta", requires_grad=True)
    x.unfold(1, 2**31 - 1, 1).backward(torch.empty(4, 2, 2**31 - 1, device="meta"))
    assert x.grad.shape == x.shape


@pytest.mark.parametrize("name, size", [("Dropout", (2,)), ("Dropout1d", (2, 3, 4)), ("Dropout2d", (2, 3, 4, 4)), ("Dropout3d", (2, 3, 4, 4, 4))])
def test_dropout_in_place_that_drops_nothing_may_be_given_a_leaf(torch, name, size):
    x, empty = torch.ones(size, requires_grad=True), torch.ones(0, *size[1:], requires_grad=True)
    drop = getattr(torch.nn, name)
    assert drop(0.5, inplace=True).eval()(x) is x and drop(0.0, inplace=True)(x) is x and drop(0.5, inplace=True)(empty) is empty
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        drop(0.5, inplace=True)(x)


WARNINGS = {
    "kl_div": (lambda t: t.nn.functional.kl_div(t.zeros(2), t.ones(2)), "'mean' divides the total loss by both the batch size and the support size"),
    "upsample": (lambda t: t.nn.functional.upsample(image(t), scale_factor=2), "`nn.functional.upsample` is deprecated"),
    "upsample_nearest": (lambda t: t.nn.functional.upsample_nearest(image(t), scale_factor=2), "`nn.functional.upsample_nearest` is deprecated"),
    "upsample_bilinear": (lambda t: t.nn.functional.upsample_bilinear(image(t), scale_factor=2), "`nn.functional.upsample_bilinear` is deprecated"),
    "range": (lambda t: t.range(0, 2), "torch.range is deprecated"),
    "new_tensor": (lambda t: t.ones(2).new_tensor(t.ones(2)), "rather than tensor.new_tensor"),
    "uint8 index": (lambda t: t.ones(2)[t.tensor([1, 0], dtype=t.uint8)], "indexing with dtype torch.uint8 is now deprecated"),
    "list for a tuple": (lambda t: t.ones(2, 2)[[[0], [1]]], "Using a non-tuple sequence for multidimensional indexing is deprecated"),
    "detect_anomaly": (lambda t: t.autograd.detect_anomaly(), "Anomaly Detection has been enabled"),
}
ONCE = {  # in a process, unless set_warn_always asks for all
    "backward": (lambda t: t.ones((), requires_grad=True).clone().backward(create_graph=True), "create a reference cycle between the parameter and its gradient"),
    "set_default_tensor_type": (lambda t: t.set_default_tensor_type(t.FloatTensor), "please use torch.set_default_dtype"),
    "stft": (lambda t: t.stft(t.ones(8), 4, return_complex=True), "A window was not provided. A rectangular window will be applied, which"),
    "istft": (lambda t: t.istft(t.ones(3, 4, dtype=t.complex64), 4), "Please provide the same window used by stft"),
    "float": (lambda t: float(t.ones(1, requires_grad=True)), "Converting a tensor with requires_grad=True to a scalar"),
    "complex": (lambda t: complex(t.ones(1, requires_grad=True)), "Converting a tensor with requires_grad=True to a scalar"),
    "x.T of a vector": (lambda t: t.ones(2).T, "The use of `x.T` on tensors of dimension other than 2"),
    "x.T of a number": (lambda t: t.ones(()).T, "Tensor.T is deprecated on 0-D tensors"),
    "meshgrid": (lambda t: t.meshgrid(t.ones(2), t.ones(2)), "required to pass the indexing argument"),
    "where": (lambda t: t.where(t.ones(2, dtype=t.uint8), 1.0, 2.0), "where received a uint8 condition tensor"),
    "to a real type": (lambda t: t.ones(2, dtype=t.complex64).float(), "Casting complex values to real discards the imaginary part"),
    "copy_ of complex numbers": (lambda t: t.ones(2).copy_(t.ones(2, dtype=t.complex64)), "Casting complex values to real discards the imaginary part"),
    "a list of arrays": (lambda t: t.tensor([np.ones(2), np.ones(2)]), "Creating a tensor from a list of numpy.ndarrays is extremely slow"),
    "storage": (lambda t: t.ones(2).storage(), "TypedStorage is deprecated"),
    "cross": (lambda t: t.cross(t.ones(2, 3), t.ones(2, 3)), "Using torch.cross without specifying the dim arg is deprecated"),
    "lu": (lambda t: t.lu(t.eye(2)), "torch.lu is deprecated in favor of torch.linalg.lu_factor"),
    "lu_solve": (lambda t: t.lu_solve(t.eye(2), t.eye(2), t.tensor([1, 2], dtype=t.int32)), "torch.lu_solve is deprecated in favor of torch.linalg.lu_solve"),
    "triangular_solve": (lambda t: t.triangular_solve(t.eye(2), t.eye(2)), "torch.triangular_solve is deprecated in favor of"),
    "an old form": (lambda t: t.ones(2).add_(2, t.ones(2)), "This overload of add_ is deprecated"),
    "index_reduce": (lambda t: t.zeros(3).index_reduce(0, t.tensor([0]), t.ones(1), "mean"), "index_reduce\\(\\) is in beta"),
    "chain_matmul": (lambda t: t.chain_matmul(t.ones(2, 2), t.ones(2, 2)), "Use torch.linalg.multi_dot instead"),
}


@pytest.mark.parametrize("name", [*WARNINGS, *ONCE])
def test_warning(torch, name):
    call, words = {**WARNINGS, **ONCE}[name]
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match=words):
            call(torch)
    finally:
        torch.set_warn_always(False)
    if name in ONCE:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(torch)
            warnings.simplefilter("error")
            call(torch)


@pytest.mark.parametrize("reduction", ["batchmean", "sum", "none"])
def test_other_reductions_of_kl_div_are_quiet(torch, reduction):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.nn.functional.kl_div(torch.tensor(0.0), torch.tensor(1.0), reduction=reduction).item() == 0


def test_quiet_conversions(torch):
    x = torch.ones(1, requires_grad=True)
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert int(x) == x.item() == float(x.detach()) == 1 and x.tolist() == [1.0]
            with torch.no_grad():
                assert float(x) == 1
            assert torch.ones(2, 3).T.shape == (3, 2) and torch.ones(2, dtype=torch.complex64).to(torch.complex128).real.sum() == 2
    finally:
        torch.set_warn_always(False)


# Calls from before numbers were given by name: what they are now.
OLD_FORMS = {
    "add": (lambda x, y, m: x.add(3, y), lambda x, y, m: x.add(y, alpha=3)),
    "torch.add": (lambda x, y, m: m.add(x, 3, y), lambda x, y, m: m.add(x, y, alpha=3)),
    "torch.add, other by name": (lambda x, y, m: m.add(x, 3, other=y), lambda x, y, m: m.add(x, y, alpha=3)),
    "add_ of a tensor's number": (lambda x, y, m: x.clone().add_(m.tensor(-0.5), y), lambda x, y, m: x.add(y, alpha=-0.5)),
    "sub_ of NumPy's number": (lambda x, y, m: x.clone().sub_(np.float32(2), y), lambda x, y, m: x.sub(y, alpha=2)),
    "sub into": (lambda x, y, m: m.sub(x, 2, y, out=m.empty(2, 2)), lambda x, y, m: x.sub(y, alpha=2)),
    "addcmul": (lambda x, y, m: x.addcmul(2, y, y), lambda x, y, m: x.addcmul(y, y, value=2)),
    "addcdiv_": (lambda x, y, m: x.clone().addcdiv_(-0.1, y, y + 1), lambda x, y, m: x.addcdiv(y, y + 1, value=-0.1)),
    "torch.addcmul, by name": (lambda x, y, m: m.addcmul(x, 2, tensor1=y, tensor2=x), lambda x, y, m: x.addcmul(y, x, value=2)),
    "addmm": (lambda x, y, m: x.addmm(0.5, 2, x, y), lambda x, y, m: x.addmm(x, y, beta=0.5, alpha=2)),
    "addmm_, beta": (lambda x, y, m: x.clone().addmm_(0.5, y, y), lambda x, y, m: x.addmm(y, y, beta=0.5)),
    "torch.addmm": (lambda x, y, m: m.addmm(0.5, x, 2, x, y), lambda x, y, m: x.addmm(x, y, beta=0.5, alpha=2)),
    "torch.addmm, beta": (lambda x, y, m: m.addmm(0.5, x, x, y), lambda x, y, m: x.addmm(x, y, beta=0.5)),
    "addmv": (lambda x, y, m: x[0].addmv(0.5, 2, x, y[0]), lambda x, y, m: x[0].addmv(x, y[0], beta=0.5, alpha=2)),
    "addr": (lambda x, y, m: x.addr(0.5, 2, x[0], y[0]), lambda x, y, m: x.addr(x[0], y[0], beta=0.5, alpha=2)),
    "torch.addbmm": (lambda x, y, m: m.addbmm(0.5, x, 2, x[None], y[None]), lambda x, y, m: x.addbmm(x[None], y[None], beta=0.5, alpha=2)),
    "baddbmm": (lambda x, y, m: x[None].baddbmm(0.5, x[None], y[None]), lambda x, y, m: x[None].baddbmm(x[None], y[None], beta=0.5)),
}


@pytest.mark.parametrize("name", OLD_FORMS)
@pytest.mark.filterwarnings("ignore:This overload")
def test_old_form(torch, name):
    old, now = OLD_FORMS[name]
    x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), torch.tensor([[5.0, 6.0], [7.0, 8.0]])
    with torch.set_grad_enabled("into" not in name):
        assert torch.equal(old(x, y, torch), now(x, y, torch))


@pytest.mark.filterwarnings("ignore:This overload")
def test_old_forms_that_fit_nothing(torch):
    x = torch.ones(2, 2)
    for call in (lambda: x.add(x, x, x), lambda: x.addcmul(1, x, x, x), lambda: x.mul(2, x), lambda: x.add(2, x, alpha=3), lambda: x.addmm(1, 2, x)):
        with pytest.raises(TypeError):
            call()


NOT_NESTED = {  # a layer of an encoder: why PyTorch has no nested tensors there, and says so
    "batch_first": (lambda nn: nn.TransformerEncoderLayer(4, 2), "self_attn.batch_first was not True"),
    "norm_first": (lambda nn: nn.TransformerEncoderLayer(4, 2, batch_first=True, norm_first=True), "norm_first was True"),
    "heads": (lambda nn: nn.TransformerEncoderLayer(3, 1, batch_first=True), "num_heads is odd"),
    "activation": (lambda nn: nn.TransformerEncoderLayer(4, 2, batch_first=True, activation=nn.functional.silu), "activation_relu_or_gelu was not True"),
    "bias": (lambda nn: nn.TransformerEncoderLayer(4, 2, batch_first=True, bias=False), "was passed bias=False"),
    "another layer": (lambda nn: nn.Linear(4, 4), "was not TransformerEncoderLayer"),
}


@pytest.mark.parametrize("name", NOT_NESTED)
def test_encoder_says_why_it_is_not_nested(torch, name):
    make, words = NOT_NESTED[name]
    with pytest.warns(UserWarning, match=f"enable_nested_tensor is True, but self.use_nested_tensor is False because .*{words}"):
        assert torch.nn.TransformerEncoder(make(torch.nn), 1).use_nested_tensor is False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.nn.TransformerEncoder(make(torch.nn), 1, enable_nested_tensor=False)
        for activation in ("relu", "gelu", torch.nn.ReLU(), torch.nn.GELU()):
            torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2, batch_first=True, activation=activation), 1)


def test_deterministic_algorithms_are_asked_for_by_bool(torch):
    before = torch.are_deterministic_algorithms_enabled()
    for call in (lambda: torch.use_deterministic_algorithms("a"), lambda: torch.use_deterministic_algorithms(1), lambda: torch.use_deterministic_algorithms(True, warn_only=None)):
        with pytest.raises(TypeError, match="must be bool"):
            call()
    assert torch.are_deterministic_algorithms_enabled() is before
