# SPDX-License-Identifier: Apache-2.0
"""DataPipes: datasets that are made of one another, by calls in a row. iter: streams; map: samples by key.

Importing any part registers the functions of all (`pipe.map(f).batch(2)`).
"""

from facula import _missing
from facula.utils.data.datapipes import dataframe, iter, map  # noqa: A004 -- PyTorch's names

__getattr__ = _missing.missing("facula.utils.data.datapipes", ("utils",))
