# SPDX-License-Identifier: Apache-2.0
"""nn.init and nn.utils. Every test holds for PyTorch as well (--module torch); numbers were taken from it."""
import copy
import importlib
import math

import pytest

pytestmark = pytest.mark.not_sanitized


def raised(call):
    with pytest.raises(Exception) as e:
        call()
    return type(e.value).__name__, e.value.args[0]


def part(torch, name):
    return importlib.import_module(f"{torch.__name__}.nn.{name}")


def sums(*tensors):
    return [round(t.detach().double().sum().item(), 3) for t in tensors]


@pytest.fixture
def net(torch):
    nn = torch.nn
    torch.manual_seed(3)
    return nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 3))


def ramp(torch, *shape):
    return (torch.arange(math.prod(shape), dtype=torch.float32) / 7).sin().reshape(shape)


# --- initial values


@pytest.mark.parametrize(("name", "args", "want"), [
    ("uniform_", (-1, 2), [17.3277, 22.7901]), ("normal_", (1.0, 2.0), [30.3625, 40.8305]), ("trunc_normal_", (), [3.1813, 15.9509]),
    ("trunc_normal_", (0.0, 1.0, 2.0, 3.0), [56.6392, 56.6392]), ("xavier_uniform_", (2.0,), [5.5025, 17.6519]), ("xavier_normal_", (), [1.4227, 7.1334]),
    ("kaiming_uniform_", (), [3.5518, 11.3942]), ("kaiming_uniform_", (0.5, "fan_out", "leaky_relu"), [3.8908, 12.4818]),
    ("kaiming_normal_", (0, "fan_in", "relu"), [1.8367, 9.2092]), ("sparse_", (0.5,), None), ("eye_", (), [4.0000, 4.0000]), ("ones_", (), [24.0000, 24.0000]), ("zeros_", (), [0.0000, 0.0000]),
    ("constant_", (0.5,), [12.0000, 12.0000]),
])  # fmt: skip
def test_init(torch, name, args, want):
    torch.manual_seed(11)
    t = torch.nn.Parameter(torch.empty(4, 6))
    assert getattr(torch.nn.init, name)(t, *args) is t and t.grad_fn is None
    if want:
        assert [t.sum().item(), t.abs().sum().item()] == pytest.approx(want, abs=2e-3)


def test_init_of_other_shapes(torch):
    init = torch.nn.init
    t = torch.empty(4, 2, 3, 3)
    assert init.dirac_(t, groups=2).sum() == 4 and t[2, 0, 1, 1] == 1
    conv = torch.nn.Conv2d(2, 4, 3, padding=1, groups=1, bias=False)
    init.dirac_(conv.weight)
    x = ramp(torch, 1, 2, 4, 4)
    assert torch.equal(conv(x)[:, :2], x)
    sparse = init.sparse_(torch.empty(10, 3), 0.3)
    assert (sparse == 0).sum(0).tolist() == [3, 3, 3]
    assert init._calculate_fan_in_and_fan_out(torch.empty(4, 2, 3)) == (6, 12)
    for gain, want in ((("relu",), math.sqrt(2)), (("tanh",), 5 / 3), (("leaky_relu", 0.2), math.sqrt(2 / 1.04)), (("selu",), 0.75), (("linear",), 1)):
        assert init.calculate_gain(*gain) == pytest.approx(want)
    with pytest.warns(FutureWarning, match="`nn.init.uniform` is now deprecated"):
        init.uniform(t)
    with pytest.warns(UserWarning, match="zero-element"):
        init.kaiming_uniform_(torch.empty(0, 3))


