# SPDX-License-Identifier: Apache-2.0
"""torch.autograd.forward_ad. `--module torch` runs the same tests on PyTorch, except those marked as Facula's own."""
import subprocess
import sys
import threading
from importlib import import_module

import pytest


@pytest.fixture
def fw(torch):
    return import_module(f"{torch.__name__}.autograd.forward_ad")


@pytest.fixture(autouse=True)
def float64(torch):
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.fixture(autouse=True)
def level_is_left(torch, fw):
    yield
    left = fw._current_level
    if left >= 0:
        fw.exit_dual_level()
    assert left == -1


def line(torch, *shape):
    n = 1
    for s in shape:
        n *= s
    return torch.linspace(-1, 1, n).reshape(shape)


def tangent(fw, x):
    return fw.unpack_dual(x).tangent


def same(torch, got, want):
    torch.testing.assert_close(got, torch.as_tensor(want, dtype=got.dtype) if not isinstance(want, torch.Tensor) else want)


# --- the functions of the module


def test_tutorial(torch, fw):
    primal, t = line(torch, 3, 3), line(torch, 3, 3).exp()
    with fw.dual_level():
        dual = fw.make_dual(primal, t)
        assert fw.unpack_dual(dual).tangent is t
        assert fw.unpack_dual(primal).tangent is None
        assert type(dual) is torch.Tensor
        other = fw.make_dual(primal, t.T)
        assert fw.unpack_dual(other).tangent.stride() == primal.stride()
        same(torch, fw.unpack_dual(other).tangent, t.T)
        out = fw.unpack_dual(dual**2)
    same(torch, out.primal, primal**2)
    same(torch, out.tangent, 2 * primal * t)
    assert fw.unpack_dual(dual).tangent is None  # the level is over
    assert out._fields == ("primal", "tangent")


def test_modules_with_duals_for_parameters(torch, fw):
    model, x = torch.nn.Linear(5, 3), line(torch, 4, 5)
    tangents = {name: torch.full_like(p, 0.5) for name, p in model.named_parameters()}
    func = import_module(f"{torch.__name__}.func")
    parameters = dict(model.named_parameters())
    with fw.dual_level():
        for name, p in parameters.items():
            delattr(model, name)
            setattr(model, name, fw.make_dual(p, tangents[name]))
        got = tangent(fw, model(x))
    same(torch, got, x @ tangents["weight"].T + tangents["bias"])

    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4, track_running_stats=False), torch.nn.GELU(), torch.nn.Linear(4, 2), torch.nn.LayerNorm(2))
    names, values = zip(*net.named_parameters())
    ones = tuple(torch.ones_like(p) for p in values)

    def call(*ps):
        return func.functional_call(net, dict(zip(names, ps)), (line(torch, 4, 3).sin(),))

    with fw.dual_level():
        got = fw.unpack_dual(call(*(fw.make_dual(p, t) for p, t in zip(values, ones))))
    value, want = func.jvp(call, tuple(p.detach() for p in values), ones)
    same(torch, got.tangent.detach(), want)
    assert got.tangent.requires_grad  # by the parameters


def test_levels(torch, fw):
    x = torch.ones(2)
    assert fw.enter_dual_level() == 0 and fw._current_level == 0
    with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
        fw.enter_dual_level()
    with pytest.raises(RuntimeError, match="not the last one that was created"):
        fw.exit_dual_level(level=1)
    fw.exit_dual_level()
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        fw.exit_dual_level()
    with pytest.raises(RuntimeError, match="no level exists"):
        fw.make_dual(x, x)
    assert fw.unpack_dual(x).primal is x
    with pytest.raises(KeyError):
        with fw.dual_level():
            y = fw.make_dual(x, x) * 2
            raise KeyError
    assert tangent(fw, y) is None

    @fw.dual_level()
    def slope(v):
        return tangent(fw, fw.make_dual(v, torch.ones_like(v)).square())

    same(torch, slope(x * 3), x * 6)


