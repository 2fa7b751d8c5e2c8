# SPDX-License-Identifier: Apache-2.0
"""torch.jit.script of modules against what record_script_modules.py took down from PyTorch, and of every class of torch.nn."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import facula as torch

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "nn"))
from nn_cases import CASES, outcome  # noqa: E402

GOLDEN = json.loads((HERE.parent / "golden/jit/script_modules.json").read_text())
CLASSES = json.loads((HERE.parent / "golden/jit/script_nn.json").read_text())

# What is not PyTorch's: numbers of values, texts of errors. A field that becomes equal fails here until it is taken out.
DIFFERS: dict[str, list[str]] = {
    "Children": ["forward"], "NotCompiled": ["code", "forward", "inlined"], "Training": ["forward"], "BadInner": ["error"], "WrongArgument": ["error"],
}  # fmt: skip


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    out = tmp_path_factory.mktemp("script") / "ours.json"
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(torch.__file__).parents[1])}
    subprocess.run([sys.executable, "-m", "facula", "run", str(HERE / "record_script_modules.py"), str(out)], check=True, env=environment, capture_output=True, timeout=300)
    return json.loads(out.read_text())


@pytest.mark.parametrize("case", GOLDEN)
def test_a_module_becomes_what_pytorch_makes_of_it(case, ours):
    for field in GOLDEN[case].keys() | ours[case].keys():
        wanted, found = GOLDEN[case].get(field), ours[case].get(field)
        if field in DIFFERS.get(case, ()):
            assert found != wanted, f"{field} is PyTorch's now: take it out of DIFFERS"
        else:
            assert found == wanted, field


class Scripted:
    """A case whose module is compiled."""

    def __init__(self, case):
        self.case, self.eval, self.arguments = case, case.eval, case.arguments

    def module(self, torch):
        module = self.case.module(torch)
        if any(torch.nn.parameter.is_lazy(p) for p in module.parameters()):
            args, kwargs = self.arguments(torch)
            module = module.double()
            module(*args, **kwargs)
        return torch.jit.script(module)


REFUSED = ("SyncBatchNorm", "TripletMarginWithDistanceLoss", "DataParallel")  # PyTorch refuses them, too


@pytest.mark.parametrize("case", [c for c in CASES if c.cls not in REFUSED], ids=lambda c: c.name)
def test_a_class_of_nn_computes_the_same_when_it_is_compiled(case):
    if case.inputs is None:
        assert len(torch.jit.script(case.module(torch)).state_dict()) == len(case.module(torch).state_dict())
        return
    lazy = case.cls.startswith("Lazy")
    _, keys, wanted = outcome(torch, case)
    _, found_keys, found = outcome(torch, Scripted(case))
    assert found_keys == keys
    for name, value in wanted.items():
        if lazy and name.startswith(("initial", "after")):
            continue  # a first call gave it its sizes
        torch.testing.assert_close(found[name], value, rtol=1e-9, atol=1e-12, msg=lambda m, name=name: f"{name}: {m}")


def test_what_pytorch_scripts_is_compiled_here():
    assert {name.split("(")[0].split("#")[0] for name, scripts in CLASSES.items() if scripts}.isdisjoint(REFUSED)
