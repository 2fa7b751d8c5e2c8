# SPDX-License-Identifier: Apache-2.0
"""From the bytes of a file to what it means, by the extension of its name."""

import importlib
import io
import json
import os.path
import tempfile

import facula as torch

__all__ = [
    "Decoder", "ImageHandler", "MatHandler", "audiohandler", "basichandlers", "extension_extract_fn", "handle_extension", "imagehandler",
    "mathandler", "videohandler",
]  # fmt: skip


def _unpickled(data):
    from facula import _C
    from facula._unpickler import Policy

    return _C._unpickle(data, 0, Policy(None), "utf-8")[0]  # plain data: no file makes us call anything


_BASIC = {
    "txt text transcript": lambda data: data.decode("utf-8"),
    "cls cls2 class count index inx id": int,
    "json jsn": json.loads,
    "pyd pickle": _unpickled,
    "pt": lambda data: torch.load(io.BytesIO(data)),
}
_basic = {name: decode for names, decode in _BASIC.items() for name in names.split()}


def basichandlers(extension: str, data):
    """Text, numbers, JSON, pickles of plain data, tensors; None for what is none of these."""
    if extension not in _basic:
        return None
    try:
        return _basic[extension](data)
    except ValueError:
        if _basic[extension] is int:
            return None
        raise


def handle_extension(extensions, f):
    """A handler that decodes with f what has one of the extensions (separated by spaces; "seg.png" is one, too)."""
    wanted = [e.split(".") for e in extensions.lower().split()]

    def handler(key, data):
        parts = key.lower().split(".")
        return f(data) if any(parts[-len(w) :] == w for w in wanted) else None

    return handler


def _library(package, what, install):
    try:
        return importlib.import_module(package)
    except ImportError as e:
        raise ModuleNotFoundError(
            f"Package `{package.split('.')[0]}` is required to be installed for {what}. Please use `pip install {install}` to install the package"
        ) from e


_PICTURES = [
    pre + mode + depth for pre, depths in (("", ("", "8")), ("torch", ("", "8")), ("pil", ("",))) for mode in ("l", "rgb", "rgba") for depth in depths
]  # fmt: skip
_IMAGE_SPECS = (*_PICTURES, "torch", "pil")


class ImageHandler:
    """Decodes pictures: l, rgb, rgba, alone as NumPy arrays of float32 in [0, 1] (with 8, of bytes), after torch as
    tensors with their channels first, after pil as pillow's images. torch and pil alone mean rgb."""

    def __init__(self, imagespec) -> None:
        if imagespec not in _IMAGE_SPECS:
            raise AssertionError(f"unknown image specification: {imagespec}")
        self.imagespec = imagespec.lower()

    def __call__(self, extension, data):
        if extension.lower() not in ("jpg", "jpeg", "png", "ppm", "pgm", "pbm", "pnm"):
            return None
        pillow = _library("PIL.Image", "default image decoder", "Pillow")
        kind = "torch" if self.imagespec.startswith("torch") else "pil" if self.imagespec.startswith("pil") else "numpy"
        mode = self.imagespec.removeprefix(kind).removesuffix("8") or "rgb"
        with pillow.open(io.BytesIO(data)) as image:
            image = image.convert(mode.upper())
        if kind == "pil":
            return image
        import numpy

        array = numpy.asarray(image)
        if not self.imagespec.endswith("8"):
            array = array.astype("f") / 255
        if kind == "numpy":
            return array
        array = array.reshape(*array.shape[:2], -1).transpose(2, 0, 1)
        return torch.tensor(numpy.ascontiguousarray(array))


def imagehandler(imagespec):
    """A handler that decodes pictures, as ImageHandler says."""
    return ImageHandler(imagespec)


def _in_a_file(extension, data, read):
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, f"file.{extension}")
        with open(name, "wb") as f:
            f.write(data)
        return read(name)


def videohandler(extension, data):
    """Decodes films with torchvision."""
    if extension not in "mp4 ogv mjpeg avi mov h264 mpg webm wmv".split():
        return None
    return _in_a_file(extension, data, _library("torchvision.io", "default video file loader", "torchvision").read_video)


def audiohandler(extension, data):
    """Decodes sound with torchaudio."""
    if extension not in "flac mp3 sox wav m4a ogg wma".split():
        return None
    return _in_a_file(extension, data, _library("torchaudio", "default audio file loader", "torchaudio").load)


class MatHandler:
    """Decodes Matlab's files with SciPy; options of scipy.io.loadmat."""

    def __init__(self, **loadmat_kwargs) -> None:
        self.sio, self.loadmat_kwargs = _library("scipy.io", "mat file", "scipy"), loadmat_kwargs

    def __call__(self, extension, data):
        return self.sio.loadmat(io.BytesIO(data), **self.loadmat_kwargs) if extension == "mat" else None


def mathandler(**loadmat_kwargs):
    """A handler that decodes Matlab's files."""
    return MatHandler(**loadmat_kwargs)


def extension_extract_fn(pathname):
    """The extension of a name, without the dot."""
    return os.path.splitext(pathname)[1].removeprefix(".")


class Decoder:
    """Called with a pair of a name and bytes or a stream, or a dict of such: {name: what the first handler makes of it
    that knows key_fn(name)}, the bytes if none does."""

    def __init__(self, *handler, key_fn=extension_extract_fn) -> None:
        self.handlers, self.key_fn = list(handler), key_fn

    def add_handler(self, *handler) -> None:
        """Handlers that are asked before the others."""
        self.handlers = [*handler, *self.handlers]

    @staticmethod
    def _is_stream_handle(data):
        return hasattr(data, "read")

    def decode1(self, key, data):
        """The content of one file, whose key is given."""
        if not data:
            return data
        if self._is_stream_handle(data):
            stream, data = data, data.read()
            stream.close()
        for handler in self.handlers:
            result = handler(key, data)
            if result is not None:
                return result
        return data

    def decode(self, data):
        """The pair or dict, decoded."""
        pairs = data.items() if isinstance(data, dict) else [data]
        return {name: self.decode1(self.key_fn(name), content) for name, content in pairs}

    def __call__(self, data):
        return self.decode(data)