def test_init_errors(torch):
    init = torch.nn.init
    v = torch.empty(3)
    assert raised(lambda: init.xavier_uniform_(v)) == ("ValueError", "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    assert raised(lambda: init.kaiming_normal_(torch.empty(2, 2), mode="x"))[0] == "ValueError"
    assert raised(lambda: init.calculate_gain("x")) == ("ValueError", "Unsupported nonlinearity x")
    assert raised(lambda: init.calculate_gain("leaky_relu", "a")) == ("ValueError", "negative_slope a not a valid number")
    assert raised(lambda: init.eye_(v)) == ("ValueError", "Only tensors with 2 dimensions are supported")
    assert raised(lambda: init.dirac_(v))[0] == "ValueError" and raised(lambda: init.dirac_(torch.empty(3, 1, 1), 2))[0] == "ValueError"
    assert raised(lambda: init.orthogonal_(v)) == ("ValueError", "Only tensors with 2 or more dimensions are supported")


def test_orthogonal(torch):
    for shape in ((3, 5), (5, 3), (4, 2, 3)):
        t = torch.nn.init.orthogonal_(torch.empty(shape), gain=2).flatten(1)
        small = t @ t.T if t.shape[0] < t.shape[1] else t.T @ t
        assert torch.allclose(small, 4 * torch.eye(min(t.shape)), atol=1e-5)


# --- gradients and vectors


def test_clipping(torch, net):
    utils = torch.nn.utils
    net(ramp(torch, 2, 2, 4, 4)).square().sum().backward()
    before = [p.grad.clone() for p in net.parameters()]
    norm = utils.clip_grad_norm_(net.parameters(), 0.5)
    assert norm.item() == pytest.approx(math.sqrt(sum(g.square().sum().item() for g in before)), rel=1e-5)
    assert utils.get_total_norm([p.grad for p in net.parameters()]).item() == pytest.approx(0.5, rel=1e-4)
    assert torch.allclose(net[3].weight.grad, before[-2] * (0.5 / norm), atol=1e-6)
    assert utils.clip_grad_norm_(net.parameters(), 100, norm_type=math.inf, foreach=False) > 0
    utils.clip_grad_value_(net.parameters(), 0.01)
    assert max(p.grad.abs().max().item() for p in net.parameters()) <= 0.01
    utils.clip_grads_with_norm_(net[3].weight, 1e-3, utils.get_total_norm(net[3].weight.grad))
    assert net[3].weight.grad.norm().item() == pytest.approx(1e-3, rel=1e-3)
    net[0].weight.grad[0] = math.nan
    with pytest.raises(RuntimeError, match="non-finite, so it cannot be clipped"):
        utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True)
    assert utils.clip_grad_norm_([], 1.0) == 0
    with pytest.warns(UserWarning, match="empty generator"):
        utils.clip_grad_norm_((p for p in []), 1.0)
    with pytest.warns(FutureWarning):
        utils.clip_grad_norm([torch.ones(1)], 1.0)


def test_vectors(torch, net):
    utils = torch.nn.utils
    v = utils.parameters_to_vector(net.parameters())
    assert v.shape == (sum(p.numel() for p in net.parameters()),) and v.requires_grad
    utils.vector_to_parameters(v.detach() * 2, net.parameters())
    assert torch.equal(utils.parameters_to_vector(net.parameters()), v * 2)
    assert raised(lambda: utils.vector_to_parameters([1], net.parameters())) == ("TypeError", "expected torch.Tensor, but got: list")


def test_fusion(torch, net):
    utils = torch.nn.utils
    x = ramp(torch, 2, 2, 4, 4)
    net(x)
    assert raised(lambda: utils.fuse_conv_bn_eval(net[0], net[1])) == ("AssertionError", "Fusion only for eval!")
    net.eval()
    fused = utils.fuse_conv_bn_eval(net[0], net[1])
    assert torch.allclose(fused(x), net[1](net[0](x)), atol=1e-5) and isinstance(fused.weight, torch.nn.Parameter) and fused.weight.requires_grad
    up, bn = torch.nn.ConvTranspose2d(2, 4, 3, bias=False).eval(), net[1]
    assert torch.allclose(utils.fuse_conv_bn_eval(up, bn, transpose=True)(x), bn(up(x)), atol=1e-5)
    linear, bn = torch.nn.Linear(3, 5).eval(), torch.nn.BatchNorm1d(5).eval()
    bn.running_mean.add_(0.5)
    y = ramp(torch, 4, 3)
    assert torch.allclose(utils.fuse_linear_bn_eval(linear, bn)(y), bn(linear(y)), atol=1e-5)


