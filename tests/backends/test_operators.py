# SPDX-License-Identifier: Apache-2.0
"""The operator table on a tier-1 device (copy, map, reduce, matmul) against the CPU, and what still falls back there.

Most operators reach the device as decompositions (src/plan/decompose.cpp, the functions *_parts): each must give the
CPU kernel's values, types, shapes and strides, and its gradients.
"""
import importlib.util
import pathlib
import sys

import facula as torch
import pytest
from backend_tools import LOOPS

TESTS = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "ops"))

from golden import TOLERANCE, array, differences, flatten, is_tensor, short  # noqa: E402
from opspec import Make, resolve, select  # noqa: E402
from record import gradient  # noqa: E402
from table import ROWS  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
ABOUT_DEVICES = {"cpu", "numpy", "to"}  # what they do depends on where the tensor is
OWN_LAYOUT = {"scaled_dot_product_attention"}  # the CPU's kernel leaves heads beside each other

# What a tier-1 device cannot do by itself, and why. Anything else that falls back fails test_fallbacks.
GATHER = ["embedding", "gather", "index.Tensor", "index_select", "take"]
SCATTER = ["index_add", "index_copy", "index_fill.int_Scalar", "index_fill.int_Tensor", "index_put", "index_put_", "index_reduce", "scatter.reduce",
           "scatter.src", "scatter.value", "scatter_add", "_masked_scatter_"]  # fmt: skip
SCAN = ["cumprod", "cumsum"]
SORT = ["sort", "sort.stable"]
SIZE_FROM_VALUES = ["masked_select", "nonzero", "repeat_interleave.Tensor"]
NO_COMPLEX = ["copy_", "fill_.Scalar", "_conj_physical", "abs", "bmm", "mm", "mul.Tensor"]  # the example device stores no complex numbers
LAPACK = ["_householder_product", "_linalg_eigh", "_linalg_eigvals", "_linalg_svd", "_lstsq", "_lu_permutation", "_ormqr", "geqrf", "linalg_cholesky_ex",
          "linalg_eig", "linalg_inv_ex", "linalg_ldl_factor_ex", "linalg_ldl_solve", "linalg_lu_factor_ex", "linalg_lu_solve", "linalg_solve_triangular"]  # fmt: skip
FOURIER = ["_fft_c2c", "_fft_c2r", "_fft_r2c"]
SEARCH = ["searchsorted.Tensor"]
SPECIAL = [name if name.startswith("igamma") else f"special_{name}{overload}" for name in LOOPS
           for overload in (("", ".self_scalar", ".other_scalar") if name == "zeta" else ("", ".x_scalar", ".n_scalar") if "polynomial" in name else ("",))]  # fmt: skip
NOT_DECOMPOSED = ["_adaptive_avg_pool3d", "_ctc_loss", "_embedding_bag", "_pdist_forward", "adaptive_max_pool2d", "adaptive_max_pool3d",
                  "avg_pool3d", "fractional_max_pool2d", "fractional_max_pool3d", "grid_sampler_2d", "grid_sampler_3d", "max_pool3d_with_indices"]  # fmt: skip
EXPECTED = {f"aten::{name}" for name in GATHER + SCATTER + SCAN + SORT + SIZE_FROM_VALUES + NO_COMPLEX + LAPACK + FOURIER + SEARCH + SPECIAL + NOT_DECOMPOSED}


def fallbacks():
    return {name for name, _ in torch.backends.fallback_counts()}


def outcome(function, sample):
    try:
        return flatten(torch, function(*sample.args, **sample.kwargs))
    except Exception as error:
        return type(error)


def compare(got, want, tolerance=None, strides=True):
    """'' when a tensor on the device is the CPU's."""
    if not is_tensor(torch, want):
        return "" if is_tensor(torch, want) == is_tensor(torch, got) else f"got {got}"
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        return f"{got.dtype} {list(got.shape)}, the CPU has {want.dtype} {list(want.shape)}"
    if strides and got.numel() > 1 and got.stride() != want.stride():
        return f"strides {got.stride()}, the CPU has {want.stride()}"
    return differences(array(torch, got), array(torch, want), *(tolerance or TOLERANCE.get(short(want.dtype), (0, 0))))


@pytest.mark.parametrize("op", ROWS, ids=[op.name for op in ROWS])
def test_values(example, op):
    if op.name in ABOUT_DEVICES or not op.deterministic:
        pytest.skip("its result depends on the device" if op.name in ABOUT_DEVICES else "its result is random")
    function, bad = resolve(torch, op.call), []
    for dtype in [d for d in ("f32", "bf16", "i64") if d in op.dtypes]:
        for here, there in zip(select(op, torch, dtype, "cpu"), select(op, torch, dtype, example)):
            want, got = outcome(function, here), outcome(function, there)
            where = f"{op.name}/{dtype}/{here.label}"
            if isinstance(want, type) or isinstance(got, type):
                if got != want:
                    bad.append(f"{where}: got {got}, the CPU has {want}")
                continue
            if not op.values:
                continue
            bad += [f"{where}: {told}" for g, w in zip(got, want) if (told := compare(g, w, op.tol.get(dtype), op.name not in OWN_LAYOUT))]
    assert not bad, "\n".join(bad[:12])


