#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Architectures of transformers, with PyTorch's command line (docs/bench.md): python benchmarks/dynamo/huggingface.py --performance --inference"""

import sys

import _front

_front.find()

from facula.tools.bench import _parent  # noqa: E402

if __name__ == "__main__":
    sys.exit(_parent.run("huggingface", sys.argv[1:], "huggingface.py"))
