# SPDX-License-Identifier: Apache-2.0
"""torch.backends.cudnn: switches of a library that this build does not have. They keep what they are set to."""

import contextlib

from facula import _missing

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True
fp32_precision = "none"


def is_available():
    """Whether this build has cuDNN: no."""
    return False


def version():
    """None: this build has no cuDNN."""
    return None


def is_acceptable(tensor):
    """Whether cuDNN would take a tensor: no."""
    return False


def set_flags(_enabled=None, _benchmark=None, _benchmark_limit=None, _deterministic=None, _allow_tf32=None, _fp32_precision="none"):
    """Sets the switches that are given; returns what they were."""
    given = {"enabled": _enabled, "benchmark": _benchmark, "benchmark_limit": _benchmark_limit, "deterministic": _deterministic, "allow_tf32": _allow_tf32}
    before = (enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision)
    globals().update({name: value for name, value in given.items() if value is not None}, fp32_precision=_fp32_precision)
    return before


@contextlib.contextmanager
def flags(enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True, fp32_precision="none"):
    """The switches for a `with`."""
    before = set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision)
    try:
        yield
    finally:
        set_flags(*before)


__getattr__ = _missing.missing(__name__)
