# SPDX-License-Identifier: Apache-2.0
"""Recorded results: how an outcome is described, stored and compared.

One .npz per family holds `index` (JSON text), `bytes` (all values end to end, equal ones once) and
`bounds` (where each block of bytes ends). A key is "row/dtype/label"; "#inplace" and "#grad" follow it for
the in-place form and the gradient, "row#error.N" is an error input. An entry is a list of results
[dtype, shape, strides, block, shares memory with an argument], {"v": text} for a plain Python value,
None for no gradient, or {"e": exception type, "m": message}.
"""
import json
import pathlib
import zlib

import numpy as np
from opspec import DTYPES, EXTRA_DTYPES

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "golden" / "ops"
SHORT = {long: short for short, (long, _) in {**DTYPES, **EXTRA_DTYPES}.items()}
CARRIER = {"bf16": "int16", "e4m3": "uint8", "e5m2": "uint8"}  # NumPy has no such type: its bits
# rtol, atol by dtype, as torch.testing.assert_close has them; integers and bools are exact
TOLERANCE = {"f16": (1e-3, 1e-5), "bf16": (1.6e-2, 1e-5), "f32": (1.3e-6, 1e-5), "f64": (1e-7, 1e-7),
             "c64": (1.3e-6, 1e-5), "c128": (1e-7, 1e-7)}


def short(dtype):
    return SHORT[str(dtype).split(".")[-1]]


def is_tensor(torch, x):
    return isinstance(x, torch.Tensor)


def flatten(torch, x):
    """Tensors and plain values inside a result, in order."""
    if is_tensor(torch, x) or not isinstance(x, (tuple, list)) or type(x).__name__ == "Size":
        return [x]
    return [leaf for item in x for leaf in flatten(torch, item)]


def resolved(x):
    """Without PyTorch's lazy marks (conjugate, negated, all zero)."""
    if getattr(x, "_is_zerotensor", None) and x._is_zerotensor():
        return x.new_zeros(x.shape)
    if getattr(x, "is_conj", None) and x.is_conj():
        x = x.resolve_conj()
    if getattr(x, "is_neg", None) and x.is_neg():
        x = x.resolve_neg()
    return x


def array(torch, x):
    """Tensor -> NumPy array with the same values (bfloat16 and float8 as float32)."""
    x = resolved(x.detach())
    if x.device.type != "cpu":
        x = x.cpu()
    if short(x.dtype) in CARRIER:
        x = x.to(torch.float32)
    return x.numpy()


def raw(torch, x):
    x = resolved(x.detach()).contiguous()
    if short(x.dtype) in CARRIER:
        x = x.view(getattr(torch, CARRIER[short(x.dtype)]))
    return x.numpy().tobytes()


def memory(x):
    """Where the storage of a tensor starts."""
    return x.data_ptr() - x.storage_offset() * x.element_size() if x.numel() else None


def fingerprint(torch, sample):
    """A number that changes when the inputs of a sample change."""
    crc = 0
    for leaf in flatten(torch, [*sample.args, *sample.kwargs.values()]):
        if is_tensor(torch, leaf):
            a = array(torch, leaf)
            crc = zlib.crc32(repr((a.shape, short(leaf.dtype), significant(a.shape, leaf.stride()))).encode(), crc)
            if a.dtype.kind == "f":
                a = np.where(np.isnan(a), np.array(np.nan, a.dtype), a)  # NaNs have many bit patterns
            crc = zlib.crc32(np.ascontiguousarray(a).tobytes(), crc)
        elif isinstance(leaf, (bool, int, float, complex)):
            crc = zlib.crc32(repr(leaf).encode(), crc)
    return crc


class Writer:
    def __init__(self):
        self.blocks, self.places, self.index = [], {}, {}

    def block(self, data):
        if data not in self.places:
            self.places[data] = len(self.blocks)
            self.blocks.append(data)
        return self.places[data]

    def describe(self, torch, x, inputs=(), values=True):
        if x is None:
            return None
        if not is_tensor(torch, x):
            return {"v": repr(tuple(x)) if type(x).__name__ == "Size" else repr(x)}
        shares = bool(inputs) and memory(x) is not None and memory(x) in inputs
        return [short(x.dtype), list(x.shape), list(x.stride()), self.block(raw(torch, x)) if values else -1, int(shares)]

    def save(self, path):
        ends = np.cumsum([len(b) for b in self.blocks], dtype=np.int64)
        np.savez_compressed(path, index=np.frombuffer(json.dumps(self.index, separators=(",", ":")).encode(), np.uint8),
                            bytes=np.frombuffer(b"".join(self.blocks), np.uint8), bounds=ends)