def test_making_and_layout(torch):
    utils = torch.nn.utils
    m = utils.skip_init(torch.nn.Linear, 3, 4, dtype=torch.float64)
    assert m.weight.shape == (4, 3) and m.weight.dtype == torch.float64 and not m.weight.is_meta
    assert raised(lambda: utils.skip_init(int))[0] == "RuntimeError" and raised(lambda: utils.skip_init(torch.nn.ReLU))[0] == "RuntimeError"
    net = utils.convert_conv2d_weight_memory_format(torch.nn.Sequential(torch.nn.Conv2d(4, 6, 3)), torch.channels_last)
    assert net[0].weight.is_contiguous(memory_format=torch.channels_last)
    assert torch.nn.factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": torch.float64}}) == {"device": "cpu", "dtype": torch.float64}
    assert raised(lambda: torch.nn.factory_kwargs({"x": 1}))[0] == "TypeError"
    state = {"module.a": 1, "b": 2}
    part(torch, "modules.utils").consume_prefix_in_state_dict_if_present(state, "module.")
    assert state == {"b": 2, "a": 1}


# --- norms of weights and parametrizations


def test_old_weight_norm(torch):
    utils = torch.nn.utils
    torch.manual_seed(5)
    m = torch.nn.Linear(4, 3)
    before = m.weight.detach().clone()
    with pytest.warns(FutureWarning, match="parametrizations.weight_norm"):
        utils.weight_norm(m)
    assert list(m.state_dict()) == ["bias", "weight_g", "weight_v"] and m.weight_g.shape == (3, 1)
    x = ramp(torch, 2, 4)
    assert torch.allclose(m(x), torch.nn.functional.linear(x, before, m.bias), atol=1e-6)
    m(x).square().sum().backward()
    with torch.no_grad():
        m.weight_g.mul_(2)
    assert torch.allclose(m(x) - m.bias, 2 * (x @ before.T), atol=1e-6) and m.weight_g.grad is not None
    utils.remove_weight_norm(m)
    assert isinstance(m.weight, torch.nn.Parameter) and torch.allclose(m.weight, 2 * before, atol=1e-6)
    assert raised(lambda: utils.remove_weight_norm(m))[0] == "ValueError"


@pytest.mark.parametrize("new", [False, True])
def test_spectral_norm(torch, new):
    torch.manual_seed(5)
    m = (part(torch, "utils.parametrizations") if new else torch.nn.utils).spectral_norm(torch.nn.Linear(6, 4))
    x = ramp(torch, 2, 6)
    for _ in range(60):
        m(x)
    m.eval()
    m(x)
    w = m.weight.detach()
    square = w @ w.T
    for _ in range(5):  # its 32nd power
        square = square @ square
    top = square.trace().item() ** (1 / 64)
    assert top == pytest.approx(1, abs=1e-2)
    m(x).sum().backward()
    fresh = (part(torch, "utils.parametrizations") if new else torch.nn.utils).spectral_norm(torch.nn.Linear(6, 4)).eval()
    fresh.load_state_dict(m.state_dict())
    assert torch.allclose(fresh(x), m(x), atol=1e-6)
    if not new:
        torch.nn.utils.remove_spectral_norm(m)
        assert torch.allclose(m.weight, w, atol=1e-6) and list(m.state_dict()) == ["bias", "weight"]


def test_weight_norm(torch):
    P, PS = part(torch, "utils.parametrize"), part(torch, "utils.parametrizations")
    m = PS.weight_norm(torch.nn.Linear(4, 3), dim=None)
    assert m.parametrizations.weight.original0.shape == ()
    m = PS.weight_norm(torch.nn.Linear(4, 3))
    assert list(m.state_dict()) == ["bias", "parametrizations.weight.original0", "parametrizations.weight.original1"]
    m.load_state_dict({"weight_g": torch.full((3, 1), 2.0), "weight_v": torch.ones(3, 4), "bias": torch.zeros(3)})
    assert torch.allclose(m.weight, torch.ones(3, 4)) and P.type_before_parametrizations(m) is torch.nn.Linear
    twin = copy.deepcopy(m)
    assert torch.equal(twin.weight, m.weight) and twin.parametrizations.weight.original0 is not m.parametrizations.weight.original0
    P.remove_parametrizations(m, "weight")
    assert type(m) is torch.nn.Linear and isinstance(m.weight, torch.nn.Parameter) and list(m.state_dict()) == ["bias", "weight"]
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        import pickle

        pickle.dumps(twin)


