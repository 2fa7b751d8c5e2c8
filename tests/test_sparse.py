# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors: every expression of sparse_cases.py as PyTorch has it, then what a hostile or busy program does."""

import copy
import io
import json
import pathlib
import pickle

import pytest
import sparse_cases

pytestmark = pytest.mark.threads

GOLDEN = json.loads((pathlib.Path(__file__).parent / "golden" / "sparse.json").read_text())


@pytest.mark.parametrize("expression", sparse_cases.listed(sparse_cases.VALUES))
def test_values(torch, expression):
    assert repr(eval(expression, sparse_cases.setup(torch))) == GOLDEN["values"][expression]


@pytest.mark.parametrize("expression", sparse_cases.listed(sparse_cases.ERRORS))
def test_errors(torch, expression):
    names = {"RuntimeError", GOLDEN["errors"][expression]}
    with pytest.raises(Exception) as raised:
        eval(expression, sparse_cases.setup(torch))
    assert names & {c.__name__ for c in type(raised.value).__mro__}, raised.value


@pytest.mark.parametrize("case", sparse_cases.listed(sparse_cases.GRADIENTS))
def test_gradients(torch, case):
    assert sparse_cases.gradient(torch, case) == GOLDEN["gradients"][case]


def test_no_kernel_for_strided_tensors_sees_one(torch):
    s = torch.eye(2).to_sparse()
    with pytest.raises(NotImplementedError, match=r"Could not run 'aten::exp' with arguments of layout torch.sparse_coo.*to_dense"):
        s.exp()
    with pytest.raises(NotImplementedError, match="torch.sparse_csr"):
        s.to_sparse_csr().cos()
    with pytest.raises(NotImplementedError, match="layout torch.sparse_coo"):
        torch.rand(2, 3, layout=torch.sparse_coo)


def test_large_random_products_agree_with_strided_ones(torch):
    torch.manual_seed(0)
    for threads in (1, 2):
        torch.set_num_threads(threads)
        i = torch.stack([torch.randint(0, 300, (20000,)), torch.randint(0, 200, (20000,))])
        u = torch.sparse_coo_tensor(i, torch.randn(20000, dtype=torch.float64), (300, 200))
        s, d = u.coalesce(), u.to_dense()
        dense = torch.randn(200, 37, dtype=torch.float64)
        for a in (u, s, s.to_sparse_csr(), s.to_sparse_csc()):
            torch.testing.assert_close(a @ dense, d @ dense)
            torch.testing.assert_close(a @ dense[:, 0], d @ dense[:, 0])
        torch.testing.assert_close(s.to_dense(), d)
        torch.testing.assert_close((s @ s.t()).to_dense(), d @ d.t())
        torch.testing.assert_close((s * s.sin()).to_dense(), d * d.sin())
        torch.testing.assert_close(u.sum(0).to_dense(), d.sum(0))
        torch.testing.assert_close(torch.cat([u, s], 1).to_dense(), torch.cat([d, d], 1))
        assert bool((s.indices()[:, 1:] != s.indices()[:, :-1]).any(0).all())
    torch.set_num_threads(1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "uint8", "complex128", "bool"])
def test_types(torch, dtype):
    dtype = getattr(torch, dtype)
    i = torch.tensor([[0, 0, 1], [1, 1, 0]])
    u = torch.sparse_coo_tensor(i, torch.tensor([1, 1, 1]).to(dtype), (2, 2))
    assert u.coalesce().values().dtype == dtype and u.to_dense().dtype == dtype
    assert u.coalesce().values().to(torch.complex64).real.tolist() == ([1, 1] if dtype is torch.bool else [2, 1])
    if dtype is not torch.bool:
        assert (u @ torch.ones(2, 1, dtype=dtype)).dtype == dtype and (u @ u).to_dense().to(torch.complex64).real.tolist() == [[2, 0], [0, 2]]


