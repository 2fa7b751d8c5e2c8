# SPDX-License-Identifier: Apache-2.0
"""What TensorBoard shows, as `Summary` messages: numbers, distributions, pictures, sound, text, curves, meshes, hyperparameters.

Fields come in the order of their numbers and zeros are left out, as protobuf writes them: a message has the bytes of PyTorch's.
"""

import struct
import zlib

from facula.utils.tensorboard._events import double, doubles, integer, integers, message, packed_single, single

__all__ = [
    "audio", "custom_scalars", "histogram", "histogram_raw", "hparams", "image", "image_boxes", "mesh", "pr_curve", "pr_curve_raw", "scalar",
    "tensor_proto", "text", "video",
]  # fmt: skip


def _array(values):
    """As NumPy's array, from tensors and numbers."""
    import numpy

    from facula import Tensor

    if isinstance(values, Tensor):
        values = values.detach().cpu()
        values = (values.float() if values.dtype.itemsize == 2 and values.dtype.is_floating_point else values).numpy()
    return numpy.asarray(values)


def _value(tag, *parts):
    return message(1, message(1, str(tag)), *parts)


def _plugin(name, content=b"", *more):
    return message(9, message(1, message(1, name), message(2, content) if content else b""), *more)


def _tensor(kind, sizes, content):
    """A TensorProto: number of the type, sizes (None: not said), and the field with its elements."""
    shape = b"" if sizes is None else message(2, *(message(2, integer(1, n) if n else b"") for n in sizes))
    return message(8, integer(1, kind), shape, content)


def _floats(array):
    """The elements of a TensorProto of float32."""
    return message(5, array.astype("<f4").tobytes()) if array.size else b""


def scalar(name, tensor, collections=None, new_style=False, double_precision=False):
    """A number."""
    values = _array(tensor).reshape(-1)
    if values.size != 1:
        raise AssertionError(f"Tensor should contain one element (0 dimensions). Was given size: {values.size} and {_array(tensor).ndim} dimensions.")
    value = float(values[0])
    if not new_style:
        return _value(name, single(2, value))
    return _value(name, _tensor(2, None, doubles(6, [value])) if double_precision else _tensor(1, None, message(5, packed_single(value))), _plugin("scalars"))


# dtype: number of the type, field of its elements
_TENSORS = {
    "float32": (1, 5), "float64": (2, 6), "int32": (3, 7), "uint8": (4, 7), "int16": (5, 7), "int8": (6, 7), "complex64": (8, 9), "int64": (9, 10), "bool": (10, 11),
    "bfloat16": (14, 13), "complex128": (18, 12), "float16": (19, 13),
}  # fmt: skip


def tensor_proto(tag, tensor):
    """A whole tensor."""
    import facula

    if tensor.numel() * tensor.itemsize >= 1 << 31:
        raise ValueError("tensor is bigger than protocol buffer's hard limit of 2GB in size")
    kind, field = _TENSORS.get(str(tensor.dtype).rpartition(".")[2], (0, 0))
    if not kind:
        raise ValueError(f"{tag} has unsupported tensor dtype {tensor.dtype}")
    flat = tensor.detach().cpu().flatten()
    if field in (7, 10, 11):
        content = integers(field, flat.tolist())
    elif field == 13:
        content = integers(field, flat.view(facula.uint16).tolist())
    else:
        flat = facula.view_as_real(flat).flatten() if flat.is_complex() else flat
        content = message(field, flat.numpy().tobytes()) if flat.numel() else b""
    return _value(tag, _tensor(kind, tensor.shape, content), _plugin("tensor"))


def _edges():
    """TensorFlow's buckets: each a tenth wider than the one before, on both sides of zero."""
    edge, edges = 1e-12, []
    while edge < 1e20:
        edges.append(edge)
        edge *= 1.1
    return [*(-e for e in reversed(edges)), 0.0, *edges]