class Result:
    """One recorded tensor."""

    def __init__(self, entry, data):
        self.dtype, self.shape, self.stride = entry[0], tuple(entry[1]), tuple(entry[2])
        self.shares, self.values = bool(entry[4]), None
        if data is None:
            return
        kind = CARRIER.get(self.dtype) or DTYPES.get(self.dtype, EXTRA_DTYPES.get(self.dtype))[1]
        values = np.frombuffer(data, kind).reshape(self.shape)
        if self.dtype == "bf16":
            values = (values.astype(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
        elif self.dtype in CARRIER:
            values = float8(values, *{"e4m3": (4, 3), "e5m2": (5, 2)}[self.dtype])
        self.values = values


def float8(bits, exponent_bits, mantissa_bits):
    bits = bits.astype(np.int64)
    sign = np.where(bits >> 7, -1.0, 1.0)
    exponent = (bits >> mantissa_bits) & (2**exponent_bits - 1)
    mantissa = (bits & (2**mantissa_bits - 1)) / 2.0**mantissa_bits
    bias = 2 ** (exponent_bits - 1) - 1
    value = np.where(exponent == 0, mantissa * 2.0 ** (1 - bias), (1 + mantissa) * 2.0 ** (exponent - bias))
    top = 2**exponent_bits - 1
    if exponent_bits == 5:
        value = np.where(exponent == top, np.where(mantissa == 0, np.inf, np.nan), value)
    else:
        value = np.where((exponent == top) & (mantissa == 0.875), np.nan, value)
    return (sign * value).astype(np.float32)


class Golden:
    """All recorded entries; values are decoded when asked for."""

    def __init__(self, folder=FOLDER):
        self.entries, self.manifest = {}, {}
        if (folder / "manifest.json").exists():
            self.manifest = json.loads((folder / "manifest.json").read_text())
        for path in sorted(folder.glob("*.npz")):
            with np.load(path) as file:
                index = json.loads(file["index"].tobytes())
                data, bounds = file["bytes"].tobytes(), file["bounds"]
            self.entries.update((key, (entry, data, bounds)) for key, entry in index.items())

    def __contains__(self, key):
        return key in self.entries

    def raw(self, key):
        return self.entries[key][0]

    def results(self, key):
        """List of Result, None or {"v": text}; or the dict {"e": type, "m": message}."""
        entry, data, bounds = self.entries[key]
        if isinstance(entry, dict):
            return entry

        def decode(x):
            if x is None or isinstance(x, dict):
                return x
            n = x[3]
            return Result(x, data[bounds[n - 1] if n else 0:bounds[n]] if n >= 0 else None)
        return [decode(x) for x in entry]


def significant(shape, stride):
    """Strides of dimensions that matter: the others are free."""
    return tuple(st for n, st in zip(shape, stride) if n > 1) if 0 not in shape else ()


def differences(got, want, rtol, atol):
    """'' when every element agrees, else what differs most."""
    with np.errstate(all="ignore"):
        if want.dtype.kind in "biu":
            bad = got != want
        else:
            wide = np.complex128 if want.dtype.kind == "c" else np.float64
            g, w = got.astype(wide), want.astype(wide)
            equal = (g == w) | (np.isnan(g) & np.isnan(w))
            bad = ~(equal | (np.isfinite(g) & np.isfinite(w) & (np.abs(g - w) <= atol + rtol * np.abs(w))))
    if not bad.any():
        return ""
    where = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"{int(bad.sum())} of {bad.size} values differ, first at {list(where)}: got {got[where]!r}, PyTorch has {want[where]!r}"


def compare(torch, got, want, tol=None, strict_stride=False, values=True, strides=True):
    """'' when a result equals the recorded one, else a sentence."""
    if want is None:
        return "" if got is None else f"got {type(got).__name__}, PyTorch has no gradient here"
    if isinstance(want, dict):
        text = repr(tuple(got)) if type(got).__name__ == "Size" else repr(got)
        return "" if same_text(text, want["v"]) else f"got {text}, PyTorch has {want['v']}"
    if not is_tensor(torch, got):
        return f"got {type(got).__name__} {str(got)[:60]!r}, PyTorch returns a tensor of shape {list(want.shape)}"
    if short(got.dtype) != want.dtype:
        return f"dtype {got.dtype}, PyTorch has {want.dtype}"
    if tuple(got.shape) != want.shape:
        return f"shape {list(got.shape)}, PyTorch has {list(want.shape)}"
    stride = tuple(got.stride())
    differ = stride != want.stride if strict_stride else significant(want.shape, stride) != significant(want.shape, want.stride)
    if strides and differ:
        return f"strides {list(stride)}, PyTorch has {list(want.stride)} for shape {list(want.shape)}"
    if values and want.values is not None:
        return differences(array(torch, got), want.values, *(tol or TOLERANCE.get(want.dtype, (0, 0))))
    return ""


def same_text(a, b):
    if a == b:
        return True
    try:
        x, y = float(a), float(b)
    except ValueError:
        return a.replace("facula.", "torch.") == b
    return x == y or (x != x and y != y) or abs(x - y) <= 1e-6 * abs(y)
