# SPDX-License-Identifier: Apache-2.0
"""Autograd from Python: graphs, hooks, views and in-place writes, custom functions, modes, threads."""
import functools
import gc
import itertools
import threading
import weakref

import pytest

pytestmark = pytest.mark.threads


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def test_gradients_add_up(torch):
    x = leaf(torch)
    (x * x).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5, 7, 9]
    first, = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
    second, = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [6, 12, 18] and x.grad.tolist() == [5, 7, 9]


def test_inputs_and_unused(torch):
    x, y = leaf(torch), leaf(torch)
    (x * y).sum().backward(inputs=[x])
    assert x.grad.tolist() == [1, 2, 3] and y.grad is None
    assert torch.autograd.grad(x.sum(), [x, y], allow_unused=True)[1] is None


def test_hooks(torch):
    x = leaf(torch)
    y = x * 2
    order = []
    handle = y.register_hook(lambda g: order.append("first") or g * 10)
    y.register_hook(lambda g: order.append("second"))
    x.register_hook(lambda g: order.append("leaf"))
    x.register_post_accumulate_grad_hook(lambda t: order.append(("after", t.grad.tolist())))
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    assert order == ["first", "second", "leaf", ("after", [20, 20, 20])] and y.grad.tolist() == [10, 10, 10]
    handle.remove()
    order.clear()
    y.sum().backward()
    assert order[0] == "second" and x.grad.tolist() == [22, 22, 22]


def test_node_hooks_and_names(torch):
    x = leaf(torch)
    y = (x * 2).sum()
    assert y.grad_fn.name() == "SumBackward0" and x.view(3, 1).t().grad_fn.name() == "TBackward0" and x.sum(0).grad_fn.name() == "SumBackward1"
    assert repr(y.grad_fn).startswith("<SumBackward0 object at 0x")
    below = y.grad_fn.next_functions[0][0]
    assert below.name() == "MulBackward0" and below.next_functions[0][0].name().endswith("AccumulateGrad")
    assert below.next_functions[0][0].variable is x
    seen = []
    below.register_hook(lambda gi, go: seen.append((len(gi), len(go))))
    below.register_prehook(lambda go: (go[0] * 3,))
    y.backward()
    assert seen and x.grad.tolist() == [6, 6, 6]


def test_anomaly_names_the_forward_line(torch):
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="nan"), torch.autograd.detect_anomaly():
        x = torch.zeros(1, requires_grad=True)
        y = torch.sqrt(x) * 0
        y.sum().backward()


def test_versions_count_what_the_user_changed(torch):
    x = torch.ones(2, 3)
    fresh = [x, torch.zeros(2), torch.full((2,), 1.0), torch.rand(2), torch.randint(3, (2,)), torch.eye(3),
             torch.arange(3), torch.ones_like(x), x.new_zeros(2), torch.cat([x, x]), x.masked_fill(x > 0, 1.0),
             x.index_fill(0, torch.tensor([0]), 1.0), torch.nn.functional.pad(x, (1, 1)), x.to(torch.float64)]  # fmt: skip
    assert [t._version for t in fresh] == [0] * len(fresh)
    changed = [torch.ones(2).add_(1), torch.add(x, x, out=torch.empty(2, 3)), torch.ones(2, 2).tril_(),
               torch.ones(2).uniform_(), torch.ones(2).clamp_(0, 1), torch.cat([x, x], out=torch.empty(4, 3))]  # fmt: skip
    assert [t._version for t in changed] == [1] * len(changed)


def test_version_error_names_the_offender(torch):
    x = leaf(torch)
    y = x * 2
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as e:
        z.sum().backward()
    assert "AddBackward0" in str(e.value) and "version 1" in str(e.value) and "version 0" in str(e.value)


