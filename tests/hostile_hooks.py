# SPDX-License-Identifier: Apache-2.0
"""Hooks that change hooks, backward inside of what backward calls, `.data` set between forward and backward, modes left
without being entered, chains that are freed, custom functions that write to views."""
from hostile import bad, equal, fine, leaf


def places(t):
    """(name, a function that hangs a hook there and gives its handle, a function that runs backward), for every kind of hook."""
    def kinds():
        x = leaf(t)
        yield "leaf", x.register_hook, lambda: (x * 2).sum().backward()
        x = leaf(t)
        y = x * 2
        z = y.sum()
        yield "result", y.register_hook, lambda: z.backward(retain_graph=True)
        w = leaf(t)
        yield "post accumulate", w.register_post_accumulate_grad_hook, lambda: (w * 2).sum().backward()
        u = leaf(t) * 2
        v = u.sum()
        yield "before a node", u.grad_fn.register_prehook, lambda: v.backward(retain_graph=True)
        p = leaf(t) * 2
        q = p.sum()
        yield "after a node", p.grad_fn.register_hook, lambda: q.backward(retain_graph=True)
    return kinds()


def hooks_that_change_hooks(t):
    """What is hung or taken while hooks run counts from the next backward on."""
    for name, register, backward in places(t):
        log = []

        def first(*_):
            log.append(1)
            for _ in range(20):
                register(lambda *_: log.append(3))
            handles[1].remove()
            handles[0].remove()
        handles = [register(first), register(lambda *_: log.append(2))]
        backward()
        assert log == [1, 2], (name, log)
        backward()
        assert log == [1, 2] + [3] * 20, (name, log)


def hook_on_a_gradient_that_is_retained(t):
    x = leaf(t)
    y = x * 2
    y.retain_grad()
    y.mul_(3)  # from here on, y is the product
    y.sum().backward()
    equal(y.grad, t.ones(3))
    equal(x.grad, t.full((3,), 6.0))


def hook_removed_after_a_write(t):
    log = []
    y = leaf(t) * 2
    handle = y.register_hook(log.append)
    y.mul_(3)
    handle.remove()
    y.sum().backward()
    assert log == []


def backward_in_a_hook_over_the_same_node(t):
    for where in ("leaf", "result", "before a node", "after a node", "post accumulate"):
        for name, register, backward in places(t):
            if name == where:
                depth = []

                def hook(*_):
                    if len(depth) < 3:
                        depth.append(1)
                        with t.enable_grad():
                            backward()
                register(hook)
                backward()
                assert len(depth) == 3, name


def backward_in_a_function_over_itself(t):
    depth = []

    class Twice(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            if len(depth) < 3:
                depth.append(1)
                y.backward(retain_graph=True)
            return g * ctx.saved_tensors[0] * 0 + g * 2
    x = leaf(t)
    y = Twice.apply(x).sum()
    y.backward(retain_graph=True)
    equal(x.grad, t.full((3,), 8.0))


def inner_backward_frees_the_graph(t):
    inside = []
    y = leaf(t) ** 2
    z = y.sum()

    def hook(g):
        if not inside:
            inside.append(1)
            z.backward()
    y.register_hook(hook)
    z.backward()


fine("hooks that add and remove hooks", hooks_that_change_hooks)
fine("retain_grad, then a write", hook_on_a_gradient_that_is_retained)
fine("hook removed after a write", hook_removed_after_a_write)
fine("backward in a hook over the node that runs", backward_in_a_hook_over_the_same_node)
fine("backward in a Function over itself", backward_in_a_function_over_itself)
bad("backward in a hook frees what the outer one needs", "RuntimeError", ("second time",), inner_backward_frees_the_graph)


# --- .data between forward and backward
def data_changed(n=3, dtype=None, kept=False, square=False):
    def test(t):
        x, seen = leaf(t), []
        x.register_hook(lambda g: seen.append(g.tolist()))
        y = (x * (x if square else 2)).sum()
        if kept:
            y.backward(retain_graph=True)
        x.data = t.full((n,), 5.0, dtype=getattr(t, dtype or "float32"))
        y.backward()
        once = [10.0] * 3 if square else [2.0] * 3
        assert seen == [once] * (2 if kept else 1), seen
        equal(x.grad, t.tensor([g * (2 if kept else 1) for g in once]))
        assert x.grad.dtype == t.float32 and x.dtype == getattr(t, dtype or "float32")
        x.grad = None
        del y
        (x * 3).sum().backward()  # and a graph of the new data has gradients of its kind
        assert x.grad.tolist() == [3.0] * n and x.grad.dtype == x.dtype and len(seen) == (3 if kept else 2)
    return test


fine("data replaced", data_changed())
fine("data replaced, read by the derivative", data_changed(square=True))
fine("data replaced between two backwards", data_changed(kept=True))
fine("data of another size", data_changed(5))
fine("data of another size between two backwards", data_changed(5, kept=True))
fine("data of another type", data_changed(dtype="float64"))
fine("data of a lower type", data_changed(dtype="float16"))


def data_of_another_size_read(t):
    x = leaf(t)
    y = (x * x).sum()
    x.data = t.ones(5)
    y.backward()


def data_replaced_often(t):
    x = leaf(t)
    for k in range(2000):
        y = (x * 2).sum()
        x.data = t.zeros(3, dtype=t.float64 if k % 2 else t.float32)
        x.grad = None
        y.backward()
        equal(x.grad, t.full((3,), 2.0))


bad("data of another size, read by the derivative", "RuntimeError", ("size",), data_of_another_size_read)
bad("data of integers", "RuntimeError", ("floating point",), lambda t: setattr(leaf(t), "data", t.zeros(3, dtype=t.int64)))
bad("data on another device", "RuntimeError", ("incompatible tensor type",), lambda t: setattr(leaf(t), "data", t.zeros(3, device="meta")))
fine("data replaced often", data_replaced_often)


# --- modes
def exit_without_enter(t):
    x = leaf(t)
    for _ in range(3):
        try:
            t.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x).__exit__(None, None, None)
        except RuntimeError:
            pass
    (x * x).sum().backward()
    equal(x.grad, t.tensor([2.0, 4.0, 6.0]))


