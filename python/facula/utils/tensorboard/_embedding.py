# SPDX-License-Identifier: Apache-2.0
"""What TensorBoard's projector reads: rows of numbers, labels and small pictures, and a text that says where they are."""

import os
import re

from facula.utils.tensorboard.summary import _array, _as_bytes, _grid, _png


def write_embedding(folder, mat, metadata, label_img, step, tag, header):
    """Writes the files of one embedding; returns its entry for the projector's list."""
    import numpy

    mat = _array(mat)
    if mat.ndim != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    if metadata is not None and len(metadata) != len(mat):
        raise AssertionError("#labels should equal with #data points")
    if metadata and header and len(header) != len(metadata[0]):
        raise AssertionError("len of header must be equal to the number of columns in metadata")
    if label_img is not None and len(label_img) != len(mat):
        raise AssertionError("#images should equal with #data points")
    place = f"{step:05d}/" + re.sub(r"[%/\\]", lambda found: f"%{ord(found[0]):02x}", tag)
    path = os.path.join(folder, place)
    os.makedirs(path, exist_ok=True)
    _write(os.path.join(path, "tensors.tsv"), "".join("\t".join(map(str, row)) + "\n" for row in mat.tolist()))
    entry = [f'tensor_name: "{_quoted(tag)}:{step:05d}"', f'tensor_path: "{_quoted(place)}/tensors.tsv"']
    if metadata is not None:
        lines = ["\t".join(map(str, row)) for row in [header, *metadata]] if header else map(str, metadata)
        _write(os.path.join(path, "metadata.tsv"), "".join(f"{line}\n" for line in lines))
        entry.insert(1, f'metadata_path: "{_quoted(place)}/metadata.tsv"')
    if label_img is not None:
        pictures = _array(label_img).transpose(0, 2, 3, 1)
        pictures = numpy.repeat(pictures, 3, -1) if pictures.shape[-1] == 1 else pictures
        across = numpy.ceil(len(pictures) ** 0.5).astype(int)
        rows = _as_bytes(_grid(pictures, across))
        sheet = numpy.zeros((rows.shape[1], rows.shape[1], 3), numpy.uint8)  # the projector wants a square
        sheet[: len(rows)] = rows
        with open(os.path.join(path, "sprite.png"), "wb") as f:
            f.write(_png(sheet))
        sizes = [f"    single_image_dim: {n}" for n in (pictures.shape[2], pictures.shape[1])]
        at = 2 if metadata is not None else 1
        entry.insert(at, "\n".join(["sprite {", f'    image_path: "{_quoted(place)}/sprite.png"', *sizes, "  }"]))
    return entry


def write_projector_config(folder, entries):
    """The list of all embeddings of a folder, in protobuf's text format."""
    _write(os.path.join(folder, "projector_config.pbtxt"), "".join("embeddings {\n" + "".join(f"  {line}\n" for line in entry) + "}\n" for entry in entries))


def _quoted(text):
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _write(path, text):
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        f.write(text)
