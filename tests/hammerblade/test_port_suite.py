# SPDX-License-Identifier: Apache-2.0
"""What the port's own tests are said to look at, operator by operator, in their way: a value on the CPU beside one on the device, with
the port's tolerances (torch.allclose as it comes), and the result on the device."""

import json

import pytest

SHAPES = [(1,), (10,), (1, 16), (3, 4), (3, 4, 5), (2, 3, 4, 5)]


def equal(torch, got, want, exact=False, **tolerance):
    assert got.device == torch.device("hammerblade") and got.dtype == want.dtype
    here = got.cpu()
    assert torch.equal(here, want) if exact else torch.allclose(here, want, equal_nan=True, **tolerance), (here, want)


def leaf(torch, t):
    """The port's init_hb_tensor: a leaf of its own on the device."""
    return t.detach().hammerblade().requires_grad_(t.requires_grad)


UNARY = ["abs", "ceil", "exp", "floor", "log", "neg", "round", "sigmoid", "sign", "sqrt", "tanh", "relu", "reciprocal", "vincr"]


@pytest.mark.parametrize("name", UNARY)
def test_unary(torch, name):
    torch.manual_seed(42)
    for shape in SHAPES:
        x = torch.rand(shape) * 6 + 0.1 if name in ("log", "reciprocal") else torch.randn(shape) * 4
        h = x.hammerblade()
        equal(torch, getattr(torch, name)(h), getattr(torch, name)(x))
        if hasattr(x, name + "_"):
            equal(torch, getattr(h, name + "_")(), getattr(x, name + "_")())
    expanded = torch.rand(1, 3).add(1)
    equal(torch, getattr(torch, name)(expanded.hammerblade().expand(4, 3)), getattr(torch, name)(expanded.expand(4, 3)))


def test_square_roots_of_negative_numbers_are_nan(torch):
    equal(torch, torch.sqrt(torch.tensor([-1.0, 4.0]).hammerblade()), torch.tensor([float("nan"), 2.0]))


def test_add_sub_mul_div_and_kin(torch):
    torch.manual_seed(42)
    for dtype in (torch.float, torch.int, torch.long):
        for shape in SHAPES:
            x, y = (torch.randint(-9, 9, shape).to(dtype) for _ in range(2))
            h, g = x.hammerblade(), y.hammerblade()
            equal(torch, h + g, x + y, exact=True)
            equal(torch, torch.add(h, g, alpha=3), torch.add(x, y, alpha=3), exact=True)
            equal(torch, h - g, x - y, exact=True)
            equal(torch, 5 - h, 5 - x, exact=True)
            equal(torch, h.clone().add_(2), x + 2, exact=True)
            equal(torch, h * g, x * y, exact=True)
    x, y, z = (torch.randn(3, 4).add(0.1) for _ in range(3))
    h, g, i = (t.hammerblade() for t in (x, y, z))
    equal(torch, h / g, x / y)
    equal(torch, torch.addcmul(h, g, i, value=0.5), torch.addcmul(x, y, z, value=0.5))
    equal(torch, torch.addcdiv(h, g, i, value=0.5), torch.addcdiv(x, y, z, value=0.5))
    equal(torch, torch.max(h, g), torch.max(x, y), exact=True)
    for low, high in ((-0.5, 0.5), (None, 0.1), (0.1, None)):
        equal(torch, torch.clamp(h, low, high), torch.clamp(x, low, high), exact=True)
    a, b = torch.randint(-20, 20, (7,), dtype=torch.int), torch.tensor([3, -4, 7, 1, -2, 5, 6], dtype=torch.int)
    equal(torch, torch.remainder(a.hammerblade(), b.hammerblade()), torch.remainder(a, b), exact=True)


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_reductions_over_every_combination_of_dimensions(torch, name):
    torch.manual_seed(42)
    f = getattr(torch, name)
    for shape in SHAPES:
        x = torch.rand(shape)
        h = x.hammerblade()
        equal(torch, f(h), f(x), atol=1e-6)
        for mask in range(1, 1 << len(shape)):
            dims = tuple(d for d in range(len(shape)) if mask >> d & 1)
            for keepdim in (False, True):
                equal(torch, f(h, dims, keepdim=keepdim), f(x, dims, keepdim=keepdim), atol=1e-6)
    x = torch.tensor([[[1.0], [2.0], [3.0]]])
    equal(torch, f(x.hammerblade().expand(2, 3, 4), (0, 2)), f(x.expand(2, 3, 4), (0, 2)))


