#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The gate of times: python benchmarks/dynamo/check_perf_csv.py -f x.csv -t 0.95 -s 0.9"""

import sys

import _front

_front.find()

from facula.tools.bench import _check  # noqa: E402

if __name__ == "__main__":
    sys.exit(_check.perf())
