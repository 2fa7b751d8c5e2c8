# SPDX-License-Identifier: Apache-2.0
"""How modules change their parameters when they are converted."""

_overwrite = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether a module that is converted gets new parameters instead of keeping the objects and changing their data."""
    global _overwrite
    _overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """What set_overwrite_module_params_on_conversion was last told."""
    return _overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Swapping the contents of two tensor objects does not exist here."""
    if value:
        raise NotImplementedError("set_swap_module_params_on_conversion(True): tensors cannot be swapped here")


def get_swap_module_params_on_conversion() -> bool:
    """False."""
    return False