fine("modes left without being entered", exit_without_enter)
bad("saved_tensors_hooks left without being entered", "RuntimeError", (), lambda t: t.autograd.graph.saved_tensors_hooks(None, None).__exit__(None, None, None))


# --- chains
def chain_of_grads(t):
    z = t.ones(1)
    for _ in range(300_000):
        y = t.ones(1)
        y.grad = z
        z = y


def chain_of_views_and_grads(t):
    z = t.ones(2)
    for _ in range(200_000):
        y = t.ones(2)
        y.grad = z
        z = y.view(2)


def chain_of_functions(t, n=30_000):
    class Same(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g
    y = leaf(t)
    for _ in range(n):
        y = Same.apply(y)


def chain_of_saved_products(t):
    y = leaf(t)
    for _ in range(200_000):
        y = y * y.detach()


def chain_of_hooks(t):
    y = leaf(t)
    for _ in range(50_000):
        z = leaf(t)
        z.register_hook(lambda g, y=y: y)
        z.register_post_accumulate_grad_hook(lambda g, y=y: None)
        y = z


fine("chain of 300 000 gradients, dropped", chain_of_grads)
fine("chain of views and gradients, dropped", chain_of_views_and_grads)
fine("chain of custom functions, dropped", chain_of_functions)
fine("chain of saved tensors, dropped", chain_of_saved_products)
fine("chain of hooks, dropped", chain_of_hooks)


# --- custom functions that write to what they are given
def writer(t, results, position=1):
    class Writer(t.autograd.Function):
        @staticmethod
        def forward(ctx, *args):
            view = args[position]
            ctx.mark_dirty(view)
            view.mul_(3)
            return (view, args[1 - position] * 5) if results == 2 else view

        @staticmethod
        def backward(ctx, g, *rest):
            other = rest[0] * 5 if rest else g * 7
            return (other, g * 3) if position else (g * 3, other)
    return Writer


def dirty_view(results, position):
    def test(t):
        a, b = t.ones(2, requires_grad=True), t.ones(4, requires_grad=True)
        base = b * 1
        view = base[:2]
        writer(t, results, position).apply(*((a, view) if position else (view, a)))
        (base * t.arange(1.0, 5.0)).sum().backward()
        equal(b.grad, t.tensor([3.0, 6.0, 3.0, 4.0]))
        equal(a.grad, t.tensor([7.0, 14.0]))
    return test


def dirty_view_of_a_constant(t):
    a, base = t.ones(2, requires_grad=True), t.ones(4)
    writer(t, 1).apply(a, base[:2])
    (base * t.arange(1.0, 5.0)).sum().backward()
    equal(a.grad, t.tensor([7.0, 14.0]))


def dirty_tensor_of_two(t):
    a, b = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
    v = b * 1
    w, o = writer(t, 2).apply(a, v)
    assert w is v
    (w.sum() * 2 + o.sum()).backward()
    equal(a.grad, t.tensor([5.0, 5.0]))
    equal(b.grad, t.tensor([6.0, 6.0]))


def dirty_tensor_kept_back(t):
    class Writer(t.autograd.Function):
        @staticmethod
        def forward(ctx, a, v):
            ctx.mark_dirty(v)
            v.mul_(3)
            return a * 5
    Writer.apply(leaf(t), leaf(t) * 1)


fine("Function writes to a view", dirty_view(1, 0))
fine("Function writes to a view that is not its first input", dirty_view(1, 1), quirk="the gradient of the first input goes to the view's base")
fine("Function writes to a view of a constant", dirty_view_of_a_constant, quirk="the gradient of the first input is lost")
fine("Function writes to its second input and returns two", dirty_tensor_of_two)
bad("Function writes to a view and returns two", "RuntimeError", ("view", "cannot return more than one Tensor"), dirty_view(2, 1))
bad("Function writes to a tensor and does not return it", "RuntimeError", ("marked as dirty", "returned as output"), dirty_tensor_kept_back)
