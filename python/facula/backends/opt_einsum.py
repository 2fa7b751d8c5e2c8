# SPDX-License-Identifier: Apache-2.0
"""torch.backends.opt_einsum: the package is not used, einsum multiplies from left to right."""

enabled = False
strategy = None


def is_available():
    return False


def get_opt_einsum():
    """None: the package is not used."""
    return None
