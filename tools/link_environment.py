#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a build folder importable from the environment of the interpreter that runs this, with the command `facula`.

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
COMMAND = SCRIPTS / "facula"
COSIM = [SCRIPTS / f"pycosim{kind}" for kind in ("", ".profile", ".trace", ".wave", ".saif")]  # python on the simulated manycore
TORCHRUN = SCRIPTS / "torchrun"  # where no PyTorch has put its own


def installed() -> bool:
    """Whether pip put Facula into this environment: the command is then pip's."""
    return any(d.metadata["Name"] == "facula" for d in importlib.metadata.distributions(path=[str(SITE)]))


def torch_installed() -> bool:
    return (SITE / "torch").exists()


def write_command(path: pathlib.Path, module: str) -> None:
    path.write_text(f"#!{sys.executable}\nimport sys\n\nfrom {module} import main\n\nsys.exit(main())\n")
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
        write_command(COMMAND, "facula.__main__")
        for path in COSIM:
            write_command(path, "facula._cosim")
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
        for path in (COMMAND, *COSIM):
            path.unlink(missing_ok=True)
    (ROOT / "build" / "setup.stamp").unlink(missing_ok=True)  # the next `make setup` looks again
    print(f"{sys.prefix} no longer imports facula from {build}")


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    what = arguments.add_mutually_exclusive_group(required=True)
    what.add_argument("build", nargs="?", type=pathlib.Path, help="a build folder")
    what.add_argument("--torch-only", action="store_true", help="let `import torch` find the Facula that pip installed")
    what.add_argument("--remove", action="store_true", help="take links and command away")
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
