# SPDX-License-Identifier: Apache-2.0
"""Files that PyTorch wrote give the same objects here, and the same objects give the same files."""
import io
import json
import pathlib

import pytest
from saved_objects import NO_LEGACY, OBJECTS, described

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "golden" / "files"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())


def same(torch, obj, name):
    return json.loads(json.dumps(described(torch, obj))) == EXPECTED[name]


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.pt")))
def test_recorded_files_load_exactly(torch, name):
    if torch.__name__ == "torch" and "containers" in name:
        pytest.skip("PyTorch's default refuses frozenset, defaultdict and protocol 5")
    what = name.partition("_legacy")[0].partition("_protocol")[0]
    assert same(torch, torch.load(FOLDER / f"{name}.pt"), what)
    with open(FOLDER / f"{name}.pt", "rb") as f:
        assert same(torch, torch.load(f, map_location="cpu"), what)
    buffer = io.BytesIO((FOLDER / f"{name}.pt").read_bytes())
    assert same(torch, torch.load(buffer, map_location=lambda storage, location: storage), what)
    if "legacy" not in name:
        assert same(torch, torch.load(FOLDER / f"{name}.pt", mmap=True), what)


def without_id(data):
    """An archive without the number that tells files apart, and without its checksum in header and directory."""
    at = data.index(b"/.data/serialization_id")
    begin = (at + 23 + 3 + 63) // 64 * 64
    central = data.rindex(b"PK\x01\x02") + 16
    return data[:begin] + data[begin + 40 + 8 :][: central - begin - 48] + data[central + 4 :]


@pytest.mark.parametrize("name", OBJECTS)
def test_the_same_object_is_the_same_file(torch, tmp_path, name):
    path = tmp_path / f"{name}.pt"
    torch.save(OBJECTS[name](torch), path)
    assert without_id(path.read_bytes()) == without_id((FOLDER / f"{name}.pt").read_bytes())
    assert same(torch, torch.load(path), name)


@pytest.mark.parametrize("name", [name for name in OBJECTS if name not in NO_LEGACY])
def test_legacy_files_are_written_too(torch, tmp_path, name):
    buffer = io.BytesIO()
    torch.save(OBJECTS[name](torch), buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    assert same(torch, torch.load(buffer), name)
    assert buffer.read() == b""


def write_all(torch, folder):
    """For check.py."""
    for name, make in OBJECTS.items():
        torch.save(make(torch), folder / f"{name}.pt")
        if name not in NO_LEGACY:
            torch.save(make(torch), folder / f"{name}_legacy.pt", _use_new_zipfile_serialization=False)
