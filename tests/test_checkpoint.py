# SPDX-License-Identifier: Apache-2.0
"""torch.utils.checkpoint, both forms. `--module torch` runs the same tests on PyTorch."""
import contextlib
import gc
import threading
import weakref

import pytest


@pytest.fixture(params=[False, True], ids=["plain", "reentrant"])
def reentrant(request):
    return request.param


@pytest.fixture
def checkpoint(torch):
    from importlib import import_module

    return import_module(f"{torch.__name__}.utils.checkpoint").checkpoint


def leaf(torch, n=4):
    torch.manual_seed(0)
    return torch.rand(n, requires_grad=True)


def test_the_same_gradients(torch, checkpoint, reentrant):
    def f(x, k, y):
        return (x.sin() * y).exp() * k, y.cos()

    x, y = leaf(torch), leaf(torch)
    a, b = f(x, 3.0, y)
    (a.sum() + b.sum()).backward()
    expected = x.grad.clone(), y.grad.clone()
    x.grad = y.grad = None
    a, b = checkpoint(f, x, 3.0, y, use_reentrant=reentrant)
    (a.sum() + b.sum()).backward()
    assert torch.allclose(x.grad, expected[0]) and torch.allclose(y.grad, expected[1])


def test_random_numbers_are_drawn_again(torch, checkpoint, reentrant):
    x = leaf(torch, 100)

    def f(x):
        return torch.nn.functional.dropout(x * 2, 0.5)

    torch.manual_seed(3)
    y = checkpoint(f, x, use_reentrant=reentrant)
    after = torch.rand(1)
    y.sum().backward()
    assert torch.equal(x.grad != 0, y != 0)
    torch.manual_seed(3)
    f(x)
    assert torch.equal(torch.rand(1), after)
    torch.manual_seed(5)
    before = torch.get_rng_state()
    checkpoint(f, x, use_reentrant=reentrant).sum()
    torch.set_rng_state(before)
    y = checkpoint(f, x, use_reentrant=reentrant, preserve_rng_state=False)
    state = torch.get_rng_state()
    y.sum().backward()
    assert not torch.equal(torch.get_rng_state(), state)  # the second run has drawn others


def test_it_runs_twice_and_keeps_nothing(torch, checkpoint, reentrant):
    runs, seen = [], []

    def f(x):
        runs.append(1)
        y = x.sin()
        seen.append(weakref.ref(y))
        return y.cos()

    x = leaf(torch)
    y = checkpoint(f, x, use_reentrant=reentrant)
    gc.collect()
    assert seen[0]() is None
    y.sum().backward()
    assert len(runs) == 2
    assert torch.allclose(x.grad, -x.sin().sin() * x.cos())


def test_memory_of_what_is_not_kept(torch, checkpoint):
    if torch.__name__ != "facula":
        pytest.skip("the counter is Facula's")
    x = torch.rand(1 << 18, requires_grad=True)  # 1 MiB

    def f(x):
        for _ in range(20):
            x = x.sin()
        return x

    def held(run):
        before = torch.backends.memory_stats("cpu")["current"]
        y = run()
        return torch.backends.memory_stats("cpu")["current"] - before, y

    plain, _ = held(lambda: f(x))
    saved, y = held(lambda: checkpoint(f, x, use_reentrant=False))
    assert plain > 19 << 20 and saved < 2 << 20
    with torch.autograd.graph.save_on_cpu():
        held_cpu, _ = held(lambda: x.sin().sin())
    assert held_cpu < 4 << 20
    y.sum().backward()
    assert torch.backends.memory_stats("cpu")["current"] < 64 << 20


def test_nested(torch, checkpoint):
    runs = []

    def inner(x):
        runs.append("inner")
        return x.sin().exp().sin()

    def outer(x):
        runs.append("outer")
        return checkpoint(inner, checkpoint(inner, x.cos(), use_reentrant=False) * 2, use_reentrant=False).tan()

    x = leaf(torch)
    outer(x).sum().backward()
    expected, x.grad = x.grad, None
    runs.clear()
    checkpoint(outer, x, use_reentrant=False).sum().backward()
    assert torch.allclose(x.grad, expected)
    assert runs.count("outer") == 2 or runs.count("outer") == 3
    x.grad = None
    checkpoint(lambda x: checkpoint(outer, x, use_reentrant=False).sin(), x, use_reentrant=False).sum().backward()
    assert torch.allclose(x.grad, torch.autograd.grad(outer(x).sin().sum(), x)[0])


def test_keywords_and_structures(torch, checkpoint):
    def f(x, *, scale, extra):
        return {"y": x * scale.exp() * extra["k"]}

    x, s = leaf(torch), leaf(torch)
    out = checkpoint(f, x, use_reentrant=False, scale=s, extra={"k": 2})
    out["y"].sum().backward()
    assert torch.allclose(x.grad, 2 * s.exp()) and torch.allclose(s.grad, 2 * x * s.exp())
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        checkpoint(f, x, use_reentrant=True, scale=s)


