# SPDX-License-Identifier: Apache-2.0
"""Collectives with derivatives, and what stands on them."""


def test_functions_and_operators(ranks):
    assert ranks(2, "functional.py").count("passed") == 2


def test_meshes(ranks):
    assert ranks(4, "mesh.py").count("passed") == 4
