# SPDX-License-Identifier: Apache-2.0
"""How tests of the runner call it: in this process as the parent, with real workers."""

import csv
import json
import textwrap

import pytest

from facula.tools.bench import _parent

QUICK = ["-t1", "-n2", "--passes", "1", "--quiet"]


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """bench("--performance", …) gives its exit status and rows; .details the JSON's. It runs in an empty folder."""
    monkeypatch.chdir(tmp_path)

    class Bench:
        folder = tmp_path

        def __call__(self, *arguments, suite="torchbench"):
            status = _parent.run(suite, [*QUICK, "--output", "x.csv", *arguments], "bench")
            try:
                with open(tmp_path / "x.csv", newline="") as file:
                    rows = list(csv.DictReader(file))
                with open(tmp_path / "x.csv.json") as file:
                    self.details = json.load(file)["rows"]
            except FileNotFoundError:
                rows, self.details = [], []
            return status, rows

        def model(self, text, name="M", file="m.py"):
            """A file of models; what --only takes for it."""
            (tmp_path / file).write_text("import os, sys, time\nimport torch\nfrom torch import nn\n\n" + textwrap.dedent(text))
            return f"path:{tmp_path / file},class:{name}"

    return Bench()
