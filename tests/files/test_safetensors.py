# SPDX-License-Identifier: Apache-2.0
"""The safetensors format: files of the package of that name, ours, and forged ones."""
import json
import os
import pathlib
import struct

import pytest
from saved_objects import described, tensors

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "golden" / "files"
RECORDED = FOLDER / "tensors.safetensors"


@pytest.fixture
def safetensors(torch):
    if torch.__name__ != "facula":
        pytest.skip("PyTorch has no such module")
    return torch.safetensors


def exact(torch, a, b):
    return list(a) == list(b) and all(described(torch, a[name]) == described(torch, b[name]) for name in a)


def by_name(items):
    return dict(sorted(items.items()))


def test_recorded_files(torch, safetensors, tmp_path):
    want = by_name(tensors(torch))
    assert exact(torch, safetensors.load_file(RECORDED), want)
    assert exact(torch, by_name(safetensors.load(RECORDED.read_bytes())), want)
    assert exact(torch, torch.load(RECORDED), want) and exact(torch, torch.load(str(RECORDED), map_location="cpu"), want)
    metadata = {'k"': "vä\n"}
    safetensors.save_file(tensors(torch), tmp_path / "x.safetensors", metadata=metadata)
    assert (tmp_path / "x.safetensors").read_bytes() == RECORDED.read_bytes() == safetensors.save(tensors(torch), metadata)
    meta = safetensors.load_file(RECORDED, device="meta")
    assert all(t.is_meta for t in meta.values())


def test_one_by_one(torch, safetensors):
    with safetensors.safe_open(RECORDED, framework="pt", device="cpu") as f:
        assert f.keys() == sorted(tensors(torch)) and f.metadata() == {'k"': "vä\n"}
        assert f.offset_keys()[0] == "uint64" and f.offset_keys()[-1] == "bool"
        assert f.get_tensor("scalar").item() == 2.5
        x, part = f.get_tensor("float32"), f.get_slice("float32")
        assert part.get_shape() == [12]
        for index in (slice(2, 5), slice(None), slice(-3, None), slice(5, 2), slice(0, 100), slice(1, 9, 3), 4, -1, ...):
            assert torch.equal(part[index], x[index]), index
        rows = f.get_slice('é"\\\n\x01/')
        assert rows[1:, 1].tolist() == [1.0] and rows[:, :2].shape == (2, 2) and rows[0].shape == (3,)
        assert f.get_slice("empty")[:].shape == (0, 3)
        with pytest.raises(IndexError):
            part[99]
        with pytest.raises(KeyError, match="does not contain tensor nothing"):
            f.get_tensor("nothing")
    with pytest.raises(ValueError, match="framework"):
        safetensors.safe_open(RECORDED, framework="flax")
    with pytest.raises(FileNotFoundError):
        safetensors.safe_open("nowhere")


def test_what_is_written(torch, safetensors, tmp_path):
    path = tmp_path / "x.safetensors"
    turned = torch.arange(6.0).view(2, 3).t()
    safetensors.save_file({"turned": turned, "grad": torch.ones(2, requires_grad=True), "part": torch.arange(8)[3:5]}, path)
    out = safetensors.load_file(path)
    assert torch.equal(out["turned"], turned) and out["turned"].is_contiguous() and not out["grad"].requires_grad and out["part"].tolist() == [3, 4]
    before = path.read_bytes()
    x = torch.ones(4)
    for bad, error, match in (
        ({"a": x, "b": x}, RuntimeError, "share memory"), ({"a": x[:2], "b": x[2:]}, RuntimeError, "share memory"),
        ({"a": [1]}, ValueError, "expected torch.Tensor"), ({"a": torch.zeros(2, dtype=torch.complex128)}, ValueError, "no type complex128"),
        ({"__metadata__": x}, ValueError, "__metadata__"), ({3: x}, (TypeError, RuntimeError), None), ({"\ud800": x}, (ValueError, RuntimeError, TypeError), None),
    ):  # fmt: skip
        with pytest.raises(error, match=match):
            safetensors.save_file(bad, path)
    with pytest.raises((TypeError, RuntimeError)):
        safetensors.save_file({"a": x}, path, metadata={"a": 1})
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["x.safetensors"]
    safetensors.save_file({}, path)
    assert safetensors.load_file(path) == {} and safetensors.load(safetensors.save({})) == {}


