# SPDX-License-Identifier: Apache-2.0
"""Event files: records with their CRCs, and messages that a small reader of protobuf takes apart again."""
import io
import json
import math
import struct
import zlib

import pytest
import tensorboard_cases

from facula.utils.tensorboard import SummaryWriter, _events

pytestmark = pytest.mark.not_sanitized


RECORDED = json.loads(tensorboard_cases.FILE.read_text())


def records(path):
    data, at = path.read_bytes(), 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        assert struct.unpack_from("<I", data, at + 8)[0] == _events.masked_crc(data[at : at + 8])
        body = data[at + 12 : at + 12 + length]
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == _events.masked_crc(body)
        yield body
        at += 16 + length


def fields(data):
    """{number: [values]} of a message; messages stay bytes."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        elif key & 7 == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif key & 7 == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            length = varint()
            value, at = data[at : at + length], at + length
        found.setdefault(key >> 3, []).append(value)
    return found


def values(folder):
    """[(step, tag, fields of the value)] of all event files of a folder, and the number of files."""
    found = []
    for path in sorted(folder.glob("events.out.tfevents.*")):
        first, *rest = records(path)
        assert fields(first)[3] == [b"brain.Event:2"]
        for event in map(fields, rest):
            for summary in event.get(5, []):
                value = fields(fields(summary)[1][0])
                found.append((event.get(2, [None])[0], value[1][0].decode(), value))
    return found


def test_crc():
    assert _events.crc32c(b"123456789") == 0xE3069283  # the check value of CRC-32C
    assert _events.crc32c(b"\0" * 32) == 0x8A9136AA


def pixels(png):
    """The bytes of a picture: what was written here has no filters."""
    width, height, _, kind = struct.unpack_from(">IIBB", png, 16)
    size = struct.unpack_from(">I", png, 33)[0]
    rows = zlib.decompress(png[41 : 41 + size])
    wide = width * {2: 3, 6: 4}[kind]
    assert len(rows) == height * (wide + 1) and not any(rows[:: wide + 1])
    return b"".join(rows[y * (wide + 1) + 1 : (y + 1) * (wide + 1)] for y in range(height))


def without_pictures(summary):
    """A Summary without the files of its pictures, and the checksums of their pixels."""
    found, checks = b"", []
    for value in fields(summary)[1]:
        if 4 in fields(value):
            (picture,) = fields(value)[4]
            (png,) = fields(picture)[4]
            checks.append(zlib.crc32(pixels(png)))
            value = value.replace(_events.message(4, picture), _events.message(4, picture.removesuffix(_events.message(4, png))))
        found += _events.message(1, value)
    return found, checks


@pytest.mark.parametrize("name", RECORDED["cases"])
def test_the_bytes_are_those_of_pytorch(torch, tmp_path, name):
    with SummaryWriter(tmp_path) as writer:
        tensorboard_cases.cases(torch)[name](writer)
    found = []
    for path in sorted(tmp_path.rglob("events.*")):
        for event in map(fields, list(records(path))[1:]):
            (summary,) = event[5]
            summary, checks = without_pictures(summary)
            found.append([event.get(2, [0])[0], summary.hex(), checks])
    assert found == RECORDED["cases"][name]


def test_the_graph_of_a_model(torch, tmp_path, capsys):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(inplace=True), torch.nn.Dropout())
            self.register_buffer("shift", torch.ones(2))
            self.other = torch.ones(2)  # no parameter, no buffer

        def forward(self, x, more):
            if x.sum() > 1e9:  # a run is recorded: programs may look at values
                return x
            a, b = self.body(self.body(x)).split(2, 1)
            return {"sum": a + self.shift, "rest": (b * more["scale"], self.other)}

    net, x = Net(), torch.ones(3, 4)
    net.body[2].eval()
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(net, (x, {"scale": torch.ones(2)}), verbose=True)
        with pytest.raises(RuntimeError):
            writer.add_graph(net, (torch.ones(3, 5), {}))
    assert net.training and net.body.training and not net.body[2].training and not any(m._forward_hooks or m._forward_pre_hooks for m in net.modules())
    _, graph, metadata = map(fields, records(next(tmp_path.glob("events.*"))))
    assert fields(metadata[8][0])[1] == [b"step1"] and b"/device:CPU:0" in fields(metadata[8][0])[2][0]
    graph = fields(graph[4][0])
    assert fields(graph[4][0]) == {1: [22]}
    nodes = {node[1][0].decode(): node for node in map(fields, graph[1])}
    inputs = {name: [x.decode() for x in node.get(3, [])] for name, node in nodes.items()}
    assert len(nodes) == len(graph[1]) and "Net/split = aten::split(" in capsys.readouterr().out

    first = "Net/Sequential[body]/Linear[0]"
    assert inputs[f"{first}/linear"] == ["input/x", f"{first}/weight", f"{first}/bias"]
    assert inputs[f"{first}/linear_1"] == ["Net/Sequential[body]/Dropout[2]/dropout", f"{first}/weight", f"{first}/bias"]  # the same module again
    assert inputs["Net/add"] == ["Net/split", "Net/shift"] and inputs["Net/mul"] == ["Net/split:1", "input/more"]
    assert inputs["output/output.1"] == ["Net/add"] and inputs["output/output.3"] == ["Net/constant"]
    assert nodes["Net/split"][2] == [b"aten::split"] and nodes[f"{first}/weight"][2] == [b"prim::GetAttr"] and nodes["input/x"][2] == [b"IO Node"]
    attributes = {fields(a)[1][0]: fields(fields(a)[2][0]) for a in nodes["Net/split"][5]}
    shapes = [[fields(d)[1][0] for d in fields(shape)[2]] for shape in fields(attributes[b"_output_shapes"][1][0])[7]]
    assert shapes == [[3, 2], [3, 2]] and attributes[b"attr"][2] == [b"{ split_size : 2,  dim : 1}"]
    everything = {name.partition(":")[0] for names in inputs.values() for name in names}
    assert everything <= set(nodes)


def test_every_case_is_recorded(torch):
    assert set(RECORDED["cases"]) == set(tensorboard_cases.cases(torch))


@pytest.mark.parametrize(("dtype", "kind", "field"), [("float16", 19, 13), ("bfloat16", 14, 13), ("uint8", 4, 7)])
def test_tensors_that_tensorboard_cannot_read_from_pytorch(torch, tmp_path, dtype, kind, field):
    """PyTorch writes the bits of float32 as those of halves, and bytes where nobody looks for them."""
    with SummaryWriter(tmp_path) as writer:
        writer.add_tensor("t", torch.tensor([1, 2], dtype=getattr(torch, dtype)))
    ((_, _, value),) = values(tmp_path)
    tensor = fields(value[8][0])
    bits = {"float16": b"\x80\x78\x80\x80\x01", "bfloat16": b"\x80\x7f\x80\x80\x01", "uint8": b"\x01\x02"}[dtype]
    assert tensor[1] == [kind] and tensor[field] == [bits]


def test_projector(torch, tmp_path):
    with SummaryWriter(tmp_path) as writer:
        tensorboard_cases.embeddings(torch, writer)
        for arguments, words in (((torch.ones(2),), "2D"), ((torch.ones(2, 2), ["x"]), "#labels"), ((torch.ones(2, 2), None, torch.ones(1, 3, 4, 4)), "#images")):
            with pytest.raises(AssertionError, match=words):
                writer.add_embedding(*arguments)
    assert tensorboard_cases.projector_files(tmp_path) == RECORDED["projector"]
    sprite = (tmp_path / "00003" / "a%2fb c" / "sprite.png").read_bytes()
    assert struct.unpack_from(">II", sprite, 16) == (12, 12)


def test_pictures_by_pillow(torch, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="boxes and videos need pillow")
    with SummaryWriter(tmp_path) as writer:
        writer.add_image_with_boxes("boxes", torch.zeros(3, 20, 30), torch.tensor([[2, 3, 20, 15]]), labels=["x"])
        writer.add_video("video", torch.rand(3, 4, 1, 6, 5), fps=10)
        with pytest.raises(ValueError, match="batch, time"):
            writer.add_video("video", torch.rand(4, 1, 6, 5))
    (_, _, boxes), (_, _, video) = values(tmp_path)
    drawn = image.open(io.BytesIO(fields(boxes[4][0])[4][0]))
    assert drawn.size == (30, 20) and drawn.getpixel((2, 9)) == (255, 0, 0) and drawn.getpixel((28, 1)) == (0, 0, 0)
    moving = image.open(io.BytesIO(fields(video[4][0])[4][0]))
    assert moving.size == (20, 6) and moving.n_frames == 4 and moving.info["duration"] == 100


def test_errors_and_the_rest(torch, tmp_path):
    with SummaryWriter(str(tmp_path), purge_step=2) as writer:
        writer.add_scalar("loss", 1e300, 4)
        writer.add_scalars("group/all", {"a": 1, "b": 2.5}, 7)
        for call, error, words in (
            (lambda: writer.add_scalar("loss", torch.ones(2)), AssertionError, "one element"),
            (lambda: writer.add_histogram("h", torch.ones(0)), ValueError, "no element"),
            (lambda: writer.add_histogram_raw("h", 0, 1, 1, 1, 1, [1.0], []), ValueError, "bucket_limits"),
            (lambda: writer.add_image("picture", torch.rand(4, 5)), AssertionError, "input format"),
            (lambda: writer.add_image("picture", torch.rand(3, 4, 5), dataformats="CCH"), AssertionError, "shorthand twice"),
            (lambda: writer.add_image("picture", torch.rand(2, 4, 5)), ValueError, "channels"),
            (lambda: writer.add_images("picture", torch.rand(0, 3, 4, 5)), ValueError, "no picture"),
            (lambda: writer.add_audio("tone", torch.rand(2, 4)), AssertionError, "1 dimensional"),
            (lambda: writer.add_mesh("m", torch.rand(4, 3)), ValueError, "batch, number, 3"),
            (lambda: writer.add_tensor("t", torch.zeros(1, dtype=torch.uint16)), ValueError, "unsupported tensor dtype"),
            (lambda: writer.add_custom_scalars_marginchart(["x"]), AssertionError, "three tags"),
            (lambda: writer.add_hparams({"bad": object()}, {}), ValueError, "should be one of int"),
            (lambda: writer.add_hparams([], {}), TypeError, "hparam_dict should be a dictionary"),
            (lambda: writer.add_hparams({"lr": 1}, {}, {"lr": 2}), TypeError, "hparam_domain_discrete"),
            (lambda: writer.add_graph(torch.nn.Linear(1, 1)), TypeError, "needs an input of it"),
            (lambda: writer.add_graph(len, torch.ones(1)), TypeError, "needs a module, not builtin"),
            (lambda: writer.add_onnx_graph("x.onnx"), NotImplementedError, "ONNX"),
            (lambda: writer.add_onnx_graph("x"), NotImplementedError, "ONNX"),
        ):
            with pytest.raises(error, match=words):
                call()
    found = values(tmp_path)
    assert [(step, tag) for step, tag, _ in found] == [(4, "loss")] and found[0][2][2] == [math.inf]
    assert [(step, tag, value[2]) for step, tag, value in values(tmp_path / "group_all_b")] == [(7, "group/all", [2.5])]
