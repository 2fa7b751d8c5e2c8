# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors of the device against the CPU: the core's operators and those that the PyTorch port added, results and
gradients, four meshes, both modes. Nothing may fall back to the CPU (conftest.py makes that an error)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_hb_operators import MESHES, data


def coo(torch, *shape, entries=40, seed=0, dense=()):
    """Entries in no order, some of them repeated."""
    random = np.random.default_rng(seed)
    indices = np.stack([random.integers(0, n, entries) for n in shape])
    values = random.uniform(-2, 2, (entries, *dense)).astype(np.float32)
    return torch.sparse_coo_tensor(torch.from_numpy(indices), torch.from_numpy(values), (*shape, *dense))


def same(torch, got, want, what):
    if isinstance(want, (tuple, list)):
        for g, w in zip(got, want, strict=True):
            same(torch, g, w, what)
        return
    assert got.device.type == "hammerblade" and got.layout == want.layout and got.shape == want.shape and got.dtype == want.dtype, what
    if want.layout == torch.sparse_coo:
        assert got.is_coalesced() == want.is_coalesced(), what
        assert torch.equal(got._indices().cpu(), want._indices()), what
        got, want = got._values(), want._values()
    elif want.layout != torch.strided:
        for name in ["crow_indices", "col_indices"] if want.layout == torch.sparse_csr else ["ccol_indices", "row_indices"]:
            assert torch.equal(getattr(got, name)().cpu(), getattr(want, name)()), what
        got, want = got.values(), want.values()
    torch.testing.assert_close(got.cpu(), want, rtol=1e-4, atol=1e-5, msg=lambda m: f"{what}: {m}")


def check(torch, what, function, *inputs):
    """On both devices, and the gradients of a sum of the result."""

    def run(device):
        leaves = [x.detach().to(device) for x in inputs]
        for x in leaves:
            if x.is_floating_point():
                x.requires_grad_()
        out = function(*leaves)
        first = out[0] if isinstance(out, (tuple, list)) else out
        if first.requires_grad:
            (torch.sparse.sum(first.coalesce()) if first.layout == torch.sparse_coo else first.to_dense().sum() if first.layout != torch.strided else (first * first).sum()).backward()
        return out, [x.grad.coalesce() if x.grad.layout == torch.sparse_coo else x.grad for x in leaves if x.requires_grad and x.grad is not None]

    (got, got_grads), (want, want_grads) = run("hammerblade"), run("cpu")
    same(torch, got, want, what)
    same(torch, got_grads, want_grads, f"{what}, gradient")


CORE = {
    "coalesce": lambda t, s, d: s.coalesce(),
    "to_dense": lambda t, s, d: s.to_dense(),
    "to_dense of coalesced": lambda t, s, d: s.coalesce().to_dense(),
    "to_sparse": lambda t, s, d: d.relu().to_sparse(),
    "to_sparse 1": lambda t, s, d: d.relu().to_sparse(1),
    "to_sparse_csr": lambda t, s, d: d.relu().to_sparse_csr(),
    "csr of coo": lambda t, s, d: s.coalesce().to_sparse_csr(),
    "csc of coo": lambda t, s, d: s.coalesce().to_sparse_csc(),
    "coo of csr": lambda t, s, d: s.to_sparse_csr().to_sparse(),
    "indices, values": lambda t, s, d: s.coalesce().values() * 2,
    "transpose": lambda t, s, d: s.t().coalesce(),
    "add": lambda t, s, d: (s + s.t() * 2).coalesce(),
    "sub": lambda t, s, d: (s - s * 3).coalesce(),
    "mul": lambda t, s, d: s.coalesce() * s.t().coalesce(),
    "mul strided": lambda t, s, d: s * d,
    "add to strided": lambda t, s, d: d + s,
    "sum": lambda t, s, d: t.sparse.sum(s, 0),
    "sum of all": lambda t, s, d: t.sparse.sum(s),
    "mm": lambda t, s, d: t.sparse.mm(s, d),
    "mm of coalesced": lambda t, s, d: t.sparse.mm(s.coalesce(), d),
    "mm of csr": lambda t, s, d: t.sparse.mm(s.to_sparse_csr(), d),
    "mv": lambda t, s, d: s.detach() @ d[:, 0],
    "addmm": lambda t, s, d: t.sparse.addmm(d, s, d, beta=0.5, alpha=2.0),
    "softmax": lambda t, s, d: t.sparse.softmax(s, 1),
    "sparse_mask": lambda t, s, d: d.sparse_mask(s.detach().coalesce()),
    "index_select": lambda t, s, d: s.detach().index_select(0, t.tensor([2, 0], device=d.device)).coalesce(),
}
PORT = {
    "dstmm": lambda t, s, d: t.dstmm(d, s),
    "dstmmt": lambda t, s, d: t.dstmmt(d, s),
    "sddtmm": lambda t, s, d: t.sddtmm(s.detach(), d, d.exp()),
    "sddtmmd": lambda t, s, d: t.sddtmmd(s.detach(), d, d.exp()),
    "sreciprocal_": lambda t, s, d: t.sreciprocal_(s.coalesce() * 1),
    "spmvx": lambda t, s, d: t.spmvx(s, d[:, 1]),
    "spmmx": lambda t, s, d: t.spmmx(s, d),
    "smm": lambda t, s, d: t.smm(s.detach(), d.detach()),
    "sspaddmm": lambda t, s, d: t.sspaddmm(s.detach(), s.detach(), d.detach(), beta=2.0, alpha=0.5),
    "hspmm": lambda t, s, d: t.hspmm(s.detach(), d.detach()),
    "hsmm": lambda t, s, d: t.hsmm(s.detach(), d.detach()),
}


