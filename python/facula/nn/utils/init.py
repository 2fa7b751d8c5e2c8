# SPDX-License-Identifier: Apache-2.0
"""Modules without initial values."""


def skip_init(module_cls, *args, **kwargs):
    """A module whose parameters have arbitrary values, which saves the time to draw them."""
    import inspect

    from facula.nn.modules.module import Module

    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)
