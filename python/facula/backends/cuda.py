# SPDX-License-Identifier: Apache-2.0
"""Whether this build has CUDA code."""

from facula import __config__


def is_built():
    return __config__.rows()["libraries"].get("CUDA", "no") != "no"
