# SPDX-License-Identifier: Apache-2.0
"""Names that few programs use, each with what it does."""
import facula as torch
import pytest
from facula import autograd
from facula.func import debug_unwrap, rearrange, vmap
from facula.nn import grad
from facula.nn.parallel import comm

pytestmark = [pytest.mark.usefixtures("torch"), pytest.mark.not_sanitized]  # one thread: tiny tensors
X = torch.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize("pattern, lengths, same", [
    ("a b c -> c b a", {}, lambda x: x.permute(2, 1, 0)),
    ("a b c -> (a b) c", {}, lambda x: x.reshape(6, 4)),
    ("(a1 a2) b c -> a2 b (a1 c)", dict(a1=2), lambda x: x.reshape(2, 1, 3, 4).permute(1, 2, 0, 3).reshape(1, 3, 8)),
    ("a ... -> ... a", {}, lambda x: x.permute(1, 2, 0)),
    ("a b c ... -> ... a b c", {}, lambda x: x),
    ("... c -> (...) c", {}, lambda x: x.reshape(6, 4)),
    ("a b c -> a () b 1 c", {}, lambda x: x[:, None, :, None]),
    ("a b (c d) -> a d (b c)", dict(d=2), lambda x: x.reshape(2, 3, 2, 2).permute(0, 3, 1, 2).reshape(2, 2, 6)),
    ("a b c -> (c b a)", {}, lambda x: x.permute(2, 1, 0).reshape(24)),
])  # fmt: skip
def test_rearrange(pattern, lengths, same):
    assert torch.equal(rearrange(X, pattern, **lengths), same(X))


def test_rearrange_of_lists_and_ones():
    assert rearrange([X, X], "n a b c -> a n b c").shape == (2, 2, 3, 4)
    assert rearrange(X[:, :1], "a 1 c -> c a").shape == (4, 2)
    assert rearrange(torch.empty(0, 4), "(a b) c -> a b c", b=2).shape == (0, 2, 4)
    x = torch.randn(2, 6, requires_grad=True, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda x: rearrange(x, "a (b c) -> c (a b)", c=3), (x,))


@pytest.mark.parametrize("pattern, lengths, text", [
    ("a b c -> a b", {}, r"only on one side .*: \{'c'\}"), ("a b -> b a", {}, r"in pattern \(2\) .* in the tensor \(3\)"),
    ("a b c", {}, "single '->'"), ("a a b -> b a", {}, "duplicate dimension 'a'"), ("a b c -> c b a", dict(z=3), r"not found .*\{'z'\}"),
    ("(a b) c d -> a b c d", {}, "cannot infer the sizes of a and b"), ("(a b) c d -> a b c d", dict(a=3), "2 does not divide"),
    ("_a b c -> b c _a", {}, "Invalid axis identifier: _a"), ("a ((b) c) -> a", {}, "brackets inside"), ("a b) c -> a", {}, "not opened"),
    ("(a b c -> a", {}, "not closed"), ("a 2 c -> a c", {}, "only number"), ("(... a) b -> a b ...", {}, "on the right only"),
    ("a 1 c -> a c", {}, "3 does not divide"), ("a b c d ... -> a b c d ...", {}, "Number of dimensions"), ("(a b) c d -> a b c d", dict(a=0), "does not divide"),
])  # fmt: skip
def test_rearrange_refuses(pattern, lengths, text):
    with pytest.raises(ValueError, match=text):
        rearrange(X, pattern, **lengths)


def test_debug_unwrap():
    seen = []

    def look(x):
        seen.append((debug_unwrap(x).shape, debug_unwrap(x, recurse=False).shape, x.shape))
        return x

    vmap(vmap(look))(torch.ones(2, 3, 4))
    assert seen == [((2, 3, 4), (3, 4), (4,))]
    assert debug_unwrap(X) is X


