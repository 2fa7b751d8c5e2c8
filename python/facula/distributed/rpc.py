# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.rpc: not in this build, as is_available() says; the other names are missing, as in such a build of PyTorch."""

from facula import _missing


def is_available():
    """Whether this build can call functions in other processes: no."""
    return False


__getattr__ = _missing.missing(__name__)
