# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms, short-time transforms and windows."""
from opspec import E, Op, S

REAL = ("f32", "f64", "i64", "bool")
ALL = ("f32", "f64", "i64", "c64", "c128")
CLOSE = {"f32": (2e-5, 2e-5), "c64": (2e-5, 2e-5), "f64": (1e-12, 1e-12), "c128": (1e-12, 1e-12)}


def lines(torch, make):
    """Radices, a prime that needs Bluestein, batches, dimensions, cut and padded."""
    for n in (1, 2, 3, 8, 15, 14, 41):
        yield S("length", make(2, n)).but(wide=n in (3, 8), grad=1 < n < 9)
    yield S("vector", make(6))
    yield S("dim", make(3, 4, 2), dim=1)
    yield S("strided", make(4, 6, layout="transposed"), dim=0).narrow()
    yield S("cut", make(2, 7), 4)
    yield S("padded", make(2, 3), 5).narrow()
    for norm in ("forward", "backward", "ortho"):
        yield S(norm, make(2, 4), norm=norm).narrow()


def half_lines(torch, make):
    for n in (2, 3, 6, 21):
        yield S("length", make(2, n)).but(wide=n == 3, grad=n < 6)
    yield S("odd", make(2, 4), 7)
    yield S("dim", make(3, 4, 2), dim=1).narrow()
    yield S("padded", make(2, 2), 8).narrow()
    for norm in ("forward", "backward", "ortho"):
        yield S(norm, make(2, 4), norm=norm).narrow()


def planes(torch, make):
    yield S("plane", make(3, 4))
    yield S("batch", make(2, 3, 2)).narrow()
    yield S("sizes", make(4, 3), s=(3, 4)).narrow()
    yield S("dims", make(3, 2, 4), dim=(0, 2), norm="ortho").narrow()


def many(torch, make):
    yield S("all", make(2, 3, 4))
    yield S("sizes", make(2, 3, 4), s=(2, 5)).narrow()
    yield S("dims", make(2, 3, 4), dim=(2, 0), norm="forward").narrow()


def line_errors(name):
    def errors(torch, make):
        yield E("RuntimeError", ("data points (0)",), make(3), 0)
        yield E("RuntimeError", ("sideways",), make(3), norm="sideways")
        yield E("IndexError", ("2",), make(3), dim=2)
        yield E("IndexError", (), make())
        if name in ("rfft", "ihfft"):
            yield E("TypeError", ("ComplexFloat",), make(3, dtype="c64"))
    return errors


def many_errors(torch, make):
    yield E("RuntimeError", ("same length",), make(3, 4), s=(3,), dim=(0, 1))
    yield E("RuntimeError", ("3", "2 dim"), make(3, 4), s=(1, 2, 3))
    yield E("RuntimeError", (), make(3, 4), dim=(0, 0))


def stft_samples(torch, make):
    yield S("vector", make(20), 8, return_complex=True)
    yield S("hop", make(2, 24), 6, hop_length=2, return_complex=True, window=make(6, dtype="f64" if make.name == "f64" else "f32", low=0.5, high=1.5)).narrow()
    yield S("window", make(2, 24), 8, 3, 5, make(5, low=0.5, high=1.5), normalized=True, return_complex=True).narrow()
    yield S("edges", make(16), 4, center=False, onesided=False, return_complex=True).narrow()
    yield S("pairs", make(16), 4, pad_mode="constant", return_complex=False).narrow()


def istft_samples(torch, make):
    kind = "c128" if make.name == "f64" else "c64"
    yield S("vector", make(5, 6, dtype=kind), 8)
    yield S("length", make(2, 5, 6, dtype=kind), 8, 3, length=12).narrow()
    yield S("window", make(4, 5, dtype=kind), 6, 2, 4, make(4, low=0.5, high=1.5), normalized=True).narrow()
    yield S("edges", make(8, 5, dtype=kind), 8, center=False, onesided=False).narrow()


def window_samples(*more):
    def samples(torch, make):
        for n in (0, 1, 2, 7):
            yield S("length", n, dtype=make.dtype)
            yield S("symmetric", n, False, dtype=make.dtype)
        for args in more:
            yield S("parameters", *args, dtype=make.dtype)
    return samples


def rows():
    g = dict(group="fft", tol=CLOSE, strides=False)
    for name, kinds, samples in (("fft", ALL, lines), ("ifft", ALL, lines), ("rfft", REAL, lines), ("ihfft", REAL, lines), ("irfft", ALL, half_lines), ("hfft", ALL, half_lines)):
        yield Op(f"fft.{name}", samples, dtypes=kinds, out=1, errors=line_errors(name), names=("fft",), **g)
        yield Op(f"fft.{name}2", planes, dtypes=tuple(k for k in kinds if k in ("f64", "c128")), names=("fft",), **g)
        yield Op(f"fft.{name}n", many, dtypes=tuple(k for k in kinds if k in ("f64", "c128")), errors=many_errors, names=("fft",), **g)
    for name in ("fftshift", "ifftshift"):
        yield Op(f"fft.{name}", lambda torch, make: [S("all", make(3, 4)), S("dim", make(3, 4), dim=1), S("dim", make(3, 5), dim=(0, 1))], dtypes=("f64", "i64", "c128"), **g)
    for name in ("fftfreq", "rfftfreq"):
        yield Op(f"fft.{name}", lambda torch, make: [S("length", n, d, dtype=make.dtype) for n in (1, 4, 5) for d in (1.0, 0.25)], dtypes=("f32", "f64"), grad=False, meta=False, **g)
    yield Op("stft", stft_samples, dtypes=("f32", "f64"), method="stft", errors=lambda torch, make: [E("RuntimeError", ("return_complex",), make(20), 8), E("RuntimeError", ("win_length",), make(20), 8, win_length=9, return_complex=True),
             E("RuntimeError", ("1D or 2D",), make(2, 2, 20), 8, return_complex=True), E("RuntimeError", ("hop_length",), make(20), 8, hop_length=0, return_complex=True)], **g)
    yield Op("istft", istft_samples, dtypes=("f32", "f64"), method="istft", meta=False, errors=lambda torch, make: [E("RuntimeError", ("complex",), make(5, 6), 8), E("RuntimeError", ("frequency",), make(4, 6, dtype="c64"), 8),
             E("RuntimeError", ("window overlap",), make(5, 6, dtype="c64"), 8, window=torch.zeros(8))], **g)
    w = dict(g, dtypes=("f32", "f64", "bf16"), grad=False, meta=False, tol={**CLOSE, "bf16": (1e-2, 1e-2), "f32": (2e-5, 2e-6)})
    bad = dict(errors=lambda torch, make: [E("RuntimeError", ("-1",), -1), E("RuntimeError", ("floating",), 3, dtype=torch.int64)])
    for name in ("hann", "blackman", "bartlett"):
        yield Op(f"{name}_window", window_samples(), **bad, **w)
    yield Op("hamming_window", window_samples((6, True, 0.6), (6, False, 0.6, 0.3)), **bad, **w)
    yield Op("kaiser_window", window_samples((6, True, 8.0), (6, False, 3.0)), **bad, **w)


OPS = list(rows())
