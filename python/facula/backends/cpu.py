# SPDX-License-Identifier: Apache-2.0
"""The CPU's instruction set, and which library multiplies its matrices."""

import os
import sys

from facula import _C

_C._set_environment_libraries(os.path.join(sys.prefix, "lib"))


def get_cpu_capability():
    """What kernels use: DEFAULT, AVX2 or AVX512."""
    return _C._cpu_capability()


class _Choice(str):
    """A choice that was made. As a context manager it is undone at the end; the choice itself came into force with the call."""

    _before: str

    def __enter__(self):
        return self

    def __exit__(self, *error):
        _C._set_preferred_blas(self._before)


def preferred_blas(name=None, force=False) -> str:
    """Who multiplies matrices; with a name, changes it first.

    "auto" chooses by type and work, "facula" is our own kernel, "onednn" oneDNN; "openblas", "blis", "mkl" and "reference" are
    the first of their kind on this machine, and a path is any library with the interface of a BLAS. A preferred library gets what
    any library would get: small products stay with our own kernel, convolutions with oneDNN. With force=True (or a name that ends in
    ",force") it computes every product of a type that it has, and every convolution as products.

        before = preferred_blas()
        preferred_blas("openblas")
        preferred_blas(before)

        with preferred_blas("/opt/blas/libblas.so", force=True):
            ...

    The environment variable FACULA_BLAS makes the first choice: FACULA_BLAS=blis,force. See docs/libraries.md.
    """
    before = _C._preferred_blas()
    if name is not None:
        name = os.fspath(name)
        _C._set_preferred_blas(name.removesuffix(",force") + ",force" if force else name)
    elif force:
        raise ValueError("preferred_blas: force=True needs the name of a library")
    choice = _Choice(_C._preferred_blas())
    choice._before = before
    return choice


def _choose_from_environment():
    if "FACULA_BLAS" in os.environ:
        try:
            _C._preferred_blas()
        except (RuntimeError, ValueError) as e:
            raise ImportError(f"the environment variable FACULA_BLAS is '{os.environ['FACULA_BLAS']}': {e}") from None


_choose_from_environment()
