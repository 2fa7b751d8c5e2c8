# SPDX-License-Identifier: Apache-2.0
"""How FullyShardedDataParallel was told what to wrap: names for programs that import them and then ask for fully_shard."""

from facula import _missing
from facula.distributed import _refused

__all__ = [
    "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap", "lambda_auto_wrap_policy", "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy", "wrap",
]  # fmt: skip

ModuleWrapPolicy = _refused.kind(__name__, "ModuleWrapPolicy")
always_wrap_policy = _refused.function(__name__, "always_wrap_policy")
enable_wrap = _refused.function(__name__, "enable_wrap")
lambda_auto_wrap_policy = _refused.function(__name__, "lambda_auto_wrap_policy")
size_based_auto_wrap_policy = _refused.function(__name__, "size_based_auto_wrap_policy")
transformer_auto_wrap_policy = _refused.function(__name__, "transformer_auto_wrap_policy")
wrap = _refused.function(__name__, "wrap")

__getattr__ = _missing.missing(__name__)
