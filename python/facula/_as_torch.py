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
VERSION = f"2.15.0+facula{facula.__version__}"  # the PyTorch whose interface this is, as in _shim's metadata
_watchers = []  # of --report: told each module that is imported under torch's name, and each that does not exist


class _Alias(importlib.abc.Loader):
    def __init__(self, name):
        self.name = name

    def create_module(self, spec):
        module = importlib.import_module(self.name)
        self.spec = module.__spec__
        for watch, _ in _watchers:
            watch(module)
        return module

    def get_code(self, fullname):  # python -m torch.distributed.run
        return importlib.util.find_spec(self.name).loader.get_code(self.name)

    def exec_module(self, module):
        module.__spec__ = self.spec  # the import system has put the alias's there
        _keep_functions()


def _keep_functions():
    """Where a package has a function of a module's name (nn.utils.weight_norm), importing the module would put it in the
    function's place: the import system does so with what it finds for the first time. So it finds these already there."""
    for name, module in list(sys.modules.items()):
        parent, _, child = name.rpartition(".")
        if parent.startswith("facula.") and parent in sys.modules and sys.modules[parent].__dict__.get(child, module) is not module:
            sys.modules.setdefault("torch" + name[len("facula") :], module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname == "functorch":
            return importlib.machinery.ModuleSpec(fullname, _Alias("facula.functorch"))
        if fullname != "torch" and not fullname.startswith("torch."):
            return None
        real = "facula" + fullname[len("torch") :]
        found = importlib.util.find_spec(real)
        if found is None:
            # `import torch.x` is told why; who only looks for it (importlib.util.find_spec) hears that there is none.
            for _, note_missing in _watchers:
                note_missing(fullname)
            if sys._getframe(2).f_code.co_name == "_find_and_load_unlocked":
                raise ModuleNotFoundError(f"No module named '{fullname}': this part of torch does not exist in Facula yet", name=fullname)
            return None
        return importlib.machinery.ModuleSpec(fullname, _Alias(real), is_package=found.submodule_search_locations is not None)


def install():
    """Makes `import torch` give Facula in this process."""
    if not any(isinstance(f, _Finder) for f in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
        from facula.torch_version import TorchVersion

        facula.__version__ = facula.version.__version__ = TorchVersion(VERSION)
    sys.modules["torch"] = facula
    facula.__name__ = "torch"  # packages compare it with what they imported
    _keep_functions()
    facula.torch = facula  # PyTorch's package imports itself, and packages say torch.torch.Tensor


def environment():
    """The variables under which any Python finds Facula as `torch`: children of a program, gdb, pytest."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(facula.__file__)))
    paths = [SHIM, home] + [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p not in (SHIM, home)]
    return {"PYTHONPATH": os.pathsep.join(paths)}


def _execute(is_module, program, text=None):
    if is_module:
        import runpy

        runpy.run_module(program, run_name="__main__", alter_sys=True)
        return
    main = types.ModuleType("__main__")
    if text is None:
        path = main.__file__ = os.path.abspath(program)
        with open(path, "rb") as f:
            code = compile(f.read(), path, "exec")
    else:  # as python says where a line of it is
        code = compile(text, "<string>" if program == "-c" else "<stdin>", "exec")
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def _program_frames(trace):
    """The traceback without the frames of what runs the program and of what looks for modules."""
    ours = (__file__, "<frozen runpy>", getattr(sys.modules.get("runpy"), "__file__", None))
    while trace is not None and trace.tb_frame.f_code.co_filename in ours:
        trace = trace.tb_next
    last = trace
    while last is not None:
        if last.tb_next is not None and last.tb_next.tb_frame.f_code.co_filename == __file__:
            last.tb_next = None
        last = last.tb_next
    return trace


def run(is_module, program, arguments, report=False, report_json=None, text=None) -> int:
    """Runs it and shows its errors as `python` does; returns the exit status. A program of "-" is read from the standard input, of
    "-c" given as text."""
    if program == "-" and not is_module:
        text = sys.stdin.read()
    install()
    os.environ.update(environment())
    if report or report_json is not None:
        from facula import _report

        _watchers.append((_report.watch, _report.note_missing))
        _report.start(report_json)
    sys.argv = [program, *arguments]
    # As `python script` and `python -m module` have it: the program's folder first, then PYTHONPATH.
    sys.path[:] = [p for p in sys.path if p != SHIM]
    sys.path[0:1] = [os.getcwd() if is_module else "" if text is not None else os.path.dirname(os.path.abspath(program)), SHIM]
    try:
        _execute(is_module, program, text)
        return 0
    except SystemExit:
        raise
    except BaseException as e:
        trace = _program_frames(e.__traceback__)
        if trace is None and isinstance(e, (OSError, ImportError)):  # there is no such program
            print(f"facula run: can't open file '{program}': {e.strerror}" if isinstance(e, OSError) else f"facula run: {e}", file=sys.stderr)
            return 2
        sys.excepthook(type(e), e.with_traceback(trace), trace)
        return 130 if isinstance(e, KeyboardInterrupt) else 1