@pytest.mark.parametrize("shape", [(1 << 20,), (300, 5000), (5000, 300)])
def test_long_sums_lose_no_digits(torch, shape):
    """Where the port's test of large indices differs from the CPU by rounding alone."""
    torch.manual_seed(42)
    x = torch.rand(shape)
    for dim in (None, *range(len(shape))):
        exact = x.double().sum() if dim is None else x.double().sum(dim)
        got = x.hammerblade().sum() if dim is None else x.hammerblade().sum(dim)
        assert ((got.cpu().double() - exact).abs() / exact).max() < 1e-6, dim


def test_matrices(torch):
    torch.manual_seed(42)
    for m, k, n in ((2, 3, 3), (1, 1, 1), (16, 16, 16), (78, 56, 39), (5, 4, 6)):
        c, a, b = torch.rand(m, n), torch.rand(m, k), torch.rand(k, n)
        equal(torch, torch.mm(a.hammerblade(), b.hammerblade()), torch.mm(a, b))
        equal(torch, torch.addmm(c.hammerblade(), a.hammerblade(), b.hammerblade(), beta=0.3, alpha=0.7), torch.addmm(c, a, b, beta=0.3, alpha=0.7))
        equal(torch, torch.addmm(c[:1].hammerblade(), a.hammerblade(), b.hammerblade()), torch.addmm(c[:1], a, b))
        equal(torch, torch.mm(a.t().contiguous().hammerblade().t(), b.t().contiguous().hammerblade().t()), torch.mm(a, b))
    x, y = torch.rand(40), torch.rand(40)
    equal(torch, torch.dot(x.hammerblade(), y.hammerblade()), torch.dot(x, y))
    with pytest.raises(RuntimeError):
        torch.dot(x.hammerblade(), y)
    with pytest.raises(RuntimeError):
        torch.dot(x.hammerblade(), y[:3].hammerblade())
    equal(torch, torch.cdist(torch.rand(4, 3).hammerblade(), torch.ones(2, 3).hammerblade()).mul(0), torch.zeros(4, 2))
    a, b = torch.rand(5, 3), torch.rand(6, 3)
    equal(torch, torch.cdist(a.hammerblade(), b.hammerblade()), torch.cdist(a, b), atol=1e-5)


def test_views_moves_and_types(torch):
    x = torch.arange(24.0).reshape(2, 3, 4)
    h = x.hammerblade()
    for view in (lambda t: t.transpose(0, 2), lambda t: t[:, 1], lambda t: t.select(2, 3), lambda t: t.view(6, 4), lambda t: t[:1].expand(5, 3, 4), lambda t: t[:1].expand_as(t)):
        equal(torch, view(h).contiguous(), view(x).contiguous(), exact=True)
        equal(torch, view(h).clone(), view(x).clone(), exact=True)
        ll = view(x).hammerblade_ll()
        assert ll.stride() == view(x).stride() and ll.storage_offset() == view(x).storage_offset() and torch.equal(ll.cpu(), view(x))
    for a in (torch.int, torch.long, torch.float, torch.double):
        for b in (torch.int, torch.long, torch.float, torch.double):
            equal(torch, h.to(a).to(b), x.to(a).to(b), exact=True)
    assert "device='hammerblade'" in repr(h) and h.is_hammerblade and torch.tensor([3.5]).hammerblade().item() == 3.5
    with pytest.raises(RuntimeError):
        h.item()
    equal(torch, torch.eye(4, 3, device="hammerblade"), torch.eye(4, 3), exact=True)
    equal(torch, torch.empty(3, device="hammerblade").fill_(42), torch.full((3,), 42.0), exact=True)
    equal(torch, torch.empty(2, device="hammerblade").resize_(3, 4).fill_(1), torch.ones(3, 4), exact=True)
    for dim in range(3):
        equal(torch, torch.cat((h, h, h), dim), torch.cat((x, x, x), dim), exact=True)
    index = torch.tensor([2, 0, 2])
    equal(torch, torch.index_select(h, 1, index.hammerblade()), torch.index_select(x, 1, index), exact=True)
    equal(torch, h[index.hammerblade() % 2], x[index % 2], exact=True)
    u = torch.empty(4000).hammerblade().uniform_(-2, 3)
    assert u.min() >= -2 and u.max() < 3 and abs(u.mean().item() - 0.5) < 0.2


