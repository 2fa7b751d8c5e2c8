# SPDX-License-Identifier: Apache-2.0
"""conv2d_example.py, under the name that one well-known page gives it by a slip."""

import pathlib
import runpy

runpy.run_path(str(pathlib.Path(__file__).with_name("conv2d_example.py")), run_name="__main__")