@pytest.mark.quick(emulated=False)  # which does all of them below
@pytest.mark.parametrize("name", [*CORE, *PORT])
def test_case(torch, name):
    function = (CORE | PORT)[name]
    check(torch, name, lambda s, d: function(torch, s, d), coo(torch, 9, 9), data(torch, 9, 9))


def all_equal(torch):
    for name, function in {**CORE, **PORT}.items():
        check(torch, name, lambda s, d, f=function: f(torch, s, d), coo(torch, 9, 9), data(torch, 9, 9))
    for entries in (0, 1):
        for name in ["coalesce", "to_dense", "csr of coo", "add", "mm", "transpose"]:
            check(torch, f"{name} of {entries}", lambda s, d, f=CORE[name]: f(torch, s, d), coo(torch, 9, 9, entries=entries), data(torch, 9, 9))
    check(torch, "hybrid", lambda s: s.coalesce(), coo(torch, 5, 6, dense=(3,)))
    check(torch, "products of two", lambda a, b: torch.sparse.mm(a, b), coo(torch, 8, 20), coo(torch, 20, 7, seed=1))


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize("mesh", MESHES, ids=lambda m: f"{m[0]}x{m[1]}")
def test_operators_equal_the_cpu(torch, mesh, mode):
    torch.hammerblade.tiles(*mesh)
    with torch.hammerblade.mode(mode):
        all_equal(torch)


def test_the_order_in_which_tiles_take_turns_changes_nothing(torch):
    torch.hammerblade.tiles(4, 2)
    for seed in (2, 3):
        with torch.hammerblade.mode("check", seed=seed):
            all_equal(torch)


@settings(deadline=None, max_examples=15, derandomize=True)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 5), st.integers(0, 60), st.integers(0, 99), st.sampled_from(MESHES))
def test_any_matrix(torch, rows, columns, depth, entries, seed, mesh):
    torch.hammerblade.tiles(*mesh)
    sparse, dense = coo(torch, rows, columns, entries=entries, seed=seed), data(torch, columns, depth, seed=seed)
    check(torch, "mm", torch.sparse.mm, sparse, dense)
    check(torch, "dstmm", torch.dstmm, data(torch, depth, columns, seed=seed), sparse)
    check(torch, "sddtmm", lambda b, c: torch.sddtmm(sparse.to(b.device), b, c), data(torch, rows, depth), data(torch, columns, depth))
    check(torch, "coalesce", lambda s: s.coalesce(), sparse)