def check_layer(torch, make, x, atol=1e-5, **loss):
    """A layer on both, its result and every gradient."""
    torch.manual_seed(42)
    layer = make()
    there = make().hammerblade()
    there.load_state_dict(layer.state_dict())
    x.requires_grad_(x.is_floating_point())
    h = leaf(torch, x)
    out, out_h = layer(x), there(h)
    equal(torch, out_h, out, atol=atol)
    grad = torch.rand(out.shape)
    out.backward(grad)
    out_h.backward(grad.hammerblade())
    if x.requires_grad:
        equal(torch, h.grad, x.grad, atol=atol)
    for (name, p), q in zip(layer.named_parameters(), there.parameters(), strict=True):
        assert torch.allclose(q.grad.cpu(), p.grad, rtol=1e-4, atol=1e-4), name


def test_layers(torch):
    nn = torch.nn
    torch.manual_seed(42)
    for stride, padding, bias in ((1, 0, True), (2, 1, False), ((2, 3), (1, 2), True)):
        check_layer(torch, lambda s=stride, p=padding, b=bias: nn.Conv2d(3, 5, 3, s, p, bias=b), torch.rand(2, 3, 10, 11))
    for x in (torch.rand(2, 4, 3, 3), torch.ones(2, 4, 3, 3)):
        check_layer(torch, lambda: nn.BatchNorm2d(4), x, atol=1e-4)
    check_layer(torch, lambda: nn.BatchNorm1d(6), torch.rand(8, 6), atol=1e-4)
    check_layer(torch, lambda: nn.BatchNorm2d(4).eval(), torch.rand(2, 4, 3, 3))
    check_layer(torch, lambda: nn.Linear(7, 5), torch.rand(4, 7))
    check_layer(torch, lambda: nn.MaxPool2d(3, 2, 1), torch.rand(2, 3, 9, 8))
    check_layer(torch, lambda: nn.LogSoftmax(1), torch.rand(3, 6))
    check_layer(torch, lambda: nn.Embedding(9, 4, padding_idx=2), torch.tensor([[1, 2, 2], [8, 0, 1]]))
    check_layer(torch, lambda: nn.Unfold((2, 3)), torch.rand(2, 5, 3, 4))  # the port expects an error here (docs/hammerblade.md)
    x = torch.ones(5000)
    for p in (0.0, 1.0):
        equal(torch, nn.Dropout(p)(x.hammerblade()), nn.Dropout(p)(x), exact=True)
    kept = nn.Dropout(0.25)(x.hammerblade()).cpu()
    assert set(kept.unique().tolist()) <= {0.0, torch.tensor(1 / 0.75).item()} and abs((kept == 0).float().mean().item() - 0.25) < 0.05
    assert torch.equal(nn.Dropout(0.5).eval()(x.hammerblade()).cpu(), x)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses(torch, reduction):
    F = torch.nn.functional
    torch.manual_seed(42)
    x, target, weight = torch.randn(6, 5), torch.tensor([0, 4, 2, 2, 1, 3]), torch.rand(5)
    cases = [
        (lambda x, t, w: F.cross_entropy(x, t, reduction=reduction), target),
        (lambda x, t, w: F.nll_loss(F.log_softmax(x, 1), t, weight=w, reduction=reduction), target),
        (lambda x, t, w: F.binary_cross_entropy_with_logits(x, t, reduction=reduction), torch.rand(6, 5)),
        (lambda x, t, w: F.l1_loss(x, t, reduction=reduction), torch.rand(6, 5)),
    ]
    for loss, t in cases:
        a = x.clone().requires_grad_()
        h = leaf(torch, a)
        mine, want = loss(h, t.hammerblade(), weight.hammerblade()), loss(a, t, weight)
        equal(torch, mine, want, atol=1e-6)
        mine.sum().backward()
        want.sum().backward()
        equal(torch, h.grad, a.grad, atol=1e-6)