def inplace_cases(torch):
    """Views and in-place writes; the numbers were PyTorch's."""
    x, w = leaf(torch, 1.0, 2.0, 3.0, 4.0), leaf(torch, 5.0, 6.0)
    base = x * 1
    view = base[1:3]
    view.mul_(w)
    (base * torch.arange(4.0)).sum().backward()
    yield x.grad.tolist(), [0, 5, 12, 3]
    yield w.grad.tolist(), [2, 6]
    x = leaf(torch)
    base = x * 2
    view = base[:2]
    base.mul_(3)  # the view follows
    view.sum().backward()
    yield x.grad.tolist(), [6, 6, 0]
    base, w = torch.zeros(4), leaf(torch, 1.0, 1.0, 1.0, 1.0)
    view = base[:2]
    base.add_(w)  # a base without history gets one
    assert view.requires_grad and not view.is_leaf
    (view * 3).sum().backward()
    yield w.grad.tolist(), [3, 3, 0, 0]
    x = leaf(torch)
    base = torch.zeros(2, 3)
    base[1] = x * 2
    (base * base).sum().backward()
    yield x.grad.tolist(), [8, 16, 24]
    x = leaf(torch)
    y = (x * 1).view(3, 1).expand(3, 2)[:, 0]
    y.exp().sum().backward()
    yield [round(v, 3) for v in x.grad.tolist()], [2.718, 7.389, 20.086]
    x = leaf(torch)
    a, b = (x * 1).detach(), x * 1
    a.add_(100)
    yield b.tolist(), [1, 2, 3]


def test_views_and_inplace(torch):
    for got, want in inplace_cases(torch):
        assert got == want


def test_a_weights_gradient_is_taken_over_not_copied():
    """The gradient of a linear layer is a transposed product: the view alone holds it, so it becomes the gradient itself,
    and a second one is added in its place; a gradient that somebody keeps is copied."""
    import facula as torch

    w, x, kept = torch.randn(300, 200, requires_grad=True), torch.randn(2, 200), []
    size = w.numel() * 4

    def blocks(make):  # memory that the backward asks for, in weights
        w.grad = None
        loss = make()
        before = torch.backends.memory_stats("cpu")["total"]
        loss.backward()
        return (torch.backends.memory_stats("cpu")["total"] - before) // size

    once = lambda: torch.nn.functional.linear(x, w).sum()
    twice = lambda: once() + torch.nn.functional.linear(x, w).sum()
    assert blocks(once) == 1 and w.grad._base is None and w.grad.stride() == (200, 1)
    assert blocks(twice) == 2
    assert torch.equal(w.grad, 2 * x.sum(0).expand(300, 200))
    w.register_hook(kept.append)
    assert blocks(once) == 2
    w.grad.zero_()
    assert torch.equal(kept[0], x.sum(0).expand(300, 200))


def test_a_gradient_that_nobody_sees_is_overwritten():
    """The gradient of many classes: log_softmax's takes the place of the one that flows in, unless somebody holds that."""
    import facula as torch

    x = torch.randn(30, 4000, requires_grad=True)
    target, size = torch.arange(30), x.numel() * 4

    def blocks(loss):
        x.grad = None
        before = torch.backends.memory_stats("cpu")["total"]
        loss.backward()
        return (torch.backends.memory_stats("cpu")["total"] - before) // size

    assert blocks(torch.nn.functional.cross_entropy(x, target)) == 1
    expected = (x.detach().softmax(1) - torch.nn.functional.one_hot(target, 4000)) / 30
    assert torch.allclose(x.grad, expected, atol=1e-7)
    kept, logs = [], x.log_softmax(1)
    logs.register_hook(kept.append)
    assert blocks(torch.nn.functional.nll_loss(logs, target)) == 2
    assert torch.equal(kept[0].nonzero()[:, 1], target) and torch.allclose(x.grad, expected, atol=1e-7)
    given = torch.ones(30, 4000)
    x.log_softmax(1).backward(given)
    assert (given == 1).all()
    for dim, dtype in ((0, torch.float64), (1, torch.bfloat16)):
        y = torch.randn(5, 6, dtype=dtype, requires_grad=True)
        (y.log_softmax(dim) * 2).sum().backward()
        assert torch.allclose(y.grad, 2 - y.detach().softmax(dim) * 2 * y.shape[dim], atol=0.1 if dtype is torch.bfloat16 else 1e-6)


