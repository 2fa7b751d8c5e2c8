# SPDX-License-Identifier: Apache-2.0
"""Where old programs import Variable from."""

from facula.autograd import Variable

__all__ = ["Variable"]
