# SPDX-License-Identifier: Apache-2.0
"""torch.autograd.graph: edges, hooks on several gradients, on saved tensors, at the end of backward."""
import threading

import pytest

pytestmark = pytest.mark.threads


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def test_edges_in_the_place_of_tensors(torch):
    graph = torch.autograd.graph
    x = leaf(torch)
    y = x.exp()
    z = (y * y).sum()
    middle, first, root = map(graph.get_gradient_edge, (y, x, z))
    assert torch.allclose(torch.autograd.grad(z, middle, retain_graph=True)[0], 2 * y)
    assert torch.allclose(torch.autograd.grad(z, first, retain_graph=True)[0], 2 * y * y)
    assert torch.allclose(torch.autograd.grad(root, x, retain_graph=True)[0], 2 * y * y)
    got = torch.autograd.grad(middle, x, grad_outputs=torch.ones(2), retain_graph=True)[0]
    assert torch.allclose(got, y)
    torch.autograd.backward(root, inputs=(first,))
    assert torch.allclose(x.grad, 2 * y * y)
    assert isinstance(z.grad_fn, graph.Node) and isinstance(middle.node, graph.Node) and middle.output_nr == 0
    with pytest.raises(RuntimeError, match="It is not possible to get the gradient edge for a Tensor that does not require gradients"):
        graph.get_gradient_edge(torch.ones(1))
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        torch.autograd.backward(graph.get_gradient_edge(x.exp()))


