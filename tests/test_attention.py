# SPDX-License-Identifier: Apache-2.0
"""Attention over more positions than a block has, and the memory that it takes."""
import subprocess
import sys

import pytest


def both(torch, q, k, v, mask=None, causal=False, grouped=False):
    """Result and gradients of the blocked kernel, and of the one written in products."""
    answers = []
    for run in (
        lambda *x: torch.nn.functional.scaled_dot_product_attention(*x, mask, 0.0, causal, enable_gqa=grouped),
        lambda *x: torch.ops.aten._scaled_dot_product_attention_math(*x, mask, 0.0, causal, enable_gqa=grouped)[0],
    ):
        leaves = [x.clone().requires_grad_() for x in (q, k, v)]
        out = run(*leaves)
        answers.append([out, *torch.autograd.grad((out * out).sum(), leaves)])
    return answers


@pytest.mark.parametrize("queries, keys", [(70, 530), (530, 70), (64, 512), (65, 1025), (1, 600), (200, 1)])
@pytest.mark.parametrize("how", ["plain", "causal", "bool", "number", "grouped"])
def test_blocks_equal_products(torch, queries, keys, how):
    torch.manual_seed(queries + keys)
    q, k, v = torch.randn(2, 4, queries, 8).double(), torch.randn(2, 2, keys, 8).double(), torch.randn(2, 2, keys, 5).double()
    mask = {"bool": torch.rand(2, 1, queries, keys) > 0.4, "number": torch.randn(queries, keys).double()}.get(how)
    if how != "grouped":
        q = q[:, :2]
    got, want = both(torch, q, k, v, mask, how == "causal", how == "grouped")
    for a, b in zip(got, want):
        assert (a - b).abs().max() < 1e-10


def test_block_without_a_key(torch):
    """Queries that see nothing in the first block of keys, or at all."""
    q, k, v = (torch.randn(1, 1, n, 4).double() for n in (3, 600, 600))
    mask = torch.zeros(3, 600, dtype=torch.bool)
    mask[0, 550:] = True
    mask[2] = True
    got, want = both(torch, q, k, v, mask)
    for a, b in zip(got, want):
        assert torch.isfinite(a).all() and (a - b).abs().max() < 1e-10
    assert (got[0][0, 0, 1] == 0).all()


def test_mask_that_learns(torch):
    q, k, v, mask = (torch.randn(*shape).double().requires_grad_() for shape in ((2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 4), (3, 5)))
    assert torch.autograd.gradcheck(torch.nn.functional.scaled_dot_product_attention, (q, k, v, mask))


@pytest.mark.parametrize("how", ["plain", "causal", "bool", "grouped"])
def test_dropout_draws_as_products_do(torch, how):
    """The same numbers drop the same scores, forward and backward, over several blocks and bytes that are not full."""
    torch.manual_seed(3)
    q, k, v = torch.randn(2, 4, 70, 8).double(), torch.randn(2, 2, 530, 8).double(), torch.randn(2, 2, 530, 5).double()
    mask = torch.rand(2, 1, 70, 530) > 0.4 if how == "bool" else None
    if how != "grouped":
        q = q[:, :2]
    answers = []
    for run in (
        lambda *x: torch.nn.functional.scaled_dot_product_attention(*x, mask, 0.3, how == "causal", enable_gqa=how == "grouped"),
        lambda *x: torch.ops.aten._scaled_dot_product_attention_math(*x, mask, 0.3, how == "causal", enable_gqa=how == "grouped")[0],
    ):
        leaves = [x.clone().requires_grad_() for x in (q, k, v)]
        torch.manual_seed(1)
        out = run(*leaves)
        answers.append([out, *torch.autograd.grad((out * out).sum(), leaves)])
    for a, b in zip(*answers):
        assert (a - b).abs().max() < 1e-9


def test_bits_are_checked(torch):
    q = torch.randn(1, 1, 4, 4)
    for kept in (torch.zeros(1, 1, 4, 2, dtype=torch.uint8), torch.zeros(1, 1, 4, 1, dtype=torch.int8), torch.zeros(4, 1, dtype=torch.uint8)):
        with pytest.raises(RuntimeError, match="bits of size"):
            torch.ops.facula.attention_dropout(q, q, q, kept, 0.5, False, None, None)
    for p in (0.0, 1.0, float("nan")):
        with pytest.raises(RuntimeError, match="between 0 and 1"):
            torch.ops.facula.attention_kept(q, 4, p)


@pytest.mark.parametrize("mask", [None, (3, 1, 7, 9), (7, 9), (2, 1, 4, 7, 9)], ids=str)
def test_more_dimensions_are_a_batch(torch, mask):
    q, k, v = (torch.randn(2, 3, 4, n, 8).double() for n in (7, 9, 9))
    m = None if mask is None else torch.rand(*mask) > 0.3
    got, want = both(torch, q, k, v, m)
    for a, b in zip(got, want):
        assert a.shape == b.shape and (a - b).abs().max() < 1e-10


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_second_derivatives(torch, dropout):
    q, k, v = (torch.randn(1, h, n, 3).double().requires_grad_() for h, n in ((2, 3), (1, 4), (1, 4)))
    mask = torch.tensor([[True, True, False, True], [False] * 4, [True] * 4])

    def run(*x):
        torch.manual_seed(1)
        return torch.nn.functional.scaled_dot_product_attention(*x, mask, dropout, enable_gqa=True)

    assert torch.autograd.gradgradcheck(run, (q, k, v))


MEMORY = """
import resource, facula as torch
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
q, k, v = (torch.randn(1, 1, 6144, 16, requires_grad=True) for _ in range(3))
torch.nn.functional.scaled_dot_product_attention(q[:, :, :600], k[:, :, :600], v[:, :, :600]).sum().backward()
before = peak()
torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=DROPOUT).sum().backward()
print(peak() - before)
"""


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_no_matrix_of_scores(torch, dropout):
    """All scores would be 144 MiB, and as much again in the backward; with dropout there is a bit for each, 4.5 MiB."""
    run = subprocess.run([sys.executable, "-c", MEMORY.replace("DROPOUT", str(dropout))], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < 40
