#!/usr/bin/env python3
"""check_facula.py, under the name that people type: python check_pytorch.py"""

import pathlib
import runpy

runpy.run_path(str(pathlib.Path(__file__).resolve().parents[2] / "check_facula.py"), run_name="__main__")