@pytest.mark.parametrize("op", [op for op in ROWS if op.grad], ids=lambda op: op.name)
def test_gradients(example, op):
    if op.name in ABOUT_DEVICES:
        pytest.skip("its gradient is on another device")
    function, bad = resolve(torch, op.call), []
    for dtype in [d for d in ("f64", "bf16") if d in op.dtypes]:
        tolerance = (1e-6, 1e-7) if dtype == "f64" else (3e-2, 1e-2)
        for here, there in zip(select(op, torch, dtype, "cpu"), select(op, torch, dtype, example)):
            if not here.slope or isinstance(outcome(function, here), type):
                continue
            make = [Make(torch, op.name, device=device) for device in ("cpu", example)]
            try:
                want = gradient(torch, op, function, here, make[0])
            except (RuntimeError, NotImplementedError):
                continue  # this type has no gradient
            got = gradient(torch, op, function, there, make[1])
            for g, w in zip(got or (), want or ()):
                told = "" if g is None and w is None else differences(array(torch, g), array(torch, w), *tolerance)
                if told or short(g.dtype if g is not None else torch.float64) != short(w.dtype if w is not None else torch.float64):
                    bad.append(f"{op.name}/{dtype}/{here.label}: {told or g.dtype}")
    assert not bad, "\n".join(bad[:12])


POOLS = [
    ("max_pool2d", dict(kernel_size=3, stride=2, padding=1)),
    ("max_pool2d", dict(kernel_size=(2, 4), stride=(1, 3), padding=(1, 2), dilation=(2, 1), ceil_mode=True)),
    ("max_pool2d", dict(kernel_size=9, stride=1, padding=4, return_indices=True)),
    ("avg_pool2d", dict(kernel_size=3, stride=2, padding=1)),
    ("avg_pool2d", dict(kernel_size=(3, 2), stride=2, padding=1, ceil_mode=True, count_include_pad=False)),
    ("avg_pool2d", dict(kernel_size=2, divisor_override=3)),
    ("adaptive_avg_pool2d", dict(output_size=(3, 4))),
    ("adaptive_avg_pool2d", dict(output_size=1)),
]


@pytest.mark.parametrize("name, options", POOLS, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last], ids=str)
def test_pools(example, name, options, dtype, layout):
    torch.backends.set_fallback_mode("error")
    torch.manual_seed(0)
    data = torch.randint(-9, 9, (2, 3, 7, 6)).to(dtype).contiguous(memory_format=layout)  # with ties
    data[1, 2, 3, 4] = float("nan") if dtype == torch.float32 and not options.get("divisor_override") else 1
    results = []
    for device in ("cpu", example):
        x = data.to(device).detach().requires_grad_()
        y = flatten(torch, getattr(torch.nn.functional, name)(x, **options))
        y[0].backward(torch.arange(y[0].numel(), dtype=dtype).reshape(y[0].shape).to(device))
        results.append([*y, x.grad])
    for want, got in zip(*results):
        assert not compare(got, want)


def test_fallbacks(example):
    """Exactly these operators run on the CPU when the whole table is called on the device, in float32."""
    found = set()
    for op in ROWS:
        if "f32" in op.dtypes and op.name not in ABOUT_DEVICES:
            function = resolve(torch, op.call)
            samples = select(op, torch, "f32", example)
            torch.backends.reset_fallback_counts()  # making samples is not the operator
            for sample in samples:
                outcome(function, sample)
            found |= fallbacks()
    assert (sorted(found - EXPECTED), sorted(EXPECTED - found)) == ([], [])


def train(name, **options):
    spec = importlib.util.spec_from_file_location(name, TESTS.parent / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.train(torch, steps=3, **options)


# Images are picked by their labels; embeddings gather rows and scatter gradients: tier 2. Everything else trains here.
@pytest.mark.parametrize("name, expected", [
    ("train_convnet", {"aten::index.Tensor"}),
    ("train_transformer", {"aten::embedding", "aten::index_add_"}),
])  # fmt: skip
def test_training_on_the_device(example, name, expected, monkeypatch):
    want = train(name)
    for draw in ("randn", "rand", "randint"):  # the device has numbers of its own
        monkeypatch.setattr(torch, draw, lambda *a, real=getattr(torch, draw), **k: real(*a, **k, device="cpu").to(example))
    for draw in ("uniform_", "normal_"):
        real = getattr(torch.Tensor, draw)
        monkeypatch.setattr(torch.Tensor, draw, lambda t, *a, real=real: t.copy_(real(torch.empty_like(t, device="cpu"), *a)))
    dropout = torch.nn.functional.dropout
    monkeypatch.setattr(torch.nn.functional, "dropout", lambda t, *a, **k: t * dropout(torch.ones_like(t, device="cpu"), *a, **k).to(example))
    torch.set_default_device(example)
    try:
        got = train(name)
    finally:
        torch.set_default_device("cpu")
    assert fallbacks() == expected
    assert got == pytest.approx(want, rel=1e-5)
