# SPDX-License-Identifier: Apache-2.0
"""autocast: classes of operators by device, gradients, scopes, kept casts; custom functions; loss scaling."""
import pickle
import threading

import pytest

pytestmark = pytest.mark.threads


def test_products_run_lower_and_gradients_come_back_wide(torch):
    x = torch.ones(4, 4, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
        assert y.dtype is torch.bfloat16
        assert (y.float() + y).dtype is torch.float32
    assert (x @ x).dtype is torch.float32
    y.float().sum().backward()
    assert x.grad.dtype is torch.float32 and x.grad[0, 0].item() == 8.0


LOWER = {"mm": lambda t, f: torch_mm(t, f), "conv2d": lambda t, f: t.nn.functional.conv2d(f[None, None], f[None, None]),
         "linear": lambda t, f: t.nn.functional.linear(f, f), "bmm": lambda t, f: t.bmm(f[None], f[None]),
         "baddbmm": lambda t, f: t.baddbmm(f[None], f[None], f[None]), "einsum": lambda t, f: t.einsum("ij,jk->ik", f, f),
         "matrix @ vector": lambda t, f: f @ f[0]}  # fmt: skip
STAYS = {"exp": lambda t, b: b.exp(), "log": lambda t, b: b.log(), "softmax": lambda t, b: b.softmax(-1), "sum": lambda t, b: b.sum(),
         "cumsum": lambda t, b: b.cumsum(0), "layer_norm": lambda t, b: t.nn.functional.layer_norm(b, (4,)), "pow": lambda t, b: b**2.5,
         "norm": lambda t, b: b.norm(), "mean": lambda t, b: b.mean(), "gelu": lambda t, b: t.nn.functional.gelu(b)}  # fmt: skip
WIDE = {"prod": lambda t, b: b.prod(), "mse_loss": lambda t, b: t.nn.functional.mse_loss(b, b), "trace": lambda t, b: b.trace(),
        "cross_entropy": lambda t, b: t.nn.functional.cross_entropy(b, t.tensor([0, 1, 2, 3])),
        "l1_loss": lambda t, b: t.nn.functional.l1_loss(b, b), "mixed cat": lambda t, b: t.cat([b, b.float()]),
        "mixed sum": lambda t, b: b + b.float()}  # fmt: skip
UNTOUCHED = {"mv": lambda t, f: t.mv(f, f[0]), "addmv": lambda t, f: t.addmv(f[0], f, f[0]), "dot": lambda t, f: t.dot(f[0], f[0])}


def torch_mm(torch, f):
    return torch.mm(f, f)


@pytest.mark.parametrize(("table", "given", "want"), [(LOWER, "float32", "bfloat16"), (STAYS, "bfloat16", "bfloat16"), (WIDE, "bfloat16", "float32"),
                                                      (UNTOUCHED, "float32", "float32")])  # fmt: skip
def test_lists_of_the_cpu(torch, table, given, want):
    x = torch.rand(4, 4).add(0.1).to(getattr(torch, given))
    with torch.autocast("cpu"):
        got = {name: str(f(torch, x).dtype) for name, f in table.items()}
    assert got == dict.fromkeys(table, f"torch.{want}")


def test_scopes_nest_and_doubles_stay(torch):
    one = torch.ones(2, 2)
    with torch.autocast("cpu"):
        with torch.autocast("cpu", enabled=False):
            assert (one @ one).dtype is torch.float32
        assert (one.double() @ one.double()).dtype is torch.float64
        assert torch.is_autocast_enabled("cpu") and torch.is_autocast_cpu_enabled()
        with torch.autocast("cpu", dtype=torch.float16):
            assert (one @ one).dtype is torch.float16 and torch.get_autocast_dtype("cpu") is torch.float16
        assert (one @ one).dtype is torch.bfloat16
    assert not torch.is_autocast_enabled("cpu")


def test_decorator_and_threads(torch):
    one = torch.ones(2, 2)

    @torch.autocast("cpu")
    def product(x):
        return x @ x

    assert product(one).dtype is torch.bfloat16 and product.__name__ == "product"
    seen = []
    with torch.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((one @ one).dtype))
        thread.start()
        thread.join()
    assert seen == [torch.float32]
    with pytest.raises(TypeError, match="requires a callable"):
        torch.autocast("cpu")(3)


