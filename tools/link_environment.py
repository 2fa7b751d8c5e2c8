#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a build folder importable from the environment of the interpreter that runs this, with the commands of pyproject.toml.

    python tools/link_environment.py build/release              # or another build folder
    python tools/link_environment.py --torch build/release      # and `import torch` in plain python gives it
    python tools/link_environment.py --torch-only               # the same for a Facula that pip installed
    python tools/link_environment.py --remove

What is installed by pip stays as it is, and comes first when Python imports: an installed PyTorch remains `torch`.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import pathlib
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parent.parent
SITE = pathlib.Path(sysconfig.get_path("purelib"))
LINK = SITE / "facula-build.pth"
TORCH = SITE / "facula-torch.pth"  # leads to _shim/torch, after everything that is installed
SCRIPTS = pathlib.Path(sysconfig.get_path("scripts"))
COMMANDS = {  # what pip would install by pyproject.toml: name -> module, function
    "facula": ("facula.__main__", "main"),
    **{f"pycosim{kind}": ("facula._cosim", "main") for kind in ("", ".profile", ".trace", ".wave", ".saif")},
    **{name: ("facula.tools.vprof._gvprof", name) for name in ("gvprof", "gviewer", "hpcprof", "hpcrun", "hpcstruct")},
}
TORCHRUN = SCRIPTS / "torchrun"  # where no PyTorch has put its own


def installed() -> bool:
    """Whether pip put Facula into this environment: the command is then pip's."""
    return any(d.metadata["Name"] == "facula" for d in importlib.metadata.distributions(path=[str(SITE)]))


def torch_installed() -> bool:
    return (SITE / "torch").exists()


def is_ours(path: pathlib.Path) -> bool:
    """Absent, or written by write_command: another's program of that name stays."""
    return not path.exists() or b"\nfrom facula." in path.read_bytes()[:200]


def write_command(path: pathlib.Path, module: str, function: str = "main") -> None:
    path.write_text(f"#!{sys.executable}\nimport sys\n\nfrom {module} import {function}\n\nsys.exit({function}())\n")
    path.chmod(0o755)


def link_torch(package: pathlib.Path) -> None:
    TORCH.write_text(f"{package / '_shim'}\n")
    if not torch_installed():
        write_command(TORCHRUN, "facula.distributed.run")
    answer = "is still the PyTorch that is installed; `facula env` and `facula run` choose Facula" if torch_installed() else "is Facula"
    print(f"`import torch` in {sys.prefix} {answer}")


def link(build: pathlib.Path) -> None:
    LINK.write_text(f"{build / 'python'}\n")
    if not installed():
        for name, (module, function) in COMMANDS.items():
            if is_ours(SCRIPTS / name):
                write_command(SCRIPTS / name, module, function)
    print(f"{sys.prefix} imports facula from {build / 'python'}")


def unlink() -> None:
    TORCH.unlink(missing_ok=True)
    if not torch_installed():
        TORCHRUN.unlink(missing_ok=True)
    if not LINK.exists():
        print(f"{sys.prefix} has no link to a build of Facula")
        return
    build = LINK.read_text().strip()
    LINK.unlink()
    if not installed():
        for name in COMMANDS:
            if is_ours(SCRIPTS / name):
                (SCRIPTS / name).unlink(missing_ok=True)
    (ROOT / "build" / "setup.stamp").unlink(missing_ok=True)  # the next `make setup` looks again
    print(f"{sys.prefix} no longer imports facula from {build}")


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    what = arguments.add_mutually_exclusive_group(required=True)
    what.add_argument("build", nargs="?", type=pathlib.Path, help="a build folder")
    what.add_argument("--torch-only", action="store_true", help="let `import torch` find the Facula that pip installed")
    what.add_argument("--remove", action="store_true", help="take links and commands away")
    arguments.add_argument("--torch", action="store_true", help="let `import torch` find the build, too")
    options = arguments.parse_args()
    try:
        if options.remove:
            unlink()
        elif options.torch_only:
            link_torch(SITE / "facula")
        else:
            link(options.build.resolve())
            if options.torch:
                link_torch(options.build.resolve() / "python" / "facula")
    except OSError as error:
        print(f"{error.filename} cannot be changed ({error.strerror}): activate an environment of your own, "
              "as `make setup` makes one in .venv", file=sys.stderr)  # fmt: skip
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