def test_cross_entropy_keeps_two_numbers_of_each_row():
    """Nothing as large as the logits is written in forward, and in backward only their gradient."""
    import facula as torch

    F = torch.nn.functional
    x = torch.randn(30, 4000, requires_grad=True)
    target, weight, size = torch.arange(30), torch.rand(4000), x.numel() * 4
    target[3] = -100

    def taken():
        return torch.backends.memory_stats("cpu")["total"]

    before = taken()
    loss = F.cross_entropy(x, target)
    assert (taken() - before) // size == 0
    loss.backward()
    assert (taken() - before) // size == 1
    for dtype, reduction, weights in itertools.product((torch.float32, torch.float64), ("mean", "sum", "none"), (None, weight)):
        y = (x.detach() * 9 + 1000).to(dtype).requires_grad_()
        w = None if weights is None else weights.to(dtype)
        one = F.cross_entropy(y, target, w, reduction=reduction)
        two = F.nll_loss(y.log_softmax(1), target, w, reduction=reduction)
        assert torch.equal(one, two)
        given = torch.rand_like(one)
        torch.testing.assert_close(*(torch.autograd.grad(loss, y, given)[0] for loss in (one, two)), rtol=1e-6, atol=1e-9)
    y = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    few = torch.tensor([1, -100, 0, 4])
    for reduction in ("mean", "sum", "none"):
        loss_of = functools.partial(F.cross_entropy, target=few, reduction=reduction, weight=weight[:5].double())
        assert torch.autograd.gradcheck(loss_of, y) and torch.autograd.gradgradcheck(loss_of, y)
    with pytest.raises(IndexError, match="Target 5 is out of bounds"):
        F.cross_entropy(y, few.abs().clamp(max=4) + 1)


def write_through_a_storage(torch, x):
    x.untyped_storage().copy_(x.detach().clone().zero_().untyped_storage())


@pytest.mark.parametrize("write", [
    lambda torch, x: x.zero_(), lambda torch, x: x.view(-1)[::2].fill_(3), lambda torch, x: x.data.mul_(2), lambda torch, x: x.numpy().fill(1),
    lambda torch, x: x.set_(x.clone()), lambda torch, x: x.share_memory_().zero_(), lambda torch, x: x.resize_(7, 11).fill_(1),
    lambda torch, x: torch.add(x, 1, out=x), lambda torch, x: torch.from_dlpack(x).fill_(5), lambda torch, x: torch._foreach_mul_([x], 0), write_through_a_storage,
])  # fmt: skip
def test_logits_may_be_overwritten_after_the_loss(torch, write):
    """PyTorch keeps the logarithms of the probabilities, so a program may; we keep the logits, and copy them before they change."""
    F = torch.nn.functional
    x, target = torch.randn(3, 5, requires_grad=True), torch.tensor([1, 0, 4])
    expected = torch.autograd.grad(F.nll_loss(x.log_softmax(1), target), x)[0]
    for _ in range(2):
        logits = x * 1
        loss, again = F.cross_entropy(logits, target), F.cross_entropy(logits, target)
        with torch.no_grad():
            write(torch, logits.detach())
        for got in (loss, again):
            torch.testing.assert_close(torch.autograd.grad(got, x, retain_graph=True)[0], expected, rtol=1e-6, atol=1e-7)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        logits = x * 1
        loss = F.cross_entropy(logits, target)
    with torch.no_grad():
        write(torch, logits.detach())
    torch.testing.assert_close(torch.autograd.grad(loss, x)[0], expected, rtol=1e-6, atol=1e-7)


def test_overwritten_logits_have_their_own_history(torch):
    """An overwritten tensor's gradient is that of what it holds now; the loss before it has the one before."""
    F = torch.nn.functional
    x, target = torch.randn(3, 5, requires_grad=True), torch.tensor([1, 0, 4])
    logits = x * 3
    loss = F.cross_entropy(logits, target)
    logits.mul_(2)
    both = loss + F.cross_entropy(logits, target)
    expected = sum(torch.autograd.grad(F.nll_loss((x * k).log_softmax(1), target), x)[0] for k in (3, 6))
    torch.testing.assert_close(torch.autograd.grad(both, x, create_graph=True)[0], expected, rtol=1e-5, atol=1e-6)


def test_memory_of_others_is_no_gradient_to_write_to():
    """A backward that hands out an array which it keeps: gradients are not computed or added up inside of it."""
    import facula as torch
    import numpy as np

    kept = np.full((3, 5), 2, dtype=np.float32)

    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return torch.from_numpy(kept)

    x = torch.randn(3, 5, requires_grad=True)
    Keeps.apply(x.log_softmax(1)).sum().backward()
    for _ in range(2):
        Keeps.apply(x).sum().backward()
    y = x * 3
    (Keeps.apply(y).sum() + Keeps.apply(y).sum()).backward()
    assert (kept == 2).all()
    kept.flags.writeable = False
    with pytest.warns(UserWarning, match="read-only"):
        Keeps.apply(x.log_softmax(1)).sum().backward()