def test_sparse(torch):
    torch.manual_seed(42)
    dense = torch.rand(6, 8) * (torch.rand(6, 8) > 0.6)
    x, y = dense.to_sparse(), torch.rand(6, 8)
    h, g = x.hammerblade(), y.hammerblade()
    assert h.type() == "torch.hammerblade.sparse.FloatTensor" and h._values().type() == "torch.hammerblade.FloatTensor" and h.is_hammerblade
    equal(torch, torch.add(g, h), y + dense)
    equal(torch, torch.sub(g, h), y - dense)
    b, v = torch.rand(8, 3), torch.rand(8)
    equal(torch, torch.mm(h, b.hammerblade()), dense @ b)
    equal(torch, torch.sparse.mm(h, b.hammerblade()), dense @ b)
    equal(torch, torch.mv(h, v.hammerblade()), dense @ v)
    d = torch.rand(2, 8)
    equal(torch, torch.dstmm(d.hammerblade(), h), torch.dstmm(d, x))


def test_lenet_learns_as_on_the_cpu(torch):
    nn = torch.nn

    def make():
        torch.manual_seed(42)
        return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                             nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))  # fmt: skip

    a, h = make(), make().hammerblade()
    torch.manual_seed(0)
    images, digits = torch.rand(8, 1, 28, 28), torch.randint(0, 10, (8,))
    losses: list[list[float]] = [[], []]
    torch.backends.reset_fallback_counts()
    for model, x, y, kept in ((a, images, digits, losses[0]), (h, images.hammerblade(), digits.hammerblade(), losses[1])):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        for _ in range(4):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            kept.append(loss.item())
    assert losses[1] == pytest.approx(losses[0], abs=1e-4) and losses[0][-1] < losses[0][0]
    assert torch.backends.fallback_counts() == {}


def test_profiler_as_the_port_reads_it(torch):
    profiler = torch.hammerblade.profiler
    assert not profiler.is_in_ROI()
    profiler.enable()
    assert profiler.is_in_ROI()
    x = torch.randn(100)
    x + x
    profiler.disable()
    table, stack = profiler.exec_time.fancy_print(), profiler.exec_time.raw_stack()
    assert "aten::randn" in table and "aten::add" in table and "aten::ones" not in table
    for name in ("at::Tensor at::CPUType::{anonymous}::add(const at::Tensor&, const at::Tensor&, c10::Scalar)",
                 "at::Tensor at::TypeDefault::randn(c10::IntArrayRef, const c10::TensorOptions&)", "at::native::add_stub::add_stub()"):  # fmt: skip
        assert name in stack
    signature = "at::Tensor at::CPUType::{anonymous}::addmm(const at::Tensor&, const at::Tensor&, const at::Tensor&, c10::Scalar, c10::Scalar)"
    profiler.chart.clear()
    profiler.chart.add(signature)
    with profiler.region():
        torch.addmm(torch.ones(2, 3), torch.ones(2, 3), torch.ones(3, 3))
    profiler.chart.clear()
    assert json.loads(profiler.chart.json()) == [{"offload": False, "signature": signature}]
    profiler.fallback.enable()
    try:
        with profiler.region():
            equal(torch, torch.atan(x.hammerblade()), torch.atan(x), atol=1e-6)
    finally:
        profiler.fallback.disable()
