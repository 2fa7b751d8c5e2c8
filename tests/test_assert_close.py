# SPDX-License-Identifier: Apache-2.0
"""torch.testing.assert_close: what passes, and the words of what does not."""
import pytest


def failure(torch, *args, kind=AssertionError, **how):
    with pytest.raises(kind) as raised:
        torch.testing.assert_close(*args, **how)
    return str(raised.value)


def test_passes(torch):
    np = pytest.importorskip("numpy")
    t, nan, inf = torch.tensor, float("nan"), float("inf")
    pairs = [(t([1.0]), t([1.0 + 1e-6])), (t([1, 2]), t([1, 2])), (t([inf, -inf]), t([inf, -inf])), (1, 1), (1.0, 1.0 + 1e-8), (None, None), (True, True),
             (torch.ones(0), torch.ones(0)), ([t(1.0), {"a": 2}], (t(1.0), {"a": 2})), (np.ones(2), np.ones(2)), (t([1e-6]), t([0.0])),
             (torch.ones(2, 3).t(), torch.ones(3, 2)), (torch.ones(2, device="meta"), torch.zeros(2, device="meta")), (t([1.0], requires_grad=True), t([1.0])),
             (np.float64(1), 1.0), (t([1 + 1j]), t([1 + 1j]))]  # fmt: skip
    for a, b in pairs:
        torch.testing.assert_close(a, b)
    torch.testing.assert_close(t([nan]), t([nan]), equal_nan=True)
    torch.testing.assert_close(t([1.0]), t([1.0], dtype=torch.float64), check_dtype=False)
    torch.testing.assert_close(t([1, 2]), t([1, 3]), rtol=0, atol=1)
    torch.testing.assert_close(1, 1.0, check_dtype=False)


def test_words_for_tensors(torch):
    t = torch.tensor
    assert failure(torch, t([[1.0, 2.0], [3.0, 5.0]]), t([[1.0, 2.0], [4.0, 4.0]])) == (
        "Tensor-likes are not close!\n\nMismatched elements: 2 / 4 (50.0%)\nGreatest absolute difference: 1.0 at index (1, 0) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.25 at index (1, 0) (up to 1.3e-06 allowed)"
    )
    assert failure(torch, t([1, 2], dtype=torch.uint8), t([1, 255], dtype=torch.uint8)) == (
        "Tensor-likes are not equal!\n\nMismatched elements: 1 / 2 (50.0%)\nGreatest absolute difference: 253 at index (1,)\n"
        "Greatest relative difference: 0.9921568632125854 at index (1,)"
    )
    assert "Greatest absolute difference: 1 at index (0,)\nGreatest relative difference: inf" in failure(torch, t([True]), t([False]))
    assert "absolute difference: nan at index (1,) (up to 1e-05 allowed)" in failure(torch, t([1.0, float("nan")]), t([1.0, float("nan")]))
    assert "(up to 1e-07 allowed)" in failure(torch, t([1.0], dtype=torch.float64), t([2.0], dtype=torch.float64))
    assert "(up to 0.016 allowed)" in failure(torch, t([1.0], dtype=torch.bfloat16), t([1.1], dtype=torch.bfloat16))
    assert "(up to 0.5 allowed)" in failure(torch, t([1.0]), t([3.0]), rtol=0.25, atol=0.5)
    assert failure(torch, t([1.0]), t([1.0, 2.0])) == "The values for attribute 'shape' do not match: torch.Size([1]) != torch.Size([2])."
    assert "attribute 'dtype' do not match: torch.float32 != torch.float64" in failure(torch, t([1.0]), t([1.0], dtype=torch.float64))
    assert "attribute 'device' do not match: meta != cpu" in failure(torch, torch.ones(1, device="meta"), torch.ones(1))
    assert "attribute 'stride()' do not match: (1, 3) != (2, 1)" in failure(torch, torch.ones(2, 3).t(), torch.ones(3, 2), check_stride=True)


def test_words_for_the_rest(torch):
    t = torch.tensor
    assert failure(torch, 1.0, 2.0) == "Scalars are not close!\n\nExpected 2.0 but got 1.0.\nAbsolute difference: 1.0 (up to 1e-07 allowed)\nRelative difference: 0.5 (up to 1e-07 allowed)"
    assert failure(torch, [[t(1.0)], {"a": t(2.0)}], [[t(1.0)], {"a": t(3.0)}]).endswith("(up to 1.3e-06 allowed)\n\nThe failure occurred for item [1]['a']")
    assert failure(torch, 1, 1.0) == "The (d)types do not match: <class 'int'> != <class 'float'>."
    assert failure(torch, True, False) == "Booleans mismatch: True is not False" and failure(torch, None, 1) == "None mismatch: None is not 1"
    assert failure(torch, [1], [1, 2]) == "The length of the sequences mismatch: 1 != 2"
    assert "Missing keys in the actual mapping: ['b']\nAdditional keys in the actual mapping: ['a']" in failure(torch, {"a": 1}, {"b": 1})
    assert failure(torch, 1, 2, msg="mine") == "mine" and failure(torch, 1, 2, msg=lambda m: "Header\n" + m).startswith("Header\nScalars are not equal!")


def test_wrong_use(torch):
    t = torch.tensor

    class Mine(torch.Tensor):
        pass

    assert failure(torch, t(1.0), t(1.0), rtol=1e-3, kind=ValueError).endswith("but got no atol.")
    for pair in ((t(1.0), 1.0), ("a", "a"), ({1}, {1})):
        assert "No comparison pair was able to handle inputs of type" in failure(torch, *pair, kind=TypeError)
    torch.testing.assert_close(torch.ones(1).as_subclass(Mine), torch.ones(1))
    failure(torch, torch.ones(1).as_subclass(Mine), torch.ones(1), allow_subclasses=False, kind=TypeError)


def test_fork_rng(torch):
    torch.manual_seed(3)
    want = torch.rand(4).tolist()
    torch.manual_seed(3)
    with pytest.raises(ZeroDivisionError):
        with torch.random.fork_rng():
            torch.manual_seed(9)
            torch.rand(7)
            1 / 0
    with torch.random.fork_rng(devices=[], enabled=False):
        first = torch.rand(2).tolist()
    assert first == want[:2] and torch.rand(2).tolist() == want[2:]