def test_indices_that_lie(torch):
    """Construction checks counts, the rest when asked; use finds the rest, and never reads outside."""
    dense = torch.ones(3, 2)
    for bad in (5, -1, 2**62, -(2**63)):
        u = torch.sparse_coo_tensor([[0, bad], [1, 1]], [1.0, 2.0], (2, 3))
        w = torch.sparse_coo_tensor([[0, 1], [1, bad]], [1.0, 2.0], (2, 3))
        for t in (u, w):
            for use in (lambda t: t.coalesce(), lambda t: t.to_dense(), lambda t: t @ dense, lambda t: t + torch.ones(2, 3), lambda t: t * torch.ones(2, 3),
                        lambda t: t @ t.t(), lambda t: t.to_sparse_csr(), lambda t: torch.ones(2, 3).sparse_mask(t), lambda t: t * t,
                        lambda t: t.index_select(0, torch.tensor([1]))):  # fmt: skip
                with pytest.raises((IndexError, RuntimeError)):
                    use(t)
        c = torch.sparse_csr_tensor([0, 1, 2], [0, bad], [1.0, 2.0], (2, 3))
        for use in (lambda t: t @ dense, lambda t: t.to_dense(), lambda t: t + t, lambda t: t @ torch.ones(3)):
            with pytest.raises((IndexError, RuntimeError)):
                use(c)
        c = torch.sparse_csr_tensor([0, bad, 2], [0, 1], [1.0, 2.0], (2, 3))
        for use in (lambda t: t @ dense, lambda t: t.to_dense(), lambda t: t.to_sparse()):
            with pytest.raises((IndexError, RuntimeError)):
                use(c)


def test_indices_changed_after_construction(torch):
    i = torch.tensor([[0, 1], [1, 1]])
    u = torch.sparse_coo_tensor(i, torch.tensor([1.0, 2.0]), (2, 3), is_coalesced=True)
    i[0, 1] = 1 << 40
    for use in (lambda: u.to_dense(), lambda: u @ torch.ones(3, 2), lambda: u * u, lambda: u.to_sparse_csr(), lambda: torch.ones(2, 3).sparse_mask(u)):
        with pytest.raises((IndexError, RuntimeError)):
            use()
    u._indices().resize_(2, 100)
    u._values().resize_(0)
    assert u._nnz() == 2 and u._indices().shape == (2, 2)  # what is handed out are other tensors on the same memory


def test_sizes_without_end(torch):
    big = 2**31
    s = torch.sparse_coo_tensor([[big - 1, 0], [0, big - 1]], [1.0, 2.0], (big, big))
    assert (s + s).coalesce().values().tolist() == [4.0, 2.0]
    assert (s @ s.t()).coalesce().indices().tolist() == [[0, big - 1], [0, big - 1]]
    assert s.t().coalesce()._indices().tolist() == [[0, big - 1], [big - 1, 0]]
    assert s.sum(0).coalesce().indices().tolist() == [[0, big - 1]] and float(s.sum()) == 3
    with pytest.raises(RuntimeError):
        s.to_dense()
    with pytest.raises(RuntimeError, match="overflow"):
        torch.sparse_coo_tensor(size=(2**40, 2**40))
    odd = torch.sparse_coo_tensor(torch.tensor([[1, 1], [2, 2]]), torch.empty(2, 0), (2**40, 2**40, 0))
    with pytest.raises(RuntimeError, match="overflow"):
        odd.coalesce()


