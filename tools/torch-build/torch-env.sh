# source torch-env.sh: the environment active, CUDA_PATH's tools on the path, and plain `python` runs programs that say
# `import torch` on Facula (facula env). What torch-common.sh sets is set as well.
# shellcheck shell=bash

# shellcheck source=torch-common.sh
. "$(dirname "${BASH_SOURCE[0]}")/torch-common.sh"
if [ -z "${VIRTUAL_ENV:-}${CONDA_PREFIX:-}" ] && [ -f "$FACULA_ENVIRONMENT/bin/activate" ]; then
  # shellcheck disable=SC1091
  . "$FACULA_ENVIRONMENT/bin/activate"
fi
if [ -n "$CUDA_PATH" ]; then
  export PATH="$CUDA_PATH/bin:$PATH" LD_LIBRARY_PATH="$CUDA_PATH/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi
if facula_lines=$("$(torch_python)" -m facula env 2> /dev/null); then
  eval "$facula_lines"
else
  echo "torch-env.sh: $(torch_python) has no Facula yet: pytorch-build.sh builds it"
fi
unset facula_lines