def test_a_tables_gradient_joins_the_one_that_waits():
    """A table that is also a weight: its entries are added to the weight's gradient, without a second one of that size. What a
    program can look at stays what it asked for: gradients by themselves, second derivatives, sparse only where it said so."""
    import facula as torch

    w, at = torch.randn(400, 150, requires_grad=True), torch.tensor([[3, 5], [3, 0]])
    embedding, linear, size = torch.nn.functional.embedding, torch.nn.functional.linear, w.numel() * 4

    def loss(w, padding=None, scaled=False):
        rows = embedding(at, w, padding_idx=padding, scale_grad_by_freq=scaled)
        return linear(rows * rows, w).sum()

    for options in ({}, {"padding": 5}, {"scaled": True}):
        w.grad = None
        made = loss(w, **options)
        before = torch.backends.memory_stats("cpu")["total"]
        made.backward()
        blocks = (torch.backends.memory_stats("cpu")["total"] - before) // size
        a, b = w.detach().requires_grad_(), w.detach().requires_grad_()
        rows = embedding(at, a, padding_idx=options.get("padding"), scale_grad_by_freq="scaled" in options)
        linear(rows * rows, b).sum().backward()
        assert not w.grad.is_sparse and torch.allclose(w.grad, a.grad + b.grad, rtol=1e-4, atol=1e-4)
        assert blocks == (2 if options.get("scaled") else 1)
    seen = []
    rows = embedding(at, w)
    rows.grad_fn.register_hook(lambda gradients, _: seen.append(gradients[0].is_sparse))
    linear(rows * rows, w).sum().backward()
    assert seen == [False]
    (first,) = torch.autograd.grad(loss(w), w, create_graph=True)
    assert not first.is_sparse and torch.autograd.grad(first.square().sum(), w)[0].shape == w.shape


def test_no_grad_and_views(torch):
    x = leaf(torch)
    with torch.no_grad():
        view = x[:2]
        y = x * 2
    assert view.requires_grad and view.is_leaf and not y.requires_grad
    with pytest.raises(RuntimeError, match="no_grad"):
        view.add_(1)

    @torch.no_grad()
    def inside():
        return torch.is_grad_enabled()
    assert not inside() and torch.is_grad_enabled()


def test_inference_mode(torch):
    x = leaf(torch)
    with torch.inference_mode():
        y = x * 2
        assert y.is_inference() and not y.requires_grad and torch.is_inference_mode_enabled()
        y.add_(1)
    with pytest.raises(RuntimeError, match="[Ii]nference tensor"):
        y.add_(1)
    assert not y.clone().is_inference()