def test_hidden_operators_check_their_arguments(torch):
    ops = torch.ops.aten
    long = torch.tensor([0, 1])
    for call in (
        lambda: ops._sparse_flat_index(long, [2]),
        lambda: ops._sparse_coalesce_entries(long, torch.ones(3), 5),
        lambda: ops._sparse_coalesce_entries(long, torch.ones(2), 1),
        lambda: ops._sparse_coo_mm(torch.tensor([[0, 9], [0, 0]]), torch.ones(2), torch.ones(1, 1), 2),
        lambda: ops._sparse_coo_mm(torch.tensor([[1, 0], [7, 0]]), torch.ones(2), torch.ones(1, 1), 2),
        lambda: ops._sparse_csr_mm(torch.tensor([0, 9]), long, torch.ones(2), torch.ones(2, 1)),
        lambda: ops._sparse_csr_csr_mm(torch.tensor([0, 2]), long, torch.ones(2), torch.tensor([0, 2]), long, torch.ones(2), 1),
        lambda: ops._sparse_sampled_mm(torch.tensor([[0], [5]]), torch.ones(1, 2), torch.ones(1, 2)),
        lambda: ops._sparse_common(long, torch.eye(2, dtype=torch.int64)),
        lambda: ops._sparse_compress(torch.tensor([1, 0]), 2),
        lambda: ops._sparse_decompress(torch.tensor([0, 5, 2]), 2),
        lambda: ops._sparse_coo_tensor_unsafe(torch.eye(2).to_sparse(), torch.ones(2), [2, 2]),
        lambda: ops._coalesce(torch.ones(2)),
        lambda: ops._sparse_addmm(torch.ones(1), torch.ones(2, 3), torch.ones(3, 2)),
    ):
        with pytest.raises((IndexError, RuntimeError)):
            call()
    a, b = ops._sparse_common(torch.tensor([3, 1, 3]), torch.tensor([9, 3]))  # not sorted: an answer, and no harm
    assert a.numel() <= 2 and a.shape == b.shape


def test_invariants(torch):
    check = torch.sparse.check_sparse_tensor_invariants
    with check():
        assert check.is_enabled()
        with pytest.raises((IndexError, RuntimeError), match="size is inconsistent with indices: for dim 0, size is 2 but found index 5"):
            torch.sparse_coo_tensor([[5]], [1.0], (2,))
        with check(False):
            torch.sparse_coo_tensor([[5]], [1.0], (2,))
    assert not check.is_enabled()

    @check()
    def inside():
        return check.is_enabled()

    assert inside() and not check.is_enabled()
    with pytest.raises(RuntimeError, match="crow_indices must have 2"):
        torch.sparse_csr_tensor([0, 1], [0], [1.0], (2, 2))
    with pytest.raises(RuntimeError, match="int32 or both int64"):
        torch.sparse_csr_tensor(torch.tensor([0, 1, 1], dtype=torch.int16), torch.tensor([0]), torch.tensor([1.0]), (2, 2))


def test_copies_and_files(torch):
    s = torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
    for t in (s, s.to_sparse_csr(), s.t().to_sparse_csc(), torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,))):
        file = io.BytesIO()
        torch.save({"t": t}, file)
        for new in (copy.deepcopy(t), copy.copy(t), pickle.loads(pickle.dumps(t)), torch.load(io.BytesIO(file.getvalue()))["t"]):
            assert repr(new) == repr(t) and (not t.is_sparse or new.is_coalesced() == t.is_coalesced())
    new = copy.deepcopy(s)
    new._values().zero_()
    assert float(s.sum()) == 5.0


def test_files_that_lie(torch):
    """A file cannot make a tensor whose indices are out of range."""
    bad = torch.sparse_coo_tensor([[7]], [1.0], (2,))
    file = io.BytesIO()
    torch.save(bad, file)
    with pytest.raises((IndexError, RuntimeError), match="index 7"):
        torch.load(io.BytesIO(file.getvalue()))


def test_double_backward(torch):
    i = torch.tensor([[0, 1], [1, 0]])
    v = torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True)
    d = torch.randn(2, 2, dtype=torch.float64, requires_grad=True)

    def f(v, d):
        return torch.sparse.mm(torch.sparse_coo_tensor(i, v, (2, 2)), d).square()

    assert torch.autograd.gradcheck(f, (v, d))
    assert torch.autograd.gradgradcheck(f, (v, d))
    assert torch.autograd.gradcheck(lambda v: torch.sparse_coo_tensor(i, v, (2, 2)).to_dense() ** 2, (v,))
    assert torch.autograd.gradcheck(lambda v: torch.sparse.softmax(torch.sparse_coo_tensor(i, v, (2, 2)), 0).to_dense(), (v,))
    check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    assert check(lambda s: torch.sparse.mm(s, d.detach()), (torch.sparse_coo_tensor(i, v.detach(), (2, 2)).requires_grad_(),))


