# SPDX-License-Identifier: Apache-2.0
"""Whether this build has oneDNN."""

from facula import __config__


def is_available():
    return __config__.rows()["libraries"].get("oneDNN", "no") != "no"
