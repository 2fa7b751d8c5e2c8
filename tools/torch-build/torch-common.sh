# Sourced by the scripts beside it: where things are, how everything is built, and what --help and --dry-run do.
# A variable that is set already stays: MAX_JOBS=4 CUDA_PATH=/opt/cuda-12.4 TORCH_CUDA_ARCH_LIST=9.0 pytorch-build.sh
# shellcheck shell=bash

FACULA_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
FACULA_ENVIRONMENT=${VIRTUAL_ENV:-${CONDA_PREFIX:-$FACULA_ROOT/.venv}}
TORCH_PACKAGES=(torchvision torchaudio timm transformers)  # what torch-build.sh puts beside Facula

# A second thread on a core makes no build faster, and takes as much memory.
if [ -z "${MAX_JOBS:-}" ]; then
  MAX_JOBS=$(lscpu -p=CORE,SOCKET 2> /dev/null | grep -v '^#' | sort -u | wc -l)
  allowed=$(nproc)
  if [ "$MAX_JOBS" -lt 1 ] || [ "$MAX_JOBS" -gt "$allowed" ]; then MAX_JOBS=$allowed; fi
fi
# The toolkit that pytorch-dev.yaml asks for, else the machine's own.
cuda_version=$(sed -n 's/^ *- cuda-version=\([0-9.]*\).*/\1/p' "$FACULA_ROOT/tools/torch-build/pytorch-dev.yaml")
for cuda_folder in "${CUDA_ROOT:-/usr/local}/cuda-$cuda_version" "${CUDA_ROOT:-/usr/local}/cuda"; do
  if [ -z "${CUDA_PATH:-}" ] && [ -x "$cuda_folder/bin/nvcc" ]; then CUDA_PATH=$cuda_folder; fi
done
unset cuda_version cuda_folder
if [ -z "${TORCH_CUDA_ARCH_LIST:-}" ] && command -v nvidia-smi > /dev/null; then
  TORCH_CUDA_ARCH_LIST=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null | sort -u | paste -sd ' ')
fi
export MAX_JOBS CUDA_PATH=${CUDA_PATH:-} TORCH_CUDA_ARCH_LIST=${TORCH_CUDA_ARCH_LIST:-}
export BUILD_TEST=${BUILD_TEST:-0}

torch_settings() {
  echo "environment           $FACULA_ENVIRONMENT"
  echo "MAX_JOBS              $MAX_JOBS"
  echo "CUDA_PATH             ${CUDA_PATH:-not set, and no toolkit in /usr/local}"
  echo "TORCH_CUDA_ARCH_LIST  ${TORCH_CUDA_ARCH_LIST:-not set, and no card answers}"
}

torch_python() {  # the environment's interpreter
  if [ -x "$FACULA_ENVIRONMENT/bin/python" ]; then echo "$FACULA_ENVIRONMENT/bin/python"; else command -v python3; fi
}

torch_options() {  # torch_options "$@": the two options that every script here takes
  dry_run=0
  local word
  for word in "$@"; do
    case $word in
      -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;;
      -n | --dry-run) dry_run=1 ;;
      *) echo "${0##*/}: $word is no option (--help and --dry-run are)" >&2; exit 2 ;;
    esac
  done
}

step() {  # prints a command, and runs it unless --dry-run was given
  echo "+ $*"
  [ "$dry_run" = 1 ] || "$@"
}
