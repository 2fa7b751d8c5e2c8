# SPDX-License-Identifier: Apache-2.0
"""How the device does each operator that the PyTorch port has a kernel for: by a kernel of its own, by one of a family (which is
a kernel as well, chosen by opcode and type), or written in others. None goes to the CPU."""

from facula.profiler.coverage import Coverage

# By the operator that a call of it reaches.
KERNELS = """convolution convolution_backward max_pool2d_with_indices max_pool2d_with_indices_backward native_batch_norm
native_batch_norm_backward _log_softmax _log_softmax_backward_data nll_loss_forward nll_loss_backward embedding
embedding_dense_backward vincr embedding_recsys
embedding_dense_backward_recsys topk index_select cat _cdist_forward searchsorted.Tensor"""
FAMILIES = """abs ceil exp exp_ floor log neg reciprocal_ round sigmoid sign sqrt tanh tanh_ relu relu_ threshold clamp clamp_
clamp_min clamp_max add.Tensor sub.Tensor mul.Tensor div.Tensor maximum remainder.Tensor addcmul addcdiv fill_.Scalar zero_ eye
copy_ clone empty.memory_format empty_strided resize_ set_.source_Tensor _as_strided unfold _local_scalar_dense sum sum.dim_IntList mean mean.dim mm addmm dot bernoulli_.float uniform_ random_.from arange lt.Tensor le.Tensor
gt.Tensor ge.Tensor eq.Tensor ne.Tensor where.self min max.dim prod pow.Tensor_Tensor mse_loss index_add
index_put scatter_add sigmoid_backward bitwise_not index.Tensor cumsum cumprod sort sort.stable bernoulli randperm multinomial"""
# Written in others for every device that has no kernel for the whole.
DECOMPOSITIONS = "nonzero masked_select repeat_interleave.Tensor poisson _standard_gamma _sample_dirichlet binomial"
# Kernels that operators on sparse tensors launch.
SPARSE = "_sparse_csr_mm _sparse_coo_mm _sparse_sampled_mm _sparse_compress _sparse_decompress sort_Long cumsum_Long"


def everything(torch):
    F, d = torch.nn.functional, "hammerblade"
    x = (torch.arange(24.0).reshape(4, 6) / 30 + 0.1).to(d)
    y, i, at = x + 1, torch.arange(24).reshape(4, 6).int().to(d), torch.tensor([1, 0]).to(d)
    for name in ["abs", "ceil", "exp", "floor", "log", "neg", "round", "sigmoid", "sign", "sqrt", "tanh", "relu", "sum", "mean", "prod", "min", "bernoulli", "nonzero"]:
        getattr(torch, name)(x)
    for name in ["exp_", "reciprocal_", "tanh_", "relu_", "zero_", "uniform_"]:
        getattr(x.clone(), name)()
    for name in ["add", "sub", "mul", "div", "maximum", "pow", "lt", "le", "gt", "ge", "eq", "ne"]:
        getattr(torch, name)(x, y)
    F.threshold(x, 0.5, 1.0), x.clamp(0, 1), x.clone().clamp_(0, 1), x.clamp_min(0), x.clamp_max(1), torch.remainder(i, i + 1), ~i
    torch.addcmul(x, x, y), torch.addcdiv(x, x, y), x.clone().fill_(2), torch.eye(3, device=d), torch.arange(5, device=d), x.long().double().float()
    x.sum(0), x.mean(0), x.max(0), torch.where(x > y, x, y), x @ y.t(), torch.addmm(x @ y.t(), x, y.t()), torch.dot(x[0], y[0]), torch.cdist(x, y)
    torch.empty_strided((2, 2), (1, 2), device=d), torch.empty(2, device=d).resize_(3, 3), torch.empty(0, device=d).set_(x), x.as_strided((2, 2), (1, 2)), x.unfold(0, 2, 1)
    x.sum().item(), torch.vincr(x), torch.poisson(x), torch._standard_gamma(x), torch._sample_dirichlet(x), torch.binomial(y.floor(), x)
    x.clone().bernoulli_(0.5), i.clone().random_(0, 5), torch.randperm(9, device=d), torch.multinomial(x, 2)
    torch.cat([x, y]), x.index_select(0, at), x[at, at], x.index_add(0, at, x[:2]), x.index_put((at,), x[:2]), x.scatter_add(0, at[:, None], x[:2])
    x.cumsum(0), x.cumprod(1), x.sort(1), x.sort(dim=1, stable=True), x.topk(2), torch.searchsorted(y[0], x), x.masked_select(x > 0.5), x[:2].repeat_interleave(at + 1, 0)
    w = torch.rand(3, 2, 3, 3).to(d).requires_grad_()
    h = F.max_pool2d(F.batch_norm(F.conv2d(torch.rand(2, 2, 8, 8).to(d), w), None, None, training=True), 2).flatten(1)
    table = torch.rand(5, 27).to(d).requires_grad_()
    logits = h + F.embedding(at, table) + torch.embedding_recsys(table, at[:, None])[:, 0]
    (F.cross_entropy(logits, at) + F.mse_loss(logits.sigmoid(), torch.zeros_like(logits)) + F.l1_loss(logits, logits.detach() + 1)).backward()
    s = torch.rand(6, 6).to(d).bernoulli().to_sparse().requires_grad_()
    (torch.sparse.mm(s, x.t()).sum() + torch.sddtmmd(s.detach(), x.t(), x.t()).sum()).backward()
    torch.sparse_coo_tensor(s.detach()._indices(), s.detach()._values(), s.shape) @ x.t()
    s.detach().to_sparse_csr().to_sparse()


def test_how_the_ports_operators_are_done(torch):
    profiler = torch.hammerblade.profiler
    profiler.enable()
    with Coverage("hammerblade") as coverage:
        everything(torch)
    profiler.disable()
    launched = profiler.stats(key=["ExecTime-Raw"])
    found = {row.operator.removeprefix("aten::"): row.path for row in coverage.rows}
    assert not coverage.unimplemented()
    for wanted, names in {("kernel",): KERNELS, ("family", "kernel"): FAMILIES, ("decomposition",): DECOMPOSITIONS}.items():
        assert {name: found.get(name) for name in names.split() if found.get(name) not in wanted} == {}
    assert [name for name in SPARSE.split() if f"@OFFLOAD_KERNEL@__tensorlib_{name} " not in launched] == []