def test_grad_retain_graph_and_second_order(torch, checkpoint):
    x = leaf(torch)
    y = checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False).sum()
    a, = torch.autograd.grad(y, x, retain_graph=True)
    b, = torch.autograd.grad(y, x, create_graph=True)
    c, = torch.autograd.grad(b.sum(), x)
    plain = x.sin().exp().sum()
    d, = torch.autograd.grad(plain, x, create_graph=True)
    e, = torch.autograd.grad(d.sum(), x)
    assert torch.allclose(a, d) and torch.allclose(b, d) and torch.allclose(c, e)
    y = checkpoint(lambda x: x.sin().exp(), x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match="checkpoint is incompatible with .grad"):
        torch.autograd.grad(y, x)


def test_early_stop(torch, checkpoint):
    from importlib import import_module

    module = import_module(f"{torch.__name__}.utils.checkpoint")
    ends = []

    def f(x):
        y = x.sin().exp()
        ends.append(len(ends))
        return y

    x = leaf(torch)
    checkpoint(f, x, use_reentrant=False).sum().backward()
    assert len(ends) == 1
    with module.set_checkpoint_early_stop(False):
        checkpoint(f, x, use_reentrant=False).sum().backward()
    assert len(ends) == 3
    checkpoint(f, x, use_reentrant=False, early_stop=False).sum().backward()
    assert len(ends) == 5


def test_determinism(torch, checkpoint):
    from importlib import import_module

    module = import_module(f"{torch.__name__}.utils.checkpoint")
    calls = []

    def shapes(x):
        calls.append(1)
        return (x[: 2 + len(calls) % 2].sin() * 2).exp().sum()

    def fewer(x):
        calls.append(1)
        return (x.sin().exp() if len(calls) % 2 else x * 2.0).sum()

    def more(x):
        calls.append(1)
        return (x.sin().exp().sin() if len(calls) % 2 == 0 else x.sin()).sum()

    def run(f, **options):
        calls.clear()
        checkpoint(f, leaf(torch), use_reentrant=False, **options).backward()

    with pytest.raises(module.CheckpointError, match="(?s)have different metadata than during the forward pass.*tensor at position 0:\nsaved metadata"):
        run(shapes)
    with pytest.raises(module.CheckpointError, match="A different number of tensors was saved during the original forward and recomputation"):
        run(fewer)
    with pytest.raises(module.CheckpointError, match="trying to save more tensors during recomputation than"):
        run(more, early_stop=False)
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        run(fewer, determinism_check="x")
    with pytest.raises(module.CheckpointError, match="(?s)original forward.*aten.sin.default.*recomputation"):
        run(fewer, debug=True)
    with pytest.raises(module.CheckpointError, match="(?s)Operations executed during recomputation"):
        with module.set_checkpoint_debug_enabled(True):
            run(shapes)


def test_contexts(torch, checkpoint):
    seen = []

    @contextlib.contextmanager
    def mark(name):
        seen.append(name)
        yield

    checkpoint(lambda x: x.sin(), leaf(torch), use_reentrant=False, context_fn=lambda: (mark("first"), mark("second"))).sum().backward()
    assert seen == ["first", "second"]
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(lambda x: x, leaf(torch), use_reentrant=True, context_fn=lambda: (mark(1), mark(2)))