def test_parametrize(torch):
    nn, P = torch.nn, part(torch, "utils.parametrize")

    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).T

        def right_inverse(self, a):
            return a.triu()

    class Doubled(nn.Module):
        def forward(self, x):
            return 2 * x

        def right_inverse(self, x):
            return x / 2

    class First(nn.Module):
        def forward(self, x):
            return x[0]

    m = nn.Linear(3, 3)
    original = m.weight
    P.register_parametrization(m, "weight", Symmetric())
    P.register_parametrization(m, "weight", Doubled())
    assert P.is_parametrized(m) and P.is_parametrized(m, "weight") and not P.is_parametrized(m, "bias") and type(m).__name__ == "ParametrizedLinear"
    assert m.parametrizations.weight.original is original and torch.equal(m.weight, m.weight.T) and [n for n, _ in m.named_parameters()] == [
        "bias", "parametrizations.weight.original"]  # fmt: skip
    m.weight = torch.full((3, 3), 4.0)
    assert m.weight.tolist() == [[4.0] * 3] * 3 and m(torch.ones(1, 3)).shape == (1, 3)
    m(torch.ones(1, 3)).sum().backward()
    assert original.grad is not None
    with P.cached():
        assert m.weight is m.weight
    assert m.weight is not m.weight
    other = P.transfer_parametrizations_and_params(m, nn.Linear(3, 3))
    assert torch.equal(other.weight, m.weight)
    P.remove_parametrizations(m, "weight", leave_parametrized=False)
    assert m.weight is original and type(m) is nn.Linear
    assert "may not change the shape" in raised(lambda: P.register_parametrization(nn.Linear(2, 2), "weight", First()))[1]
    assert "does not have a parameter, a buffer" in raised(lambda: P.register_parametrization(nn.Linear(2, 2), "w", Doubled()))[1]
    assert raised(lambda: P.remove_parametrizations(m, "weight"))[0] == "ValueError"

    class OneWay(nn.Module):
        def forward(self, x):
            return x

    n = nn.Linear(2, 2)
    P.register_parametrization(n, "weight", OneWay())
    assert raised(lambda: setattr(n, "weight", torch.ones(2, 2))) == ("RuntimeError", "parametrization OneWay does not implement right_inverse.")


@pytest.mark.parametrize(("shape", "kind"), [((4, 4), "matrix_exp"), ((3, 5), "matrix_exp"), ((5, 3), "cayley"), ((4, 4), None), ((5, 3), "householder"), ((3, 5), None)])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal_parametrization(torch, shape, kind, trivial):
    PS = part(torch, "utils.parametrizations")
    torch.manual_seed(0)
    m = torch.nn.Linear(shape[1], shape[0], bias=False)
    PS.orthogonal(m, orthogonal_map=kind, use_trivialization=trivial)
    m(ramp(torch, 2, shape[1])).square().sum().backward()
    grad = m.parametrizations.weight.original.grad
    assert grad is not None and grad.isfinite().all()
    with torch.no_grad():
        m.parametrizations.weight.original.sub_(grad, alpha=0.1)
    w = m.weight.detach()
    small = w @ w.T if shape[0] < shape[1] else w.T @ w
    assert torch.allclose(small, torch.eye(min(shape)), atol=1e-4)
    if trivial:
        q = torch.linalg.qr(ramp(torch, 5, 5) + 2 * torch.eye(5))[0][: shape[0], : shape[1]]
        m.weight = torch.linalg.qr(q.T if shape[0] < shape[1] else q)[0].T if shape[0] < shape[1] else torch.linalg.qr(q)[0]
        w = m.weight.detach()
        assert torch.allclose(w @ w.T if shape[0] < shape[1] else w.T @ w, torch.eye(min(shape)), atol=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_functional_call(torch, net):
    call = part(torch, "utils.stateless").functional_call
    x = ramp(torch, 2, 2, 4, 4)
    net.eval()
    want = copy.deepcopy(net)
    with torch.no_grad():
        want[3].weight.zero_()
    before = net[3].weight
    given = {"3.weight": torch.zeros(3, 16, requires_grad=True)}
    out = call(net, given, x)
    assert torch.allclose(out, want(x)) and net[3].weight is before
    out.sum().backward()
    assert given["3.weight"].grad is not None and before.grad is None
    tied = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.Linear(2, 2, bias=False))
    tied[1].weight = tied[0].weight
    assert torch.equal(call(tied, {"0.weight": torch.eye(2) * 2}, torch.eye(2)), torch.eye(2) * 4)
    assert "which are tied" in raised(lambda: call(tied, {"0.weight": torch.eye(2), "1.weight": torch.ones(2, 2)}, torch.eye(2)))[1]
    assert raised(lambda: call(tied, {"x": torch.ones(1)}, torch.eye(2), strict=True))[1].startswith("Error(s) in reparametrizing for Sequential:")
    counted = torch.nn.BatchNorm1d(2)
    state = {"running_mean": torch.zeros(2), "num_batches_tracked": torch.tensor(7)}
    call(counted, state, ramp(torch, 4, 2))
    assert state["num_batches_tracked"] == 8 and counted.num_batches_tracked == 0 and state["running_mean"].abs().sum() > 0


