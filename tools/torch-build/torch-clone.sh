#!/usr/bin/env bash
# torch-clone.sh: says what there is to fetch. This tree is all that is built from source; everything else comes from
# PyPI when torch-build.sh is run.
#   --help, --dry-run (the same: nothing is fetched here)
set -eu
. "$(dirname "$0")/torch-common.sh"
torch_options "$@"

python=$(torch_python)
version_of() {
  "$python" -c 'import importlib.metadata as m, sys; print(m.version(sys.argv[1]))' "$1" 2> /dev/null || true
}
echo "pytorch        here: $FACULA_ROOT, without submodules"
echo "data           here: torch.utils.data"
for package in "${TORCH_PACKAGES[@]}"; do
  found=$(version_of "$package")
  state="from PyPI: torch-build.sh fetches it, without PyTorch"
  [ -z "$found" ] || state="here: $found in $FACULA_ENVIRONMENT"
  printf '%-14s %s\n' "$package" "$state"
done
echo "torchbenchmark nothing to clone: its models come from the packages above"