def test_settings_of_backward():
    assert autograd.is_multithreading_enabled()
    with autograd.set_multithreading_enabled(False):
        assert not autograd.is_multithreading_enabled()
    assert autograd.is_multithreading_enabled()

    @autograd.set_multithreading_enabled(False)
    def inside():
        return autograd.is_multithreading_enabled()

    assert autograd.is_multithreading_enabled() and not inside() and autograd.is_multithreading_enabled()
    p = torch.empty(2, 3, 4).permute(2, 0, 1).requires_grad_()
    with autograd.enforce_grad_layout_policy(False):
        (p * 2).sum().backward()
    assert p.grad.stride() == p.stride()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_gradients_of_convolutions(n):
    torch.manual_seed(0)
    x = torch.randn(2, 4, *[7] * n, dtype=torch.float64, requires_grad=True)
    w = torch.randn(6, 2, *[3] * n, dtype=torch.float64, requires_grad=True)
    options = dict(stride=2, padding=1, dilation=1, groups=2)
    y = getattr(torch.nn.functional, f"conv{n}d")(x, w, **options)
    g = torch.randn_like(y)
    by_x, by_w = torch.autograd.grad(y, (x, w), g)
    torch.testing.assert_close(getattr(grad, f"conv{n}d_input")(x.shape, w, g, **options), by_x)
    torch.testing.assert_close(getattr(grad, f"conv{n}d_weight")(x, w.shape, g, **options), by_w)
    with pytest.raises(RuntimeError):
        getattr(grad, f"conv{n}d_input")((2, 4, *[99] * n), w, g, **options)


def test_tensors_between_devices():
    x = torch.arange(6.0).view(3, 2)
    assert [t.device.type for t in comm.broadcast(x, ["cpu", "meta"])] == ["cpu", "meta"]
    out = [torch.empty(3, 2), torch.empty(3, 2)]
    assert all(torch.equal(t, x) for t in comm.broadcast(x, out=out))
    assert [len(ts) for ts in comm.broadcast_coalesced([x, x[0]], ["cpu", "cpu"])] == [2, 2]
    assert torch.equal(comm.reduce_add([x, x, x]), 3 * x) and x[0, 1] == 1
    assert [t.sum().item() for t in comm.reduce_add_coalesced([[x, x[0]], [x, x[0]]])] == [30, 2]
    assert [t.shape[0] for t in comm.scatter(x, ["cpu", "cpu"], chunk_sizes=[1, 2])] == [1, 2]
    assert torch.equal(comm.gather(comm.scatter(x, ["cpu"] * 3)), x) and torch.equal(comm.gather([x, x], 1, -1)[:, 2:], x)
    with pytest.raises(RuntimeError, match="Exactly one of 'devices' and 'out'"):
        comm.broadcast(x)
    with pytest.raises(ValueError, match="tensors of one size"):
        comm.reduce_add([x, x[0]])
    assert callable(torch.nn.parallel.replicate) and callable(torch.nn.parallel.parallel_apply)


def test_rows_of_all_elements():
    from facula._utils import _flatten_dense_tensors, _unflatten_dense_tensors

    some = [torch.ones(2), torch.zeros(0), X.float()]
    flat = _flatten_dense_tensors(some)
    assert flat.shape == (26,) and all(torch.equal(a, b) for a, b in zip(_unflatten_dense_tensors(flat, some), some, strict=True))


def test_sizes_as_tensors():
    from facula.onnx import OperatorExportTypes, TrainingMode, operators

    assert operators.reshape_from_tensor_shape(X, operators.shape_as_tensor(X.view(6, 4))).shape == (6, 4)
    assert OperatorExportTypes.ONNX == 0 and TrainingMode.TRAINING == 2