def test_errors_of_make_dual(torch, fw):
    x, i = torch.ones(2), torch.ones(2, dtype=torch.int64)
    with fw.dual_level():
        with pytest.raises(ValueError, match="Expected primal to be floating point or complex, but got: .*int64"):
            fw.make_dual(i, x)
        with pytest.raises(ValueError, match="Expected tangent to be floating point or complex, but got: .*int64"):
            fw.make_dual(x, i)
        with pytest.raises(RuntimeError, match=r"different size than that of the original Tensor.*of size \[2\] while .* of size \[3\]"):
            fw.make_dual(x, torch.ones(3))
        d = fw.make_dual(x, x.clone())
        with pytest.raises(RuntimeError, match="already has a forward gradient at the same level"):
            fw.make_dual(d, x)
        with pytest.raises(RuntimeError, match="forward grad that itself has a forward gradient"):
            fw.make_dual(x.clone(), d)
        with pytest.raises(RuntimeError, match="Invalid level given"):
            fw.make_dual(x, x, level=3)
        with pytest.raises(TypeError, match="must be Tensor, not float"):
            fw.unpack_dual(2.0)
        with pytest.raises(NotImplementedError, match="mul_out that does not support it because it is an out= function"):
            torch.mul(d, 2, out=torch.empty(2))
        with pytest.raises(RuntimeError, match="cannot resize variables that has a forward grad"):
            (d * 1).resize_(4)


def test_types_of_tangents(torch, fw, facula_only):
    with fw.dual_level():
        assert tangent(fw, fw.make_dual(torch.ones(2, dtype=torch.float32), torch.ones(2))).dtype == torch.float32
        with pytest.raises(RuntimeError, match="the tangent of a .*float64 tensor is real"):
            fw.make_dual(torch.ones(2), torch.ones(2) * 1j)
        with pytest.raises(NotImplementedError, match="sparse tensors carry no tangents"):
            fw.make_dual(torch.ones(2), torch.ones(2)).to_sparse()
        with pytest.raises(NotImplementedError, match="make the dual outside of vmap"):
            torch.func.vmap(lambda t: fw.make_dual(torch.ones(2), t))(torch.eye(2))


# --- memory: views, in-place operators, what has no tangent


def test_views_share_tangents(torch, fw):
    with fw.dual_level():
        d = fw.make_dual(line(torch, 3, 4), torch.ones(3, 4))
        v = d[1]
        v.mul_(3)
        d[:, 0] = 7
        w = d.t()
        w.add_(fw.make_dual(torch.zeros(4, 3), torch.full((4, 3), 2.0)))
        want = torch.tensor([[2.0, 3, 3, 3], [2, 5, 5, 5], [2, 3, 3, 3]])
        for x, t in ((d, want), (v, want[1]), (w, want.T), (d.view(-1)[2:7], want.view(-1)[2:7]), (d.unfold(1, 2, 1), want.unfold(1, 2, 1))):
            same(torch, tangent(fw, x), t)
        e = d * 1
        e.transpose_(0, 1)
        e.unsqueeze_(0)
        same(torch, tangent(fw, e), want.T.unsqueeze(0))
        same(torch, tangent(fw, e.reshape(-1)), want.T.reshape(-1))


def test_writes_into_plain_tensors(torch, fw):
    with fw.dual_level():
        x = line(torch, 4)
        d, out = fw.make_dual(x, x.exp()), torch.zeros(4)
        for i in range(4):
            out[i] = d[i] * d[0]
        want = x.exp() * x[0] + x * x.exp()[0]
        same(torch, tangent(fw, out), want)
        same(torch, tangent(fw, out[1:3]), want[1:3])
        base = torch.zeros(3, 2)
        before = base[1]
        base[1] = d[:2]
        same(torch, tangent(fw, before), x.exp()[:2])
        same(torch, tangent(fw, base[0]), torch.zeros(2))
        y = torch.ones(4)
        y *= d
        y += 1
        same(torch, tangent(fw, y), x.exp())
        y.fill_(3)
        same(torch, tangent(fw, y), torch.zeros(4))
        with torch.no_grad():
            w = torch.nn.Parameter(torch.zeros(4)).copy_(d)
        same(torch, tangent(fw, w), x.exp())