def test_gradients_that_join(torch):
    weight = torch.zeros(4, 2, requires_grad=True)
    look = torch.nn.functional.embedding
    look(torch.tensor([1, 2]), weight, sparse=True).sum().backward()
    assert weight.grad.is_sparse and weight.grad._nnz() == 2
    look(torch.tensor([1]), weight, sparse=True).sum().backward()
    assert weight.grad.is_sparse and weight.grad.to_dense()[:, 0].tolist() == [0, 2, 1, 0]
    (weight * 2).sum().backward()
    assert not weight.grad.is_sparse and weight.grad[:, 0].tolist() == [2, 4, 3, 2]
    look(torch.tensor([3]), weight, sparse=True).sum().backward()
    assert weight.grad[:, 0].tolist() == [2, 4, 3, 3]
    weight.grad = None
    (look(torch.tensor([1]), weight, sparse=True).sum() + look(torch.tensor([3]), weight, sparse=True).sum() + weight.sum()).backward()
    assert weight.grad[:, 0].tolist() == [1, 2, 1, 2]
    values = torch.ones(2, requires_grad=True)  # a gradient that two leaves get stays two
    one, two = (torch.sparse_coo_tensor([[0, 1]], [1.0, 1.0], (2,)).requires_grad_() for _ in range(2))
    torch.sparse.sum((one + two) * 1.0).backward()
    one.grad._values().zero_()
    assert float(two.grad.sum()) == 2.0 and values.grad is None


@pytest.mark.parametrize("name, options", [("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9}), ("Adagrad", {"lr": 0.1}), ("SparseAdam", {"lr": 0.1})])
def test_optimizers(torch, name, options):
    """A sparse gradient moves what its dense form moves; SparseAdam leaves rows alone that are not in it."""
    steps = {}
    for sparse in (True, False):
        torch.manual_seed(0)
        table = torch.nn.Embedding(5, 3, sparse=sparse)
        dense = {"SparseAdam": "Adam"}.get(name, name)
        optimizer = getattr(torch.optim, name if sparse else dense)(table.parameters(), **options)
        for _ in range(3):
            optimizer.zero_grad()
            table(torch.tensor([1, 3, 1])).square().sum().backward()
            optimizer.step()
        steps[sparse] = table.weight.detach()
    torch.testing.assert_close(steps[True], steps[False])


def test_optimizers_that_want_other_gradients(torch):
    table = torch.nn.Embedding(5, 3, sparse=True)
    table(torch.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match="Adam does not support sparse gradients"):
        torch.optim.Adam(table.parameters()).step()
    table.weight.grad = torch.ones(5, 3)
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        torch.optim.SparseAdam(table.parameters()).step()


def test_threads(torch):
    """Eight threads read and convert one tensor, and write to tensors that share its parts."""
    import threading

    u = torch.sparse_coo_tensor(torch.randint(0, 50, (2, 5000)), torch.ones(5000), (50, 50))
    s, want, failed = u.coalesce(), u.to_dense(), []
    values, csr, barrier = s.values().clone(), s.to_sparse_csr(), threading.Barrier(8)

    def work():
        barrier.wait()
        for _ in range(10):
            mine = s.detach()
            mine.add_(u).zero_()
            checks = [u.coalesce() @ torch.eye(50), u.to_dense(), s.to_dense(), csr.to_dense(), (u + s).to_dense() / 2, u.clone().coalesce().t().to_sparse_csr().to_dense().t()]
            failed.extend(k for k, got in enumerate(checks) if not torch.equal(got, want))
            if not torch.equal(u.coalesce().values(), values) or s._nnz() != csr._nnz():
                failed.append("values")

    threads = [threading.Thread(target=work) for _ in range(8)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert not failed


def test_data_and_parameters(torch):
    x = torch.ones(2, 2)
    x.data = torch.eye(2).to_sparse()
    assert x.is_sparse and x._nnz() == 2 and (x @ torch.ones(2, 1)).tolist() == [[1.0], [1.0]]
    x.data = torch.ones(2, 2)
    assert not x.is_sparse and x.exp().shape == (2, 2)
    with torch.no_grad():
        s = torch.eye(2).to_sparse().requires_grad_()
    out = torch.sparse.mm(s, torch.ones(2, 2, requires_grad=True))
    s.detach().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
