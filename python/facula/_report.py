# SPDX-License-Identifier: Apache-2.0
"""`facula run --report`: which names of torch a program touches, how often it calls them, and which do not exist here.

Names are what the program's own code and the packages it uses ask of torch's modules; what Facula asks of itself does
not count. Calls are those of functions, of tensors' methods and of modules, on threads of this process that were
started after the report.
"""

import collections
import json
import os
import sys
import threading
import types

import facula
from facula import _C
from facula._command_line import write_file
from facula.overrides import TorchFunctionMode, resolve_name

_HOME = os.path.dirname(os.path.abspath(facula.__file__)) + os.sep
_IMPORT_SYSTEM = "<frozen importlib"
_touched, _calls, _missing = collections.Counter(), collections.Counter(), collections.Counter()
_lock = threading.Lock()


def _count(counter, name):
    with _lock:
        counter[name] += 1


def _asked_from_outside(frame):
    """Whether a program's code, not Facula's, is looking; `from torch import x` looks through the import system."""
    while frame is not None and frame.f_code.co_filename.startswith(_IMPORT_SYSTEM):
        frame = frame.f_back
    return frame is not None and not frame.f_code.co_filename.startswith(_HOME)


def _public(module, name):
    return f"torch{module.__dict__['__name__'][len('facula') :]}.{name}"


class _Watched(types.ModuleType):
    """A module that notes which of its names are asked for."""

    def __getattribute__(self, name):
        if name.startswith("__"):
            return super().__getattribute__(name)
        outside = _asked_from_outside(sys._getframe(1))
        try:
            value = super().__getattribute__(name)
        except AttributeError:
            if outside:
                _count(_missing, _public(self, name))
            raise
        if outside and not isinstance(value, types.ModuleType):
            _count(_touched, _public(self, name))
        return value


def watch(module):
    """Notes what is asked of a module of Facula; the import of a part of torch calls it."""
    if type(module) is types.ModuleType and module is not _C:
        module.__class__ = _Watched


def note_missing(name):
    """A module of torch that does not exist here was imported."""
    _count(_missing, name)


class _Calls(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        _count(_calls, resolve_name(func) or repr(func))
        return func(*args, **(kwargs or {}))


def _absent_tensor_attribute(self, name):
    if not name.startswith("__") and _asked_from_outside(sys._getframe(1)):
        _count(_missing, f"torch.Tensor.{name}")
    raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def _watch_modules_of_networks():
    """nn.Linear(…)(x) counts as a call of torch.nn.Linear."""
    from facula.nn.modules.module import register_module_forward_pre_hook

    def called(module, args):
        kind = type(module)
        if kind.__module__.startswith("facula.nn"):
            _count(_calls, f"torch.nn.{kind.__name__}")

    register_module_forward_pre_hook(called)


def data():
    """{'touched': {name: times}, 'calls': …, 'missing': …}, most often first."""
    return {key: dict(counter.most_common()) for key, counter in (("missing", _missing), ("calls", _calls), ("touched", _touched))}


def _text(found):
    lines = ["", "facula run --report"]
    for key, title in (("missing", "asked for and not here"), ("calls", "called"), ("touched", "names touched")):
        lines.append(f"{title}: {len(found[key])}")
        lines += [f"{times:10}  {name}" for name, times in found[key].items()]
    return "\n".join(lines)


def _write(path):
    found = data()
    if path is None:
        print(_text(found), file=sys.stderr)
        return
    write_file(path, json.dumps(found, indent=1))


def start(path):
    """Watches from here on; at exit the report goes to the error stream, or as JSON into a file."""
    import atexit

    if path is not None:
        path = os.path.abspath(path)  # before the program changes folders
    for name, module in list(sys.modules.items()):
        if (name == "facula" or name.startswith("facula.")) and module is not None:
            watch(module)
    facula.Tensor.__getattr__ = _absent_tensor_attribute
    _watch_modules_of_networks()
    # Every thread has modes of its own.
    _Calls().__enter__()
    start_thread = threading.Thread.run

    def run(self):
        with _Calls():
            start_thread(self)

    threading.Thread.run = run
    atexit.register(_write, path)
