# SPDX-License-Identifier: Apache-2.0
"""complex32: what is stored, converted and computed, as recorded from PyTorch (golden/record_complex32.py)."""

import importlib.util
import io
import json
import pathlib

import pytest

GOLDEN = pathlib.Path(__file__).parent / "golden"
_spec = importlib.util.spec_from_file_location("record_complex32", GOLDEN / "record_complex32.py")
recorder = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(recorder)
RECORDED = json.loads((GOLDEN / "complex32.json").read_text())["cases"]


@pytest.mark.parametrize("case", recorder.CASES)
def test_as_recorded(torch, case):
    assert recorder.evaluate(torch, case) == RECORDED[case].replace("<class 'torch.", "<class 'facula.")


def test_every_pair_of_types(torch):
    """A conversion from or to complex32 is the one over complex64, bit by bit."""
    names = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex32 complex64 complex128 uint16 uint32 uint64 float8_e4m3fn float8_e5m2".split()
    x = torch.view_as_complex((torch.arange(400.0).view(200, 2) - 150) / 7).to(torch.complex32)
    for name in names:
        dtype = getattr(torch, name)
        there, back = x.to(dtype), x.real.abs().to(dtype).to(torch.complex32)
        assert there.dtype == dtype and back.dtype == torch.complex32
        assert torch.equal(there.to(torch.complex64), x.to(torch.complex64).to(dtype).to(torch.complex64)), name
        assert torch.equal(back.to(torch.complex64), x.real.abs().to(dtype).to(torch.complex64).to(torch.complex32).to(torch.complex64)), name
    assert torch.equal(x[::3].to(torch.complex64), x.to(torch.complex64)[::3])  # with gaps
    assert torch.equal(x[:1].expand(50).to(torch.complex64), x.to(torch.complex64)[:1].expand(50))  # repeated


def test_files(torch):
    x = torch.tensor([1 + 2j, 65504 - 1j]).chalf()
    file = io.BytesIO()
    torch.save({"x": x, "part": x[1:]}, file)
    file.seek(0)
    got = torch.load(file)
    assert got["x"].dtype == torch.complex32 and torch.equal(torch.view_as_real(got["x"]), torch.view_as_real(x))
    assert got["part"].untyped_storage().data_ptr() == got["x"].untyped_storage().data_ptr()


def test_gradients(torch):
    x = torch.tensor([1 + 2j, 3j], requires_grad=True)
    (x.chalf().to(torch.complex64) * torch.tensor([2j, 1])).abs().sum().backward()
    y = x.detach().requires_grad_()
    (y * torch.tensor([2j, 1])).abs().sum().backward()
    torch.testing.assert_close(x.grad, y.grad, rtol=1e-3, atol=1e-3)


def test_random_numbers(torch):
    torch.manual_seed(0)
    x = torch.randn(2000, dtype=torch.complex32)
    parts = torch.view_as_real(x).float()
    assert abs(parts.var().item() - 0.5) < 0.1 and parts.isfinite().all()


def test_what_computes_by_memory_refuses_it(torch):
    x = torch.ones(4, 4, dtype=torch.complex32)
    for refused in (lambda: x @ x, lambda: torch.linalg.inv(x), lambda: torch.fft.fft(x), lambda: torch.sparse.mm(x.to_sparse(), x), lambda: x.cumsum(0),
                    lambda: torch.nn.functional.conv1d(x[None], x[None]), lambda: x.sum(), lambda: torch.scatter_add(x, 0, torch.zeros(4, 4, dtype=torch.long), x)):  # fmt: skip
        try:
            got = refused()
        except (RuntimeError, TypeError):
            continue
        assert got.dtype in (torch.complex32, torch.complex64)
        assert torch.view_as_real(got.to(torch.complex64)).isfinite().all()