def test_names_of_autograd():
    from facula.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
    from facula.autograd.function import InplaceFunction, NestedIOFunction
    from facula.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

    assert (detect_anomaly, set_detect_anomaly) == (autograd.detect_anomaly, autograd.set_detect_anomaly)
    assert (no_grad, enable_grad, inference_mode, set_grad_enabled) == (torch.no_grad, torch.enable_grad, torch.inference_mode, torch.set_grad_enabled)
    assert autograd.grad_mode.no_grad is no_grad and autograd.anomaly_mode.detect_anomaly is detect_anomaly
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        assert InplaceFunction(True).inplace
    assert issubclass(NestedIOFunction, autograd.Function)


@pytest.mark.parametrize("module, names", [
    ("autograd", "Variable Function NestedIOFunction grad_mode variable no_grad"),
    ("nn.utils", "skip_init fuse_conv_bn_eval fuse_linear_bn_weights convert_conv2d_weight_memory_format parametrize parametrizations stateless rnn "
                 "clip_grad_norm_ weight_norm"),
])  # fmt: skip
def test_all_names_of_a_module(module, names):
    found = {}
    exec(f"from facula.{module} import *", found)
    assert not set(names.split()) - set(found)


def test_words_that_change_nothing():
    from facula.utils.flop_counter import FlopCounterMode

    assert FlopCounterMode(display=False, skip_unsupported=True).skip_unsupported
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    assert autograd.gradcheck(torch.sin, x, check_forward_ad=True, check_batched_forward_grad=True)
    with pytest.raises((ValueError, AssertionError), match="requires check_forward_ad to be True"):
        autograd.gradcheck(torch.sin, x, check_batched_forward_grad=True)


def test_functions_as_modules(torch):
    for where in (torch.nn.quantized, torch.ao.nn.quantized):
        for kind in (where.FloatFunctional, where.FXFloatFunctional):
            f, x = kind(), torch.tensor([-1.0, 2.0])
            got = [f.add(x, x), f.add_scalar(x, 1.0), f.mul(x, x), f.mul_scalar(x, 3.0), f.cat([x, x]), f.add_relu(x, x), f.matmul(x, x)]
            assert [y.tolist() for y in got] == [[-2, 4], [0, 3], [1, 4], [-3, 6], [-1, 2, -1, 2], [0, 4], 5]
            with pytest.raises(RuntimeError, match="not intended to use the 'forward'"):
                f(x)
    seen = []
    f = torch.nn.quantized.FloatFunctional()
    f.activation_post_process.register_forward_hook(lambda m, args, out: seen.append(out.tolist()))
    f.add(x, 1)
    f.add_scalar(x, 1)
    assert seen == [[0, 3]]


def test_ranges_of_the_profiler_as_operators(torch):
    ops = torch.ops.profiler
    with torch.profiler.profile() as p:
        handle = ops._record_function_enter("older", "arguments")
        inner = ops._record_function_enter_new("newer")
        torch.ones(2) + 1
        ops._record_function_exit._RecordFunction(inner)
        ops._record_function_exit(handle)
        before = ops._record_function_enter_new("future")
        future = torch.futures.Future()
        then = ops._call_end_callbacks_on_jit_fut._RecordFunction(before, future)
        future.set_result(3)
        assert then.wait() == 3
    names = [e.name for e in p.events()]
    assert {"older", "newer", "future"} <= set(names)
    with pytest.raises(RuntimeError):
        ops._record_function_exit(torch.ones(1))


@pytest.mark.parametrize("name", ["fft.fft", "fft.hfft", "argmax", "argmin", "stack", "linalg.matrix_norm", "sum", "concat", "cumsum"])
def test_names_of_the_array_api_in_signatures(torch, name):
    import inspect

    if torch.__name__ == "torch":
        pytest.skip("PyTorch's functions have no signatures")
    function = torch
    for part in name.split("."):
        function = getattr(function, part)
    parameters = inspect.signature(function).parameters
    assert parameters["axis"].kind is inspect.Parameter.KEYWORD_ONLY
    assert ("keepdims" in parameters) == ("keepdim" in parameters)