def test_prune(torch):
    nn, prune = torch.nn, part(torch, "utils.prune")
    m = nn.Linear(4, 3)
    with torch.no_grad():
        m.weight.copy_(torch.arange(12.0).reshape(3, 4) - 6)
    assert prune.l1_unstructured(m, "weight", amount=3) is m and m.weight_mask.sum() == 9 and (m.weight == 0).sum() == 3
    assert list(m.state_dict()) == ["bias", "weight_orig", "weight_mask"] and prune.is_pruned(m) and not isinstance(m.weight, nn.Parameter)
    prune.ln_structured(m, "weight", amount=1, n=2, dim=0)
    assert m.weight_mask.tolist() == [[1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]] or m.weight_mask.sum() <= 8
    m(torch.ones(1, 4)).sum().backward()
    assert ((m.weight_orig.grad == 0) >= (m.weight_mask == 0)).all()
    prune.remove(m, "weight")
    assert isinstance(m.weight, nn.Parameter) and not prune.is_pruned(m) and (m.weight == 0).sum() >= 4
    prune.random_unstructured(m, "weight", amount=0.5)
    assert m.weight_mask.sum() == 6
    prune.custom_from_mask(m, "bias", torch.tensor([1, 0, 1]))
    assert m.bias[1] == 0
    n = nn.Conv2d(2, 4, 3)
    prune.random_structured(n, "weight", amount=2, dim=0)
    assert (n.weight.flatten(1).abs().sum(1) == 0).sum() == 2
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    with torch.no_grad():
        a.weight.fill_(0.1)
        b.weight.fill_(5.0)
    prune.global_unstructured([(a, "weight"), (b, "weight")], pruning_method=prune.L1Unstructured, amount=4)
    assert a.weight.abs().sum() == 0 and (b.weight == 5).all()
    assert raised(lambda: prune.l1_unstructured(nn.Linear(1, 1), "weight", amount=5))[0] == "ValueError"
    assert raised(lambda: prune.l1_unstructured(nn.Linear(1, 1), "weight", amount=-1))[0] == "ValueError"
    assert raised(lambda: prune.l1_unstructured(nn.Linear(1, 1), "weight", amount="x"))[0] == "TypeError"
    assert raised(lambda: prune.remove(nn.ReLU(), "weight"))[0] == "ValueError"


# --- packed sequences


