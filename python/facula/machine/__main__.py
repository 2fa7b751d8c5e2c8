# SPDX-License-Identifier: Apache-2.0
"""`python -m facula.machine`, and `python3 path/to/facula/machine`: the latter without the rest of Facula, built or not.

`runpy.run_path` of this folder gives programs of the source tree the package, as `machine`, before anything else is imported.
"""

import importlib.util
import pathlib
import sys

if not __package__:
    _folder = pathlib.Path(__file__).resolve().parent
    if "facula_machine" not in sys.modules:
        _spec = importlib.util.spec_from_file_location("facula_machine", _folder / "__init__.py", submodule_search_locations=[str(_folder)])
        assert _spec and _spec.loader
        sys.modules["facula_machine"] = importlib.util.module_from_spec(_spec)
        _spec.loader.exec_module(sys.modules["facula_machine"])
    machine = sys.modules["facula_machine"]
    command_line = importlib.import_module("facula_machine._command_line")
else:
    from . import _command_line as command_line

if __name__ == "__main__":
    sys.exit(command_line.main())
