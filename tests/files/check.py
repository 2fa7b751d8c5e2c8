# SPDX-License-Identifier: Apache-2.0
"""PyTorch reads what Facula wrote: python tests/files/check.py FOLDER, in an environment with PyTorch.

FOLDER holds NAME.pt and NAME_legacy.pt as test_fixtures.py's write_all leaves them. Ends with 1 where one differs.
"""
import json
import pathlib
import sys

import torch
from saved_objects import described

expected = json.loads((pathlib.Path(__file__).resolve().parent.parent / "golden" / "files" / "expected.json").read_text())
failed = 0
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.pt")):
    got = described(torch, torch.load(path, weights_only=False, mmap=None if "legacy" in path.stem else True))
    same = json.loads(json.dumps(got)) == expected[path.stem.removesuffix("_legacy")]
    print(f"{path.name}: {'ok' if same else 'DIFFERS'}")
    failed += not same
sys.exit(1 if failed else 0)
