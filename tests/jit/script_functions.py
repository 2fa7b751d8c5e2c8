# SPDX-License-Identifier: Apache-2.0
"""Functions for test_script.py: a compiler needs their source in a file."""


def twice(x):
    return x * 2
