# SPDX-License-Identifier: Apache-2.0
"""Whether this build has OpenMP."""

from facula import __config__


def is_available():
    return __config__.rows()["libraries"].get("OpenMP", "no") != "no"
