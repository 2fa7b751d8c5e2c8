# SPDX-License-Identifier: Apache-2.0
"""Event files: records with their CRCs, and messages that a small reader of protobuf takes apart again."""
import math
import struct
import zlib

import pytest

from facula.utils.tensorboard import SummaryWriter, _events


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


def test_numbers(torch, tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", torch.tensor(0.5), 3)
        writer.add_scalar("loss", 1e300, 4)
        writer.add_scalar("precise", math.pi, 5, new_style=True, double_precision=True)
        writer.add_scalars("group/all", {"a": 1, "b": 2.5}, 7)
        with pytest.raises(AssertionError, match="one element"):
            writer.add_scalar("loss", torch.ones(2))
        with pytest.raises(NotImplementedError, match="add_mesh"):
            writer.add_mesh("m", None)
    found = values(tmp_path)
    assert [(step, tag) for step, tag, _ in found] == [(3, "loss"), (4, "loss"), (5, "precise")]
    assert found[0][2][2] == [0.5] and found[1][2][2] == [math.inf]
    assert struct.unpack("<d", fields(found[2][2][8][0])[6][0]) == (math.pi,)
    assert [(step, tag, value[2]) for step, tag, value in values(tmp_path / "group_all_b")] == [(7, "group/all", [2.5])]


def test_pictures_and_the_rest(torch, tmp_path):
    writer = SummaryWriter(str(tmp_path), purge_step=2)
    writer.add_histogram("weights", torch.tensor([-1.0, 0.0, 0.5, 0.5, 2.0]), 1)
    writer.add_image("picture", torch.rand(3, 4, 5), 1)
    writer.add_images("pictures", torch.zeros(2, 1, 4, 5), 1)
    writer.add_text("note", "*hello*", 1)
    writer.add_audio("tone", torch.linspace(-2, 2, 10), 1, sample_rate=8000)
    writer.add_hparams({"lr": 0.1, "name": "x", "on": True}, {"accuracy": 0.9}, run_name="run")
    writer.close()
    found = {tag: value for _, tag, value in values(tmp_path)}
    histogram = fields(found["weights"][5][0])
    limits, counts = (struct.unpack(f"<{len(histogram[k][0]) // 8}d", histogram[k][0]) for k in (6, 7))
    assert (histogram[1], histogram[2], histogram[3], histogram[4]) == ([-1.0], [2.0], [5.0], [2.0]) and sum(counts) == 5 and len(limits) == len(counts)
    picture, png = fields(found["picture"][4][0]), fields(found["picture"][4][0])[4][0]
    assert (picture[1], picture[2], picture[3]) == ([4], [5], [3]) and png.startswith(b"\x89PNG")
    size = struct.unpack_from(">I", png, 33)[0]
    assert len(zlib.decompress(png[41 : 41 + size])) == 4 * (1 + 5 * 3)
    assert fields(found["pictures"][4][0])[2] == [10]
    assert fields(found["note/text_summary"][8][0])[8] == [b"*hello*"] and fields(found["tone"][6][0])[3] == [10]
    assert {tag for _, tag, _ in values(tmp_path / "run")} == {"_hparams_/experiment", "_hparams_/session_start_info", "_hparams_/session_end_info", "accuracy"}
    with pytest.raises(ValueError, match="should be one of int"):
        writer.add_hparams({"bad": object()}, {})
    with pytest.raises(AssertionError, match="input format"):
        writer.add_image("picture", torch.rand(4, 5))
    writer.close()
