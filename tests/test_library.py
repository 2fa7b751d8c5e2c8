# SPDX-License-Identifier: Apache-2.0
"""Operators, kernels and layers made from Python."""
import uuid

import pytest

pytestmark = pytest.mark.threads


@pytest.fixture
def space():
    return "test" + uuid.uuid4().hex[:8]


def test_custom_op_with_shape_rule_and_derivative(torch, space):
    def scale(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
        return x * factor
    op = torch.library.custom_op(f"{space}::scale", scale, mutates_args=())
    assert op(torch.ones(2)).tolist() == [2, 2]
    assert op(torch.ones(2), factor=3.0).tolist() == [3, 3]
    assert getattr(torch.ops, space).scale(torch.ones(1)).item() == 2

    @op.register_fake
    def _(x, factor=2.0):
        return torch.empty_like(x)
    assert op(torch.empty(3, device="meta")).shape == (3,)

    def setup(ctx, inputs, output):
        ctx.factor = inputs[1]
    op.register_autograd(lambda ctx, g: (g * ctx.factor, None), setup_context=setup)
    x = torch.ones(2, requires_grad=True)
    op(x, 5.0).sum().backward()
    assert x.grad.tolist() == [5, 5]


def test_library(torch, space):
    lib = torch.library.Library(space, "DEF")
    lib.define("triple(Tensor x, *, int times=1) -> Tensor")
    lib.impl("triple", lambda x, times=1: x * 3 * times, "CPU")
    op = getattr(torch.ops, space).triple
    assert op(torch.ones(1)).item() == 3 and op.default(torch.ones(1), times=2).item() == 6
    assert op.overloads() == ["default"]
    with pytest.raises(RuntimeError):
        op(torch.ones(1), colour=3) if torch.__name__ == "torch" else lib.define("triple(Tensor y) -> Tensor")
    with pytest.raises((NotImplementedError, RuntimeError)):
        op(torch.ones(1, device="meta"))


def test_composite_differentiates_itself(torch, space):
    lib = torch.library.Library(space, "DEF")
    lib.define("square_sum(Tensor x) -> Tensor")
    lib.impl("square_sum", lambda x: (x * x).sum(), "CompositeImplicitAutograd")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    getattr(torch.ops, space).square_sum(x).backward()
    assert x.grad.tolist() == [2, 4]


def test_kernel_that_raises(torch, space):
    lib = torch.library.Library(space, "DEF")
    lib.define("bad(Tensor x) -> Tensor")

    def bad(x):
        raise KeyError("from the kernel")
    lib.impl("bad", bad, "CPU")
    with pytest.raises(KeyError, match="from the kernel"):
        getattr(torch.ops, space).bad(torch.ones(1))


def test_a_kernels_type_error_is_its_own(torch, space):
    """It is not taken for arguments that do not fit: no other overload is tried."""
    lib = torch.library.Library(space, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.define("f.more(Tensor x, int n=1) -> Tensor")
    tried = []

    def bad(x):
        raise TypeError("from the kernel")
    lib.impl("f", bad, "CPU")
    lib.impl("f.more", lambda x, n=1: tried.append(n) or x * n, "CPU")
    f = getattr(torch.ops, space).f
    with pytest.raises(TypeError, match="from the kernel"):
        f(torch.ones(1))
    assert tried == []
    assert f(torch.ones(1), 3).item() == 3 and f(torch.ones(1), n=4).item() == 4 and tried == [3, 4]


def test_packets_take_the_first_overload_that_fits(torch, space):
    aten = torch.ops.aten
    assert aten.add(torch.tensor([1]), 2).tolist() == [3] and aten.add(torch.tensor([1]), torch.tensor(2.0)).dtype == torch.float32
    assert aten.sum(torch.ones(2, 3), [1]).shape == (2,) and aten.sum(torch.ones(2), dtype=torch.float64).dtype == torch.float64
    out = torch.empty(2)
    assert aten.mul(torch.ones(2), torch.ones(2), out=out) is out
    assert type(aten.split(torch.ones(4), 2)) is list and type(aten.sort(torch.ones(2))) is tuple
    if torch.__name__ == "facula":
        with pytest.raises(TypeError, match=r"aten::add\(\) received an invalid combination of arguments - got \(str\)"):
            aten.add("x")
    # Overloads that are defined later are found as well.
    lib = torch.library.Library(space, "DEF")
    lib.define("g(Tensor x) -> Tensor")
    lib.impl("g", lambda x: x + 1, "CPU")
    g = getattr(torch.ops, space).g
    assert g(torch.ones(1)).item() == 2
    if torch.__name__ == "facula":
        lib.define("g.times(Tensor x, int n) -> Tensor")
        lib.impl("g.times", lambda x, n: x * n, "CPU")
        assert g(torch.ones(1), 5).item() == 5


def test_layers(torch):
    if torch.__name__ != "facula":
        pytest.skip("layers are Facula's")
    seen = []

    def log(op, args, kwargs, next):
        seen.append(str(op))
        return next(*args, **kwargs)

    def plus_one(op, args, kwargs, next):
        out = next(*args, **kwargs)
        return out + 1 if str(op) == "aten.neg.default" else out
    x = torch.ones(2)
    with torch.dispatch.layer("log", log):
        x.neg().abs()
        with torch.dispatch.layer("plus", plus_one):
            assert x.neg().tolist() == [0, 0]
    assert seen[:2] == ["aten.neg.default", "aten.abs.default"]
    n = len(seen)
    x.neg()
    assert len(seen) == n


def test_a_layer_may_compute(torch):
    if torch.__name__ != "facula":
        pytest.skip("layers are Facula's")
    seen = []

    def check(op, args, kwargs, go_on):
        result = go_on(*args, **kwargs)
        if torch.is_tensor(result) and torch.isnan(result).any():  # its own calls do not reach it again
            seen.append(str(op))
        return result

    with torch.dispatch.layer("check", check):
        torch.nn.functional.log_softmax(torch.tensor([1.0, float("nan")]), 0)
    assert seen[-1] == "aten.log_softmax.int" and "aten._log_softmax.default" in seen  # what it is written in as well


def test_a_result_without_a_truth_value(torch):
    if torch.__name__ != "facula":
        pytest.skip("PyTorch casts on its own terms")

    @torch.library.custom_op("mylib::doubtful", mutates_args=())
    def doubtful(x: torch.Tensor) -> bool:
        return x > 0

    with pytest.raises(RuntimeError, match="Boolean value"):
        doubtful(torch.ones(2))


def test_a_layer_may_see_absent_results(torch):
    """Gradients that nobody asked for."""
    if torch.__name__ != "facula":
        pytest.skip("layers are Facula's")
    weight = torch.ones(2, 2, 3, 3, requires_grad=True)
    with torch.dispatch.layer("pass", lambda op, args, kwargs, go_on: go_on(*args, **kwargs)):
        torch.nn.functional.conv2d(torch.ones(1, 2, 4, 4), weight).sum().backward()
    assert weight.grad.sum().item() == 4.0 * 36


def test_one_id_joins_call_kernel_and_backward(torch):
    if torch.__name__ != "facula":
        pytest.skip("observers are Facula's")
    seen = []

    def see(event):
        seen.append((event.kind, event.phase, str(event.op), event.call_id, event.forward_id))
        torch.ones(1) + 1  # what an observer calls is not observed
    x = torch.ones(3, requires_grad=True)
    with torch.dispatch.observe(see):
        y = x.sin()
    assert [s[:3] for s in seen] == [(where, phase, "aten.sin.default") for where, phase in
                                     (("call", "begin"), ("kernel", "begin"), ("kernel", "end"), ("call", "end"))]
    ids = {s[3] for s in seen}
    assert len(ids) == 1 and {s[4] for s in seen} == {0}
    forward, seen[:] = ids.pop(), []
    with torch.dispatch.observe(see):
        y.sum().backward()
    joined = [s[:3] for s in seen if s[4] == forward]
    assert ("kernel", "begin", "aten.cos.default") in joined
    seen.clear()
    with torch.dispatch.observe(see), pytest.raises(RuntimeError):
        torch.ones(2) + torch.ones(3)
    assert sum(1 if s[1] == "begin" else -1 for s in seen) == 0
    seen.clear()
    x.sin()
    assert not seen


def test_an_observer_that_fails_does_not_break_the_call(torch):
    if torch.__name__ != "facula":
        pytest.skip("observers are Facula's")
    import sys
    told, hook = [], sys.unraisablehook
    sys.unraisablehook = lambda info: told.append(info.exc_value)
    try:
        with torch.dispatch.observe(lambda *event: 1 / 0):
            assert (torch.ones(1) + 1).item() == 2
    finally:
        sys.unraisablehook = hook
    assert told and all(isinstance(error, ZeroDivisionError) for error in told)


def test_a_removed_layer_stays_off(torch):
    if torch.__name__ != "facula":
        pytest.skip("layers are Facula's")
    layer = torch.dispatch.Layer("gone", lambda op, args, kwargs, go_on: go_on(*args, **kwargs))
    layer.remove()
    layer.remove()
    with pytest.raises(RuntimeError, match="'gone' was removed"):
        layer.enable()


def test_custom_op_says_what_is_wrong_with_its_name(torch, space):
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    with pytest.raises(ValueError):  # PyTorch: not enough values to unpack
        torch.library.custom_op("f", f, mutates_args=())
    with pytest.raises(ValueError, match='of the form "namespace::name", but got f'):
        torch.library.define("f", "(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="'y'.* in mutates_args were not found"):
        torch.library.custom_op(f"{space}::f", f, mutates_args=("y",))
    with pytest.raises(TypeError, match="mutates_args"):
        torch.library.custom_op(f"{space}::f", f)
    assert repr(torch.library.custom_op(f"{space}::f", f, mutates_args=())) == f"<CustomOpDef({space}::f)>"


def test_opcheck(torch, space):
    if torch.__name__ != "facula":
        pytest.skip("PyTorch's needs its compiler")
    from facula._opcheck import OpCheckError

    def define(name, f):
        return torch.library.custom_op(f"{space}::{name}", f, mutates_args=())

    def good(x: torch.Tensor, n: int = 2) -> torch.Tensor:
        return x * n

    op = define("good", good)
    passed = dict.fromkeys(("test_schema", "test_autograd_registration", "test_faketensor"), "SUCCESS")
    assert torch.library.opcheck(op, (torch.ones(2),)) == passed
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(OpCheckError, match="test_autograd_registration failed with derivative for .* is not implemented"):
        torch.library.opcheck(op, (x,), {"n": 3})
    op.register_autograd(lambda ctx, g: (g * 2, None))
    assert torch.library.opcheck(op, (x,)) == passed
    assert torch.library.opcheck(torch.ops.aten.add_.Tensor, (torch.ones(2), torch.ones(2))) == passed
    assert torch.library.opcheck(torch.ops.aten.t.default, (torch.ones(2, 3),)) == passed

    def writes(x: torch.Tensor) -> torch.Tensor:
        return x.add_(1).clone()

    def aliases(x: torch.Tensor) -> torch.Tensor:
        return x[:1]

    def twice(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x.clone()
        return y, y[:1]

    def unchecked(f):
        """Custom operators check their results themselves."""
        name = f"{space}::{f.__name__}"
        torch.library.define(name, torch.library.infer_schema(f))
        torch.library.impl(name, "default", f)
        return getattr(getattr(torch.ops, space), f.__name__).default

    for f, words in ((writes, "x is not defined as mutable but was mutated"), (aliases, "shares memory with the argument x"), (twice, "shares memory with output 0")):
        with pytest.raises(OpCheckError, match=f"test_schema failed with .*{words}"):
            torch.library.opcheck(unchecked(f), (torch.ones(2),))

    def narrow(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    wrong = define("narrow", narrow)
    wrong.register_fake(lambda x: x.new_empty(3, 3))
    outcome = torch.library.opcheck(wrong, (torch.ones(2),), raise_exception=False)
    assert outcome["test_schema"] == "SUCCESS" and "Shapes torch.Size([2]) and torch.Size([3, 3]) are not equal!" in str(outcome["test_faketensor"])
    with pytest.raises(ValueError, match="expected test_utils to be subset"):
        torch.library.opcheck(op, (torch.ones(2),), test_utils="test_nothing")
    with pytest.raises(RuntimeError, match="only test operators without overloads"):
        torch.library.opcheck(torch.ops.aten.add, (torch.ones(2),))


def test_a_derivative_belongs_to_the_operator(torch):
    """However it is called: by its object, by torch.ops, by name alone."""

    @torch.library.custom_op("test_library::cubed", mutates_args=())
    def cubed(x: torch.Tensor) -> torch.Tensor:
        return x * x * x

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(ctx, g):
        assert ctx.needs_input_grad == (True,)
        return g * 3 * ctx.saved_tensors[0] ** 2

    cubed.register_autograd(backward, setup_context=setup)
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    for call in (cubed, torch.ops.test_library.cubed, torch.ops.test_library.cubed.default):
        (g,) = torch.autograd.grad(call(x).sum(), x)
        assert g.tolist() == [3.0, 12.0]
    assert torch.autograd.gradgradcheck(torch.ops.test_library.cubed, (x,))
    assert not cubed(x.detach()).requires_grad
    assert type(cubed(x).grad_fn).__name__ == "GeneratedBackwardFor_test_library_cubed_defaultBackward"


def test_a_derivative_takes_lists_and_keywords(torch):
    torch.library.define("test_library::mixed", "(Tensor[] xs, float a, *, float b=1.0) -> Tensor[]")
    torch.library.impl("test_library::mixed", "CPU", lambda xs, a, *, b: [x * a * b for x in xs])

    def setup(ctx, inputs, keyword_only_inputs, output):
        ctx.factor = inputs[1] * keyword_only_inputs["b"]

    def backward(ctx, grads):
        assert list(ctx.needs_input_grad[0]) == [True, False]
        return [g * ctx.factor for g in grads], None

    torch.library.register_autograd("test_library::mixed", backward, setup_context=setup)
    x = torch.ones(2, requires_grad=True)
    y = torch.ops.test_library.mixed([x, torch.ones(3)], 2.0, b=5.0)
    assert isinstance(y, list)
    y[0].sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]


def test_an_autograd_kernel_comes_before_all_others(torch):
    seen = []

    class Times(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch._C._AutoDispatchBelowAutograd():
                return torch.ops.test_library.times(x)

        @staticmethod
        def backward(ctx, g):
            return g * 5

    lib = torch.library.Library("test_library", "FRAGMENT")
    lib.define("times(Tensor x) -> Tensor")
    lib.impl("times", lambda x: seen.append("kernel") or x * 5, "CPU")
    lib.impl("times", lambda x: seen.append("autograd") or Times.apply(x), "Autograd")
    x = torch.ones(1, requires_grad=True)
    torch.ops.test_library.times(x).backward()
    assert x.grad.item() == 5
    torch.ops.test_library.times(torch.ones(1))
    assert seen == ["autograd", "kernel"] * 2


def test_a_second_definition_is_refused(torch):
    lib = torch.library.Library("test_library", "FRAGMENT")
    lib.define("once(Tensor x) -> Tensor")
    lib.impl("once", lambda x: x, "CPU")
    with pytest.raises(RuntimeError, match="test_library::once is already defined"):
        lib.define("once(Tensor x) -> Tensor")


def test_a_missing_shape_rule_is_named(torch):
    lib = torch.library.Library("shapeless", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    assert torch.ops.shapeless.f(torch.ones(2)).tolist() == [2, 2]
    with pytest.raises(NotImplementedError, match="from the 'meta' backend: it has no shape rule"):
        torch.ops.shapeless.f(torch.empty(2, device="meta"))


def test_a_layer_that_returns_nothing_is_named(torch):
    with torch.dispatch.layer("forgetful", lambda op, args, kwargs, go_on: None):
        with pytest.raises(TypeError, match="aten::ones: the layer 'forgetful' must return a Tensor, not None"):
            torch.ones(2)


def test_results_of_a_custom_op_are_its_own(torch, space):
    """What its schema says: no result shares memory with an argument or another result."""
    functions = {
        "itself": lambda x: x,
        "part": lambda x: x[1:],
        "twice": lambda x: [x.clone()] * 2,
    }
    for name, function in functions.items():
        function.__annotations__ = {"x": torch.Tensor, "return": list[torch.Tensor] if name == "twice" else torch.Tensor}
        op = torch.library.custom_op(f"{space}::{name}", function, mutates_args=())
        with pytest.raises(RuntimeError, match="may not alias any inputs to this custom operator or other returns"):
            op(torch.ones(3))
    op.register_kernel("cpu", lambda x: [x.clone(), x.clone()])
    assert len(op(torch.ones(3))) == 2
    op.register_kernel("cpu", lambda x: [x, x.clone()])
    with pytest.raises(RuntimeError, match="may not alias"):
        op(torch.ones(3))


def test_impl_with_a_library(torch, space):
    library = torch.library.Library(space, "DEF")
    library.define("twice(Tensor x) -> Tensor")

    @torch.library.impl(library, "twice", "CompositeExplicitAutograd")
    def twice(x):
        return x * 2

    library.define("thrice(Tensor x) -> Tensor")
    torch.library.impl(library, "thrice")(lambda x: x * 3)
    operators = getattr(torch.ops, space)
    assert operators.twice(torch.ones(2)).tolist() == twice(torch.ones(2)).tolist() == [2, 2] and operators.thrice(torch.ones(1)).item() == 3
