# SPDX-License-Identifier: Apache-2.0
"""torch.signal.windows against PyTorch's numbers.

python tests/test_signal.py      # with PyTorch: records tests/golden/windows.json
"""
import json
import pathlib

import pytest

FILE = pathlib.Path(__file__).parent / "golden" / "windows.json"
NAMES = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser", "nuttall"]
OPTIONS = {
    "general_cosine": [{"a": [0.5, 0.3, 0.2]}], "general_hamming": [{}, {"alpha": 0.3}], "kaiser": [{}, {"beta": 3.0}],
    "gaussian": [{}, {"std": 2.5}], "exponential": [{}, {"tau": 3.0}, {"center": 1.5}],
}  # fmt: skip


def record():
    import torch

    rows = []
    for name in NAMES:
        for options in OPTIONS.get(name, [{}]):
            for sym in (True, False):
                if sym and "center" in options:
                    continue
                for m in (0, 1, 2, 7, 8):
                    made = getattr(torch.signal.windows, name)(m, sym=sym, dtype=torch.float64, **options)
                    rows.append([name, m, sym, options, made.tolist()])
    FILE.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


def test_values(torch):
    for name, m, sym, options, want in json.loads(FILE.read_text()):
        function = getattr(torch.signal.windows, name)
        for dtype, limit in ((torch.float64, 1e-14), (torch.float32, 6e-8)):
            got = function(m, sym=sym, dtype=dtype, **options)
            assert got.dtype is dtype and len(got) == m
            assert all(abs(a - b) <= limit for a, b in zip(got.tolist(), want)), (name, m, sym, options)


def test_kaiser_of_a_large_beta(torch):
    w = torch.signal.windows.kaiser(9, beta=2000.0, dtype=torch.float64)  # i0(2000) has no float64
    assert w[4] == 1 and 0 < w[3] < 1e-25 and w.isfinite().all()


@pytest.mark.parametrize("name", NAMES)
def test_arguments(torch, name):
    options = OPTIONS.get(name, [{}])[0]

    def make(*args, **kwargs):
        return getattr(torch.signal.windows, name)(*args, **{**options, **kwargs})

    assert make(4).dtype is torch.float32 and not make(4).requires_grad and make(M=4, requires_grad=True).is_leaf
    assert make(4, device="meta").device.type == "meta" and make(4, requires_grad=True).requires_grad
    with pytest.raises(ValueError, match=f"{name} requires non-negative window length, got M=-1"):
        make(-1)
    for dtype in (torch.int64, torch.float16):
        with pytest.raises(ValueError, match=f"{name} expects float32 or float64 dtypes, got: {dtype}"):
            make(4, dtype=dtype)
    with pytest.raises(ValueError, match="strided tensors only"):
        make(4, layout=torch.sparse_coo)
    for wrong in ((3.5,), (4, True)):
        with pytest.raises(TypeError):
            make(*wrong)


def test_options(torch):
    windows = torch.signal.windows
    for call, error, text in [
        (lambda: windows.exponential(4, center=1.0), ValueError, "Center must be None for symmetric windows"),
        (lambda: windows.exponential(4, tau=0.0), ValueError, "Tau must be positive, got: 0.0 instead"),
        (lambda: windows.gaussian(4, std=-1), ValueError, "Standard deviation must be positive, got: -1 instead"),
        (lambda: windows.kaiser(4, beta=-1.0), ValueError, "beta must be non-negative, got: -1.0 instead"),
        (lambda: windows.general_cosine(4, a=[]), ValueError, "Coefficients cannot be empty"),
        (lambda: windows.general_cosine(4, a=3), TypeError, "Coefficients must be a list/tuple"),
    ]:
        with pytest.raises(error, match=text):
            call()


if __name__ == "__main__":
    record()
