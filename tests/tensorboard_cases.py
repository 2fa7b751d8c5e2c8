# SPDX-License-Identifier: Apache-2.0
"""What SummaryWriter is told, case by case; the same text runs with PyTorch.

    python tests/tensorboard_cases.py      # with PyTorch, tensorboard and pillow: records tests/golden/tensorboard.json

Recorded is the Summary that each call writes, with the bytes of a picture's file replaced by its pixels' checksum, since no
two writers of PNG compress alike; and the files of the projector.
"""
import math
import pathlib

FILE = pathlib.Path(__file__).parent / "golden" / "tensorboard.json"


def wave(torch, *shape):
    return (torch.arange(math.prod(shape), dtype=torch.float64) * 0.7).sin().reshape(shape)


def cases(torch):
    """{name: a function of a SummaryWriter}."""
    numbers = (wave(torch, 40) * 768).round() / 256  # sums of squares are exact: products of NumPy round by processor
    found = {
        "scalar": lambda w: w.add_scalar("loss", 0.5, 3),
        "scalar of a tensor": lambda w: w.add_scalar("loss", torch.tensor([2.5]), 4),
        "scalar, zero": lambda w: w.add_scalar("loss", 0.0, 0),
        "scalar, new style": lambda w: w.add_scalar("loss", 0.1, 5, new_style=True),
        "scalar, new style, double": lambda w: w.add_scalar("loss", math.pi, 5, new_style=True, double_precision=True),
        "histogram": lambda w: w.add_histogram("h", numbers, 1),
        "histogram from zero": lambda w: w.add_histogram("h", numbers.abs() * (numbers > 0), 1),
        "histogram of numpy's bins": lambda w: w.add_histogram("h", numbers, 1, bins="auto"),
        "histogram of few bins": lambda w: w.add_histogram("h", numbers, 1, max_bins=100),
        "histogram of integers": lambda w: w.add_histogram("h", torch.arange(10), 1),
        "histogram, raw": lambda w: w.add_histogram_raw("r", 0.0, 4.0, 5, 9.0, 21.0, [1.0, 2.0, 4.0], [2, 0, 3], 2),
        "image": lambda w: w.add_image("i", wave(torch, 3, 4, 5).abs(), 1),
        "image of bytes": lambda w: w.add_image("i", (wave(torch, 4, 5, 3).abs() * 255).to(torch.uint8), 1, dataformats="HWC"),
        "image, grey": lambda w: w.add_image("i", wave(torch, 4, 5).abs(), 1, dataformats="HW"),
        "image of one channel": lambda w: w.add_image("i", wave(torch, 1, 4, 5).abs() * 2, 1),
        "image with alpha": lambda w: w.add_image("i", wave(torch, 4, 4, 5).abs(), 1),
        "images": lambda w: w.add_images("i", wave(torch, 11, 3, 4, 5).abs(), 1),
        "images of one channel": lambda w: w.add_images("i", wave(torch, 2, 1, 4, 5).abs(), 1),
        "images, channels last": lambda w: w.add_images("i", wave(torch, 2, 4, 5, 3).abs(), 1, dataformats="NHWC"),
        "audio": lambda w: w.add_audio("a", wave(torch, 1, 100) * 0.9, 1, sample_rate=8000),
        "text": lambda w: w.add_text("t", "*hello* \u00e4", 1),
        "curve": lambda w: w.add_pr_curve("p", (numbers > 0).int(), wave(torch, 40).abs(), 1),
        "curve with weights": lambda w: w.add_pr_curve("p", (numbers > 0).int().numpy(), wave(torch, 40).abs().numpy(), 1, 50, weights=numbers.abs().numpy()),
        "curve, raw": lambda w: w.add_pr_curve_raw("p", *[wave(torch, 6).numpy() + i for i in range(6)], 1, 6),
        "custom scalars": lambda w: w.add_custom_scalars({"a": {"b": ["Multiline", ["x", "y/z"]], "c": ["Margin", ["x", "y", "z"]]}, "d": {"e": ["Multiline", []]}}),
        "chart of lines": lambda w: w.add_custom_scalars_multilinechart(["x", "y"]),
        "chart of a margin": lambda w: w.add_custom_scalars_marginchart(["x", "y", "z"], "category", "title"),
        "mesh": lambda w: w.add_mesh("m", wave(torch, 1, 4, 3).float(), (wave(torch, 1, 4, 3) * 255).int(), torch.arange(6).reshape(1, 2, 3), {"camera": {"cls": "x"}}, 1),
        "points": lambda w: w.add_mesh("m", wave(torch, 2, 4, 3).float()),
    }  # fmt: skip
    for dtype in ("float32", "float64", "int8", "int16", "int32", "int64", "bool", "complex64", "complex128"):
        found[f"tensor of {dtype}"] = lambda w, dtype=dtype: w.add_tensor("t", (wave(torch, 2, 3) * 3).to(getattr(torch, dtype)) * 1, 1)
    # One by one: protobuf writes the entries of a map in any order.
    for name, value, domain in (("lr", 0.1, [0.1, 0.2]), ("name", "x", ["x", "y"]), ("on", True, None), ("batch", 8, None), ("given", torch.tensor([0.5]), None)):
        domains = None if domain is None else {name: domain}
        found[f"hyperparameter {name}"] = lambda w, name=name, value=value, domains=domains: w.add_hparams({name: value, "none": None}, {"accuracy": 0.9, "loss": 0.0}, domains, "run")
    found["tensor, empty"] = lambda w: w.add_tensor("t", torch.zeros(0, 3), 1)
    found["tensor, a number"] = lambda w: w.add_tensor("t", torch.tensor(-3), 1)
    return found


def embeddings(torch, writer):
    """Writes what the projector reads."""
    writer.add_embedding(wave(torch, 5, 2).float(), [f"row {i}" for i in range(5)], wave(torch, 5, 3, 4, 4).abs(), 3, "a/b c")
    writer.add_embedding(torch.arange(6).reshape(3, 2), [["x", 1], ["y", 2], ["z", 3]], metadata_header=["name", "n"])
    writer.add_embedding(wave(torch, 2, 2), global_step=1, tag='quote"d')


def projector_files(folder):
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.suffix in (".tsv", ".pbtxt")}


def _record():
    import io
    import json
    import tempfile
    import zlib

    import torch
    from PIL import Image
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event
    from torch.utils.tensorboard import SummaryWriter

    found = {}
    for name, call in cases(torch).items():
        with tempfile.TemporaryDirectory() as folder:
            with SummaryWriter(folder) as writer:
                call(writer)
            rows = []
            for path in sorted(pathlib.Path(folder).rglob("events.*")):
                for raw in RawEventFileLoader(str(path)).Load():
                    event = Event.FromString(raw)
                    if not event.HasField("summary"):
                        continue
                    pixels = []
                    for value in event.summary.value:
                        if value.HasField("image"):
                            pixels.append(zlib.crc32(Image.open(io.BytesIO(value.image.encoded_image_string)).tobytes()))
                            value.image.encoded_image_string = b""
                    rows.append([event.step, event.summary.SerializeToString(deterministic=True).hex(), pixels])
            found[name] = rows
    with tempfile.TemporaryDirectory() as folder:
        with SummaryWriter(folder) as writer:
            embeddings(torch, writer)
        files = projector_files(pathlib.Path(folder))
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in found.items())
    FILE.write_text(f'{{"torch": {json.dumps(torch.__version__)}, "cases": {{\n{lines}\n}}, "projector": {json.dumps(files)}}}\n')


if __name__ == "__main__":
    _record()