def custom(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return g * 3 * x * x
    return Cube


def test_custom_function_twice_differentiable(torch):
    x = leaf(torch)
    y = custom(torch).apply(x)
    assert y.grad_fn.name() == "CubeBackward"
    g, = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [3, 12, 27]
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [6, 12, 18]


def test_custom_function_flags(torch):
    class Flags(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, scale):
            ctx.scale = scale
            order = x.detach() * 0
            ctx.mark_non_differentiable(order)
            y.mul_(scale)
            ctx.mark_dirty(y)
            assert ctx.needs_input_grad == (True, True, False)
            return x * scale, y, order

        @staticmethod
        def backward(ctx, gx, gy, gorder):
            return gx * ctx.scale, gy * ctx.scale, None
    x, y = leaf(torch), leaf(torch)
    dirty = y * 1
    a, b, order = Flags.apply(x, dirty, 4)
    assert b is dirty and not order.requires_grad and dirty._version >= 1
    (a.sum() + b.sum()).backward()
    assert x.grad.tolist() == [4, 4, 4] and y.grad.tolist() == [4, 4, 4]


def test_once_differentiable(torch):
    from importlib import import_module
    once = import_module(f"{torch.__name__}.autograd.function").once_differentiable

    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @once
        def backward(ctx, g):
            return g * 2
    x, y = leaf(torch), leaf(torch)
    g, = torch.autograd.grad((Once.apply(x) * y).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.sum().backward()


def test_saved_tensor_hooks(torch):
    packed = []
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or len(packed) - 1, lambda i: packed[i]):
        y = x * x
    y.sum().backward()
    assert len(packed) >= 1 and x.grad.tolist() == [2, 4, 6]


def test_a_million_nodes(torch):
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y.neg()
    y.sum().backward()
    assert x.grad.item() == 1
    del y


def test_threads_share_a_graph(torch):
    x = leaf(torch)
    shared = x * 2
    errors = []

    def work():
        try:
            for _ in range(20):
                g, = torch.autograd.grad((shared * shared).sum(), x, retain_graph=True)
                assert g.tolist() == [8, 16, 24]
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not errors


def test_graph_is_freed(torch):
    class Marker:
        pass
    mark = Marker()
    x = leaf(torch)
    y = x * 2
    y.mark = mark
    ref = weakref.ref(mark)
    z = (y * y).sum()
    del mark, y
    gc.collect()
    assert ref() is not None, "the graph holds y, and y its attributes"
    z.backward()
    del z
    gc.collect()
    assert ref() is None


def test_a_custom_function_lets_go_of_its_graph(torch):
    alive = weakref.WeakSet()

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            alive.add(ctx)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.ones(3, requires_grad=True)
    for _ in range(3):
        Twice.apply(Twice.apply(x)).sum().backward()
        Twice.apply(x)  # and one that is never asked
    kept = Twice.apply(x).grad_fn
    gc.collect()  # the outer ones
    gc.collect()  # what only those held
    assert list(alive) == [kept] and kept.next_functions[0][0] is not None
    del kept
    gc.collect()
    assert not alive


def test_a_node_that_saved_no_tensor_runs_again(torch):
    """Only what was saved is freed by a backward pass; additions, views, copies, joins saved nothing."""
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    again = {
        "add": lambda: torch.add(x, y, alpha=2), "lerp": lambda: x.lerp(y, 0.5), "cat": lambda: torch.cat([x, y]), "slice": lambda: x[1:],
        "cumsum": lambda: x.cumsum(0), "pad": lambda: torch.nn.functional.pad(x, [1, 1]), "view": lambda: x.view(3, 1),
    }  # fmt: skip
    for name, make in again.items():
        x.grad = None
        loss = make().sum()
        loss.backward()
        once = x.grad.clone()
        loss.backward()
        assert (x.grad == 2 * once).all(), name
    loss = x.exp().sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()


LAID_OUT = {
    "linear": (lambda t: t.randn(16, 8), lambda t, w: t.nn.functional.linear(t.randn(4, 3, 8), w)),
    "linear with bias": (lambda t: t.randn(16, 8), lambda t, w: t.nn.functional.linear(t.randn(4, 8), w, t.randn(16))),
    "right operand": (lambda t: t.randn(8, 16), lambda t, w: t.randn(4, 8) @ w),
    "left operand, transposed": (lambda t: t.randn(6, 5), lambda t, w: w.t() @ t.randn(6, 2)),
    "copied": (lambda t: t.randn(6, 5), lambda t, w: w.t().contiguous() * 2),
    "a leaf by columns": (lambda t: t.randn(6, 5).t(), lambda t, w: w * t.randn(5, 6)),
    "channels last": (lambda t: t.randn(2, 3, 4, 5).to(memory_format=t.channels_last), lambda t, w: w * t.randn(2, 3, 4, 5)),
}


@pytest.mark.parametrize("name", LAID_OUT)
def test_a_gradient_lies_as_its_leaf(torch, name):
    make, run = LAID_OUT[name]
    for create_graph in (False, True):
        w = make(torch).requires_grad_()
        run(torch, w).sum().backward(create_graph=create_graph)
        assert w.grad.stride() == w.stride()
        w.grad = None  # the graph of a gradient refers to its leaf


def test_the_gradient_of_a_leaf_with_gaps_is_contiguous(torch):
    w = torch.randn(6, 5)[:, ::2].requires_grad_()
    (w.t() * 2).sum().backward()
    assert w.grad.stride() == (3, 1)


def test_requires_grad_of_what_was_computed():
    """Asked to require what it requires already, a method does nothing; all else is refused."""
    import facula as torch

    x = leaf(torch)
    y = x * 2
    assert y.requires_grad_() is y and not y.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    for change in (lambda: y.requires_grad_(False), lambda: setattr(y, "requires_grad", True), lambda: setattr(y, "requires_grad", False)):
        with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables."):
            change()


def test_backward_fills_the_results_it_is_asked_for(torch):
    x = leaf(torch)
    y = x * 2
    y.sum().backward(inputs=[y], retain_graph=True)
    assert y.grad.tolist() == [1, 1, 1] and x.grad is None
    y.sum().backward(inputs=[y, x])
    assert y.grad.tolist() == [2, 2, 2] and x.grad.tolist() == [2, 2, 2]
    z = x * 3
    z.backward(torch.ones(3), inputs=z)
    assert z.grad.tolist() == [1, 1, 1] and x.grad.tolist() == [2, 2, 2]


def test_a_function_may_return_no_tensor(torch):
    class Returns(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, result):
            ctx.save_for_backward(x)
            return result

    for result in (5, None, (5, None, "a")):
        assert Returns.apply(leaf(torch), result) == result


def test_a_pack_hook_leaves_its_input_alone(torch):
    """The program goes on with it."""
    def pack(t):
        with torch.no_grad():
            return t.add_(1)

    x = torch.randn(3, requires_grad=True) * 1
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t), pytest.raises(RuntimeError, match="pack hook is modifying its input in place"):
        x * x


