# SPDX-License-Identifier: Apache-2.0
"""The value profiler: which bytes a program writes, reads and computes for nothing.

    with torch.profiler.values() as v:
        train()
    print(v)                          # ranked findings: pattern, operator, line, tensor, bytes, share, time, the usual fix
    v.assert_none("redundant", min_bytes=4096)

`facula vprof program.py` does the same from outside. docs/values.md says what the patterns are.
"""

from facula.tools.vprof._findings import FIXES, PATTERNS, Finding
from facula.tools.vprof._graph import Graph
from facula.tools.vprof._profile import ignore, values

__all__ = ["FIXES", "PATTERNS", "Finding", "Graph", "ignore", "values"]
