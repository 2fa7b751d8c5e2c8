# SPDX-License-Identifier: Apache-2.0
"""Backward twice, hooks and custom functions that misbehave, deep chains, threads, modes misused."""
import gc
import threading

from hostile import bad, equal, fine, leaf, survives


def backward_twice(t):
    y = (leaf(t) ** 2).sum()
    y.backward()
    y.backward()


def backward_twice_kept(t):
    x = leaf(t)
    y = (x ** 2).sum()
    y.backward(retain_graph=True)
    y.backward()
    equal(x.grad, t.tensor([4.0, 8.0, 12.0]))


bad("backward twice", "RuntimeError", ("second time", "retain_graph"), backward_twice)
fine("backward twice, graph kept", backward_twice_kept)
bad("backward of a vector", "RuntimeError", ("scalar",), lambda t: (leaf(t) * 2).backward())
bad("backward without a graph", "RuntimeError", ("does not require grad",), lambda t: t.ones(1).sum().backward())
bad("backward with a wrong gradient shape", "RuntimeError", ("shape", "[2]", "[3]"), lambda t: (leaf(t) * 2).backward(t.ones(2)))
bad("backward with a list", "TypeError|RuntimeError", (), lambda t: (leaf(t) * 2).backward([1, 2, 3]))
bad("gradient for integers", "RuntimeError", ("floating point",), lambda t: t.tensor([1, 2], requires_grad=True))
bad("requires_grad_ on integers", "RuntimeError", ("floating point",), lambda t: t.tensor([1, 2]).requires_grad_())
bad("requires_grad off on a result", "RuntimeError", ("leaf",), lambda t: setattr(leaf(t) * 2, "requires_grad", False))
bad("grad of an unused input", "RuntimeError", ("unused", "allow_unused"), lambda t: t.autograd.grad(leaf(t).sum(), leaf(t)))
bad("grad of something not required", "RuntimeError", ("require",), lambda t: t.autograd.grad(leaf(t).sum(), t.ones(3)))
bad("grad with too few gradients", "RuntimeError", (), lambda t: (lambda x: t.autograd.grad([x.sum(), x.sum()], [x], [t.ones(())]))(leaf(t)))
bad("numpy of a tensor with gradient", "RuntimeError", ("detach",), lambda t: leaf(t).numpy())
bad("deepcopy of a result", "RuntimeError", ("graph",), lambda t: __import__("copy").deepcopy(leaf(t) * 2))
bad("grad of a wrong shape set", "RuntimeError", ("[2]", "[3]"), lambda t: setattr(leaf(t), "grad", t.ones(2)))
bad("grad of a wrong dtype set", "RuntimeError", ("type",), lambda t: setattr(leaf(t), "grad", t.ones(3, dtype=t.float64)))
bad("grad set to a number", "TypeError", (), lambda t: setattr(leaf(t), "grad", 3))


def hook_of_wrong_shape(t):
    x = leaf(t)
    y = x * 2
    y.register_hook(lambda g: t.ones(2))
    y.sum().backward()


def hook_of_wrong_type(t):
    x = leaf(t)
    y = x * 2
    y.register_hook(lambda g: "text")
    y.sum().backward()


def hook_that_raises(t):
    x = leaf(t)
    y = x * 2

    def hook(g):
        raise KeyError("from the hook")
    y.register_hook(hook)
    y.sum().backward()


def cycle_by_hook(t):
    """A hook that holds its own tensor must not keep it alive forever, nor hang."""
    x = leaf(t)
    y = x * 2
    y.register_hook(lambda g, y=y: g * y.detach().sum() * 0 + g)
    y.sum().backward()
    equal(x.grad, t.tensor([2.0, 2.0, 2.0]))
    del x, y
    gc.collect()


bad("hook returns a wrong shape", "RuntimeError", ("size",), hook_of_wrong_shape)
bad("hook returns no tensor", "TypeError", ("str",), hook_of_wrong_type)
bad("hook raises", "KeyError", ("from the hook",), hook_that_raises)
bad("hook on a tensor without gradient", "RuntimeError", ("require",), lambda t: t.ones(2).register_hook(lambda g: g))
fine("cycle through a hook", cycle_by_hook)