def test_packing(torch):
    R = torch.nn.utils.rnn
    seqs = [torch.arange(float(n)).unsqueeze(1) + 10 * n for n in (2, 4, 1)]
    padded = R.pad_sequence(seqs)
    assert padded.shape == (4, 3, 1) and R.pad_sequence(seqs, batch_first=True, padding_value=-1)[0].flatten().tolist() == [20, 21, -1, -1]
    assert R.pad_sequence(seqs, batch_first=True, padding_side="left")[2].flatten().tolist() == [0, 0, 0, 10]
    packed = R.pack_sequence(seqs, enforce_sorted=False)
    assert packed.data.flatten().tolist() == [40, 20, 10, 41, 21, 42, 43] and packed.batch_sizes.tolist() == [3, 2, 1, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2] and packed.unsorted_indices.tolist() == [1, 0, 2]
    back, lengths = R.pad_packed_sequence(packed, batch_first=True, total_length=5)
    assert lengths.tolist() == [2, 4, 1] and back.shape == (3, 5, 1) and [t.tolist() for t in R.unpack_sequence(packed)] == [s.tolist() for s in seqs]
    again = R.pack_padded_sequence(padded, [2, 4, 1], enforce_sorted=False)
    assert torch.equal(again.data, packed.data) and type(packed.double()) is R.PackedSequence and packed.double().data.dtype == torch.float64
    assert packed.to("cpu") is packed and not packed.is_cuda and R.invert_permutation(torch.tensor([2, 0, 1])).tolist() == [1, 2, 0]
    assert raised(lambda: R.pack_padded_sequence(padded, [2, 4, 1]))[1].startswith("`lengths` array must be sorted in decreasing order")
    assert raised(lambda: R.pack_padded_sequence(padded, [4, 2, 0]))[1].startswith("Length of all samples has to be greater than 0")
    assert raised(lambda: R.pack_padded_sequence(padded, [4, 2]))[1].startswith("Expected `len(lengths)` to be equal to batch_size")
    assert raised(lambda: R.pad_packed_sequence(packed, total_length=1))[0] == "ValueError"
    assert raised(lambda: R.pad_sequence(3))[0] == "RuntimeError"


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True, "bias": False}])
def test_packed_is_padded(torch, kind, options):
    """Every sequence of a batch alone gives what it gives packed with the others."""
    R = torch.nn.utils.rnn
    torch.manual_seed(0)
    m = getattr(torch.nn, kind)(3, 4, **options).double()
    seqs = [ramp(torch, n, 3).double().requires_grad_() for n in (2, 5, 1, 5)]
    out, state = m(R.pack_sequence(seqs, enforce_sorted=False))
    sum(o.square().sum() for o in R.unpack_sequence(out)).backward()
    grads = [s.grad.clone() for s in seqs]
    for i, (s, o) in enumerate(zip(seqs, R.unpack_sequence(out))):
        s.grad = None
        alone, last = m(s)
        assert torch.allclose(alone, o)
        for a, b in zip(last if kind == "LSTM" else [last], state if kind == "LSTM" else [state]):
            assert torch.allclose(a, b[:, i])
        alone.square().sum().backward()
        assert torch.allclose(s.grad, grads[i])


def test_recurrent_errors(torch):
    nn = torch.nn
    m = nn.LSTM(3, 4)
    x = torch.ones(5, 2, 3)
    assert raised(lambda: m(torch.ones(5, 2, 2))) == ("RuntimeError", "input.size(-1) must be equal to input_size. Expected 3, got 2")
    assert raised(lambda: m(torch.ones(5)))[0] == "ValueError"
    assert raised(lambda: m(x, (torch.ones(1, 2, 3), torch.ones(1, 2, 4)))) == ("RuntimeError", "Expected hidden[0] size (1, 2, 4), got [1, 2, 3]")
    assert "hx and cx should also be 3-D" in raised(lambda: m(x, (torch.ones(2, 4), torch.ones(2, 4))))[1]
    assert "does not match weight dtype" in raised(lambda: m(x.double()))[1]
    assert raised(lambda: nn.GRU(3, 4)(x, torch.ones(1, 3, 4))) == ("RuntimeError", "Expected hidden size (1, 2, 4), got [1, 3, 4]")
    assert raised(lambda: nn.GRU(3, 4, proj_size=2))[0] == "ValueError" and raised(lambda: nn.RNN(3, 4, nonlinearity="x"))[0] == "ValueError"
    for wrong in ({"num_layers": 0}, {"hidden_size": 0}, {"proj_size": 9}, {"dropout": 2.0}):
        assert raised(lambda: nn.LSTM(**{"input_size": 3, "hidden_size": 4, **wrong}))[0] == "ValueError"  # noqa: B023
    assert raised(lambda: nn.LSTM(3, 4.0))[0] == "TypeError" and raised(lambda: nn.RNNBase("X", 3, 4))[0] == "ValueError"
    assert raised(lambda: nn.GRUCell(3, 4)(torch.ones(2, 2, 2)))[0] == "ValueError"
    assert raised(lambda: nn.LSTMCell(3, 4)(torch.ones(2, 2)))[0] == "RuntimeError"
    with pytest.warns(UserWarning, match="dropout option adds dropout after all but last"):
        nn.LSTM(3, 4, dropout=0.5)
    m.weight_hh_l0 = nn.Parameter(torch.zeros(16, 4))  # what a program assigns is used
    assert m._flat_weights[1] is m.weight_hh_l0 and m.all_weights[0][1] is m.weight_hh_l0
    twin = copy.deepcopy(m)
    assert torch.equal(twin(x)[0], m(x)[0]) and twin.weight_hh_l0 is not m.weight_hh_l0