def test_make_dual_shares_memory_but_no_tangent(torch, fw):
    p, t = torch.tensor([1.0, 2]), torch.tensor([3.0, 4])
    with fw.dual_level():
        d = fw.make_dual(p, t)
        d.mul_(2)
        same(torch, p, [2.0, 4])
        same(torch, t, [6.0, 8])  # in place, too
        assert tangent(fw, d) is t and tangent(fw, p) is None and d._base is p
        plain = fw.unpack_dual(d).primal
        assert plain.data_ptr() == d.data_ptr() and tangent(fw, plain) is None and plain._is_view()


@pytest.mark.parametrize("how", ["detach", "data"])
def test_detached_tensors_have_no_tangent(torch, fw, how):
    with fw.dual_level():
        d = fw.make_dual(torch.ones(2), torch.tensor([3.0, 4]))
        e = d.detach() if how == "detach" else d.data
        assert e.data_ptr() == d.data_ptr() and tangent(fw, e) is None and tangent(fw, e * 2) is None
        e.mul_(5)
        same(torch, d.detach(), [5.0, 5])
        same(torch, tangent(fw, d), [3.0, 4])
        e.copy_(d * 7)
        same(torch, tangent(fw, e), [21.0, 28])
        same(torch, tangent(fw, d), [3.0, 4])
        y = d * 2
        assert tangent(fw, y.detach_()) is None


def test_memory_is_given_back(torch, fw, facula_only):
    with fw.dual_level():
        d = fw.make_dual(torch.ones(3), torch.ones(3))
        for _ in range(200):
            d = d.sin()
        assert len(torch.autograd._tangents.thread.level.table) < 32


# --- functions


def test_control_flow_lists_and_casts(torch, fw):
    with fw.dual_level():
        y = d = fw.make_dual(torch.tensor(2.0), torch.tensor(1.0))
        while y < 100:
            y = y * d
        same(torch, tangent(fw, y), 7 * 2.0**6)
        a, b = fw.make_dual(torch.arange(3.0), torch.ones(3)), torch.ones(3)
        same(torch, tangent(fw, torch.stack([a, b, a * a])), [[1.0, 1, 1], [0, 0, 0], [0, 2, 4]])
        same(torch, tangent(fw, torch.cat([b, a]).chunk(2)[1]), torch.ones(3))
        same(torch, tangent(fw, torch.einsum("i,j->ij", a, b)), torch.ones(3, 3))
        items = [a.clone(), b.clone()]
        torch._foreach_mul_(items, 2.0)
        same(torch, tangent(fw, items[0]), torch.full((3,), 2.0))
        assert tangent(fw, items[1]) is None
        assert tangent(fw, a.to(torch.float32)).dtype == torch.float32
        for plain in (a > 1, a.argmax(), a.to(torch.int64), torch.zeros_like(a), a.new_zeros(2)):
            assert tangent(fw, plain) is None
        same(torch, tangent(fw, a.round()), torch.zeros(3))
        assert a.sum().item() == 3 and a.tolist() == [0, 1, 2]


def test_random_operators_draw_once(torch, fw):
    with fw.dual_level():
        a = fw.make_dual(torch.ones(50), torch.ones(50))
        for y in (torch.nn.functional.dropout(a, 0.3), torch.nn.functional.dropout(a * 1, 0.3, inplace=True)):
            same(torch, tangent(fw, y), y.detach())
        assert torch.nn.Dropout(0.3).eval()(a) is a
        same(torch, tangent(fw, torch.normal(a, 1.0)), torch.zeros(50))
        y = torch.nn.functional.rrelu(-a, training=True) if torch.__name__ == "facula" else None
        assert y is None or torch.equal(tangent(fw, y), y.detach())


