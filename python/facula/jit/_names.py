# SPDX-License-Identifier: Apache-2.0
"""What TorchScript calls Python's functions and classes, and their arguments."""

import inspect

from facula import _C


def qualified_name(obj, mangle_name=True):
    """"__torch__.module.Class" of a function or class: the name that its compiled form has."""
    if hasattr(obj, "_jit_override_qualname"):
        return obj._jit_override_qualname
    if isinstance(obj, _C.ScriptFunction):
        return obj.qualified_name
    name = getattr(obj, "__name__", None) or getattr(obj, "name", None)
    if not name:
        raise RuntimeError("Could not get name of python class object")
    if name == "<lambda>":
        name = "_lambda"
    module = obj.__module__
    if module is None:
        raise RuntimeError(f"Could not get qualified name for class '{name}': __module__ can't be None.")
    if module == "facula" or module.startswith("facula."):
        module = "torch" + module[len("facula") :]
    if mangle_name:
        module = "__torch__" if module == "__main__" else "__torch__." + module
    if "." in name:
        raise RuntimeError(f"Could not get qualified name for class '{name}': '{name}' is not a valid identifier")
    return f"{module}.{name}"


def argument_names(fn):
    """Names of the parameters that may be given by position or by name; none if there is no signature."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (ValueError, TypeError):
        return []
    return [p.name for p in parameters if p.kind == inspect.Parameter.POSITIONAL_OR_KEYWORD]