def test_casts_of_weights_are_kept(torch):
    w = torch.ones(3, 3, requires_grad=True)
    x = torch.ones(2, 3)

    def casts(**options):
        with torch.autocast("cpu", **options):
            first, second = x @ w, x @ w
        edges = [y.grad_fn.next_functions[1][0] for y in (first, second)]
        return first, second, edges

    first, second, edges = casts()
    assert edges[0] is edges[1] or edges[0] == edges[1]
    (first + second).float().sum().backward()
    assert w.grad[0, 0].item() == 4.0
    _, _, edges = casts(cache_enabled=False)
    assert not (edges[0] is edges[1] or edges[0] == edges[1])
    with torch.autocast("cpu"):
        before = (x @ w)[0, 0].item()
        with torch.no_grad():
            w.mul_(2)
        torch.clear_autocast_cache()
        assert (x @ w)[0, 0].item() == 2 * before
        with torch.no_grad():
            x @ w  # records nothing, so nothing of it may be used below
        assert (x @ w).requires_grad
    assert torch.is_autocast_cache_enabled()


def test_names(torch):
    assert torch.get_autocast_gpu_dtype() is torch.float16 and torch.get_autocast_cpu_dtype() is torch.bfloat16
    torch.set_autocast_dtype("cpu", torch.float16)
    assert torch.get_autocast_dtype("cpu") is torch.float16
    torch.set_autocast_dtype("cpu", torch.bfloat16)
    torch.set_autocast_enabled("cpu", True)
    try:
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.bfloat16
    finally:
        torch.set_autocast_enabled("cpu", False)
    assert torch.amp.is_autocast_available("cpu") and torch.amp.is_autocast_available("cuda")
    with pytest.raises(RuntimeError):
        torch.autocast("abacus")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        torch.autocast(torch.device("cpu"))
    with pytest.warns(UserWarning, match="target dtype is not supported"), torch.autocast("cpu", dtype=torch.float64):
        assert not torch.is_autocast_enabled("cpu")


def test_without_cuda(torch):
    if torch.cuda.is_available():
        pytest.skip("there is CUDA")
    with pytest.warns(UserWarning, match="CUDA is not available"), torch.autocast("cuda"):
        assert not torch.is_autocast_enabled()
    with pytest.warns(FutureWarning, match=r"torch.cuda.amp.autocast\(args...\)` is deprecated"):
        torch.cuda.amp.autocast(enabled=False)
    with pytest.warns(FutureWarning, match=r"torch.cuda.amp.GradScaler\(args...\)` is deprecated"):
        scaler = torch.cuda.amp.GradScaler(enabled=False)
    assert not scaler.is_enabled() and scaler.scale(3) == 3 and scaler.state_dict() == {}
    with pytest.warns(UserWarning, match="Disabling"):
        assert not torch.amp.GradScaler("cuda").is_enabled() and torch.GradScaler is torch.amp.GradScaler
    with pytest.warns(FutureWarning, match=r"torch.cpu.amp.autocast\(args...\)` is deprecated"):
        torch.cpu.amp.autocast()
    assert torch.cuda.amp.common.amp_definitely_not_available()


@pytest.mark.parametrize("cast", [None, "float32"])
def test_custom_functions(torch, cast):
    seen = {}

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=cast and getattr(torch, cast))
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            seen["forward"] = (torch.is_autocast_enabled("cpu"), a.dtype)
            return a @ b

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            seen["backward"] = torch.is_autocast_enabled("cpu")
            return grad @ b.t(), a.t() @ grad

    a, b = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        out = Product.apply(a.bfloat16() if cast else a, b)
    assert out.dtype is (torch.float32 if cast else torch.bfloat16)
    out.float().sum().backward()
    assert seen == {"forward": (cast is None, torch.float32), "backward": cast is None}