def test_autocast_is_entered_again(torch, checkpoint, reentrant):
    types = []

    def f(a):
        b = a @ a
        types.append(b.dtype)
        return b.float().sin()

    a = torch.rand(3, 3, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = checkpoint(f, a, use_reentrant=reentrant)
    y.sum().backward()
    assert types == [torch.bfloat16] * 2


def test_backward_inside_of_the_function(torch, checkpoint):
    def f(x):
        inner = x.detach().requires_grad_()
        g, = torch.autograd.grad(inner.exp().sin().sum(), inner)
        return (x.sin() * g).exp()

    x = leaf(torch)
    f(x).sum().backward()
    expected, x.grad = x.grad, None
    for early in (True, False):
        checkpoint(f, x, use_reentrant=False, early_stop=early).sum().backward()
        assert torch.allclose(x.grad, expected)
        x.grad = None


def test_an_error_in_the_function(torch, checkpoint, reentrant):
    calls = []

    def f(x):
        calls.append(1)
        if len(calls) == 2:
            raise KeyError("second")
        return x.sin().exp()

    y = checkpoint(f, leaf(torch), use_reentrant=reentrant)
    with pytest.raises(KeyError, match="second"):
        y.sum().backward()
    x = leaf(torch)
    (x.sin().exp()).sum().backward()  # nothing of it is left behind
    assert x.grad is not None


def test_without_recording(torch, checkpoint, reentrant):
    x = leaf(torch)
    with torch.no_grad():
        assert not checkpoint(lambda x: x.sin(), x, use_reentrant=reentrant).requires_grad
    if reentrant:
        with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
            checkpoint(lambda x: x.sin(), x.detach(), use_reentrant=True)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(lambda x: x.sin(), x)


def test_threads(torch, checkpoint):
    """Several threads run backward over one checkpointed graph."""
    x = leaf(torch)
    y = checkpoint(lambda x: x.sin().exp().cos(), x, use_reentrant=False).sum()
    expected, = torch.autograd.grad(y, x, retain_graph=True)
    got, errors = [], []

    def work():
        try:
            for _ in range(10):
                got.append(torch.autograd.grad(y, x, retain_graph=True)[0])
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == [] and len(got) == 40 and all(torch.equal(g, expected) for g in got)


def test_sequential(torch, reentrant):
    from importlib import import_module

    module = import_module(f"{torch.__name__}.utils.checkpoint")
    runs = []

    def step(i):
        def f(x):
            runs.append(i)
            return x.sin() * (i + 1)

        return f

    functions = [step(i) for i in range(5)]
    x = leaf(torch)
    y = x
    for f in functions:
        y = f(y)
    expected, = torch.autograd.grad(y.sum(), x)
    runs.clear()
    module.checkpoint_sequential(functions, 2, x, use_reentrant=reentrant).sum().backward()
    assert torch.allclose(x.grad, expected)
    assert runs == [0, 1, 2, 3, 4, 0, 1]


def kernels(torch, function):
    """The operators whose kernels a call runs."""
    names = []
    with torch.dispatch.observe(lambda event: names.append(str(event.op)) if event.phase == "begin" else None, "kernel"):
        function()
    return names


def test_selective_checkpointing_keeps_chosen_results(torch):
    from importlib import import_module

    module = import_module(f"{torch.__name__}.utils.checkpoint")
    x, w = leaf(torch, 6).view(2, 3).detach().requires_grad_(), torch.rand(3, 3, requires_grad=True)
    mm, calls = torch.ops.aten.mm.default, []

    def f(x):
        return (x @ w).sin().exp() @ w

    f(x).sum().backward()
    expected, x.grad, w.grad = (x.grad, w.grad), None, None

    def policy(context, op, *args, **kwargs):
        calls.append((op, context.is_recompute, context.op_output is not None))
        return module.CheckpointPolicy.MUST_SAVE if op is mm else module.CheckpointPolicy.PREFER_RECOMPUTE

    for chosen in ([mm], policy, lambda context, op, *args, **kwargs: op is mm):
        x.grad = w.grad = None
        y = module.checkpoint(f, x, use_reentrant=False, context_fn=lambda chosen=chosen: module.create_selective_checkpoint_contexts(chosen))
        back = lambda y=y: y.sum().backward(retain_graph=True)
        if torch.__name__ == "torch":
            back()
        else:
            ran = kernels(torch, back)
            assert ran.count("aten.mm.default") == 4 and ran.count("aten.sin.default") == 1  # of mm the gradients' alone
        assert torch.allclose(x.grad, expected[0]) and torch.allclose(w.grad, expected[1])
        with pytest.raises(RuntimeError, match="backward an extra time"):
            y.sum().backward()
    assert (mm, False, True) in calls
    with pytest.raises(ValueError, match="OpOverload"):
        module.create_selective_checkpoint_contexts([torch.ops.aten.mm])
    with pytest.raises(TypeError, match="function or a list"):
        module.create_selective_checkpoint_contexts(3)


def test_a_kept_result_must_not_be_changed(torch):
    from importlib import import_module

    module = import_module(f"{torch.__name__}.utils.checkpoint")

    def f(x):
        y = x.sin()
        y.add_(1)
        return y.exp()

    for allowed in (False, True):
        x = leaf(torch)
        contexts = lambda allowed=allowed: module.create_selective_checkpoint_contexts([torch.ops.aten.sin.default], allowed)
        y = module.checkpoint(f, x, use_reentrant=False, context_fn=contexts)
        with contextlib.nullcontext() if allowed else pytest.raises(RuntimeError, match="has been mutated"):
            y.sum().backward()


def test_a_group_of_backward_passes_computes_again_once(torch):
    from importlib import import_module

    module, runs = import_module(f"{torch.__name__}.utils.checkpoint"), []

    def f(x):
        runs.append(1)
        return x.sin().exp(), x.cos().exp()

    x = leaf(torch)
    a, b = module.checkpoint(f, x, use_reentrant=False, early_stop=False)
    with module.GraphExecGroup():
        a.sum().backward(retain_graph=True)
        b.sum().backward()
    assert len(runs) == 2


def test_a_forward_runs_once_more_however_often_a_formula_reads(torch, checkpoint):
    """tan's derivative reads its result twice."""
    calls = []

    def f(a):
        calls.append(1)
        return a.tan()

    x = leaf(torch)
    checkpoint(f, x, use_reentrant=False).sum().backward()
    assert len(calls) == 2
    assert torch.allclose(x.grad, 1 + x.detach().tan() ** 2)


def test_a_word_about_hooks_is_not_for_the_function(torch, checkpoint):
    x = torch.ones(2, requires_grad=True)
    for word in (True, False, None):
        assert checkpoint(lambda x: x * 2, x, use_reentrant=False, respect_saved_tensors_hooks=word).tolist() == [2, 2]
    with pytest.raises(ValueError, match="is only supported when use_reentrant=False"):
        checkpoint(lambda x: x * 2, x, use_reentrant=True, respect_saved_tensors_hooks=True)
