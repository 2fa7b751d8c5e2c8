# SPDX-License-Identifier: Apache-2.0
"""python tests/golden/record_sparse.py, in an environment with PyTorch: writes what sparse_cases.py's expressions give there."""

import json
import pathlib
import sys
import warnings

import torch

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import sparse_cases  # noqa: E402

warnings.simplefilter("ignore")


def kind_of_error(expression):
    try:
        eval(expression, sparse_cases.setup(torch))
    except Exception as error:
        return type(error).__name__
    raise SystemExit(f"{expression} raised nothing")


found = {
    "values": {e: repr(eval(e, sparse_cases.setup(torch))) for e in sparse_cases.listed(sparse_cases.VALUES)},
    "errors": {e: kind_of_error(e) for e in sparse_cases.listed(sparse_cases.ERRORS)},
    "gradients": {e: sparse_cases.gradient(torch, e) for e in sparse_cases.listed(sparse_cases.GRADIENTS)},
}
(HERE / "sparse.json").write_text(json.dumps(found, indent=0) + "\n")
