# SPDX-License-Identifier: Apache-2.0
"""Expressions over sparse tensors whose text, or kind of error, tests/golden/sparse.json has from PyTorch."""

SETUP = """
i = torch.tensor([[0, 1, 1, 1], [2, 0, 2, 2]])
v = torch.tensor([3.0, 4.0, 5.0, 6.0])
u = torch.sparse_coo_tensor(i, v, (2, 3))
s = u.coalesce()
r = torch.tensor([[0.0, 2.0, -1.0], [0.5, 0.0, 0.0]]).to_sparse()
c = s.to_sparse_csr()
e = r.to_sparse_csr()
h = torch.tensor([[[1.0, 2.0], [0.0, 0.0]], [[0.0, 0.0], [3.0, 0.0]]]).to_sparse(2)
b = torch.tensor([[[1.0, 0.0], [0.0, 2.0]], [[0.0, 3.0], [0.0, 0.0]]]).to_sparse()
d = torch.arange(12.0).reshape(3, 4) - 5
m = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
n = torch.sparse_coo_tensor(size=(2, 3))
k = torch.tensor([[1, 0], [2, 3]]).to_sparse()
z = torch.tensor([[1 + 2j, 0], [0, 3j]]).to_sparse()
"""

VALUES = """
u | s | c | h | n | k | z | s.half() | s.double() | torch.ones(50, 50).to_sparse() | torch.ones(50, 50).to_sparse_csr() | s.t().to_sparse_csr()
s.to_sparse_csc() | torch.tensor(3.0).to_sparse() | torch.tensor([True, False]).to_sparse() | torch.zeros(0, 3).to_sparse() | n.to_sparse_csr()
u.to_dense() | c.to_dense() | h.to_dense() | n.to_dense() | z.to_dense() | m.to_dense()
m.to_sparse() | m.to_sparse(1) | m.to_sparse_csr() | m.to_sparse_csc() | m.to_sparse(layout=torch.sparse_csr) | m.to_sparse_coo() | c.to_sparse()
torch.ones(2, 3, 2).to_sparse_csr(dense_dim=1) | torch.zeros(2, 3).to_sparse()
u._indices() | u._values() | s.indices() | s.values() | c.crow_indices() | c.col_indices() | c.values() | s.to_sparse_csc().ccol_indices()
u._nnz() | s._nnz() | c._nnz() | u.is_coalesced() | s.is_coalesced() | h.sparse_dim() | h.dense_dim() | c.sparse_dim() | m.sparse_dim() | m.dense_dim()
s.layout | c.layout | s.is_sparse | c.is_sparse | c.is_sparse_csr | m.is_sparse | s.stride() | s.is_contiguous() | s.numel() | s.shape | s.dtype | s.element_size()
u.coalesce() | s.coalesce() is s | u.clone() | s.detach() | s.float() is s | s.to(torch.int64) | s.type() | len(s) | c.clone() | c.double()
s + r | (u + r).to_dense() | (u + u).to_dense() | s - r | n + s | s.add(r, alpha=2) | m + s | m + u | m - s | m.add(s, alpha=3) | m + c | c + e | c + m | h + h | s + r.double()
s * 2 | 2 * s | s / 2 | u / 2 | -s | -u | s * r | s * m | m * s | s * m[0] | h * torch.tensor([2.0, 3.0]) | c * 2 | c * e | c * m | n * s | s * torch.tensor(2.0)
k * 2 | k * 0.5 | k / 2 | k // 2 | s ** 2 | s.pow(3) | u.pow(2) | z * 2 | s * n | torch.mul(s, 3)
s.abs() | u.abs() | r.sqrt() | r.sign() | r.relu() | s.sin() | s.tanh() | s.expm1() | s.log1p() | r.floor() | r.ceil() | r.round() | r.trunc() | s.erf() | c.neg() | e.abs()
e.relu() | c.sqrt() | torch.isnan(s) | s.isinf() | r.signbit() | z.abs() | z.neg() | k.neg() | s.square() | r.frac() | n.sqrt() | h.sqrt()
torch.mm(s, d) | u @ d | c @ d | torch.mm(d.t(), s.t()) | s @ r.t() | u @ u.t() | (c @ e.t()).to_dense() | s.mv(torch.ones(3)) | c @ torch.ones(3) | h.sum(2) @ torch.ones(2, 1)
torch.addmm(torch.ones(2, 4), s, d) | torch.addmm(torch.ones(4), u, d, beta=2, alpha=3) | torch.addmm(torch.ones(2, 4), c, d, beta=0.5) | n @ d | k @ torch.ones(2, 2, dtype=torch.int64)
torch.sparse.mm(u, d) | torch.sparse.mm(s, r.t()) | torch.sparse.mm(c, d) | torch.sparse.addmm(torch.ones(2, 4), s, d, beta=2, alpha=3) | torch.bmm(b, torch.ones(2, 2, 3))
torch.sparse.mm(c, d, "sum") | torch.sparse.mm(c, d, "mean") | torch.sparse.mm(c, d, "amax") | torch.sparse.mm(e, d, "amin") | torch.sparse.mm(n.to_sparse_csr(), d, "amax") | n.smm(d) | torch.sparse.mm(c, d, reduce="mean")
torch.matmul(s, d) | torch.nn.functional.linear(d.t(), s) | torch.hspmm(s, d) | torch.hsmm(s, d) | torch.hsmm(u, d) | torch.smm(s, d) | torch.smm(u, d) | torch.sspaddmm(s @ r.t() @ r, s, d[:, :3], beta=2, alpha=3) | z @ torch.ones(2, 2, dtype=torch.complex64)
s.t() | u.t() | s.transpose(0, 1) | s.T | s.mT | s.permute(1, 0) | h.permute(1, 0, 2) | b.permute(2, 0, 1) | c.t() | c.t().to_dense() | c.transpose(0, 1).t() | s.transpose(0, 0)
s.unsqueeze(0) | s.unsqueeze(-1) | h.unsqueeze(1) | s[0] | s[1, 2] | s[0, 0] | h[1] | h[0, 0] | s.select(1, 2) | h.select(2, 0) | b[0, 1] | c[1]
s.index_select(0, torch.tensor([1, 0, 1])) | s.index_select(1, torch.tensor([2])) | h.index_select(2, torch.tensor([1])) | torch.cat([s, r]) | torch.cat([s, r], 1) | torch.cat([h, h], 2) | torch.stack([s, r])
s.sum() | u.sum() | c.sum() | h.sum() | s.sum(0) | u.sum(1) | s.sum(0, keepdim=True) | h.sum(2) | h.sum(0) | h.sum((0, 1)) | s.sum(dtype=torch.float64) | k.sum() | k.sum(0) | c.sum(1, keepdim=True)
torch.sparse.sum(u) | torch.sparse.sum(u, 0) | torch.sparse.sum(h, (0, 2)) | torch.sparse.sum(h, [0, 1]) | torch.sparse.sum(s, dim=1, dtype=torch.float64) | s.norm() | u.norm() | s.any() | n.any()
torch.sparse.softmax(s, 1) | torch.sparse.softmax(u, 0) | torch.sparse.log_softmax(s, 1) | torch.sparse.softmax(h, 2) | torch.sparse.softmax(b, 0) | torch.sparse.softmax(h, 0)
m.sparse_mask(s) | m.sparse_mask(u.coalesce()) | r.sparse_mask(s) | m.sparse_mask(c) | torch.ones(2, 2, 2).sparse_mask(h)
torch.zeros_like(s) | torch.empty_like(u) | torch.zeros(2, 3, layout=torch.sparse_coo) | torch.zeros(2, 3, layout=torch.sparse_csr) | torch.empty(2, 3, layout=torch.sparse_coo, dtype=torch.int64)
torch.zeros_like(m, layout=torch.sparse_coo) | torch.zeros_like(c) | s.clone().zero_() | s.clone().copy_(r) | s.clone().add_(r) | m.clone().add_(u) | s.clone().mul_(2) | s.clone().div_(2) | s.clone().mul_(r) | s.clone().sub_(r)
u.clone().neg_() | r.clone().abs_() | s.clone().sparse_resize_((4, 4), 2, 0) | s.clone().sparse_resize_and_clear_((1, 1), 1, 1) | s.clone().t_() | s.clone()._coalesced_(False).is_coalesced()
torch.sparse_coo_tensor([[0, 1], [1, 1]], [1.0, 2.0]) | torch.sparse_coo_tensor([[0, 1]], [[1.0], [2.0]], (2, 1)) | torch.sparse_coo_tensor(torch.empty(2, 0), [])
torch.sparse_coo_tensor(torch.empty(1, 0), torch.empty(0, 2)) | torch.sparse_coo_tensor((2, 3)) | torch.sparse_coo_tensor([[0, 0]], [1, 2], (2,), dtype=torch.float64)
torch.sparse_coo_tensor([[0, 0]], torch.tensor([True, True]), (2,)).coalesce() | torch.sparse_coo_tensor([[0, 0]], torch.tensor([True, True]), (2,)).to_dense() | torch.sparse_coo_tensor(torch.zeros(0, 2), torch.tensor([1, 2]), ()).to_dense()
torch.sparse_coo_tensor(torch.zeros(0, 2), torch.tensor([1, 2]), ()) | torch.sparse_coo_tensor([[0, 0]], [1.0, 2], (2,), requires_grad=True) | torch.sparse_coo_tensor(i, v, (2, 3)).requires_grad_() * 2
torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0]) | torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (2, 3), dtype=torch.float64) | torch.sparse_csc_tensor([0, 1, 2], [0, 1], [1.0, 2.0])
torch.sparse_csr_tensor(torch.tensor([0, 1, 2], dtype=torch.int32), torch.tensor([0, 1], dtype=torch.int32), torch.tensor([1.0, 2.0]), (2, 3)).col_indices()
torch.sparse_csr_tensor(torch.tensor([0, 1, 2], dtype=torch.int32), torch.tensor([0, 1], dtype=torch.int32), torch.tensor([1.0, 2.0]), (2, 3)) @ torch.ones(3, 1)
torch.sparse_compressed_tensor([0, 1, 2], [0, 1], [1.0, 2.0], layout=torch.sparse_csr) | torch.nn.Parameter(s) | torch.sparse.check_sparse_tensor_invariants.is_enabled()
"""

