# SPDX-License-Identifier: Apache-2.0
"""Other engines for inference on a CPU, beside Facula by name: the oracle's Python exports the model and runs them."""

from __future__ import annotations

import argparse

from ._options import Refused

PEERS = ("onnxruntime", "openvino")


def names(options: argparse.Namespace) -> list[str]:
    if not options.peer:
        return []
    found = [name for name in options.peer.split(",") if name]
    for name in found:
        if name not in PEERS:
            raise Refused(f"--peer: expected some of {', '.join(PEERS)}, got {name!r}")
    if not options.oracle:
        raise Refused("--peer: --oracle names the Python that has PyTorch, which exports the models, and the engines")
    return found
