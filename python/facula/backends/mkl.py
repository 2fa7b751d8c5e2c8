# SPDX-License-Identifier: Apache-2.0
"""Whether this build has MKL: no, products go to oneDNN and OpenBLAS."""


def is_available():
    return False
