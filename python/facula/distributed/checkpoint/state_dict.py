# SPDX-License-Identifier: Apache-2.0
"""State dicts of modules and optimisers that are cut over processes: names for questions."""

from facula import _missing
from facula.distributed import _refused

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]

StateDictOptions = _refused.kind(__name__, "StateDictOptions")
get_model_state_dict = _refused.function(__name__, "get_model_state_dict")
get_optimizer_state_dict = _refused.function(__name__, "get_optimizer_state_dict")
get_state_dict = _refused.function(__name__, "get_state_dict")
set_model_state_dict = _refused.function(__name__, "set_model_state_dict")
set_optimizer_state_dict = _refused.function(__name__, "set_optimizer_state_dict")
set_state_dict = _refused.function(__name__, "set_state_dict")

__getattr__ = _missing.missing(__name__)