# --- loss scaling


def scaled_step(torch, scaler, optimizer, w, value):
    optimizer.zero_grad()
    scaler.scale((w * value).sum()).backward()
    scaler.step(optimizer)
    scaler.update()


@pytest.mark.parametrize("fused", [None, True])
@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_scaling_changes_no_step(torch, optimizer, fused):
    ends = []
    for enabled in (True, False):
        w = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
        made = getattr(torch.optim, optimizer)([w], lr=0.1, **({"momentum": 0.9} if optimizer == "SGD" else {}), fused=fused)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=enabled)
        for value in (0.5, 0.25, 1.5):
            scaled_step(torch, scaler, made, w, value)
        ends.append(w.detach())
    torch.testing.assert_close(*ends)


@pytest.mark.parametrize("optimizer", ["SGD", "SparseAdam", "Adagrad"])
def test_scaling_of_sparse_gradients(torch, optimizer):
    """Entries are unscaled, an entry that is not finite leaves the step out, and an index that comes twice is one entry."""
    ends = []
    for enabled in (True, False):
        torch.manual_seed(0)
        table = torch.nn.Embedding(6, 3, sparse=True)
        made = getattr(torch.optim, optimizer)(table.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=256.0, enabled=enabled)
        for value in (1.0, 0.5):
            made.zero_grad()
            scaler.scale((table(torch.tensor([1, 4, 1])) * value).sum()).backward()
            scaler.unscale_(made)
            assert table.weight.grad.is_sparse and torch.allclose(table.weight.grad.to_dense()[1], torch.full((3,), 2 * value))
            scaler.step(made)
            scaler.update()
        ends.append(table.weight.detach().clone())
    torch.testing.assert_close(*ends)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    made.zero_grad()
    scaler.scale((table(torch.tensor([2])) * float("inf")).sum()).backward()
    scaler.step(made)
    scaler.update()
    assert torch.equal(table.weight.detach(), ends[1]) and scaler.get_scale() == 128.0


@pytest.mark.parametrize("fused", [None, True])
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_steps_that_are_not_finite_are_left_out(torch, optimizer, fused):
    w = torch.ones(3, requires_grad=True)
    made = getattr(torch.optim, optimizer)([w], lr=0.1, fused=fused, **({"momentum": 0.9} if optimizer == "SGD" else {}))
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    scales = []
    for value in (float("inf"), 1.0, float("nan"), 1.0, 1.0, 1.0):
        before = w.detach().clone()
        scaled_step(torch, scaler, made, w, value)
        assert torch.equal(before, w.detach()) is (value != 1.0)
        scales.append(scaler.get_scale())
    assert scales == [4.0, 4.0, 2.0, 2.0, 4.0, 4.0]
    if optimizer == "Adam":
        assert made.state[w]["step"].item() == 4


