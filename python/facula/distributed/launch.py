# SPDX-License-Identifier: Apache-2.0
"""python -m torch.distributed.launch: torchrun under its older name; --local-rank is handed to the program unless
--use-env is given."""

import sys

from facula.distributed import run as _run


def main(args: list[str] | None = None) -> int:
    """Starts the processes."""
    parsed = _run.parse_args(args)
    if not parsed.use_env and not parsed.no_python:
        parsed.training_script_args = ["--local-rank=${local_rank}", *parsed.training_script_args]
    status = _run.run(parsed)
    if status:
        sys.exit(status)
    return 0


if __name__ == "__main__":
    main()