def forged(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def test_damaged_files(torch, safetensors, tmp_path):
    data = RECORDED.read_bytes()
    head = 8 + int.from_bytes(data[:8], "little")
    path = tmp_path / "x"
    for n in [*range(head), *range(head, len(data), 7)]:
        with pytest.raises(ValueError, match="safetensors"):
            safetensors.load(data[:n])
    for n in range(0, len(data), 97):
        path.write_bytes(data[:n])
        with pytest.raises(ValueError, match="safetensors"):
            safetensors.load_file(path)
    with pytest.raises(ValueError, match="belong to no tensor"):
        safetensors.load(data + b"x")
    for i in range(head):
        damaged = bytearray(data)
        damaged[i] ^= 1
        try:
            safetensors.load(bytes(damaged))
        except ValueError:
            continue


def test_forged_files(torch, safetensors):
    def tensor(dtype="F32", shape=(2,), place=(0, 8), **more):
        return {"dtype": dtype, "shape": list(shape), "data_offsets": list(place), **more}

    assert safetensors.load(forged({"a": tensor()}, bytes(8)))["a"].tolist() == [0, 0]
    assert safetensors.load(forged(b'{"a":{"shape":[ 0 ],"dtype":"F32","data_offsets":[0,0]}}  \n'))["a"].shape == (0,)
    assert list(safetensors.load(forged(rb'{"\u00e9\ud83d\udd25\/":{"shape":[],"dtype":"U8","data_offsets":[0,1]}}', b"x"))) == ["é🔥/"]
    big = 1 << 62
    bad = {
        "length": forged({}, length=1 << 63), "too long": forged({}, length=100_000_001), "beyond": forged({}, length=3), "no object": forged(b"[]"), "empty": forged(b""),
        "space first": forged(b" {}"), "not UTF-8": forged(b'{"\xff":1}'), "overlong": forged(b'{"\xc0\xaf":1}'), "surrogate": forged(b'{"\xed\xa0\x80":1}'), "half pair": forged(rb'{"\ud800":1}'),
        "type": forged({"a": tensor("F99")}, bytes(8)), "no type": forged({"a": {"shape": [2], "data_offsets": [0, 8]}}, bytes(8)), "no shape": forged({"a": {"dtype": "F32", "data_offsets": [0, 4]}}, bytes(4)),
        "unknown field": forged({"a": tensor(extra=1)}, bytes(8)), "mismatch": forged({"a": tensor(shape=(3,))}, bytes(8)), "order": forged({"a": tensor(place=(8, 0))}, bytes(8)),
        "one place": forged({"a": tensor(place=(8,))}, bytes(8)), "overflow": forged({"a": tensor(shape=(big, 4))}, bytes(8)), "wraps to size": forged({"a": tensor(shape=(1 << 61, 8, 2))}, bytes(8)),
        "huge number": forged(b'{"a":{"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,8]}}', bytes(8)), "negative": forged(b'{"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}', bytes(8)),
        "fraction": forged(b'{"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}}', bytes(8)), "leading zero": forged(b'{"a":{"dtype":"F32","shape":[02],"data_offsets":[0,8]}}', bytes(8)),
        "beyond the end": forged({"a": tensor(place=(8, 16))}, bytes(8)), "hole": forged({"a": tensor(), "b": tensor(place=(12, 20))}, bytes(20)), "overlap": forged({"a": tensor(), "b": tensor(place=(4, 12))}, bytes(12)),
        "same place": forged({"a": tensor(), "b": tensor()}, bytes(8)), "rest": forged({"a": tensor()}, bytes(9)), "twice": forged(b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'),
        "field twice": forged(b'{"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}}'), "metadata": forged({"__metadata__": {"a": 1}}), "metadata list": forged({"__metadata__": []}),
        "tail": forged(b"{}x"), "nested": forged(b"{" * 100000), "list": forged(b'{"a":' + b"[" * 100000), "open text": forged(b'{"a'), "control": forged(b'{"a\n":1}'), "escape": forged(rb'{"\x":1}'),
    }  # fmt: skip
    for what, data in bad.items():
        with pytest.raises(ValueError, match="safetensors"):
            safetensors.load(data)
            pytest.fail(what)
    deep = forged({"a": tensor(shape=(1,) * 100, place=(0, 4))}, bytes(4))
    with pytest.raises((ValueError, RuntimeError)):
        safetensors.load(deep)
