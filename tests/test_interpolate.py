# SPDX-License-Identifier: Apache-2.0
"""Resizing: places and weights as in PyTorch (the numbers below were recorded from it), gradients, errors."""
import json
import pathlib

import pytest

FILE = pathlib.Path(__file__).parent / "golden" / "interpolate.json"
CASES = [
    (shape, {**how, "mode": mode, **corners})
    for shape, modes in (((2, 3, 5), ("nearest", "nearest-exact", "linear")), ((2, 1, 4, 3), ("nearest", "nearest-exact", "bilinear")),
                         ((1, 2, 2, 3, 2), ("nearest", "nearest-exact", "trilinear")))
    for mode in modes
    for corners in (({}, {"align_corners": True}, {"align_corners": False}) if "linear" in mode else ({},))
    for how in ({"size": 7}, {"size": 2}, {"size": 1}, {"scale_factor": 2}, {"scale_factor": 1.7}, {"scale_factor": 0.6},
                {"scale_factor": 1.7, "recompute_scale_factor": True}, {"size": shape[2:]})
]  # fmt: skip


def run(torch, shape, options):
    n = 1
    for s in shape:
        n *= s
    x = (torch.arange(n, dtype=torch.float64) * 7 % 11).reshape(shape).requires_grad_()
    y = torch.nn.functional.interpolate(x, **options)
    (y * (torch.arange(y.numel(), dtype=torch.float64) % 3 + 1).reshape(y.shape)).sum().backward()
    return {"shape": list(y.shape), "y": y.detach().flatten().tolist(), "grad": x.grad.flatten().tolist()}


@pytest.mark.parametrize("shape, options", CASES, ids=[f"{len(s) - 2}d-{'-'.join(f'{k}={v}' for k, v in o.items())}".replace(" ", "") for s, o in CASES])
def test_values_and_gradients(torch, shape, options):
    want = json.loads(FILE.read_text())[str((shape, options))]
    got = run(torch, shape, options)
    assert got["shape"] == want["shape"]
    assert got["y"] == pytest.approx(want["y"], rel=1e-6, abs=1e-9)
    assert got["grad"] == pytest.approx(want["grad"], rel=1e-6, abs=1e-9)


def test_types_and_devices(torch):
    f = torch.nn.functional.interpolate
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.uint8):
        x = torch.ones(1, 1, 3, 3, dtype=dtype)
        assert f(x, size=5).dtype == f(x, size=5, mode="bilinear").dtype == dtype
        assert f(x, size=5, mode="bilinear").float().sum().item() == 25
    assert f(torch.empty(1, 1, 3, 3, device="meta"), size=5, mode="bilinear").shape == (1, 1, 5, 5)
    assert f(torch.empty(0, 1, 3, 3), size=5).shape == (0, 1, 5, 5)


@pytest.mark.parametrize("options, error", [
    (dict(size=0), RuntimeError), (dict(size=(2, 0)), RuntimeError), (dict(), ValueError), (dict(size=2, scale_factor=2), ValueError),
    (dict(scale_factor=(1, 2, 3)), ValueError), (dict(size=(2, 3, 4)), ValueError), (dict(size=2, align_corners=True), ValueError),
    (dict(size=2, mode="foo"), NotImplementedError), (dict(scale_factor=0.1), RuntimeError), (dict(size=2, mode="linear"), NotImplementedError),
    (dict(scale_factor=-1.0), RuntimeError), (dict(size=2.5), TypeError), (dict(scale_factor=float("inf")), RuntimeError),
    (dict(scale_factor=float("nan")), RuntimeError), (dict(size=2**62), RuntimeError),
])  # fmt: skip
def test_errors(torch, options, error):
    with pytest.raises(error):
        torch.nn.functional.interpolate(torch.rand(1, 1, 4, 4), **options)


if __name__ == "__main__":  # records
    import torch
    FILE.write_text(json.dumps({str(case): run(torch, *case) for case in CASES}, separators=(",", ":")) + "\n")
