# SPDX-License-Identifier: Apache-2.0
"""Recording a program by running it with proxies (make_fx): missing here, so no recording is ever under way."""

from facula import _missing


def get_proxy_mode():
    """The recording that is under way: there is none."""
    return None


__getattr__ = _missing.missing(__name__)
