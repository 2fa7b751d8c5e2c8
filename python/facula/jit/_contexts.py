# SPDX-License-Identifier: Apache-2.0
"""Context managers of the library as the compiler takes them: sources in the language, by the class that they stand for."""

from typing import Any, Optional

import facula as torch


def _enter_range(name, args):
    """profiler::_enter_range, to the compiler"""


def _exit_range(depth):
    """profiler::_exit_range, to the compiler"""


class no_grad:
    """torch.no_grad"""

    def __init__(self) -> None:
        self.prev = False

    def __enter__(self) -> None:
        self.prev = torch.is_grad_enabled()
        torch.set_grad_enabled(False)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        torch.set_grad_enabled(self.prev)


class record_function:
    """torch.autograd.profiler.record_function"""

    def __init__(self, name: str, args: Optional[str] = None) -> None:  # noqa: UP045
        self.name = name
        self.args = args
        self.depth = 0

    def __enter__(self) -> "record_function":
        self.depth = _enter_range(self.name, self.args)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        _exit_range(self.depth)


NAMES = {no_grad: "__torch__.torch.autograd.grad_mode.no_grad", record_function: "__torch__.torch.autograd.profiler.record_function"}
STANDS_FOR = {torch.no_grad: no_grad, torch.autograd.profiler.record_function: record_function}