def test_weights_that_have_no_derivative_are_refused(torch):
    """They were ignored, so that a program that trains them would never know."""
    F = torch.nn.functional
    x, target = torch.randn(3, 4, requires_grad=True), torch.tensor([0, 1, 2])
    weight, ones = torch.rand(4, requires_grad=True), torch.ones(3, 4)
    calls = {
        "weight": [
            lambda: F.nll_loss(x, target, weight),
            lambda: F.nll_loss(x[:1, :, None, None], target[:1, None, None], weight),
            lambda: F.cross_entropy(x, target, weight),
            lambda: F.cross_entropy(x, target, weight, label_smoothing=0.1),
            lambda: F.binary_cross_entropy(x.sigmoid(), ones, weight),
        ],
        "random_samples": [lambda: F.fractional_max_pool2d(torch.ones(1, 1, 4, 4), 2, 2, _random_samples=torch.rand(1, 1, 2, requires_grad=True))],
    }
    for name, functions in calls.items():
        for call in functions:
            with pytest.raises(RuntimeError, match=f"is not differentiable with respect to argument '{name}'. This input cannot have requires_grad"):
                call()
            with torch.no_grad():
                call()


def test_no_derivative_is_said_by_backward(torch):
    x = torch.rand(3, 3, requires_grad=True)
    factors, pivots = torch.linalg.ldl_factor(x.detach())
    results = {
        "floor_divide": x // 2, "heaviside": torch.heaviside(x, x), "histc": torch.histc(x), "histogram": torch.histogram(x, 4).hist,
        "histogramdd": torch.histogramdd(x, [2, 2, 2]).hist, "linalg_ldl_factor": torch.linalg.ldl_factor(x).LD,
        "linalg_ldl_solve": torch.linalg.ldl_solve(factors, pivots, x),
    }  # fmt: skip
    for name, result in results.items():
        with pytest.raises(RuntimeError, match=f"derivative for aten::{name}.* is not implemented"):
            result.sum().backward()


@pytest.mark.parametrize("make", [lambda t, x: x * x, lambda t, x: t.nn.functional.conv1d(x[None, None], t.ones(1, 1, 1))[0, 0]])
def test_what_made_an_input_may_run_afterwards(torch, make):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = make(torch, x)
    seen = []
    y.grad_fn.register_hook(lambda *_: seen.append(1))
    (g,) = torch.autograd.grad((y * y).sum(), y)
    assert g.tolist() == (2 * y).tolist() and not seen
    (again,) = torch.autograd.grad(y[1], x)
    assert again[1].item() == torch.autograd.grad(make(torch, x).sum(), x)[0][1].item() and again[0].item() == 0 and seen
    y = make(torch, x)
    z = (y * y).sum()
    gy, gx = torch.autograd.grad(z, [y, x])  # a node that is asked and leads to another runs
    assert gy.tolist() == (2 * y).tolist() and gx.any()
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(y.sum(), x)