def test_edges_of_custom_functions(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(torch)
    edge = torch.autograd.graph.get_gradient_edge(Double.apply(x))
    assert isinstance(edge.node, torch.autograd.graph.Node)
    assert torch.autograd.grad(edge, x, grad_outputs=torch.ones(2))[0].tolist() == [2, 2]


def test_the_end_of_backward(torch):
    seen = []
    x = leaf(torch)

    def hook(g):
        torch.autograd.Variable._execution_engine.queue_callback(lambda: seen.append(("end", x.grad is not None)))
        torch.autograd.graph.queue_callback(lambda: torch.autograd.graph.queue_callback(lambda: seen.append("last"))) if queue else None
        seen.append("hook")

    queue = hasattr(torch.autograd.graph, "queue_callback")
    y = x.exp()
    y.register_hook(hook)
    y.sum().backward()
    assert seen[:2] == ["hook", ("end", True)] and (seen[2:] == ["last"] or not queue)
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        torch.autograd.Variable._execution_engine.queue_callback(lambda: None)

    def fail():
        raise KeyError("at the end")

    x.register_hook(lambda g: torch.autograd.Variable._execution_engine.queue_callback(fail))
    with pytest.raises(KeyError, match="at the end"):
        x.sum().backward()


def test_multi_grad_hooks(torch):
    register = torch.autograd.graph.register_multi_grad_hook
    a, b, c = (leaf(torch) for _ in range(3))
    seen, firsts = [], []
    handle = register((a, b, c), lambda grads: seen.append([g is not None for g in grads]))
    first = register((a, b, c), lambda g: firsts.append(g.tolist()), mode="any")
    (a * b).sum().backward()
    (a * b * c).sum().backward()
    (a * b * c).sum().backward(inputs=[b])
    assert seen == [[True, True, False], [True, True, True], [False, True, False]] and len(firsts) == 3
    handle.remove()
    first.remove()
    (a * b).sum().backward()
    assert len(seen) == 3 and len(firsts) == 3
    with pytest.raises(ValueError, match="mode"):
        register((a,), print, mode="some")


def test_saved_tensors_hooks_on_leaves_and_results(torch):
    hooks = torch.autograd.graph.saved_tensors_hooks
    for scale in (1, 2):
        x = leaf(torch)
        with hooks(lambda t: t * 2, lambda t: t * (scale / 2)):
            y = x * x
        y.sum().backward()
        assert torch.allclose(x.grad, 2 * scale * x.detach())
    x = leaf(torch)
    with hooks(lambda t: t.clone(), lambda t: t):
        y = (x.exp() * x).sum()
    g, = torch.autograd.grad(y, x, create_graph=True)
    h, = torch.autograd.grad(g.sum(), x)
    e = x.detach().exp()
    assert torch.allclose(g, e * (1 + x)) and torch.allclose(h, e * (2 + x))


def test_save_on_cpu(torch):
    x = leaf(torch)
    with torch.autograd.graph.save_on_cpu():
        y = (x.exp() * x).sum()
    y.backward()
    assert torch.allclose(x.grad, x.exp() * (1 + x))


def test_hooks_can_be_forbidden(torch):
    graph = torch.autograd.graph
    with graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"):
            with graph.saved_tensors_hooks(lambda x: x, lambda x: x):
                pass
        with graph.disable_saved_tensors_hooks("nor here"):
            with pytest.raises(RuntimeError, match="nor here"):
                with graph.save_on_cpu():
                    pass
    with graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        with pytest.raises(RuntimeError, match="not inside"):
            with graph.disable_saved_tensors_hooks("not inside"):
                pass
    leaf(torch).exp().sum().backward()


def test_mutation_of_saved_tensors(torch):
    allow = torch.autograd.graph.allow_mutation_on_saved_tensors
    with allow():
        a = leaf(torch)
        b = a.clone()
        out = (b**2).sum()
        before = b.detach().clone()
        b.sin_()
        b.view(-1)[0] = 7
        out.backward()
        assert torch.allclose(a.grad, 2 * before)
    with allow():
        y = (a.clone() ** 2).sum()
    with pytest.raises(AssertionError, match="Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"):
        y.backward()
    with allow(), pytest.raises(RuntimeError, match="contexts cannot be nested"):
        with allow():
            pass


def test_increment_version(torch):
    x = leaf(torch)
    y = x.exp()
    z = (y * y).sum()
    torch.autograd.graph.increment_version(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    t = torch.ones(1)
    torch.autograd.graph.increment_version([t, t])
    assert t._version == 2


def test_node_hooks(torch):
    x = leaf(torch)
    y = x.exp()
    seen = []
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
    handle = y.grad_fn.register_hook(lambda gi, go: seen.append((gi[0].tolist(), go[0].tolist())))
    y.sum().backward(retain_graph=True)
    handle.remove()
    y.sum().backward()
    assert len(seen) == 1 and seen[0][1] == [2, 2]
    assert torch.allclose(x.grad, 4 * x.exp())
    assert y.grad_fn.name() == "ExpBackward0"


def test_variable(torch):
    x = torch.ones(2)
    v = torch.autograd.Variable(x, requires_grad=True)
    assert v.requires_grad and isinstance(v, torch.Tensor) and isinstance(x, torch.autograd.Variable)
    assert v.data_ptr() == x.data_ptr()


def test_callbacks_of_several_threads(torch):
    ends = []

    def work(i):
        x = leaf(torch)
        x.register_hook(lambda g: torch.autograd.Variable._execution_engine.queue_callback(lambda: ends.append(i)))
        x.exp().sum().backward()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(ends) == list(range(8))


def test_what_a_node_shows(torch):
    """Type, identity, metadata and what is saved, as programs that draw or study a graph read them."""
    assert torch._C.Node is not None  # TorchScript's, which is another
    x = torch.randn(2, 3, 4, requires_grad=True)
    y = x.exp()
    node = y.grad_fn
    assert type(node).__name__ == node.name() == "ExpBackward0" and repr(node).startswith("<ExpBackward0 object at 0x")
    assert type(x.exp().grad_fn) is type(node) and isinstance(node, torch.autograd.graph.Node)
    assert y.grad_fn is node and node.requires_grad and not hasattr(node, "variable")
    leaf = node.next_functions[0][0]
    assert type(leaf).__name__ == "AccumulateGrad" and leaf.name() == "torch::autograd::AccumulateGrad"
    assert leaf.variable is x and node.next_functions[0][0] is leaf
    node.metadata["seen"] = 1
    del node
    assert y.grad_fn.metadata == {"seen": 1} and x.exp().grad_fn.metadata == {}
    (meta,) = y.grad_fn._input_metadata
    assert (meta.shape, meta.dtype, meta.device) == (x.shape, x.dtype, x.device)

    assert "_saved_result" in dir(y.grad_fn) and torch.equal(y.grad_fn._saved_result, y) and y.grad_fn._saved_result.grad_fn is y.grad_fn
    assert (x * x).grad_fn._saved_self is x and (x * 3).grad_fn._saved_other == 3 and (x * 3).grad_fn._saved_self is None
    assert x.amax((0, 1)).grad_fn._saved_dim == (0, 1) and not x.amax((0, 1)).grad_fn._saved_keepdim
    (index,) = x[torch.tensor([1, 0])].grad_fn._saved_indices
    assert index.tolist() == [1, 0]
    q, r = torch.linalg.qr(x[:, :, :3])
    assert torch.equal(r.grad_fn._saved_Q, q) and r.grad_fn._saved_mode == "reduced"
    for name in ("_saved_self", "_raw_saved_mode", "saved", "_saved_"):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
            getattr(r.grad_fn if "raw" in name else y.grad_fn, name)
    with pytest.raises(AttributeError):
        y.grad_fn.other = 1
    with pytest.raises(TypeError, match="ExpBackward0"):
        type(y.grad_fn)()

    fn = y.grad_fn
    y.sum().backward()
    for read in (lambda: fn._saved_result, lambda: fn._raw_saved_result):
        with pytest.raises(RuntimeError, match="have already been freed"):
            read()


def test_hooks_on_one_saved_tensor(torch):
    x = torch.randn(3, requires_grad=True)
    y = x.exp()
    seen = []
    raw = y.grad_fn._raw_saved_result
    raw.register_hooks(lambda t: seen.append("pack") or t.double(), lambda t: seen.append("unpack") or t.float())
    assert seen == ["pack"]
    with pytest.raises(RuntimeError, match="only one pair of hooks"):
        y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
    (grad,) = torch.autograd.grad(y.sum(), x)
    assert seen == ["pack", "unpack"]
    torch.testing.assert_close(grad, x.exp())

    with pytest.raises(RuntimeError, match="value None is forbidden"):
        (x * 2).grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    z = x[torch.tensor([1, 0, 1])]  # several in one place
    z.grad_fn._raw_saved_indices[0].register_hooks(lambda t: t, lambda t: t * 0 + 2)
    assert torch.autograd.grad(z.sum(), x)[0].tolist() == [0, 0, 3]
    z = x * x
    z.grad_fn._raw_saved_other.register_hooks(lambda t: "packed", lambda p: x * 10)
    assert torch.equal(torch.autograd.grad(z.sum(), x)[0], x + x * 10)
    z = x * x
    z.grad_fn._raw_saved_self.register_hooks(lambda t: 1, lambda t: t)
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor but got result of type int"):
        z.sum().backward()
    z = x * x
    with pytest.raises(RuntimeError, match="modifying its input in place"):
        z.grad_fn._raw_saved_self.register_hooks(lambda t: t.detach().add_(1), lambda t: t)

    a = x.clone()
    z, inside = a * a, []

    def unpack(t):
        with pytest.raises(RuntimeError, match="while its backward runs"):
            z.grad_fn._raw_saved_other.register_hooks(lambda t: t, lambda t: t)
        inside.append(z.grad_fn._saved_other is a)
        return t

    z.grad_fn._raw_saved_self.register_hooks(lambda t: t, unpack)
    z.sum().backward()
    assert inside == [True]

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0] * 2

    z = Square.apply(x)
    (raw,) = z.grad_fn._raw_saved_tensors
    raw.register_hooks(lambda t: t.detach().clone(), lambda t: t * 5)
    z.grad_fn.metadata["a"] = 2
    assert z.grad_fn.metadata == {"a": 2} and z.grad_fn.requires_grad
    assert torch.equal(torch.autograd.grad(z.sum(), x)[0], x * 10)
    with pytest.raises(RuntimeError, match="have already been freed"):
        raw.register_hooks(lambda t: t, lambda t: t)
