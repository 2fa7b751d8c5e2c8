# SPDX-License-Identifier: Apache-2.0
"""What TensorBoard shows, as `Summary` messages: numbers, distributions, pictures, sound, text, hyperparameters."""

import struct
import zlib

from facula.utils.tensorboard._events import double, doubles, integer, message, single

__all__ = ["scalar", "histogram", "image", "audio", "text", "hparams"]


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


def _plugin(name, content=b""):
    return message(9, message(1, message(1, name), message(2, content)))


def scalar(name, tensor, new_style=False, double_precision=False):
    """A number."""
    values = _array(tensor).reshape(-1)
    if values.size != 1:
        raise AssertionError(f"Tensor should contain one element (0 dimensions). Was given size: {values.size} and {_array(tensor).ndim} dimensions.")
    if not new_style:
        return _value(name, single(2, float(values[0])))
    kind, content = (2, doubles(6, [float(values[0])])) if double_precision else (1, message(5, struct.pack("<f", float(values[0]))))
    return _value(name, message(8, integer(1, kind), content), _plugin("scalars", integer(1, 0)))


def _edges():
    """TensorFlow's buckets: each a tenth wider than the one before, on both sides of zero."""
    edge, edges = 1e-12, []
    while edge < 1e20:
        edges.append(edge)
        edge *= 1.1
    return [*(-e for e in reversed(edges)), 0.0, *edges]


def histogram(name, values, bins="tensorflow", max_bins=None):
    """A distribution. bins: "tensorflow", or what numpy.histogram takes."""
    import numpy

    values = _array(values).astype(float).reshape(-1)
    if values.size == 0:
        raise ValueError("The input has no element.")
    counts, limits = numpy.histogram(values, bins=_edges() if bins == "tensorflow" else bins)
    if max_bins is not None and len(counts) > max_bins:
        step = -(-len(counts) // max_bins)
        counts = numpy.add.reduceat(counts, range(0, len(counts), step))
        limits = numpy.append(limits[:-1:step], limits[-1])
    used = numpy.flatnonzero(counts)
    if used.size == 0:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = used[0], used[-1]
    # An empty bucket in front says where the first one begins.
    counts = [0.0, *(float(c) for c in counts[first : last + 1])]
    limits = [float(x) for x in limits[first : last + 2]]
    parts = (double(1, float(values.min())), double(2, float(values.max())), double(3, float(values.size)), double(4, float(values.sum())),
             double(5, float(values @ values)), doubles(6, limits), doubles(7, counts))  # fmt: skip
    return _value(name, message(5, *parts))


def _png(pixels):
    """An array of height, width, channels (1, 3 or 4) of bytes as a PNG file."""
    height, width, channels = pixels.shape

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + pixels[y].tobytes() for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def _as_pixels(array, formats):
    """Height, width, three channels of bytes, from an array whose dimensions are named by letters of formats."""
    import numpy

    formats = formats.upper()
    if len(set(formats)) != len(formats) or len(formats) != array.ndim or set(formats) - set("NCHW"):
        raise AssertionError(f"size of input tensor and input format are different. tensor shape: {array.shape}, input_format: {formats}")
    if "C" not in formats:
        array, formats = array[..., None], formats + "C"
    array = array.transpose([formats.index(d) for d in "NHWC" if d in formats])
    if array.ndim == 4:  # several pictures beside each other
        array = numpy.concatenate(list(array), axis=1)
    if array.dtype != numpy.uint8:
        array = (array.astype(numpy.float32) * 255.0).clip(0, 255).astype(numpy.uint8)
    if array.shape[2] not in (1, 3, 4):
        raise ValueError(f"a picture has 1, 3 or 4 channels, not {array.shape[2]}")
    return numpy.ascontiguousarray(array)


def image(tag, tensor, rescale=1, dataformats="NCHW"):
    """A picture, of bytes or of numbers from 0 to 1."""
    pixels = _as_pixels(_array(tensor), dataformats)
    height, width, channels = pixels.shape
    return _value(tag, message(4, integer(1, height), integer(2, width), integer(3, channels), message(4, _png(pixels))))


def audio(tag, tensor, sample_rate=44100):
    """Sound: numbers from -1 to 1."""
    import numpy

    samples = (_array(tensor).reshape(-1).astype(float).clip(-1, 1) * 32767.0).astype("<i2").tobytes()
    header = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(samples), b"WAVE", b"fmt ", 16, 1, 1, sample_rate, sample_rate * 2, 2, 16, b"data", len(samples))
    return _value(tag, message(6, single(1, sample_rate), integer(2, 1), integer(3, len(samples) // numpy.dtype("<i2").itemsize), message(4, header + samples), message(5, "audio/wav")))


def text(tag, text):
    """Text in Markdown."""
    tensor = message(8, integer(1, 7), message(2, message(2, integer(1, 1))), message(8, text))
    return _value(f"{tag}/text_summary", tensor, _plugin("text"))


def _proto_value(value):
    if isinstance(value, bool):
        return integer(4, value)
    if isinstance(value, (int, float)):
        return double(2, float(value))
    return message(3, value)


def hparams(hparam_dict=None, metric_dict=None, hparam_domain_discrete=None):
    """Hyperparameters and the names of metrics: what there is, a run's beginning, its end."""
    if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
        raise TypeError("parameter: hparam_dict and metric_dict should be a dictionary, got something else")
    domains = hparam_domain_discrete or {}
    infos, values = [], []
    for name, value in hparam_dict.items():
        if value is None:
            continue
        if hasattr(value, "item"):
            value = value.item()
        if not isinstance(value, (bool, int, float, str)):
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        kind = 2 if isinstance(value, bool) else 1 if isinstance(value, str) else 3
        domain = message(5, *(message(1, _proto_value(v)) for v in domains[name])) if name in domains else b""
        infos.append(message(4, message(1, name), integer(4, kind), domain))
        values.append(message(1, message(1, name), message(2, _proto_value(value))))
    metrics = [message(5, message(1, message(2, name))) for name in metric_dict]

    def summary(tag, field, *content):
        return _value(tag, _plugin("hparams", integer(1, 0) + message(field, *content)))

    return (summary("_hparams_/experiment", 2, *infos, *metrics), summary("_hparams_/session_start_info", 3, *values), summary("_hparams_/session_end_info", 4, integer(1, 1)))
