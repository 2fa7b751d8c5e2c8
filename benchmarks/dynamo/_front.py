# SPDX-License-Identifier: Apache-2.0
"""Finds Facula for the scripts beside it: the environment's, else the newest build of this tree."""

import pathlib
import sys


def find():
    sys.path[:] = [p for p in sys.path if pathlib.Path(p or ".").resolve() != pathlib.Path(__file__).resolve().parent]
    try:
        import facula  # noqa: F401
    except ImportError:
        builds = pathlib.Path(__file__).resolve().parents[2].glob("build/*/python/facula/_C*.so")
        newest = max(builds, key=lambda p: p.stat().st_mtime, default=None)
        if newest is None:
            sys.exit("Facula is neither installed here nor built: make build, or pip install .")
        sys.path.insert(0, str(newest.parents[1]))