ERRORS = """
torch.sparse_coo_tensor([[0, -1], [1, 1]], [1.0, 2.0]) | torch.sparse_coo_tensor([[0, 1], [1, 1]], [1.0, 2.0, 3.0], (2, 3)) | torch.sparse_coo_tensor([0, 1], [1.0, 2.0], (2, 3))
torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2, 3)) | torch.sparse_coo_tensor([[0, 1]], [[1.0], [2.0]], (2, 2)) | torch.sparse_coo_tensor(size=(2**40, 2**40)) | torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, -3))
torch.sparse_coo_tensor([[0, 5], [1, 1]], [1.0, 2.0], (2, 3), check_invariants=True) | torch.sparse_coo_tensor([[1, 0], [1, 1]], [1.0, 2.0], (2, 3), is_coalesced=True, check_invariants=True)
torch.sparse_csr_tensor([0, 2, 2], [1, 0], [1.0, 2.0], (2, 3), check_invariants=True) | torch.sparse_csr_tensor([0, 1, 3], [0, 1], [1.0, 2.0], (2, 3), check_invariants=True)
torch.sparse_compressed_tensor([0, 1, 2], [0, 1], [1.0, 2.0], layout=torch.strided) | torch.sparse_compressed_tensor([0, 1, 2], [0, 1], [1.0, 2.0]) | m.coalesce() | m.indices() | m.values() | m._nnz()
m.is_coalesced() | m.crow_indices() | s.crow_indices() | c.indices() | u.indices() | u.values() | m.to_sparse(3) | m.to_sparse(-1) | m.to_sparse(0) | s @ torch.ones(4) | s @ torch.ones(4, 4) | s.mm(d.double())
s + r.t() | s * r.t() | s ** 0 | s + m | s + 1 | s / s | s / m | h + torch.ones(2, 2, 2).to_sparse() | s.clone().sparse_resize_((1, 1), 2, 0) | m.sparse_mask(m) | m.sparse_mask(h) | torch.ones(2, 3, layout=torch.sparse_coo)
s.exp() | s == s | s.view(3, 2) | s.tolist() | s.numpy() | s.item() | s.data_ptr() | s.untyped_storage() | s.fill_(1) | s > 0 | s.max() | h.transpose(0, 2) | h.permute(1, 2, 0) | c.sum(0) | s[5] | s.clone().add_(m)
torch.sparse.mm(s, d, "mean") | torch.sparse.mm(c, d, "prod") | torch.sparse.mm(c, d.t(), "mean") | torch.smm(m, d) | torch.smm(s, m) | torch.sspaddmm(s, s, d) | torch.sspaddmm(m, s, d[:, :3])
"""

