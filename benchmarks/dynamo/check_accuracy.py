#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The gate of accuracy: python benchmarks/dynamo/check_accuracy.py --actual x.csv --expected y.csv"""

import sys

import _front

_front.find()

from facula.tools.bench import _check  # noqa: E402

if __name__ == "__main__":
    sys.exit(_check.accuracy())
