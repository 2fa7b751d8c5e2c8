# SPDX-License-Identifier: Apache-2.0
"""What programs say in PyTorch to bring up a device of their own. Here a backend brings its name, module and methods itself
(docs/add-a-backend.md), and any number of them live in one process: these calls check that it is so."""

from facula import _C, _device_module

__all__ = ["rename_privateuse1_backend", "generate_methods_for_privateuse1_backend"]

_name = None


def rename_privateuse1_backend(backend_name: str) -> None:
    """The device type that programs call their own from now on; its backend must be loaded or installed."""
    global _name
    _C.device(backend_name)
    _name = backend_name


def generate_methods_for_privateuse1_backend(
    for_tensor: bool = True, for_module: bool = True, for_packed_sequence: bool = True, for_storage: bool = False, unsupported_dtype=None
) -> None:
    """t.<name>(), module.<name>() of the device type that was named: every backend has them from when it is loaded."""
    if _name is None:
        raise RuntimeError("generate_methods_for_privateuse1_backend: no device type was named; call rename_privateuse1_backend first")
    _device_module.install(_name)
