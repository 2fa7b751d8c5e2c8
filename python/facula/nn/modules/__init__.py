# SPDX-License-Identifier: Apache-2.0
"""Layers, losses and containers, a file for each family."""

from facula import _missing
from facula.nn.modules.activation import *
from facula.nn.modules.adaptive import *
from facula.nn.modules.batchnorm import *
from facula.nn.modules.channelshuffle import *
from facula.nn.modules.container import *
from facula.nn.modules.conv import *
from facula.nn.modules.distance import *
from facula.nn.modules.dropout import *
from facula.nn.modules.flatten import *
from facula.nn.modules.fold import *
from facula.nn.modules.instancenorm import *
from facula.nn.modules.linear import *
from facula.nn.modules.loss import *
from facula.nn.modules.module import *
from facula.nn.modules.normalization import *
from facula.nn.modules.padding import *
from facula.nn.modules.pixelshuffle import *
from facula.nn.modules.pooling import *
from facula.nn.modules.rnn import *
from facula.nn.modules.sparse import *
from facula.nn.modules.transformer import *
from facula.nn.modules.upsampling import *

__all__ = [name for name, value in globals().items() if isinstance(value, type)]
__getattr__ = _missing.missing("facula.nn.modules")
