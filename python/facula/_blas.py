# SPDX-License-Identifier: Apache-2.0
"""Which libraries can multiply matrices on this machine: `facula blas`, and the lines about them on the configuration page."""

import glob
import os
import sysconfig

from facula import _C


def _packages():
    """Folders in which installed packages keep libraries of their own: NumPy and SciPy bring an OpenBLAS."""
    return sorted({f for key in ("platlib", "purelib") for f in glob.glob(os.path.join(sysconfig.get_paths()[key], "*.libs"))})


def found():
    """[(name, path)] of the libraries on this machine whose file names are a BLAS's; nothing is loaded."""
    return _C._blas(_packages())["found"]


def lines():
    """What the configuration page says of them."""
    now = _C._blas(_packages())
    onednn = f"oneDNN {_C._config_rows()['libraries']['oneDNN']}"
    otherwise = f"{now['default']} ({_C._describe_blas(now['default'])})" if now["default"] else "Facula's own kernel"
    name = now["choice"].partition(",force")[0]
    if now["library"]:
        use = f"{now['library']} ({_C._describe_blas(now['library'])})"
    elif name == "facula":
        use = "Facula's own kernel"
    elif name == "onednn":
        use = f"{onednn}; other types than float32: {otherwise}"
    else:
        use = f"{onednn} for float32; {otherwise} for float64 and complex" if now["onednn"] else otherwise
    yield f"BLAS in use: {now['choice']}: {use}"
    yield "BLAS found: " + (", ".join(f"{name} ({path})" for name, path in now["found"]) or "none")
