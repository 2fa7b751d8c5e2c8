# SPDX-License-Identifier: Apache-2.0
"""facula run check_packages.py PACKAGE …: which of the packages can be imported, and which Facula is their torch."""

import importlib
import sys

import torch

failed = 0
print(f"torch        {torch.__name__} from {torch.__path__[0]}")
for name in sys.argv[1:]:
    try:
        module = importlib.import_module(name)
        print(f"{name:<12} {module.__version__}")
    except Exception as error:
        failed += 1
        print(f"{name:<12} cannot be imported: {type(error).__name__}: {error}")
sys.exit(1 if failed else 0)
