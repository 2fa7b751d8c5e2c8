# SPDX-License-Identifier: Apache-2.0
"""torch.backends.quantized: this build has no engine for quantised models."""

engine = "none"
supported_engines: list = []
