# SPDX-License-Identifier: Apache-2.0
"""Records PyTorch's answers to the cases of this folder: python tests/upstream/record.py (needs PyTorch; writes answers.json)."""

import importlib
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent


def cases():
    """{name: function of the module} of all files of cases."""
    found = {}
    for path in sorted(HERE.glob("cases_*.py")):
        module = importlib.import_module(f"upstream.{path.stem}")
        both = found.keys() & module.CASES.keys()
        assert not both, f"named twice: {both}"
        found.update(module.CASES)
    return found


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    import torch
    from upstream.told import told

    answers = {name: told(torch, case) for name, case in cases().items()}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(answers[name])}" for name in sorted(answers))
    (HERE / "answers.json").write_text("{\n" + lines + "\n}\n")
    print(len(answers), "cases,", sum("raises" in a for a in answers.values() if isinstance(a, dict)), "raise")
