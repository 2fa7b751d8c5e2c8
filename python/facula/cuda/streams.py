# SPDX-License-Identifier: Apache-2.0
"""torch.cuda.streams: streams of CUDA devices, of which there is none."""

from facula.cuda import Event, ExternalStream, Stream

__all__ = [
    "Event", "ExternalStream", "Stream",
]  # fmt: skip
