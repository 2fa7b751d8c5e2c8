# SPDX-License-Identifier: Apache-2.0
"""Packages where a function has the name of the module it stands in: importing the module leaves the function."""
import os
import pathlib
import subprocess
import sys

import pytest

import facula

PROGRAM = """
from facula import _as_torch
_as_torch.install()
import importlib, types
import torch
module = importlib.import_module("torch.{name}")
assert isinstance(module, types.ModuleType), module
package = importlib.import_module("torch.{package}")
function = getattr(package, "{function}")
assert callable(function) and not isinstance(function, types.ModuleType), function
exec("from torch.{name} import {function} as again")
assert again is function
"""


@pytest.mark.parametrize(
    "name",
    ["nn.utils.weight_norm", "nn.utils.spectral_norm", "autograd.gradcheck", "multiprocessing.spawn", "nn.parallel.data_parallel",
     "nn.parallel.replicate", "nn.parallel.parallel_apply"],
)
def test_import_of_the_module_leaves_the_function(facula_only, name):
    package, _, function = name.rpartition(".")
    home = pathlib.Path(facula.__file__).parent.parent
    program = PROGRAM.format(name=name, package=package, function=function)
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(home)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
