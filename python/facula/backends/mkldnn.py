# SPDX-License-Identifier: Apache-2.0
"""Whether this build has oneDNN."""

import contextlib

from facula import __config__


def is_available():
    return __config__.rows()["libraries"].get("oneDNN", "no") != "no"


@contextlib.contextmanager
def flags(enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none"):
    """Inside, products of the CPU take oneDNN or not: nothing changes, since facula.backends chooses libraries per process."""
    yield