def custom(t, backward, forward=None):
    class Custom(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return forward(ctx, x, y) if forward else x * y

        @staticmethod
        def backward(ctx, g):
            return backward(ctx, g)
    return Custom


def apply(t, cls):
    x, y = leaf(t), leaf(t)
    cls.apply(x, y).sum().backward()
    return x, y


bad("Function.backward returns too few", "RuntimeError", ("1", "2"), lambda t: apply(t, custom(t, lambda c, g: g)))
bad("Function.backward returns too many", "RuntimeError", ("3", "2"), lambda t: apply(t, custom(t, lambda c, g: (g, g, g))))
bad("Function.backward returns a wrong shape", "RuntimeError", ("[2]", "[3]"), lambda t: apply(t, custom(t, lambda c, g: (t.ones(2), g))))
bad("Function.backward returns a string", "TypeError|RuntimeError", ("str",), lambda t: apply(t, custom(t, lambda c, g: ("a", g))))
bad("Function.backward raises", "KeyError", ("inside",), lambda t: apply(t, custom(t, lambda c, g: (_ for _ in ()).throw(KeyError("inside")))))
bad("Function.forward raises", "KeyError", ("inside",), lambda t: apply(t, custom(t, None, lambda c, x, y: (_ for _ in ()).throw(KeyError("inside")))))
fine("Function.forward returns a string", lambda t: custom(t, lambda c, g: (g, g), lambda c, x, y: "text").apply(leaf(t), leaf(t)) == "text" or 1 / 0)
bad("save_for_backward of a number", "TypeError", (), lambda t: apply(t, custom(t, lambda c, g: (g, g), lambda c, x, y: (c.save_for_backward(3), x * y)[1])))
survives("Function called directly", lambda t: custom(t, None)(leaf(t), leaf(t)))
fine("Function.backward returns None", lambda t: apply(t, custom(t, lambda c, g: (g, None)))[1].grad is None or 1 / 0)


def saved_tensors_after_free(t):
    kept = []

    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        kept.append(ctx)
        return x * y
    cls = custom(t, lambda c, g: (g * c.saved_tensors[1], g * c.saved_tensors[0]), forward)
    apply(t, cls)
    kept[0].saved_tensors


bad("saved_tensors after backward", "RuntimeError", ("second time",), saved_tensors_after_free)


def deep_chain(n, run):
    def test(t):
        x = leaf(t, 1)
        y = x
        for _ in range(n):
            y = y * 1
        if run:
            y.sum().backward()
            equal(x.grad, t.tensor([1.0]))
        del y
        gc.collect()
    return test


fine("chain of 100 000 nodes, backward", deep_chain(100_000, True))
fine("chain of 100 000 nodes, dropped", deep_chain(100_000, False))


def deep_views(t):
    x = t.zeros(2, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = y.view(2)
    y.sum().backward()
    equal(x.grad, t.ones(2))


def deep_inplace(t):
    x = t.ones(2, requires_grad=True)
    y = x * 1
    for _ in range(20_000):
        y.add_(0)
    y.sum().backward()
    equal(x.grad, t.ones(2))


def wide_graph(t):
    x = t.ones(2, requires_grad=True)
    t.stack([x * i for i in range(3000)]).sum().backward()
    equal(x.grad, t.full((2,), float(sum(range(3000)))))


fine("chain of 20 000 views", deep_views)
fine("chain of 20 000 in-place steps", deep_inplace)
fine("3000 uses of one leaf", wide_graph)


def reentrant(t):
    """backward inside backward."""
    def backward(ctx, g):
        with t.enable_grad():
            z = t.ones(2, requires_grad=True)
            (z * 3).sum().backward()
        return g * z.grad[0], None
    x, _ = apply(t, custom(t, backward))
    equal(x.grad, t.full((3,), 3.0))


def deeply_reentrant(t, levels=60):
    def make(depth):
        def backward(ctx, g):
            if depth:
                with t.enable_grad():
                    apply(t, make(depth - 1))
            return g, g
        return custom(t, backward)
    apply(t, make(levels))


def threads(t, work, count=4):
    errors = []

    def run():
        try:
            work(t)
        except BaseException as error:
            errors.append(error)
    started = [threading.Thread(target=run) for _ in range(count)]
    [s.start() for s in started]
    [s.join() for s in started]
    return errors


def shared_leaf(t):
    x = leaf(t)
    assert not threads(t, lambda t: [(x * 2).sum().backward() for _ in range(50)])
    equal(x.grad, t.full((3,), 400.0))


def error_in_a_thread(t):
    errors = threads(t, hook_that_raises)
    assert len(errors) == 4 and all("from the hook" in str(e) for e in errors), errors
    apply(t, custom(t, lambda c, g: (g, g)))


fine("backward inside backward", reentrant)
fine("backward inside backward, 60 deep", deeply_reentrant)
survives("backward inside backward, 1000 deep", lambda t: deeply_reentrant(t, 1000))
fine("exception in threads", error_in_a_thread)


def endlessly_reentrant(t):
    x = t.ones(1, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: t.autograd.grad(y, x, retain_graph=True)[0])
    y.backward()


bad("a hook that runs backward over itself", "RuntimeError", ("itself without end",), endlessly_reentrant, quirk="starts threads without end")


fine("one leaf, four threads", shared_leaf, quirk="may lose a thread's gradient: the sum is not locked")


def inference_misuse(t):
    with t.inference_mode():
        x = t.ones(3)
    (x * t.ones(3, requires_grad=True)).sum().backward()


def inference_inplace(t):
    with t.inference_mode():
        x = t.ones(3)
    x.add_(1)


def no_grad_view_inplace(t):
    x = leaf(t)
    with t.no_grad():
        y = x[:2]
    y.add_(1)


bad("inference tensor saved for backward", "RuntimeError", ("Inference tensors cannot be saved",), inference_misuse)
bad("inference tensor changed outside", "RuntimeError", ("inference tensor",), inference_inplace)
bad("view made under no_grad changed in place", "RuntimeError", ("no_grad",), no_grad_view_inplace)


def inference_requires(t):
    with t.inference_mode():
        x = t.ones(2)
    x.requires_grad_()


bad("inference tensor requires grad", "RuntimeError", ("inference",), inference_requires)

fine("no_grad records nothing", lambda t: [not y.requires_grad or 1 / 0 for y in [t.no_grad()(lambda: leaf(t) * 2)()]])
bad("version of an inference tensor", "RuntimeError", ("version",), lambda t: [x._version for x in [t.inference_mode()(lambda: t.ones(2))()]])
bad("unbind view changed in place", "RuntimeError", ("view", "inplace"), lambda t: (leaf(t) * 1).unbind(0)[0].add_(1))
bad("detach_ of a view", "RuntimeError", ("view",), lambda t: (leaf(t) * 1)[1:].detach_())
bad("anomaly mode finds NaN", "RuntimeError", ("nan",), lambda t: anomaly(t))


def anomaly(t):
    with t.autograd.detect_anomaly():
        x = t.zeros(2, requires_grad=True)
        (t.sqrt(x) * 0).sum().backward()
bad("disabled __torch_function__ without a tuple", "TypeError", ("tuple",), lambda t: t._C._disabled_torch_function_impl(t.add, (), 0), quirk="crashes")
bad("disabled __torch_function__ without a dict", "TypeError", ("dict",), lambda t: t._C._disabled_torch_function_impl(t.add, (), (), 3), quirk="crashes")
bad("backward of None in a list", "TypeError|AttributeError", (), lambda t: t.Tensor.backward([None]))
bad("backward to None", "TypeError|AttributeError|RuntimeError", (), lambda t: t.autograd.backward((leaf(t) * 2).sum(), inputs=[None]))
