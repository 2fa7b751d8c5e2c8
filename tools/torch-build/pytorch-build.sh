#!/usr/bin/env bash
# pytorch-build.sh: builds this tree and makes it importable from the active environment (.venv when none is): what
# `pip install -e . --no-build-isolation` did. Switches are read from the environment (DEBUG=1, USE_MKLDNN=0, MAX_JOBS=4 …).
#   --help, --dry-run
set -eu
. "$(dirname "$0")/torch-common.sh"
torch_options "$@"

torch_settings
cd "$FACULA_ROOT"
step make develop