def test_complex_numbers(torch, fw):
    z, t = torch.tensor([1 + 2j, 3 - 1j]), torch.tensor([1j, 2 + 0j])
    with fw.dual_level():
        d = fw.make_dual(z, t)
        same(torch, tangent(fw, d * d.conj()), t * z.conj() + z * t.conj())
        same(torch, tangent(fw, d.abs()), (z.conj() * t).real / z.abs())
        same(torch, tangent(fw, d.imag), t.imag)
        torch.view_as_real(d)[0, 0] = 5.0
        same(torch, tangent(fw, d), torch.tensor([1j, 2 + 0j]))
        r = torch.zeros(2, 2)
        torch.view_as_complex(r).copy_(d)
        same(torch, tangent(fw, r), [[0.0, 1], [2, 0]])


def test_no_grad_and_inference_mode(torch, fw):
    with fw.dual_level():
        d = fw.make_dual(torch.ones(2, requires_grad=True), torch.ones(2))
        with torch.no_grad():
            y = d.exp()
        assert not y.requires_grad and not tangent(fw, y).requires_grad
        same(torch, tangent(fw, y), y)
        with torch.inference_mode():
            y = d * 2
        assert tangent(fw, y) is None
        with fw._set_fwd_grad_enabled(False):
            assert not fw._is_fwd_grad_enabled()
            y = d * 2
            assert tangent(fw, d) is None
        assert tangent(fw, y) is None and tangent(fw, d) is not None


# --- with backward


def test_reverse_over_forward(torch, fw):
    x, v = line(torch, 3).requires_grad_(), line(torch, 3).exp().requires_grad_()
    with fw.dual_level():
        d = fw.make_dual(x, v)
        a = d * d
        a.mul_(d)  # in place
        y = tangent(fw, a.sum())
        got = torch.autograd.grad(y, (x, v))
    same(torch, got[0], 6 * x.detach() * v.detach())
    same(torch, got[1], 3 * x.detach() ** 2)


def test_forward_over_reverse(torch, fw):
    x = line(torch, 5).requires_grad_()

    def f(a):
        return (a.exp() * a.prod()).sum() + a.softmax(0)[2] + (a * a * a.sin() + a / 2 + a.log_softmax(0)).sum()

    with fw.dual_level():
        d = fw.make_dual(x, torch.ones(5))
        (g,) = torch.autograd.grad(f(d), d)
        got = tangent(fw, g)
        f(d).backward()
    hessian = torch.autograd.functional.hessian(f, x.detach())
    same(torch, got, hessian.sum(1))
    same(torch, x.grad, torch.autograd.grad(f(x), x)[0])


def test_in_place_operators_are_recorded(torch, fw):
    x, t = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0])
    with fw.dual_level():
        d = fw.make_dual(x, t)
        a = d * d
        a.mul_(d)
        a.exp_()
        (g,) = torch.autograd.grad(a, d)
        same(torch, g.detach(), 12 * torch.tensor(8.0).exp().view(1))
        same(torch, tangent(fw, g), (144 + 12) * 3 * torch.tensor(8.0).exp().view(1))
        with pytest.raises(RuntimeError, match="can't be cast to"):
            torch.ones(1, dtype=torch.int64).mul_(d)
        f = torch.ones(1, dtype=torch.float32)
        f.mul_(d)
        assert torch.__name__ == "torch" or tangent(fw, f).dtype == torch.float32
        f.normal_()
        same(torch, tangent(fw, f), torch.zeros_like(tangent(fw, f)))


def test_second_derivatives_through_in_place_operators(torch):
    x, v = torch.tensor([2.0], requires_grad=True), torch.tensor([5.0], requires_grad=True)
    (g,) = torch.autograd.grad((x * x).mul_(v), v, create_graph=True)
    same(torch, torch.autograd.grad(g, x)[0], [4.0])  # the overwritten x * x keeps its history


def test_saved_tensors_hooks_and_checkpoint(torch, fw):
    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    x = line(torch, 3).requires_grad_()
    with fw.dual_level():
        d = fw.make_dual(x, torch.ones(3))
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
            y = d.sin() * d
        z = checkpoint(lambda a: a.sin() * a, d, use_reentrant=False)
        same(torch, tangent(fw, y).detach(), (x.cos() * x + x.sin()).detach())
        same(torch, tangent(fw, z).detach(), tangent(fw, y).detach())
        for out in (y, z):
            same(torch, torch.autograd.grad(out.sum(), x)[0].detach(), (x.cos() * x + x.sin()).detach())


