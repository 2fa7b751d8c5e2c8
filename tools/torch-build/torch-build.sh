#!/usr/bin/env bash
# torch-build.sh: pytorch-build.sh, then torchvision, torchaudio, timm and transformers from PyPI beside it, with what they
# need and without PyTorch. `facula run program.py` runs programs that import them.
#   --help, --dry-run
set -eu
. "$(dirname "$0")/torch-common.sh"
torch_options "$@"

here=$FACULA_ROOT/tools/torch-build
"$here/pytorch-build.sh" "$@"
python=$(torch_python)
step "$python" "$FACULA_ROOT/tools/install_without_torch.py" "${TORCH_PACKAGES[@]}"
step "$python" -m facula run "$here/check_packages.py" "${TORCH_PACKAGES[@]}"