def histogram_raw(name, min, max, num, sum, sum_squares, bucket_limits, bucket_counts):
    """A distribution whose buckets are counted already."""
    numbers = [double(field, float(value)) for field, value in enumerate((min, max, num, sum, sum_squares), 1) if value != 0]
    lists = [doubles(field, [float(x) for x in _array(values).tolist()]) for field, values in ((6, bucket_limits), (7, bucket_counts)) if len(values)]
    return _value(name, message(5, *numbers, *lists))


def histogram(name, values, bins="tensorflow", max_bins=None):
    """A distribution. bins: "tensorflow", or what numpy.histogram takes."""
    import numpy

    values = _array(values).astype(float).reshape(-1)
    if values.size == 0:
        raise ValueError("The input has no element.")
    counts, limits = numpy.histogram(values, bins=_edges() if bins == "tensorflow" else bins)
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        counts = numpy.add.reduceat(counts, range(0, len(counts), step))
        limits = numpy.append(limits[:-1:step], limits[-1])
    used = numpy.flatnonzero(counts)
    if used.size == 0:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = used[0], used[-1]
    # An empty bucket in front says where the first one begins.
    return histogram_raw(name, values.min(), values.max(), values.size, values.sum(), values @ values, limits[first : last + 2], [0, *counts[first : last + 1]])


