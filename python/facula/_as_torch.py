# SPDX-License-Identifier: Apache-2.0
"""Facula under the name `torch`, for one program and the processes it starts.

`torch.x` and `facula.x` are the same module object. What does not exist here does not exist under the other name
either: no stand-ins. Child processes find the name through PYTHONPATH, which leads to _shim/torch; the folder also
holds the metadata that importlib.metadata.version("torch") reads.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types

import facula

SHIM = os.path.join(os.path.dirname(os.path.abspath(facula.__file__)), "_shim")
VERSION = f"2.5.0+facula{facula.__version__}"  # the PyTorch whose interface this is, as in _shim's metadata


class _Alias(importlib.abc.Loader):
    def __init__(self, name):
        self.name = name

    def create_module(self, spec):
        module = importlib.import_module(self.name)
        self.spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self.spec  # the import system has put the alias's there


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname != "torch" and not fullname.startswith("torch."):
            return None
        real = "facula" + fullname[len("torch") :]
        if importlib.util.find_spec(real) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, _Alias(real), is_package=True)


def install():
    """Makes `import torch` give Facula in this process."""
    if not any(isinstance(f, _Finder) for f in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
        facula.__version__ = VERSION
    sys.modules["torch"] = facula


def _pass_on_to_children():
    home = os.path.dirname(os.path.dirname(os.path.abspath(facula.__file__)))
    paths = [SHIM, home] + [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p not in (SHIM, home)]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


def run(is_module, program, arguments) -> int:
    install()
    _pass_on_to_children()
    sys.argv = [program, *arguments]
    # As `python script` and `python -m module` have it: the program's folder first, then PYTHONPATH.
    sys.path[:] = [p for p in sys.path if p != SHIM]
    sys.path[0:1] = [os.getcwd() if is_module else os.path.dirname(os.path.abspath(program)), SHIM]
    if is_module:
        import runpy

        runpy.run_module(program, run_name="__main__", alter_sys=True)
        return 0
    with open(program, "rb") as f:
        code = compile(f.read(), program, "exec")
    main = types.ModuleType("__main__")
    main.__file__ = program
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main
    exec(code, main.__dict__)
    return 0
