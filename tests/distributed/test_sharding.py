# SPDX-License-Identifier: Apache-2.0
"""Tensors whose parts lie on several processes, and models made of them."""
import pytest


@pytest.mark.parametrize("n", [2, 4])
def test_operators_redistribution_and_factories(ranks, n):
    assert ranks(n, "dtensor.py").count("passed") == n


def test_the_operator_table_on_parts(ranks):
    assert ranks(2, "dtensor_table.py", 0).count("passed") == 2


def test_tensor_parallel_has_the_losses_of_one_process(ranks):
    assert ranks(2, "tensor_parallel.py").count("passed") == 2


@pytest.mark.parametrize("n", [2, 4])
def test_a_llama_that_is_cut_in_both_ways_has_the_losses_of_one_process(ranks, n):
    assert ranks(n, "llama.py").count("passed") == n


@pytest.mark.parametrize("n", [2, 4])
def test_fully_shard_has_the_losses_of_one_process(ranks, n):
    assert ranks(n, "fsdp.py").count("passed") == n
