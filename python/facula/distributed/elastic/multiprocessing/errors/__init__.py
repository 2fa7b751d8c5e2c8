# SPDX-License-Identifier: Apache-2.0
"""`record`: the launcher shows the traceback of the process that failed first."""

import functools
import os
import traceback
from collections.abc import Callable

from facula import _missing

__all__ = ["record"]


def record(fn: Callable) -> Callable:
    """Decorates a program's main function: an exception in it is written where torchrun finds it."""

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        try:
            return fn(*args, **kwargs)
        except Exception:
            if path := os.environ.get("TORCHELASTIC_ERROR_FILE"):
                with open(path, "w", encoding="utf-8") as f:
                    f.write(traceback.format_exc())
            raise

    return wrapped


__getattr__ = _missing.missing(__name__)
