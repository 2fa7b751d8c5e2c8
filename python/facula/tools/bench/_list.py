# SPDX-License-Identifier: Apache-2.0
"""`facula bench list`: the models, where each would come from, and what those that cannot run here lack."""

from __future__ import annotations

import argparse
import importlib.util
import re

from . import _plan, _suites


def reason(suite: str, name: str) -> tuple[str, str]:
    """(source, "") or ("", why not). Imports no model."""
    if suite == "torchbench":
        for folder in _plan.clones():
            if (folder / name / "__init__.py").is_file():
                return f"clone {folder.parents[1]}", ""
        package = "torchvision" if name in _suites.TORCHVISION else {"timm_vision_transformer": "timm", "hf_Bert": "transformers", "hf_GPT2": "transformers"}.get(name)
        if package and importlib.util.find_spec(package):
            return package, ""
        return ("own", "") if name in _plan.own_models() else ("", "a clone of TorchBench on PYTHONPATH")
    package = "transformers" if suite == "huggingface" else "timm"
    if name in _suites.HUB:
        return "", "its configuration is a file on a hub, and nothing is downloaded"
    return (package, "") if importlib.util.find_spec(package) else ("", f"pip install {package}")


def batches(suite: str, name: str) -> str:
    if suite == "huggingface":
        return str(_suites.HUGGINGFACE.get(name) or _suites.HUB[name])
    if suite == "timm_models":
        return str(_suites.TIMM[name])
    if name not in _plan.own_models():
        return ""
    text = (_plan.models_folder() / f"{name}.py").read_text(encoding="utf-8")
    found = re.search(r"^BATCH, .* = \((\d+), (\d+)\)", text, re.M)
    return f"{found[1]}/{found[2]}" if found else ""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="facula bench list", description="The models of the suites.")
    parser.add_argument("suite", nargs="*", choices=[*_suites.SUITES, []], help="torchbench, huggingface, timm_models (all)")
    parser.add_argument("--why", action="store_true", help="also those that cannot run here, and what they lack")
    options = parser.parse_args(arguments)
    for suite in options.suite or _suites.SUITES:
        names = _plan.names_of(suite)
        found = {name: reason(suite, name) for name in names}
        here = [name for name in names if found[name][0]]
        print(f"{suite}: {len(here)} of {len(names)} can run here")
        for name in names if options.why else here:
            source, why = found[name]
            note = " (inference only)" if suite == "torchbench" and name in _suites.NO_TRAINING else ""
            print(f"  {name:44} {batches(suite, name):>9}  {source or 'lacks: ' + why}{note}")
    return 0
