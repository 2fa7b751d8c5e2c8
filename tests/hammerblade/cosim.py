"""What tests of the simulated machine share."""

import ctypes
import pathlib

import pytest

import facula

PACKAGE = pathlib.Path(facula._C.__file__).parent


def has_compiler() -> bool:
    library = PACKAGE / "libfacula_hb.so"
    return facula.has_hammerblade and library.exists() and bool(ctypes.CDLL(str(library)).facula_hb_has_chip_compiler())


needs_compiler = pytest.mark.skipif(not has_compiler(), reason="no compiler for the simulated chip is installed (make setup-cosim)")
