# SPDX-License-Identifier: Apache-2.0
"""torch.func: derivatives and vmap, alone and composed. `--module torch` runs the same tests on PyTorch."""
import functools

import pytest


@pytest.fixture
def func(torch):
    from importlib import import_module

    return import_module(f"{torch.__name__}.func")


def rand(torch, *size, seed=0):
    return torch.rand(*size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 0.5


# --- vmap: the same as calling once per sample

POINTWISE = {
    "sin": lambda t, x, y: x.sin(),
    "add": lambda t, x, y: x + y,
    "mul, number": lambda t, x, y: 3 * x - 1,
    "div": lambda t, x, y: x / y,
    "pow": lambda t, x, y: x**2 + x**y,
    "compare": lambda t, x, y: (x > y).double(),
    "where": lambda t, x, y: t.where(x > y, x, y * 2),
    "clamp": lambda t, x, y: x.clamp(0.6, 1.0),
    "maximum": lambda t, x, y: t.maximum(x, y),
    "lerp": lambda t, x, y: t.lerp(x, y, 0.3),
    "activation": lambda t, x, y: t.nn.functional.gelu(x) + t.nn.functional.softplus(y) + t.nn.functional.leaky_relu(x),
    "masked_fill": lambda t, x, y: x.masked_fill(x > 0.9, 0.0),
    "like": lambda t, x, y: t.zeros_like(x) + t.ones_like(y) + t.full_like(x, 2.0),
    "in place": lambda t, x, y: x.clone().add_(y).mul_(2).sin_(),
    "new": lambda t, x, y: x.new_zeros(3).add_(1),
    "types": lambda t, x, y: x.float() + y.to(t.int64),
}
SHAPES = {
    "sum": lambda t, x, y: x.sum(),
    "sum dim": lambda t, x, y: x.sum(0) + x.sum(dim=-1, keepdim=True).sum(),
    "mean": lambda t, x, y: x.mean() + x.mean(1).sum(),
    "prod": lambda t, x, y: x.prod() + x.prod(1).sum(),
    "max": lambda t, x, y: x.max() + x.max(dim=1).values.sum() + x.amin((0, 1)),
    "var": lambda t, x, y: x.var() + x.std(dim=0).sum() + x.var(1, unbiased=False).sum(),
    "argmax": lambda t, x, y: x.argmax(1) + x.argmax(),
    "softmax": lambda t, x, y: x.softmax(-1) + x.log_softmax(0),
    "cumsum": lambda t, x, y: x.cumsum(1) + x.cumprod(-2),
    "sort": lambda t, x, y: x.sort(1).values + x.sort(dim=0, descending=True).values,
    "topk": lambda t, x, y: x.topk(2, dim=1).values,
    "logsumexp": lambda t, x, y: x.logsumexp(0) + x.logsumexp((0, 1)),
    "norm": lambda t, x, y: x.norm() + t.linalg.vector_norm(x),
    "all any": lambda t, x, y: (x > 0.6).all() | (x > 0.9).any(0),
    "transpose": lambda t, x, y: x.t() @ x + x.transpose(0, 1) @ x.T.transpose(-1, -2),
    "permute": lambda t, x, y: x.unsqueeze(0).permute(2, 0, 1),
    "view": lambda t, x, y: x.view(-1) + x.reshape(12).flatten(),
    "expand": lambda t, x, y: x[0].expand(3, 4) + x,
    "index": lambda t, x, y: x[1] + x[0, :] + x[..., 2].sum() + x[:, 1:3].sum(),
    "select": lambda t, x, y: x.select(0, 1) + x.narrow(0, 1, 2).sum(0),
    "squeeze": lambda t, x, y: x.unsqueeze(1).squeeze(1) + x[None].squeeze().unsqueeze(-1).squeeze(-1),
    "cat": lambda t, x, y: t.cat([x, y, x], 1),
    "stack": lambda t, x, y: t.stack([x, y], -1) + t.stack([x, y], 2),
    "split": lambda t, x, y: sum(p.sum() for p in x.split(2, 1)) + sum(p.sum() for p in x.chunk(2)) + sum(x.unbind(0)).sum(),
    "repeat": lambda t, x, y: x.repeat(2, 1) + x.repeat(1, 2, 1).sum() + t.tile(x, (2, 1)),
    "flip roll": lambda t, x, y: x.flip(0) + x.flip((0, 1)) + x.roll(1, 0),
    "diagonal": lambda t, x, y: x.diagonal() + x.diagonal(1)[:3].sum(),
    "tril": lambda t, x, y: x.tril() + x.triu(1),
    "gather": lambda t, x, y: x.gather(1, (y > 0.9).long()),
    "index_select": lambda t, x, y: x.index_select(1, t.tensor([2, 0])) + x.index_add(1, t.tensor([1]), y[:, :1])[:, :2],
    "index_select, own": lambda t, x, y: x.index_select(0, (y > 0.9).long()[0]),
    "index by tensors": lambda t, x, y: x[t.tensor([0, 2])] + x[:2, t.tensor([1, 0, 3, 2])] + x[(y > 0.9).long()[:2, 0]],
    "scatter": lambda t, x, y: t.zeros_like(x).scatter_add(1, (y > 0.9).long(), x) + x.scatter(0, (y > 0.9).long(), 2.0),
    "unfold": lambda t, x, y: x.unfold(1, 2, 1).sum(-1),
    "pools": lambda t, x, y: t.nn.functional.avg_pool2d(x[None], 2).sum() + t.nn.functional.avg_pool2d(x[None, None], 2) + t.nn.functional.adaptive_avg_pool2d(x[None], 1),
    "parts of products": lambda t, x, y: t.addmm(x[0], y[:, :3], y) + t.addmm(x, t.ones(3, 2, dtype=x.dtype), t.ones(2, 4, dtype=x.dtype)),
    "masked_fill, own": lambda t, x, y: x.masked_fill(y > 0.9, y.sum()) + x.masked_fill(t.tensor([True, False, True, False]), 0.5),
    "flip nothing": lambda t, x, y: x.flip(()) + x.roll(1) + x.roll((1, 2), (0, 1)),
    "unary with numbers": lambda t, x, y: x.round(decimals=1) + t.nn.functional.hardtanh(x, 0.6, 0.9) + t.nn.functional.pad(x, (1, 1))[:, 1:5],
    "dims": lambda t, x, y: x.std((0, 1)) + x.sum((0, 1)) + x.diff(dim=1).sum() + t.diag_embed(x)[0].sum() + x.cummax(0).values.sum(),
    "movedim": lambda t, x, y: x.movedim(0, 1) + x.swapaxes(0, 1),
    "matmul": lambda t, x, y: x @ y.t() + x.mm(y.t()) + t.matmul(x, y.t()),
    "matmul vectors": lambda t, x, y: x @ y[0] + x.mv(y[1]) + y[0] @ x.t() + x[0].dot(y[0]),
    "bmm": lambda t, x, y: t.bmm(x[None], y.t()[None]) + t.baddbmm(t.ones(3, 3, dtype=x.dtype), x[None], y.t()[None], beta=0.5),
    "addmm": lambda t, x, y: t.addmm(x[:, :3], x, y.t(), beta=2, alpha=3),
    "outer": lambda t, x, y: t.outer(x[0], y[0]) + t.einsum("i,j->ij", x[1], y[1]),
    "einsum": lambda t, x, y: t.einsum("ij,kj->ik", x, y),
    "linear": lambda t, x, y: t.nn.functional.linear(x, y, y[:, 0]) + t.nn.functional.linear(x, y),
    "layer_norm": lambda t, x, y: t.nn.functional.layer_norm(x, (4,)) + t.nn.functional.layer_norm(x, (4,), y[0], y[1]),
    "conv": lambda t, x, y: t.nn.functional.conv1d(x[None], y[:, :, None].expand(3, 4, 2)[:, :3], y[:, 0]),
    "conv, shared": lambda t, x, y: t.nn.functional.conv1d(x[None], t.ones(2, 3, 2, dtype=x.dtype), t.ones(2, dtype=x.dtype), padding=1),
    "embedding": lambda t, x, y: t.nn.functional.embedding((x > 0.9).long(), t.arange(6.0).view(2, 3)),
    "losses": lambda t, x, y: t.nn.functional.mse_loss(x, y) + t.nn.functional.cross_entropy(x, t.tensor([1, 0, 2])) + t.nn.functional.smooth_l1_loss(x, y),
    "losses, sums": lambda t, x, y: t.nn.functional.mse_loss(x, y, reduction="sum") + t.nn.functional.huber_loss(x, y, reduction="none") + t.nn.functional.l1_loss(x, y),
    "binary losses": lambda t, x, y: t.nn.functional.binary_cross_entropy_with_logits(x, y) + t.nn.functional.kl_div(x.log(), y, reduction="sum"),
    "nll": lambda t, x, y: t.nn.functional.nll_loss(x.log(), (y > 0.9).long()[:, 0], ignore_index=1)
    + t.nn.functional.cross_entropy(x[0], (y > 0.9).long()[0, 0], weight=t.arange(1.0, 5, dtype=x.dtype))
    + t.nn.functional.nll_loss(x, t.tensor([0, 3, 1]), reduction="none"),
    "inverse": lambda t, x, y: t.linalg.inv(x[:, :3] + 3 * t.eye(3, dtype=x.dtype)) if hasattr(t, "linalg") and hasattr(t.linalg, "inv") else x,
    "loop": lambda t, x, y: t.searchsorted(x.sort(1).values, y) if hasattr(t, "searchsorted") else x,
}


@pytest.mark.parametrize("name", POINTWISE)
@pytest.mark.parametrize("dims", [(0, 0), (1, None), (None, 0), (-1, 0)])
def test_pointwise(torch, func, name, dims):
    f = POINTWISE[name]
    if name in ("new", "in place") and dims not in ((0, 0), (-1, 0)):
        pytest.skip("x is narrower than y there, or one tensor for all samples")
    x, y = rand(torch, 3, 3), rand(torch, 3, 3, seed=1)
    got = func.vmap(lambda x, y: f(torch, x, y), dims)(x, y)
    samples = [f(torch, *(a if d is None else a.select(d, i) for a, d in zip((x, y), dims, strict=True))) for i in range(3)]
    assert got.dtype == samples[0].dtype and torch.allclose(got, torch.stack(samples))


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(torch, func, name):
    f = SHAPES[name]
    for dims in ((0, 0), (2, None), (None, 1)):
        x, y = rand(torch, 3, 4), rand(torch, 3, 4, seed=1)
        x = x if dims[0] is None else torch.stack([x, x * 1.5 - 0.2], dims[0])
        y = y if dims[1] is None else torch.stack([y, y * 1.5 - 0.3], dims[1])
        got = func.vmap(lambda x, y: f(torch, x, y), dims)(x, y)
        samples = [f(torch, *(a if d is None else a.select(d, i) for a, d in zip((x, y), dims, strict=True))) for i in range(2)]
        if dims[0] is None and not isinstance(got, torch.Tensor):
            continue
        assert torch.allclose(got, torch.stack(samples))


def test_samples_without_dimensions(torch, func):
    x = rand(torch, 5)
    for f in (lambda a: a.sum(), lambda a: a.sum(0), lambda a: a.softmax(0), lambda a: a.max(), lambda a: a[None].cumsum(0), lambda a: a.unsqueeze(0)):
        assert torch.allclose(func.vmap(f)(x), torch.stack([f(a) for a in x]))
    assert func.vmap(lambda a: a + torch.ones(2, dtype=torch.float32))(x).dtype == torch.float32


def test_nested_and_dims(torch, func):
    x, y = rand(torch, 3, 4), rand(torch, 5, 4)
    got = func.vmap(lambda a: func.vmap(lambda b: a.dot(b))(y))(x)
    assert torch.allclose(got, x @ y.t())
    got = func.vmap(func.vmap(lambda a, b: a * b, (0, None)), (None, 0))(x[0], y[:, 0])
    assert torch.allclose(got, torch.outer(y[:, 0], x[0]))
    assert func.vmap(lambda a: a * 2, in_dims=1, out_dims=1)(x).shape == (3, 4)
    a, b = func.vmap(lambda a: (a.sum(), {"k": a}), out_dims=(0, 1))(x)
    assert a.shape == (3,) and b["k"].shape == (4, 3)
    d = func.vmap(lambda d, k: d["a"] + d["b"][0] * k, in_dims=({"a": 0, "b": None}, None))({"a": x, "b": [y[0]]}, 2)
    assert torch.allclose(d, x + y[0] * 2)
    assert torch.allclose(func.vmap(lambda a: torch.ones(2))(x), torch.ones(3, 2))
    assert torch.allclose(func.vmap(lambda a: a.exp(), chunk_size=2)(x), x.exp())
    assert torch.vmap is not None and torch.allclose(torch.vmap(torch.sin)(x), x.sin())


def test_randomness(torch, func):
    x = torch.zeros(3, 2)
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        func.vmap(lambda a: a + torch.rand(2))(x)
    same = func.vmap(lambda a: a + torch.rand(2), randomness="same")(x)
    assert torch.equal(same[0], same[1])
    other = func.vmap(lambda a: a + torch.rand(2), randomness="different")(x)
    assert not torch.equal(other[0], other[1])
    assert not torch.equal(*func.vmap(lambda a: torch.rand_like(a), randomness="different")(x)[:2])
    with pytest.raises(RuntimeError, match="Only allowed values for randomness"):
        func.vmap(torch.sin, randomness="x")


DRAWING = {
    "dropout": lambda t, a: t.nn.functional.dropout(a, 0.5), "dropout_": lambda t, a: t.nn.functional.dropout(a.clone(), 0.5, True, True),
    "alpha_dropout": lambda t, a: t.nn.functional.alpha_dropout(a, 0.5, True),
    "dropout1d": lambda t, a: t.nn.functional.dropout1d(a.view(16, 2), 0.5, True),
    "dropout2d": lambda t, a: t.nn.functional.dropout2d(a.view(2, 8, 2, 1), 0.5),
    "dropout3d": lambda t, a: t.nn.functional.dropout3d(a.view(1, 16, 1, 2, 1), 0.5),
    "feature_alpha_dropout": lambda t, a: t.nn.functional.feature_alpha_dropout(a.view(1, 16, 2), 0.5, True),
    "attention": lambda t, a: t.nn.functional.scaled_dot_product_attention(*[a.view(1, 8, 4)] * 3, dropout_p=0.5),
    "dropout of the same for all": lambda t, a: a + t.nn.functional.dropout(t.ones(16), 0.5),
    "native_dropout": lambda t, a: t.native_dropout(a, 0.5, True)[0], "rand_like": lambda t, a: t.rand_like(a),
    "randint_like": lambda t, a: t.randint_like(a, 1000), "normal_": lambda t, a: a.clone().normal_(),
    "exponential_": lambda t, a: a.clone().exponential_(), "bernoulli_": lambda t, a: a.clone().bernoulli_(0.5),
    "gumbel_softmax": lambda t, a: t.nn.functional.gumbel_softmax(a), "new_empty": lambda t, a: a.new_empty(16).normal_() + a,
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWING)
def test_randomness_of_what_draws(torch, func, name):
    x = torch.ones(3, 2, 16)
    run = functools.partial(DRAWING[name], torch)
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        func.vmap(run)(x)
    torch.manual_seed(1)
    same = func.vmap(run, randomness="same")(x)
    assert torch.equal(same[0], same[1]) and torch.equal(same[0], same[2]) and same[0].unique().numel() > 1
    other = func.vmap(run, randomness="different")(x)
    assert other.shape == same.shape and not torch.equal(other[0], other[1])


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_randomness_of_recurrent_layers(torch, func, kind):
    if torch.__name__ == "torch":
        pytest.skip("PyTorch has no rules for them")
    x, layer = torch.ones(3, 7, 4), getattr(torch.nn, kind)(4, 5, 2, dropout=0.5)
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        func.vmap(lambda a: layer(a)[0])(x)
    same, other = (func.vmap(lambda a: layer(a)[0], randomness=r)(x) for r in ("same", "different"))
    assert torch.equal(same[0], same[2]) and not torch.equal(other[0], other[2])
    layer.eval()
    assert torch.allclose(func.vmap(lambda a: layer(a)[0])(x)[1], layer(x[1])[0])


@pytest.mark.parametrize("randomness", ["error", "same", "different"])
def test_randomness_where_nothing_is_drawn(torch, func, randomness):
    x = torch.ones(3, 2, 2, 8)
    sdpa = torch.nn.functional.scaled_dot_product_attention
    drop = [torch.nn.Dropout(0.5).eval(), torch.nn.Dropout(0.0), torch.nn.Dropout1d(0.5).eval(), lambda a: sdpa(a, a, a)]
    for call in drop:
        assert torch.allclose(func.vmap(call, randomness=randomness)(x), x)
    with pytest.raises(RuntimeError, match="we do not yet support aten::rrelu"):
        func.vmap(torch.nn.functional.rrelu, randomness=randomness)(x)


def test_gradients_of_samples_through_dropout(torch, func):
    x, w = torch.ones(4, 32), torch.ones(32)
    one = func.grad(lambda w, x: torch.nn.functional.dropout(w * x, 0.5).sum())
    same = func.vmap(one, (None, 0), randomness="same")(w, x)
    other = func.vmap(one, (None, 0), randomness="different")(w, x)
    assert sorted(set(same.flatten().tolist())) == [0, 2] and torch.equal(same[0], same[3]) and not torch.equal(other[0], other[3])
    nested = func.vmap(func.vmap(lambda a: torch.nn.functional.dropout(a, 0.5), randomness="same"), randomness="different")(torch.ones(2, 3, 32))
    assert torch.equal(nested[0, 0], nested[0, 1]) and not torch.equal(nested[0], nested[1])
    nested = func.vmap(func.vmap(lambda a: torch.nn.functional.dropout1d(a.view(16, 2), 0.5), randomness="different"), randomness="same")(torch.ones(2, 3, 32))
    assert torch.equal(nested[0], nested[1]) and not torch.equal(nested[0, 0], nested[0, 1])


def test_structures_of_cotangents_and_tangents(torch, func):
    x = torch.ones(3)
    two = func.vjp(lambda a: (a * 2, a * 3), x)[1]
    assert two((x, x))[0].tolist() == [5, 5, 5]
    one, named = func.vjp(lambda a: a * 2, x)[1], func.vjp(lambda a: {"a": a * 2}, x)[1]
    for call, wrong in ((two, [x, x]), (two, x), (one, (x,)), (one, [x]), (named, {"b": x}), (named, x)):
        with pytest.raises(RuntimeError, match="Expected pytree structure of cotangents to be the same as pytree structure of outputs"):
            call(wrong)
    with pytest.raises(RuntimeError, match=r"cotangents: \[\*, \*\], primal output: \(\*, \*\)"):
        two([x, x])
    for wrong in ([x], x, (x, x)):
        with pytest.raises(RuntimeError, match="Expected primals and tangents to have the same python structure"):
            func.jvp(lambda a: a * 2, (x,), wrong)
    for size in (0, -1):
        with pytest.raises(ValueError, match="`chunk_size` should be greater than 0"):
            func.jacrev(torch.sin, chunk_size=size)
    if torch.__name__ == "facula":  # PyTorch compiles there
        with pytest.raises(RuntimeError, match="to have the same argspec as the primals"):
            func.linearize(lambda a: a[0] * 2, (x, x))[1]([x, x])


def test_what_vmap_refuses(torch, func):
    x = torch.ones(3, 2)
    with pytest.raises(ValueError, match="Expected all tensors to have the same size in the mapped dimension"):
        func.vmap(torch.add)(x, torch.ones(2, 2))
    with pytest.raises(ValueError, match="got no inputs"):
        func.vmap(torch.sin)()
    with pytest.raises(ValueError, match="in_dims is not compatible with the structure of `inputs`"):
        func.vmap(torch.add, (0,))(x, x)
    with pytest.raises(ValueError, match="Got in_dim=2 for some input"):
        func.vmap(torch.sin, 2)(x)
    with pytest.raises(ValueError, match="must only return Tensors"):
        func.vmap(lambda a: 1.5)(x)
    with pytest.raises(ValueError, match="out_dims is not compatible with the structure of `outputs`"):
        func.vmap(lambda a: a, out_dims=(0, 0))(x)
    with pytest.raises(RuntimeError, match=r"calling .item\(\) on a Tensor"):
        func.vmap(lambda a: a * a.sum().item())(x)
    with pytest.raises(RuntimeError, match="vmap"):
        func.vmap(lambda a: a if a.sum() > 0 else -a)(x)
    if torch.__name__ == "facula":
        with pytest.raises(RuntimeError, match="transpose_ is not possible inside of vmap"):
            func.vmap(lambda a: a.clone().transpose_(0, 0))(x)
    with pytest.raises(RuntimeError, match="is not possible because there exists a Tensor|doesn't match the broadcast shape"):
        func.vmap(lambda a: torch.zeros(2).add_(a))(x)


def test_writes_by_index(torch, func):
    x = rand(torch, 3, 4)

    def f(a):
        b = a.clone()
        b[0] = 5
        b[1:3] += a[2]
        return b

    assert torch.allclose(func.vmap(f)(x), torch.stack([f(a) for a in x]))


def test_memory_is_not_read(torch, func):
    for read in (lambda a: a.tolist(), lambda a: a.numpy(), lambda a: float(a.sum())):
        with pytest.raises(RuntimeError):
            func.vmap(lambda a: a * read(a)[0] if not isinstance(read(a), float) else a)(torch.ones(2, 2))


def test_custom_functions(torch, func):
    calls = []

    class Cube(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return 3 * ctx.saved_tensors[0] ** 2 * g

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

        @staticmethod
        def vmap(info, in_dims, x):
            calls.append((info.batch_size, in_dims))
            return Square.apply(x), 0

    x = rand(torch, 3, 2)
    assert torch.allclose(func.vmap(Cube.apply)(x), x**3)
    assert torch.allclose(func.vmap(func.grad(lambda a: Cube.apply(a).sum()))(x), 3 * x**2)
    assert torch.allclose(func.vmap(Square.apply)(x), x**2) and calls == [(3, (0,))]
    assert torch.allclose(func.vmap(func.grad(lambda a: Square.apply(a).sum()))(x), 2 * x)
    assert torch.allclose(func.grad(func.grad(lambda a: Cube.apply(a)))(x[0, 0]), 6 * x[0, 0])


# --- derivatives


def test_grad(torch, func):
    x, y = rand(torch, 3), rand(torch, 3, seed=2)
    assert torch.allclose(func.grad(lambda x: x.sin().sum())(x), x.cos())
    assert torch.allclose(func.grad(func.grad(func.grad(torch.sin)))(x[0]), -x[0].cos())
    g, v = func.grad_and_value(lambda x, y: (x * y).sum(), argnums=(0, 1))(x, y)
    assert torch.allclose(g[0], y) and torch.allclose(g[1], x) and torch.allclose(v, x.dot(y))
    g, aux = func.grad(lambda p: ((p["a"] ** 2).sum(), p["a"] * 2), has_aux=True)({"a": x})
    assert torch.allclose(g["a"], 2 * x) and torch.allclose(aux, 2 * x)
    assert not g["a"].requires_grad and not aux.requires_grad and not v.requires_grad
    w = y.clone().requires_grad_()
    out = func.grad(lambda x: (x**2 * w).sum())(x)  # what a function captures stays differentiable
    out.sum().backward()
    assert torch.allclose(w.grad, 2 * x)
    z = x.clone().requires_grad_()
    func.grad(lambda x: (x**3).sum())(z).sum().backward()
    assert torch.allclose(z.grad, 6 * x)
    assert torch.allclose(func.grad(lambda x: torch.ones(()))(x), torch.zeros(3, dtype=x.dtype))
    with torch.no_grad():
        assert torch.allclose(func.grad(lambda x: x.sin().sum())(x), x.cos())
    with pytest.raises(RuntimeError, match="to return a scalar Tensor, got tensor with 1 dims. Maybe you wanted to use the vjp or jacrev APIs instead"):
        func.grad(torch.sin)(x)
    with pytest.raises(RuntimeError, match="only 1 positional inputs"):
        func.grad(torch.sum, argnums=2)(x)


def test_vjp_jvp_linearize(torch, func):
    x, t = rand(torch, 3), rand(torch, 3, seed=3)
    out, back = func.vjp(lambda x: (x.sin(), x.sum()), x)
    assert torch.allclose(back((t, torch.tensor(2.0, dtype=x.dtype)))[0], t * x.cos() + 2) and not out[0].requires_grad
    out, tangent = func.jvp(lambda x: x.sin() * 2, (x,), (t,))
    assert torch.allclose(out, x.sin() * 2) and torch.allclose(tangent, 2 * x.cos() * t)
    assert torch.allclose(func.jvp(lambda a, b: a * b, (x, x), (t, 3 * t))[1], 4 * x * t)
    assert torch.allclose(func.jvp(lambda x: func.jvp(torch.sin, (x,), (torch.ones_like(x),))[1], (x,), (t,))[1], -x.sin() * t)
    out, push = func.linearize(lambda x: x**2, x)
    assert torch.allclose(push(t), 2 * x * t) and torch.allclose(push(2 * t), 4 * x * t)
    assert torch.allclose(func.grad(lambda x: func.jvp(lambda x: x**3, (x,), (t,))[1].sum())(x), 6 * x * t)
    with pytest.raises((RuntimeError, ValueError)):
        back(t)


def test_jacobians(torch, func):
    x = rand(torch, 3)
    a = rand(torch, 2, 3, seed=4)
    for jacobian in (func.jacrev, func.jacfwd):
        assert torch.allclose(jacobian(lambda x: a @ x.sin())(x), a * x.cos())
        j = jacobian(lambda a, x: {"y": a @ x, "z": x.sum()}, argnums=(0, 1))(a, x)
        assert j["y"][0].shape == (2, 2, 3) and torch.allclose(j["y"][1], a) and torch.allclose(j["z"][1], torch.ones(3, dtype=x.dtype))
        assert torch.allclose(j["y"][0], torch.einsum("ik,j->ikj", torch.eye(2, dtype=x.dtype), x))
        assert jacobian(lambda x: x[:2])(x).tolist() == [[1, 0, 0], [0, 1, 0]]
        assert torch.allclose(jacobian(jacobian(lambda x: (x**3).sum()))(x), torch.diag(6 * x))
        y, aux = jacobian(lambda x: (x * 2, x + 1), has_aux=True)(x)
        assert torch.allclose(y, 2 * torch.eye(3, dtype=x.dtype)) and torch.allclose(aux, x + 1)
    assert torch.allclose(func.jacrev(lambda x: a @ x, chunk_size=1)(x), a)
    assert torch.allclose(func.hessian(lambda x: (x.sin() * x.sum()).sum())(x), torch.autograd.functional.hessian(lambda x: (x.sin() * x.sum()).sum(), x))


def network(torch, p, x):
    return torch.tanh(x @ p["w"].t() + p["b"]) @ p["v"]


def test_composed(torch, func):
    """Gradients of each sample, of a mapped function, and Jacobians of each sample."""
    p = {"w": rand(torch, 4, 3), "b": rand(torch, 4, seed=1), "v": rand(torch, 4, seed=2)}
    x, y = rand(torch, 5, 3, seed=3), rand(torch, 5, seed=4)

    def loss(p, x, y):
        return (network(torch, p, x) - y) ** 2

    each = func.vmap(func.grad(loss), (None, 0, 0))(p, x, y)
    for i in range(5):
        one = func.grad(loss)(p, x[i], y[i])
        assert all(torch.allclose(each[k][i], one[k]) for k in p)
    whole = func.grad(lambda p: func.vmap(loss, (None, 0, 0))(p, x, y).sum())(p)
    assert all(torch.allclose(whole[k], each[k].sum(0)) for k in p)
    rows = func.vmap(func.jacrev(lambda x: network(torch, p, x).sin()))(x)
    columns = func.vmap(func.jacfwd(lambda x: network(torch, p, x).sin()))(x)
    assert torch.allclose(rows, columns) and torch.allclose(rows[0], func.jacrev(lambda x: network(torch, p, x).sin())(x[0]))
    second = func.vmap(func.hessian(lambda x: network(torch, p, x)))(x)
    assert torch.allclose(second[2], func.hessian(lambda x: network(torch, p, x))(x[2]))
    tangents = func.vmap(lambda x, t: func.jvp(lambda x: network(torch, p, x), (x,), (t,))[1])(x, x * 2)
    assert torch.allclose(tangents[1], rows.new_tensor(func.jacrev(lambda x: network(torch, p, x))(x[1]).dot(2 * x[1]).item()))
    twice = func.grad(lambda q: func.vmap(func.grad(loss), (None, 0, 0))({**p, "b": q}, x, y)["v"].sin().sum())(p["b"])
    assert torch.allclose(twice, func.grad(lambda q: torch.stack([func.grad(loss)({**p, "b": q}, x[i], y[i])["v"].sin() for i in range(5)]).sum())(p["b"]))
    pairs = func.vmap(func.vmap(func.grad(loss), (None, 0, None)), (None, None, 0))(p, x, y)
    assert pairs["w"].shape == (5, 5, 4, 3) and torch.allclose(pairs["w"][2, 2], each["w"][2])


def test_modules(torch, func):
    torch.manual_seed(0)
    models = [torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)) for _ in range(3)]
    x = torch.rand(5, 3)
    parameters, buffers = func.stack_module_state(models)
    assert list(parameters) == ["0.weight", "0.bias", "2.weight", "2.bias"] and buffers == {} and parameters["0.weight"].shape == (3, 4, 3)
    out = func.vmap(lambda p, b, x: func.functional_call(models[0], (p, b), (x,)), (0, 0, None))(parameters, buffers, x)
    assert torch.allclose(out, torch.stack([m(x) for m in models]), atol=1e-6)
    p = dict(models[0].named_parameters())
    g = func.grad(lambda p: func.functional_call(models[0], p, (x,)).sum())(p)
    models[0](x).sum().backward()
    assert all(torch.allclose(g[k], v.grad) for k, v in models[0].named_parameters())
    each = func.vmap(func.grad(lambda p, x: func.functional_call(models[0], p, (x,)).sum()), (None, 0))({k: v.detach() for k, v in p.items()}, x)
    assert all(torch.allclose(each[k].sum(0), g[k], atol=1e-5) for k in g)
    with pytest.raises(RuntimeError, match="Expected at least one model"):
        func.stack_module_state([])
    with pytest.raises(ValueError, match="appeared in multiple dictionaries"):
        func.functional_call(models[0], (p, p), (x,))


