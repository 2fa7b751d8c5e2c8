#!/usr/bin/env bash
# test_programs.sh BUILD PYTHON [PYTEST ARGUMENT …]: programs from PyPI, in an environment of their own without PyTorch.
# The packages are those whose results tests/programs/golden.json holds. pip finds Facula's metadata of torch, so their
# wish for torch is satisfied, and installs all that they need besides.
set -eu
build=$(realpath "$1") python=$2
shift 2
environment=$build/programs
versions=$("$python" - << 'EOF'
import json
found = json.load(open("tests/programs/golden.json"))["versions"]
print(*(f"{name}=={version}" for name, version in found.items() if name != "torch"))
EOF
)
if [ ! -x "$environment/bin/python" ]; then "$python" -m venv "$environment"; fi
if [ "$(cat "$environment/installed" 2> /dev/null)" != "$versions" ]; then
  # $versions is one word per package.
  # shellcheck disable=SC2086
  PYTHONPATH=$build/python/facula/_shim "$environment/bin/python" -m pip install -q --disable-pip-version-check $versions pytest ||
    { echo "test_programs: the packages could not be installed: this test needs PyPI, or an index that PIP_INDEX_URL names" >&2; exit 1; }
  echo "$versions" > "$environment/installed"
fi
PYTHONPATH=$build/python HF_HUB_OFFLINE=1 "$environment/bin/python" -m facula run -m pytest -q -p no:cacheprovider tests/programs "$@"
