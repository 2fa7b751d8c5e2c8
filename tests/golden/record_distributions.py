# SPDX-License-Identifier: Apache-2.0
"""Records what torch.distributions answers, in an environment with PyTorch: python tests/golden/record_distributions.py."""

import json
import pathlib
import sys

import torch

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from distributions_cases import everything  # noqa: E402


def rounded(value):
    """Twelve digits are more than is compared."""
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


parts = rounded(everything(torch))
lines = ",\n".join(f'"{part}": {{\n' + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in entries.items()) + "}" for part, entries in parts.items())
(HERE / "distributions.json").write_text(f'{{"torch": "{torch.__version__}",\n{lines}}}\n')