def test_what_is_not_here(torch, func):
    if torch.__name__ == "facula":
        with pytest.raises(NotImplementedError, match="functionalize"):
            func.functionalize(lambda x: x)
        with pytest.raises(AttributeError):
            func.no_such_thing


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_of_all_samples_at_once(torch, training):
    """As one call per sample, with statistics of each sample's own, which are updated."""
    torch.manual_seed(2)
    x, w = torch.randn(3, 5, 4, 2).double(), torch.randn(3, 4).double()
    stats = [torch.zeros(3, 4).double(), torch.ones(3, 4).double()]
    kept = [s.clone() for s in stats]

    def run(x, w, mean, var):
        return torch.nn.functional.batch_norm(x, mean, var, w, w, training=training)

    got = torch.func.vmap(run)(x, w, *stats)
    want = torch.stack([run(a, b, m, v) for a, b, m, v in zip(x, w, *kept)])
    assert torch.allclose(got, want) and all(torch.allclose(a, b) for a, b in zip(stats, kept))
    assert torch.allclose(torch.func.vmap(lambda w: run(x[0], w, None, None) if training else run(x[0], w, *(s[0] for s in kept)))(w)[1],
                          run(x[0], w[1], None, None) if training else run(x[0], w[1], *(s[0] for s in kept)))  # fmt: skip


def test_batch_norm_with_statistics_for_all(torch):
    net = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 2))
    x = torch.randn(2, 4, 3)
    with pytest.raises(RuntimeError, match="running_mean or running_var, which will be updated in place, were not batched"):
        torch.func.vmap(net)(x)
    assert torch.func.replace_all_batch_norm_modules_(net) is net and net[0].running_mean is None
    assert torch.allclose(torch.func.vmap(net)(x)[1], net(x[1]), atol=1e-6)
