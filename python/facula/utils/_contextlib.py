# SPDX-License-Identifier: Apache-2.0
"""What contexts are derived from that decorate functions, too: torch.no_grad and those of packages."""

from facula.autograd.forward_modes import _Decorating as _DecoratorContextManager

__all__ = ["_DecoratorContextManager"]
