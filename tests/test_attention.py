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


def test_dropout_draws_as_before(torch):
    q = torch.randn(1, 1, 4, 4)
    torch.manual_seed(1)
    a = torch.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=0.5)
    torch.manual_seed(1)
    b = torch.ops.aten._scaled_dot_product_attention_math(q, q, q, None, 0.5)[0]
    assert torch.equal(a, b)


MEMORY = """
import resource, facula as torch
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
q, k, v = (torch.randn(1, 1, 6144, 16, requires_grad=True) for _ in range(3))
torch.nn.functional.scaled_dot_product_attention(q[:, :, :600], k[:, :, :600], v[:, :, :600]).sum().backward()
before = peak()
torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()
print(peak() - before)
"""


def test_no_matrix_of_scores(torch):
    """All scores would be 144 MiB, and as much again in the backward."""
    run = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < 40