def test_backward_leaves_nothing_of_the_level(torch, fw, facula_only):
    x, d = torch.ones(3, requires_grad=True), torch.ones(3)
    with fw.dual_level():
        y = x * fw.make_dual(d, torch.ones(3))
        y.sum().backward()
    assert not d.requires_grad and d.grad is None and not x.grad.requires_grad


def test_func_inside_of_a_level(torch, fw):
    x, t = torch.tensor([1.0, 2]), torch.tensor([3.0, 4])
    func = import_module(f"{torch.__name__}.func")
    with fw.dual_level():
        d = fw.make_dual(x, t)
        g = func.grad(lambda a: (a * a * d).sum())(d)
        assert not g.requires_grad
        same(torch, tangent(fw, g), 4 * x * t)
        y = func.vmap(lambda r: (r * d).sin().sum())(line(torch, 4, 2))
        want = (torch.cos(line(torch, 4, 2) * x) * line(torch, 4, 2) * t).sum(1)
        same(torch, tangent(fw, y), want)


def test_gradcheck(torch, fw):
    x = torch.linspace(0.1, 1, 3).requires_grad_()
    z = torch.complex(x.detach(), 2 * x.detach()).requires_grad_()
    check = torch.autograd.gradcheck
    assert check(lambda a, b: (a.sin() * b, b.sum()), (x, x.detach().clone().requires_grad_()), check_forward_ad=True)
    assert check(lambda a: (a * a.conj() * a, a.abs()), z, check_forward_ad=True)
    assert check(_functions(torch)["OnlyForward"].apply, x, check_forward_ad=True, check_backward_ad=False)
    wrong = _functions(torch)["Wrong"].apply
    assert check(wrong, x)
    with pytest.raises(torch.autograd.gradcheck.__globals__["GradcheckError"], match="computed with forward mode"):
        check(wrong, x, check_forward_ad=True)
    assert not check(wrong, x, check_forward_ad=True, raise_exception=False)
    with pytest.raises((AssertionError, ValueError), match="at least one of check_forward_ad or check_backward_ad"):
        check(wrong, x, check_backward_ad=False)
    assert torch.autograd.gradgradcheck(lambda a: a.sin() * a, x, check_fwd_over_rev=True)


# --- custom functions


def _functions(torch):
    class Base(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_forward(a)
            ctx.save_for_backward(a)
            return a * a

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    class Wrong(Base):
        @staticmethod
        def jvp(ctx, t):
            return 3 * t * ctx.saved_tensors[0]

    class OnlyForward(torch.autograd.Function):
        @staticmethod
        def forward(a):
            return a * a

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(*inputs, output)

        @staticmethod
        def jvp(ctx, t):
            assert len(ctx.saved_tensors) == 2
            return 2 * t * ctx.saved_tensors[0]

    class Product(torch.autograd.Function):
        seen = []

        @staticmethod
        def forward(ctx, a, b, n, fill):
            ctx.set_materialize_grads(fill)
            ctx.save_for_forward(a, b)
            ctx.n = n
            return a * b * n, (a > 0)

        @staticmethod
        def jvp(ctx, ta, tb, tn, tfill):
            Product.seen.append((tb, tn, tfill))
            a, b = ctx.saved_tensors
            return ctx.n * (ta * b + (0 if tb is None else a * tb)), None

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, good):
            ctx.mark_dirty(a)
            ctx.good = good
            return a.mul_(2)

        @staticmethod
        def jvp(ctx, t, _):
            return t.mul_(2) if ctx.good else t * 2

    class View(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, good):
            ctx.good = good
            return a.view(-1)[:1]

        @staticmethod
        def jvp(ctx, t, _):
            return t.view(-1)[:1] if ctx.good else t[:1] * 1

    class Returns(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, what):
            ctx.what = what
            return a * 2

        @staticmethod
        def jvp(ctx, t, _):
            return ctx.what

    return {k: v for k, v in locals().items() if isinstance(v, type)}