@pytest.mark.parametrize("mesh", [(2, 2), (16, 8)], ids=lambda m: f"{m[0]}x{m[1]}")
def test_sparse_convolutions(torch, mesh):
    torch.hammerblade.tiles(*mesh)
    images, bias = data(torch, 2, 3, 9, 8), data(torch, 4)
    kernels = data(torch, 4, 3, 3, 2)
    kernels = torch.where(kernels > 0.8, kernels, 0.0)
    for options in [{}, {"stride": 2, "padding": 1}, {"padding": (1, 0), "dilation": 2}]:
        check(torch, f"convolution {options}", lambda x, w, b, o=options: torch.nn.functional.conv2d(x, w, b, **o), images, kernels.to_sparse(), bias)
        torch.testing.assert_close(torch.nn.functional.conv2d(images, kernels.to_sparse(), bias, **options), torch.nn.functional.conv2d(images, kernels, bias, **options))
    out = torch.hb_sparse_convolution(images.hammerblade(), kernels.to_sparse().hammerblade(), None, [0, 0], [1, 1], [1, 1], 1)
    torch.testing.assert_close(out.cpu(), torch.nn.functional.conv2d(images, kernels), rtol=1e-4, atol=1e-5)


def test_gradients_of_the_ports_operators(torch):
    s, d = coo(torch, 4, 4, entries=5).coalesce().to(torch.float64), data(torch, 4, 4).double().requires_grad_()
    values = s.values().clone().requires_grad_()

    def sparse(v):
        return torch.sparse_coo_tensor(s.indices(), v, s.shape, is_coalesced=True)

    for function in (torch.dstmm, torch.dstmmt):
        assert torch.autograd.gradcheck(lambda v, d, f=function: f(d, sparse(v)), (values, d))
    assert torch.autograd.gradcheck(lambda d: torch.sddtmmd(s, d, d.exp()), (d,))
    assert torch.autograd.gradcheck(lambda v: torch.sreciprocal_(sparse(v) * 1).to_dense(), (values,))
    assert torch.autograd.gradcheck(lambda v, d: torch.spmvx(sparse(v), d[0]), (values, d))
    assert torch.equal(torch.dstmm(d, s), d @ s.to_dense().t()) and torch.equal(torch.dstmmt(d, s), (d @ s.to_dense().t()).t())


def test_bad_arguments(torch):
    s, d = coo(torch, 3, 4), data(torch, 5, 4)
    for call, words in [
        (lambda: torch.dstmm(d, d), "dstmm: expected a sparse matrix, got a strided tensor"),
        (lambda: torch.dstmm(s, s), "dstmm: expected a strided matrix, got a sparse one"),
        (lambda: torch.dstmmt(d[:, :3], s), "dstmmt: a of sizes .5, 3. and the transpose of b of sizes .3, 4. cannot be multiplied"),
        (lambda: torch.dstmm(d.double(), s), "dstmm: expected tensors of one type"),
        (lambda: torch.sddtmm(s, d, d), "sddtmm: b @ c.T .* does not have the sizes of the sample"),
        (lambda: torch.sreciprocal_(s), "sreciprocal_: expected a coalesced tensor"),
        (lambda: torch.sreciprocal_(s.coalesce().to_sparse_csr()), "sreciprocal_ expected sparse coordinate tensor layout"),
        (lambda: torch.spmvx(s, d), "spmvx: expected a strided vector"),
        (lambda: torch.hb_sparse_convolution(d, s, None, [0], [1], [1], 1), "expected strided images"),
        (lambda: torch.nn.functional.conv2d(torch.ones(1, 2, 5, 5), torch.ones(2, 1, 3, 3).to_sparse(), groups=2), "groups must be 1, got 2"),
    ]:
        with pytest.raises(RuntimeError, match=words):
            call()
    moved = torch.sparse_coo_tensor(torch.tensor([[0, 7], [0, 0]]).hammerblade(), torch.ones(2).hammerblade(), (3, 4), check_invariants=False)
    sorted_ = torch.sparse_coo_tensor(moved._indices(), moved._values(), (3, 4), check_invariants=False, is_coalesced=True)
    ones = torch.ones(4, 2).hammerblade()
    for call in (lambda: moved.coalesce(), lambda: torch.sparse.mm(moved, ones), lambda: torch.sparse.mm(sorted_, ones)):
        with pytest.raises((RuntimeError, IndexError), match="out of range"):
            call()