# Summed and differentiated: x is what the gradient of is recorded.
GRADIENTS = """
u: torch.mm(x, d) | u: torch.sparse.mm(x, d) | u: x.to_dense() | u: x.coalesce().values() | u: x * 2 | u: x * m | u: -x | u: x.abs() | u: x.t() | u: x.sum() | u: torch.sparse.sum(x, 0) | s: torch.sparse.softmax(x, 1) * s
u: torch.sparse.addmm(torch.ones(2, 4), x, d, alpha=2) | s: x * r | s: x + r | s: r - x | s: x ** 2 | s: x.double() | s: x.clone() | s: x.to_sparse_csr() | s: x / 2 | s: x.mv(torch.ones(3)) | u: torch.addmm(torch.ones(2, 4), x, d)
c: torch.sparse.mm(x, d, "mean") | c: torch.sparse.mm(x, d.abs(), "amax") | d: torch.sparse.mm(c, x, "amin") | d: torch.sparse.mm(c, x, "mean") | c: x @ d | c: torch.sparse.mm(x, d) | c: x.values() | c: x.to_dense() | c: x.to_sparse() | h: torch.sparse.sum(x, (0, 2)) | h: torch.sparse.sum(x, 1)
m: x.to_sparse() | m: x.to_sparse(1) | m: x.to_sparse_csr() | m: x.sparse_mask(s) | m: x * u | m: x + u | m: torch.mm(u.t(), x) | d: torch.mm(u, x) | d: torch.sparse.mm(c, x) | d: torch.addmm(torch.ones(2, 4), s, x, alpha=2)
v: torch.sparse_coo_tensor(i, x, (2, 3)) @ d | v: torch.sparse_coo_tensor(i, x, (2, 3)).coalesce().values() ** 2 | v: torch.sparse_csr_tensor([0, 2, 4], [0, 1, 1, 2], x, (2, 3)) @ d
v: torch.sparse.mm(torch.sparse_coo_tensor(i, x, (2, 3)), d) | m: torch.nn.functional.embedding(torch.tensor([1, 0, 1]), x, sparse=True) | m: torch.nn.functional.embedding(torch.tensor([1, 0, 1]), x, padding_idx=0, sparse=True)
m: torch.nn.functional.embedding_bag(torch.tensor([1, 0, 1]), x, torch.tensor([0, 2]), mode="mean", sparse=True)
"""


def listed(table):
    return [text.strip() for line in table.strip().splitlines() for text in line.split("|")]


def setup(torch):
    names = {"torch": torch}
    exec(SETUP, names)
    return names


def gradient(torch, case):
    """The text of the gradient of a sum, as a strided tensor, and its layout."""
    name, expression = case.split(":", 1)
    names = setup(torch)
    x = names["x"] = names[name].detach().clone().requires_grad_()
    y = eval(expression.strip(), names)
    total = torch.sparse.sum(y) if y.is_sparse else y.values().sum() if y.is_sparse_csr else y.sum()
    total.backward()
    return f"{x.grad.to_dense()!r} {x.grad.layout}"