def test_functions_with_jvp(torch, fw):
    f = _functions(torch)
    x, t = torch.tensor([1.0, 2]), torch.tensor([3.0, 4])
    with fw.dual_level():
        d = fw.make_dual(x, t)
        y, positive = f["Product"].apply(d, x, 5, True)
        same(torch, tangent(fw, y), 5 * t * x)
        assert tangent(fw, positive) is None
        f["Product"].apply(d, x, 5, False)
        (filled, number, _), (absent, _, _) = f["Product"].seen
        same(torch, filled, torch.zeros(2))
        assert number is None and absent is None
        same(torch, tangent(fw, f["OnlyForward"].apply(d)), 2 * x * t)
        with pytest.raises(NotImplementedError, match="You must implement the jvp function for custom autograd.Function"):
            f["Base"].apply(d)
        same(torch, f["Base"].apply(x), x * x)
        e = d.clone()
        assert f["Doubled"].apply(e, True) is e
        same(torch, tangent(fw, e), 2 * t)
        with pytest.raises(RuntimeError, match="must modify the gradient inplace and return it as-is"):
            f["Doubled"].apply(e, False)
        v = f["View"].apply(d, True)
        v.mul_(3)
        same(torch, tangent(fw, d), [9.0, 4])
        with pytest.raises(RuntimeError, match="is returning a view .* but the jvp is not returning a view"):
            f["View"].apply(d, False)
        for what, message in (
            ((x, x), r"invalid number of forward gradients \(expected 1 but got 2\)"),
            (3, r"expected Variable or None \(got int\)"),
            (torch.ones(3), "different size than that of the original"),
        ):
            with pytest.raises(RuntimeError, match=message):
                f["Returns"].apply(d, what)
        if torch.__name__ == "facula":  # an internal assertion of PyTorch's
            assert tangent(fw, f["Returns"].apply(d, None)) is None


def test_functions_are_differentiated_both_ways(torch, fw):
    x, t = torch.tensor([1.0, 2], requires_grad=True), torch.tensor([3.0, 4])

    class Square(_functions(torch)["Base"]):
        @staticmethod
        def jvp(ctx, v):
            return 2 * v * ctx.saved_tensors[0]

    with fw.dual_level():
        y = Square.apply(fw.make_dual(x, t))
        (g,) = torch.autograd.grad(tangent(fw, y).sum(), x, retain_graph=True)
        same(torch, g, 2 * t)
        same(torch, torch.autograd.grad(y.sum(), x)[0].detach(), 2 * x.detach())


# --- the rest


def test_printing(torch, fw):
    with fw.dual_level():
        d = fw.make_dual(torch.tensor([1.0, 2], requires_grad=True), torch.tensor([3.0, 4]))
        assert repr(d) == "tensor([1., 2.], grad_fn=<ViewBackward0>, tangent=tensor([3., 4.]))"
        assert repr(d.detach().sum()) == "tensor(3.)"
        with torch.no_grad():
            assert repr(d.sum()) == "tensor(3., tangent=7.0)"
    assert repr(d) == "tensor([1., 2.], grad_fn=<ViewBackward0>)"


def test_a_level_belongs_to_its_thread(torch, fw, facula_only):
    found = []

    def other():
        found.append(fw._current_level)
        with fw.dual_level():
            found.append(tangent(fw, fw.make_dual(torch.ones(2), torch.ones(2)) * 3))

    with fw.dual_level():
        d = fw.make_dual(torch.ones(2), torch.ones(2))
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert tangent(fw, d) is not None
    assert found[0] == -1
    same(torch, found[1], torch.full((2,), 3.0))


def test_loaded_when_asked_for(facula_only):
    code = (
        "import sys, facula; assert not any('forward_ad' in m or 'tangents' in m for m in sys.modules); "
        "facula.autograd.forward_ad.dual_level; import facula.autograd.forward_ad as fwAD"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