# --- other things of one call


def test_data_parallel_without_devices(torch):
    if torch.cuda.is_available():
        pytest.skip("there are devices")
    m = torch.nn.DataParallel(torch.nn.Linear(2, 3))
    assert m.device_ids == [] and m(torch.ones(4, 2)).shape == (4, 3) and list(m.state_dict()) == ["module.weight", "module.bias"]
    assert raised(lambda: torch.nn.parallel.data_parallel(m, torch.ones(1, 2)))[0] == "RuntimeError"
    assert not isinstance(m, torch.nn.parallel.DistributedDataParallel)
    assert raised(lambda: torch.nn.parallel.DistributedDataParallel(m.module))[0] in ("ValueError", "RuntimeError")


def test_sync_batch_norm(torch):
    nn = torch.nn
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Sequential(nn.BatchNorm2d(4, affine=False)))
    weight = net[1].weight
    sync = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert type(sync[1]) is nn.SyncBatchNorm and type(sync[2][0]) is nn.SyncBatchNorm and sync[1].weight is weight
    x = ramp(torch, 4, 3)
    assert torch.allclose(sync[1](x), nn.BatchNorm1d(3)(x), atol=1e-6)
    assert raised(lambda: sync[1](torch.ones(3)))[0] == "ValueError"


def test_adaptive_softmax(torch):
    torch.manual_seed(1)
    m = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0)
    x = ramp(torch, 6, 8)
    log_prob = m.log_prob(x)
    assert torch.allclose(log_prob.exp().sum(1), torch.ones(6), atol=1e-5)
    target = torch.tensor([1, 7, 19, 4, 12, 0])
    out = m(x, target)
    assert torch.allclose(out.output, log_prob.gather(1, target.unsqueeze(1)).squeeze(1), atol=1e-5) and torch.allclose(out.loss, -out.output.mean())
    assert torch.equal(m.predict(x), log_prob.argmax(1)) and m(x[0], target[0]).output.shape == ()
    assert "Target values should be in [0, 19]" in raised(lambda: m(x, target + 10))[1]
    for cutoffs in ([], [10, 5], [0, 5], [5, 20]):
        assert raised(lambda: torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs))[0] == "ValueError"  # noqa: B023


def test_attention_backends(torch):
    attention = part(torch, "attention")
    with attention.sdpa_kernel([attention.SDPBackend.MATH, attention.SDPBackend.FLASH_ATTENTION]):
        q = ramp(torch, 1, 2, 3, 4)
        assert torch.nn.functional.scaled_dot_product_attention(q, q, q).shape == q.shape
    with pytest.raises(AssertionError), attention.sdpa_kernel("math"):
        pass


def test_old_arguments_of_losses(torch):
    nn = torch.nn
    with pytest.warns(UserWarning, match="please use reduction='sum'"):
        assert nn.MSELoss(size_average=False).reduction == "sum"
    with pytest.warns(UserWarning):
        assert nn.L1Loss(reduce=False).reduction == "none"
    with pytest.warns(FutureWarning, match="renamed to `min_val`"):
        nn.Hardtanh(min_value=-2.0)


