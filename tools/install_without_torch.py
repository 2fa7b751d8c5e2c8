#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs packages that are written for PyTorch, and what they need besides, into this interpreter's environment.

    python tools/install_without_torch.py [--upgrade] torchvision timm==1.0.30 …

PyTorch itself is left out: Facula is their torch (`facula run`). pip's remark that it is missing means nothing.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import pathlib
import subprocess
import sys
import tempfile

try:
    from packaging.requirements import Requirement
except ImportError:
    from pip._vendor.packaging.requirements import Requirement  # type: ignore[no-redef, assignment]

# Libraries over PyTorch's own C++ that a package does without when they are not there: torchaudio then filters in Python,
# and says of its alignment and transducer loss that they are missing. (torchvision's operators are Facula's own.)
LEFT_OUT = {"torchaudio": "torchaudio/lib/*.so"}


def pip(*words: str) -> None:
    done = subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *words])
    if done.returncode:
        sys.exit(f"install_without_torch: pip could not install {' '.join(words)}")


def needs(package: str) -> list[Requirement]:
    """What an installed package asks for on this machine, extras apart."""
    lines = map(Requirement, importlib.metadata.requires(package) or [])
    return [need for need in lines if not need.marker or need.marker.evaluate({"extra": ""})]


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    arguments.add_argument("packages", nargs="+", metavar="PACKAGE", help="as pip takes it: a name, or name==version")
    arguments.add_argument("--upgrade", action="store_true", help="take the newest version of each")
    options = arguments.parse_args()

    pip("--no-deps", *(["--upgrade"] if options.upgrade else []), *options.packages)
    names = [Requirement(package).name for package in options.packages]
    for name in names:
        for file in importlib.metadata.files(name) or []:
            if file.match(LEFT_OUT.get(name, "/")):
                pathlib.Path(file.locate()).unlink(missing_ok=True)
    others = {f"{need.name}{need.specifier}" for name in names for need in needs(name) if need.name not in {"torch", "triton", *names}}
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as never:  # whoever asks for PyTorch on the way is refused
        never.write("torch<0\n")
        never.flush()
        pip("--constraint", never.name, *sorted(others))


if __name__ == "__main__":
    main()
