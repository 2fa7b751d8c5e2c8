# SPDX-License-Identifier: Apache-2.0
"""What devices and ports that come along add to Facula's names: a module of this folder each, whose install(torch) is
called when Facula is imported. Nothing else names them."""

import importlib
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

modules: list[str] = []  # packages of facula that are imported when they are first asked for
computed: dict[str, Callable[[], Any]] = {}  # names of facula whose value is asked for each time


def install(torch: ModuleType) -> None:
    for file in sorted(os.listdir(os.path.dirname(__file__))):
        name, kind = os.path.splitext(file)
        if kind == ".py" and name != "__init__":
            importlib.import_module(f"{__name__}.{name}").install(torch)
