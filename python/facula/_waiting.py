# SPDX-License-Identifier: Apache-2.0
"""How long threads that have nothing to do look for work before they sleep.

libgomp lets them spin for 3 to 15 milliseconds. On a machine that has other work they then take the processor from the very
thread they wait for, and a loop of microseconds takes a scheduler's turn. SPINS is some 100 to 200 microseconds, longer than the
gaps between the operators of a network. libgomp reads the number when it is loaded, which importing the C++ module does.
"""

import contextlib
import os

SPINS = "4000"


@contextlib.contextmanager
def short_spins():
    """What is loaded inside spins shortly, unless the program's environment says how to wait. Children inherit nothing of it."""
    if "GOMP_SPINCOUNT" in os.environ or "OMP_WAIT_POLICY" in os.environ:
        yield
        return
    os.environ["GOMP_SPINCOUNT"] = SPINS
    try:
        yield
    finally:
        os.environ.pop("GOMP_SPINCOUNT", None)
