# SPDX-License-Identifier: Apache-2.0
"""Other engines for inference on a CPU, by name, beside Facula: what is left to gain.

PyTorch, under the oracle's Python, builds the model of the same text, exports it to the engine and hands it numpy arrays.
A peer's row is NAME@ENGINE; its speedup is Facula's time over the engine's: 2.0 says that twice as fast can be had.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from typing import Any

from ._options import Refused

PEERS = ("onnxruntime", "openvino")


def names(options: argparse.Namespace) -> list[str]:
    """Those asked for; Refused where one is unknown or nothing could export the models."""
    if not options.peer:
        return []
    found = [name for name in options.peer.split(",") if name]
    for name in found:
        if name not in PEERS:
            raise Refused(f"--peer: expected some of {', '.join(PEERS)}, got {name!r}")
    if not options.oracle:
        raise Refused("--peer: --oracle names the Python that has PyTorch, which exports the models, and the engines")
    return found


def model_of(kind: type, peer: str, *arguments: Any) -> Any:
    """The peer's run of a planned model: `kind` is the parent's Model."""
    made = kind(*arguments)
    made.peer = peer
    made.row["name"] = f"{made.planned.name}@{peer}"
    made.details["baseline"] = "Facula eager"
    return made


def compiled(peer: str, module: Any, inputs: Any, options: dict) -> Any:
    """In the oracle's worker: a callable of the inputs that runs the engine."""
    import torch

    arguments = list(inputs.values()) if isinstance(inputs, dict) else list(inputs)
    module = module.eval()
    return {"onnxruntime": _onnxruntime, "openvino": _openvino}[peer](module, tuple(arguments), torch.get_num_threads())


def _onnxruntime(module: Any, arguments: tuple, threads: int) -> Any:
    import onnxruntime
    import torch

    with tempfile.TemporaryDirectory(prefix="facula-bench-") as folder:
        path = os.path.join(folder, "model.onnx")
        torch.onnx.export(module, arguments, path, verbose=False)
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads, settings.inter_op_num_threads = threads, 1
        session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    feed = {place.name: value.numpy() for place, value in zip(session.get_inputs(), arguments)}
    return lambda *_: [torch.from_numpy(v) if hasattr(v, "dtype") else v for v in session.run(None, feed)]


def _openvino(module: Any, arguments: tuple, threads: int) -> Any:
    import openvino
    import torch

    converted = openvino.convert_model(module, example_input=arguments if len(arguments) > 1 else arguments[0], input=[list(v.shape) for v in arguments])
    made = openvino.compile_model(converted, "CPU", {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"})
    request, feed = made.create_infer_request(), [v.numpy() for v in arguments]
    return lambda *_: [torch.from_numpy(v) for v in request.infer(feed).values()]