def _png(pixels):
    """An array of height, width, channels (3 or 4) of bytes as a PNG file."""
    height, width, channels = pixels.shape

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + pixels[y].tobytes() for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, {3: 2, 4: 6}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def _grid(pictures, columns=8):
    """One picture (height, width, channels) of many (number, height, width, channels), in rows of at most so many."""
    import numpy

    n, height, width, channels = pictures.shape
    if n == 0:
        raise ValueError("there is no picture to show: the batch has none")
    columns = min(n, columns)
    rows = -(-n // columns)
    blank = numpy.zeros((rows * columns - n, height, width, channels), pictures.dtype)
    cells = numpy.concatenate([pictures, blank]).reshape(rows, columns, height, width, channels)
    return cells.transpose(0, 2, 1, 3, 4).reshape(rows * height, columns * width, channels)


def _as_bytes(array):
    """Numbers from 0 to 1 as bytes; bytes as they are."""
    import numpy

    return array if array.dtype == numpy.uint8 else (array.astype(numpy.float32) * 255.0).clip(0, 255).astype(numpy.uint8)


def _as_pixels(array, formats):
    """Height, width, three or four channels of bytes, from an array whose dimensions are named by letters of formats."""
    import numpy

    formats = formats.upper()
    if len(set(formats)) != len(formats):
        raise AssertionError(f"You can not use the same dimension shorthand twice. input_format: {formats}")
    if len(formats) != array.ndim or set(formats) not in (set("HW"), set("HWC"), set("NHWC")):
        raise AssertionError(f"size of input tensor and input format are different. tensor shape: {array.shape}, input_format: {formats}")
    if "C" not in formats:
        array, formats = array[..., None], formats + "C"
    array = array.transpose([formats.index(d) for d in "NHWC" if d in formats])
    if array.shape[-1] == 1:
        array = numpy.repeat(array, 3, -1)
    if array.shape[-1] not in ((3,) if "N" in formats else (3, 4)):
        raise ValueError(f"a picture has 1, 3 or (one by itself) 4 channels, not {array.shape[-1]}")
    return numpy.ascontiguousarray(_as_bytes(_grid(array) if "N" in formats else array))


def _pillow(what):
    try:
        from PIL import Image, ImageDraw
    except ImportError as e:
        raise ImportError(f"{what} needs the package pillow, which is not installed: pip install pillow") from e
    return Image, ImageDraw


def _picture(tag, shape, file):
    height, width, channels = shape
    return _value(tag, message(4, integer(1, height), integer(2, width), integer(3, channels), message(4, file)))


def image(tag, tensor, rescale=1, dataformats="NCHW"):
    """A picture, of bytes or of numbers from 0 to 1."""
    if rescale != 1:
        return image_boxes(tag, tensor, [], rescale, dataformats)
    pixels = _as_pixels(_array(tensor), dataformats)
    return _picture(tag, pixels.shape, _png(pixels))


def image_boxes(tag, tensor_image, tensor_boxes, rescale=1, dataformats="CHW", labels=None):
    """A picture with boxes (left, top, right, bottom) drawn into it, and their labels."""
    import io

    Image, ImageDraw = _pillow("drawing into pictures and resizing them")
    pixels = _as_pixels(_array(tensor_image), dataformats)
    picture = Image.fromarray(pixels)
    draw = ImageDraw.Draw(picture)
    for i, (left, top, right, bottom) in enumerate(_array(tensor_boxes).reshape(-1, 4).tolist()):
        draw.line([(left, top), (left, bottom), (right, bottom), (right, top), (left, top)], width=2, fill="Red")
        if labels is not None and labels[i]:
            x0, y0, x1, y1 = draw.textbbox((0, 0), labels[i])
            draw.rectangle([(left, bottom - (y1 - y0) - 2), (left + x1 - x0, bottom)], fill="Red")
            draw.text((left + 1, bottom - (y1 - y0) - 1 - y0), labels[i], fill="black")
    picture = picture.resize((int(pixels.shape[1] * rescale), int(pixels.shape[0] * rescale)), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    picture.save(file, format="PNG")
    return _picture(tag, pixels.shape, file.getvalue())


def video(tag, tensor, fps=4):
    """Moving pictures (batch, time, channels, height, width) as a GIF; those of a batch beside each other."""
    import io

    import numpy

    Image, _ = _pillow("a video")
    array = _array(tensor)
    if array.ndim != 5 or array.shape[2] not in (1, 3) or 0 in array.shape:
        raise ValueError(f"a video has the sizes (batch, time, 1 or 3 channels, height, width), not {tuple(array.shape)}")
    count, rows = 1 << (len(array) - 1).bit_length(), 1 << (len(array).bit_length() - 1) // 2
    array = numpy.concatenate([array, numpy.zeros((count - len(array), *array.shape[1:]), array.dtype)])
    frames = _as_bytes(numpy.repeat(array, 3 // array.shape[2], 2)).transpose(1, 0, 3, 4, 2)
    frames = [_grid(frame, count // rows) for frame in frames]
    first, *rest = map(Image.fromarray, frames)
    file = io.BytesIO()
    first.save(file, format="GIF", save_all=True, append_images=rest, duration=1000 / fps, loop=0)
    return _picture(tag, frames[0].shape, file.getvalue())


def audio(tag, tensor, sample_rate=44100):
    """Sound: numbers from -1 to 1."""
    array = _array(tensor).squeeze()
    if array.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    samples = (array.clip(-1, 1) * 32767).astype("<i2").tobytes()
    header = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(samples), b"WAVE", b"fmt ", 16, 1, 1, sample_rate, sample_rate * 2, 2, 16, b"data", len(samples))
    return _value(tag, message(6, single(1, sample_rate), integer(2, 1), integer(3, len(array)), message(4, header + samples), message(5, "audio/wav")))


def text(tag, text):
    """Text in Markdown."""
    return _value(f"{tag}/text_summary", _tensor(7, [1], message(8, text)), _plugin("text"))


def custom_scalars(layout):
    """Charts of several numbers: {category: {title: ["Multiline", tags]}}, or ["Margin", [value, lower, upper]]."""

    def chart(title, kind, tags):
        if kind != "Margin":
            return message(2, message(1, title), message(2, *(message(1, tag) for tag in tags)))
        if len(tags) != 3:
            raise AssertionError(f"a Margin chart has three tags (value, lower, upper), but {title} has {len(tags)}")
        return message(2, message(1, title), message(3, message(1, *(message(i, tag) for i, tag in enumerate(tags, 1)))))

    charts = (message(2, message(1, name), *(chart(title, *what) for title, what in charts.items())) for name, charts in layout.items())
    return _value("custom_scalars__config__", _tensor(7, [], message(8, *charts)), _plugin("custom_scalars"))


_MOST_THRESHOLDS = 127  # more break TensorBoard's reader


def pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, num_thresholds=127, weights=None):
    """A curve of precision and recall by threshold, counted already."""
    import numpy

    rows = numpy.stack([_array(x) for x in (tp, fp, tn, fn, precision, recall)])
    content = integer(2, min(num_thresholds, _MOST_THRESHOLDS))
    return _value(tag, _tensor(1, rows.shape, _floats(rows)), _plugin("pr_curves", content))


def pr_curve(tag, labels, predictions, num_thresholds=127, weights=None):
    """A curve of precision and recall of predictions from 0 to 1, by threshold; labels are 0 and 1."""
    import numpy

    num_thresholds = min(num_thresholds, _MOST_THRESHOLDS)
    labels, weights = _array(labels).astype(float), 1.0 if weights is None else _array(weights)
    steps = numpy.floor(_array(predictions) * (num_thresholds - 1)).astype(numpy.int32)

    def at_least(amounts):
        counts, _ = numpy.histogram(steps, bins=num_thresholds, range=(0, num_thresholds - 1), weights=amounts)
        return numpy.cumsum(counts[::-1])[::-1]

    tp, fp = at_least(labels * weights), at_least((1.0 - labels) * weights)
    tn, fn = fp[0] - fp, tp[0] - tp
    return pr_curve_raw(tag, tp, fp, tn, fn, tp / numpy.maximum(1e-7, tp + fp), tp / numpy.maximum(1e-7, tp + fn), num_thresholds)


def mesh(tag, vertices, colors, faces, config_dict, display_name=None, description=None):
    """Points or triangles in space: tensors of (batch, number, 3). config_dict: of Three.js."""
    import json

    parts = [(kind, name, _array(x)) for kind, name, x in ((1, "VERTEX", vertices), (2, "FACE", faces), (3, "COLOR", colors)) if x is not None]
    components = sum(1 << kind for kind, _, _ in parts)
    config = "{}" if config_dict is None else json.dumps(config_dict, sort_keys=True)
    found = []
    for kind, name, array in parts:
        if array.ndim != 3 or array.shape[2] != 3:
            raise ValueError(f"add_mesh takes tensors of the sizes (batch, number, 3), not {tuple(array.shape)}")
        content = b"".join((message(2, str(tag)), integer(3, kind), message(5, config), integers(6, array.shape), integer(7, components)))
        tensor = _tensor(1, array.shape, _floats(array))
        shown = [message(field, words) for field, words in ((2, display_name), (3, description)) if words]
        found.append(_value(f"{tag}_{name}", tensor, _plugin("mesh", content, *shown)))
    return b"".join(found)


def hparams(hparam_dict=None, metric_dict=None, hparam_domain_discrete=None):
    """Hyperparameters and the names of metrics: what there is, a run's beginning, its end."""
    for name, given in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict), ("hparam_domain_discrete", hparam_domain_discrete or {})):
        if not isinstance(given, dict):
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    domains = hparam_domain_discrete or {}
    for name, domain in domains.items():
        if name not in hparam_dict or not isinstance(domain, list) or not all(isinstance(d, type(hparam_dict[name])) for d in domain):
            raise TypeError(f"parameter: hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}].")

    def proto(value):  # booleans are numbers, as PyTorch has them
        return message(3, value) if isinstance(value, str) else double(2, float(value))

    infos, values = [], []
    for name, value in hparam_dict.items():
        if value is None:
            continue
        if hasattr(value, "item"):
            value = value.item()
        if not isinstance(value, (bool, int, float, str)):
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        domain = message(5, *(message(1, proto(v)) for v in domains[name])) if name in domains else b""
        infos.append(message(4, message(1, name), integer(4, 1 if isinstance(value, str) else 3), domain))
        values.append(message(1, message(1, name), message(2, proto(value))))
    metrics = [message(5, message(1, message(2, name))) for name in metric_dict]

    def summary(tag, field, *content):
        return _value(tag, _plugin("hparams", message(field, *content)))

    return (summary("_hparams_/experiment", 2, *infos, *metrics), summary("_hparams_/session_start_info", 3, *values), summary("_hparams_/session_end_info", 4, integer(1, 1)))
