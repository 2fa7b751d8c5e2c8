#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of timm, with PyTorch's command line (docs/bench.md): python benchmarks/dynamo/timm_models.py --performance --inference"""

import sys

import _front

_front.find()

from facula.tools.bench import _parent  # noqa: E402

if __name__ == "__main__":
    sys.exit(_parent.run("timm_models", sys.argv[1:], "timm_models.py"))
