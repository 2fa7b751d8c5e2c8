#!/usr/bin/env python3
"""Says whether Facula is built and importable, and with what: python check_facula.py"""

import pathlib
import signal
import sys
import time

signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` may stop reading
root = pathlib.Path(__file__).resolve().parent
start = time.perf_counter()
try:
    import facula
except ImportError as first:
    # Not installed for this interpreter: the tree's own build will do.
    sys.path.insert(0, str(root / "build" / "release" / "python"))
    try:
        import facula
    except ImportError:
        print(f"facula cannot be imported by {sys.executable}: {first}")
        print("Build it with `make build`, or use the interpreter in .venv/bin/python.")
        sys.exit(1)
seconds = time.perf_counter() - start

print(f"facula {facula.__version__} from {pathlib.Path(facula.__file__).parent}")
print(f"python {sys.version.split()[0]}, imported in {seconds * 1000:.0f} ms")
print(facula.__config__.show(), end="")
print(facula.__config__.parallel_info(), end="")
