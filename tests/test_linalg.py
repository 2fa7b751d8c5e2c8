# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms and factorisations of sizes that the tables of tests/ops do not reach, and the names around them."""
import numpy as np
import pytest


@pytest.mark.parametrize("type,limit", [("complex128", 2e-15), ("complex64", 1e-6)])
def test_every_length_is_as_exact_as_numpy(torch, type, limit):
    rng = np.random.default_rng(0)
    for n in [*range(1, 66), 97, 128, 143, 210, 331, 1000, 1009, 4096, 10007]:
        z = (rng.standard_normal((3, n)) + 1j * rng.standard_normal((3, n))).astype(type)
        half = z[:, : n // 2 + 1]
        pairs = [
            (torch.fft.fft(torch.from_numpy(z)), np.fft.fft(z)), (torch.fft.ifft(torch.from_numpy(z)), np.fft.ifft(z)),
            (torch.fft.rfft(torch.from_numpy(z.real.copy())), np.fft.rfft(z.real)), (torch.fft.irfft(torch.from_numpy(half.copy()), n=n), np.fft.irfft(half, n=n)),
            (torch.fft.fft(torch.from_numpy(z.T.copy()), dim=0), np.fft.fft(z.T, axis=0)),
        ]  # fmt: skip
        for got, want in pairs:
            assert np.abs(got.numpy() - want).max() <= limit * max(1, np.log2(n)) * np.abs(want).max(), n


def test_large_transforms_use_all_lanes_and_threads(torch):
    x = torch.randn(70, 300, dtype=torch.float64)
    assert torch.allclose(torch.fft.irfft(torch.fft.rfft(x)), x)
    line = torch.fft.fft(x[33])
    assert torch.equal(torch.fft.fft(x[33:34])[0], line)
    assert torch.allclose(torch.fft.fft(x)[33], line, rtol=1e-13)


def test_nan_stays_in_its_line(torch):
    x = torch.zeros(20, 8)
    x[3, 2] = float("nan")
    assert torch.fft.rfft(x).isnan().any(1).nonzero().tolist() == [[3]]


@pytest.mark.parametrize("n", [3, 200])
def test_batches_are_the_matrices_in_turn(torch, n):
    a = torch.randn(5, n, n, dtype=torch.float64) + n * torch.eye(n, dtype=torch.float64)
    assert torch.allclose(torch.linalg.inv(a), torch.stack([torch.linalg.inv(m) for m in a]))
    q, r = torch.linalg.qr(a)
    assert torch.allclose(q @ r, a)
    u, s, vh = torch.linalg.svd(a)
    assert torch.allclose(u * s.unsqueeze(-2) @ vh, a)
    w, v = torch.linalg.eigh(a + a.mT)
    assert torch.allclose(v * w.unsqueeze(-2) @ v.mT, a + a.mT)


def test_failures_name_the_matrix(torch):
    assert issubclass(torch.linalg.LinAlgError, RuntimeError)
    batch = torch.stack([torch.eye(3), torch.zeros(3, 3)])
    with pytest.raises(torch.linalg.LinAlgError, match=r"linalg.inv: \(Batch element 1\): The diagonal element 1 is zero"):
        torch.linalg.inv(batch)
    assert torch.linalg.inv_ex(batch)[1].tolist() == [0, 1]
    with pytest.raises(RuntimeError, match="pivots must be between 1 and 3"):  # LAPACK would write there
        torch.linalg.lu_solve(torch.eye(3), torch.tensor([1, 2, 9], dtype=torch.int32), torch.ones(3, 1))


def test_chains_of_products(torch):
    a, b, c, d = (torch.randn(m, n, dtype=torch.float64) for m, n in ((40, 2), (2, 40), (40, 3), (3, 5)))
    for chain in ([a, b, c, d], [a[0], b, c], [b, c, d[:, 0]], [a[0], b, c[:, 0]], [a, b]):
        want = chain[0]
        for x in chain[1:]:
            want = want @ x
        assert torch.allclose(torch.linalg.multi_dot(chain), want)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        torch.linalg.multi_dot([a, c])


def test_low_rank(torch):
    torch.manual_seed(0)
    a = torch.randn(30, 4, dtype=torch.float64) @ torch.randn(4, 20, dtype=torch.float64)
    for x in (a, a.mT):
        u, s, v = torch.svd_lowrank(x, q=5)
        assert torch.allclose(u * s @ v.mT, x)
    u, s, v = torch.pca_lowrank(a, q=4)
    assert torch.allclose(s, torch.linalg.svdvals(a - a.mean(0))[:4])
    with pytest.raises(ValueError, match="q"):
        torch.svd_lowrank(a, q=21)


def test_names_of_old_programs(torch):
    x = torch.rand(4, 3)
    assert x.new(2, 3).shape == (2, 3) and x.new([1, 2]).tolist() == [1, 2] and x.get_device() == torch.get_device(x) == -1
    assert torch.tensor([2, 1, 2]).unique().tolist() == [1, 2]
    assert torch.tensor([1, 1, 2]).unique_consecutive(return_counts=True)[1].tolist() == [2, 1]
    assert x.sum_to_size(1, 3).shape == (1, 3)
    with pytest.raises(RuntimeError):
        x.sum_to_size(2, 3)
    with pytest.raises(RuntimeError, match="removed"):
        torch.symeig(x)
    torch.set_default_tensor_type("torch.DoubleTensor")
    try:
        assert torch.ones(1).dtype == torch.float64
    finally:
        torch.set_default_tensor_type(torch.FloatTensor)
    with pytest.raises(TypeError):
        torch.set_default_tensor_type(torch.LongTensor)
    assert torch.get_float32_matmul_precision() == "highest"
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")


def test_poisson_draws_pytorchs_numbers(torch):
    torch.manual_seed(3)
    assert torch.poisson(torch.tensor([0.0, 0.5, 3.0, 9.5, 12.0, 40.0, 1000.0], dtype=torch.float64)).tolist() == POISSON
    with pytest.raises(RuntimeError, match="non-negative"):
        torch.poisson(torch.tensor([-1.0]))


POISSON = [0.0, 0.0, 2.0, 11.0, 7.0, 54.0, 1015.0]  # recorded


def test_a_nan_is_not_positive_definite(torch):
    """OpenBLAS's factorisation goes on with NaNs."""
    for dtype in (torch.float32, torch.float64, torch.complex64):
        x = torch.eye(4, dtype=dtype).repeat(2, 1, 1)
        x[1, 2, 2] = float("nan")
        for upper in (False, True):
            assert torch.linalg.cholesky_ex(x, upper=upper).info.tolist() == [0, 3]
        with pytest.raises(torch.linalg.LinAlgError, match=r"\(Batch element 1\).*leading minor of order 3"):
            torch.linalg.cholesky(x)
