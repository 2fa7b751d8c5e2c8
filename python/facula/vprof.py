# SPDX-License-Identifier: Apache-2.0
"""`python -m facula.vprof program.py`: the value profiler from the command line. Its home is facula.tools.vprof."""

from facula.tools.vprof import FIXES, PATTERNS, Finding, Graph, ignore, values

__all__ = ["FIXES", "PATTERNS", "Finding", "Graph", "ignore", "values"]

if __name__ == "__main__":
    import sys

    from facula._command_line import until_unread
    from facula.tools.vprof._command import main

    sys.exit(until_unread(main))