def test_unscale_and_errors(torch):
    w = torch.ones(3, requires_grad=True)
    made = torch.optim.SGD([w], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    with pytest.raises(AssertionError, match="Attempted step but _scale is None"):
        scaler.step(made)
    assert [x.item() for x in scaler.scale([torch.tensor(1.0), torch.tensor(2.0)])] == [4.0, 8.0]
    with pytest.raises(ValueError, match="must be a Tensor or an iterable"):
        scaler.scale(3)
    scaler.scale(w.sum()).backward()
    scaler.unscale_(made)
    assert w.grad.tolist() == [1.0] * 3
    with pytest.raises(RuntimeError, match="already been called on this optimizer"):
        scaler.unscale_(made)
    with pytest.raises(AssertionError, match="may only be pickled"):
        pickle.dumps(scaler)
    scaler.step(made)
    assert w.tolist() == pytest.approx([0.9] * 3)
    with pytest.raises(RuntimeError, match="step\\(\\) has already been called"):
        scaler.step(made)
    scaler.update(16.0)
    assert scaler.get_scale() == 16.0
    with pytest.raises(RuntimeError, match="Closure use"):
        scaler.step(made, closure=lambda: None)
    with pytest.raises(AssertionError, match="No inf checks"):
        scaler.update()
    half = torch.ones(3, dtype=torch.float16, requires_grad=True)
    half.grad = torch.ones(3, dtype=torch.float16)
    with pytest.raises(ValueError, match="unscale FP16"):
        scaler.unscale_(torch.optim.SGD([half], lr=0.1))


def test_scaler_state(torch):
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_factor=3.0, backoff_factor=0.25, growth_interval=5)
    scaler.scale(torch.ones(()))
    state = scaler.state_dict()
    assert state == {"scale": 8.0, "growth_factor": 3.0, "backoff_factor": 0.25, "growth_interval": 5, "_growth_tracker": 0}
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(state)
    assert other.state_dict() == state and pickle.loads(pickle.dumps(scaler)).state_dict() == state
    with pytest.raises(RuntimeError, match="source state dict is empty"):
        other.load_state_dict({})
    with pytest.raises(AssertionError, match="growth factor"):
        torch.amp.GradScaler("cpu", growth_factor=1.0)


def test_unscale_over_lists(torch):
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        xs = [torch.arange(6, dtype=torch.float32).to(dtype).reshape(2, 3), torch.ones(3, 2, dtype=dtype).t(), torch.ones(5, dtype=dtype)[::2]]
        found, inverse = torch.zeros(()), torch.tensor(0.5)
        torch._amp_foreach_non_finite_check_and_unscale_(xs, found, inverse)
        assert xs[0].float().tolist() == [[0.0, 0.5, 1.0], [1.5, 2.0, 2.5]] and xs[2].float().tolist() == [0.5] * 3 and found.item() == 0
        xs[1][0, 0] = float("nan")
        torch._amp_foreach_non_finite_check_and_unscale_(xs, found, inverse)
        assert found.item() == 1


@pytest.mark.parametrize("lower", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("given", ["float32", "lower"])
def test_recurrent_layers(torch, name, lower, given):
    """A GRU answers in its state's type, the others in the lower one."""
    lower = getattr(torch, lower)
    torch.manual_seed(0)
    layer = getattr(torch.nn, name)(4, 5, num_layers=2, bidirectional=True)
    x = torch.randn(7, 2, 4, dtype=torch.float32 if given == "float32" else lower, requires_grad=True)
    with torch.autocast("cpu", lower):
        y, state = layer(x)
        packed, _ = layer(torch.nn.utils.rnn.pack_padded_sequence(x, [7, 3]))
    expected = torch.float32 if name == "GRU" and given == "float32" else lower
    states = state if isinstance(state, tuple) else (state,)
    assert {y.dtype, packed.data.dtype, *(s.dtype for s in states)} == {expected}
    y.float().sum().backward()
    assert x.grad.dtype is x.dtype and {p.grad.dtype for p in layer.parameters()} == {torch.float32}
    assert torch.allclose(y.float(), layer(x.detach().float())[0], atol=0.02)


def test_prelu_takes_what_a_layer_made(torch):
    with torch.autocast("cpu", torch.bfloat16):
        net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.PReLU())
        assert net(torch.randn(2, 4)).dtype is torch.bfloat16
        assert torch.nn.PReLU(4)(torch.randn(2, 4)).dtype is torch.bfloat16


def test_devices_that_do_not_exist(torch):
    for call in (torch.is_autocast_enabled, torch.amp.is_autocast_available, torch.get_autocast_dtype, lambda d: torch.set_autocast_enabled(d, False),
                 lambda d: torch.set_autocast_dtype(d, torch.float16)):  # fmt: skip
        with pytest.raises(RuntimeError, match="device string: foo"):
            call("foo")
    assert not torch.amp.is_autocast_available("meta") and torch.amp.is_autocast_available("cpu:0")
    with pytest.raises(RuntimeError, match="unknown device type for autocast"):
        torch.is_autocast_enabled("meta")