def test_wrong_arguments(torch):
    nn = torch.nn
    wrong = [
        (lambda: nn.Conv2d(3, 4, 3, groups=2), "ValueError"), (lambda: nn.Conv2d(4, 3, 3, groups=2), "ValueError"), (lambda: nn.Conv2d(4, 4, 3, groups=0), "ValueError"),
        (lambda: nn.Conv2d(4, 4, 3, padding="x"), "ValueError"), (lambda: nn.Conv2d(4, 4, 3, 2, padding="same"), "ValueError"), (lambda: nn.Conv1d(1, 1, 1, padding_mode="x"), "ValueError"),
        (lambda: nn.ConvTranspose2d(4, 4, 3, padding_mode="reflect"), "ValueError"), (lambda: nn.Dropout(1.5), "ValueError"), (lambda: nn.Embedding(3, 2, padding_idx=3), "AssertionError"),
        (lambda: nn.GroupNorm(3, 4), "ValueError"), (lambda: nn.Unflatten(0, 3), "TypeError"), (lambda: nn.Unflatten(0, ("a",)), "TypeError"), (lambda: nn.LPPool1d(0, 2), "ValueError"),
        (lambda: nn.FractionalMaxPool2d(2), "ValueError"), (lambda: nn.FractionalMaxPool2d(2, output_ratio=2.0), "ValueError"), (lambda: nn.Softmax("x"), "TypeError"),
        (lambda: nn.MultiheadAttention(5, 2), "AssertionError"), (lambda: nn.MultiheadAttention(0, 2), "ValueError"), (lambda: nn.HuberLoss(delta="x"), "TypeError"),
        (lambda: nn.MultiMarginLoss(p=3), "ValueError"), (lambda: nn.TripletMarginLoss(margin=0), "ValueError"), (lambda: nn.Bilinear(0, 1, 1), "ValueError"), (lambda: nn.Hardtanh(1, 0), "AssertionError"),
        (lambda: nn.BatchNorm2d(3)(torch.ones(2, 3)), "ValueError"), (lambda: nn.InstanceNorm2d(3, affine=True)(torch.ones(1, 2, 4, 4)), "ValueError"),
        (lambda: nn.CircularPad2d(1)(torch.ones(2)), "ValueError"), (lambda: nn.Softmax2d()(torch.ones(2)), "ValueError"), (lambda: nn.TransformerEncoderLayer(8, 2, activation="x"), "RuntimeError"),
        (lambda: nn.ConvTranspose1d(1, 1, 3)(torch.ones(1, 1, 4), output_size=[99]), "ValueError"), (lambda: nn.Linear(-1, 2), "RuntimeError"), (lambda: nn.Linear("a", 2), "TypeError"),
        (lambda: nn.Linear(2**62, 2**62, device="meta"), "RuntimeError"),
    ]  # fmt: skip
    assert [(i, raised(call)[0]) for i, (call, _) in enumerate(wrong)] == [(i, kind) for i, (_, kind) in enumerate(wrong)]


def test_pieces_of_a_batch(torch):
    """What DataParallel does on several devices, with the CPU in their place (PyTorch takes CUDA devices only)."""
    if torch.__name__ != "facula":
        pytest.skip("needs CUDA devices")
    P = part(torch, "parallel")
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2).eval())
    devices, x = ["cpu", "cpu"], ramp(torch, 5, 3)
    pieces = P.scatter((x, {"k": [x, 7]}), devices)
    assert len(pieces) == 2 and pieces[1][0].shape == (2, 3) and pieces[0][1]["k"][1] == 7 and torch.equal(P.gather([p[0] for p in pieces], -1), x)
    replicas = P.replicate(net, devices)
    assert replicas[0] is not net and list(replicas[0].parameters()) == []
    out = P.gather(P.parallel_apply(replicas, P.scatter(x, devices)), "cpu")
    assert torch.allclose(out, net(x))
    out.sum().backward()
    assert net[0].weight.grad is not None
    with pytest.raises(RuntimeError):
        P.parallel_apply(replicas, [torch.ones(1, 3), torch.ones(1, 4)])
    assert P.gather([{"a": x}, {"a": x}], "cpu")["a"].shape == (10, 3)
