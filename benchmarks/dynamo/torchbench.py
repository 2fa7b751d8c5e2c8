#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TorchBench's models: a clone's, packages', our own, with PyTorch's command line (docs/bench.md): python benchmarks/dynamo/torchbench.py --performance --inference"""

import sys

import _front

_front.find()

from facula.tools.bench import _parent  # noqa: E402

if __name__ == "__main__":
    sys.exit(_parent.run("torchbench", sys.argv[1:], "torchbench.py"))
