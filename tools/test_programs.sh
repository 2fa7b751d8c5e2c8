#!/usr/bin/env bash
# test_programs.sh BUILD PYTHON [PYTEST ARGUMENT …]: programs from PyPI, in an environment of their own without PyTorch.
# The packages are those whose results tests/programs/golden.json holds.
set -eu
build=$(realpath "$1") python=$2
shift 2
environment=$build/programs
if [ ! -x "$environment/bin/python" ]; then "$python" -m venv "$environment"; fi
versions=$("$python" - << 'EOF'
import json
found = json.load(open("tests/programs/golden.json"))["versions"]
print(*(f"{name}=={version}" for name, version in found.items() if name != "torch"))
EOF
)
# shellcheck disable=SC2086 -- one word per package
"$environment/bin/python" -m pip install -q --disable-pip-version-check --no-deps $versions \
  numpy pillow packaging filelock fsspec pyyaml regex requests tqdm typing_extensions huggingface_hub hf-xet safetensors tokenizers \
  charset-normalizer idna urllib3 certifi pytest iniconfig pluggy pygments
PYTHONPATH=$build/python HF_HUB_OFFLINE=1 "$environment/bin/python" -m facula run -m pytest -q -p no:cacheprovider tests/programs "$@"
