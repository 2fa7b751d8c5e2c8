# SPDX-License-Identifier: Apache-2.0
"""Training on several processes."""
import pytest


@pytest.mark.parametrize("n", [2, 3])
def test_losses_of_one_process(ranks, n):
    assert ranks(n, "ddp.py").count("passed") == n
