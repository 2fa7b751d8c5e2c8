# SPDX-License-Identifier: Apache-2.0
"""arange of every type and of lengths around those of vectors and of chunks."""
import facula as torch
import pytest

INTEGERS = {torch.uint8: 8, torch.int8: 8, torch.int16: 16, torch.int32: 32, torch.int64: 64}


def wrapped(value, dtype):
    bits = INTEGERS[dtype]
    value %= 1 << bits
    return value - (1 << bits) if dtype != torch.uint8 and value >> (bits - 1) else value


@pytest.mark.parametrize("n", [0, 1, 3, 4, 7, 8, 9, 31, 32, 33, 4095, 4097, 70001])
@pytest.mark.parametrize("start, step", [(0, 1), (5, 3), (-7, 2), (100, -1)])
def test_arange(n, start, step):
    for dtype in INTEGERS:
        expected = [wrapped(start + i * step, dtype) for i in range(n)]
        assert torch.arange(start, start + n * step, step, dtype=dtype).tolist() == expected
    for dtype in (torch.float32, torch.float64):
        values = torch.arange(start, start + n * step, step, dtype=dtype)
        assert values.dtype == dtype and values.tolist() == [float(start + i * step) for i in range(n)]


def test_arange_into_a_strided_tensor():
    out = torch.zeros(20, dtype=torch.int32)
    torch.arange(10, out=out[::2])
    assert out.tolist() == [x for i in range(10) for x in (i, 0)]
