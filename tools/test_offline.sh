#!/usr/bin/env bash
# Builds as on a machine that has a compiler, CMake, Python with headers and nothing else: no network, no oneDNN,
# no BLAS, no ccache, no Ninja; nanobind comes by path. Then runs a program on the result.
#   test_offline.sh NANOBIND [PYTHON]    NANOBIND: folder of its sources; PYTHON: default python3
set -eu
cd "$(dirname "$0")/.."
nanobind=$(realpath "$1")
python=$(realpath -s "$(command -v "${2:-python3}")")
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -P -t "$tree"
cd "$tree"
alone=()
unshare -n true 2> /dev/null && alone=(unshare -n)
"${alone[@]}" env -u VIRTUAL_ENV -u CONDA_PREFIX FACULA_NANOBIND="$nanobind" USE_MKLDNN=0 BLAS=none USE_CCACHE=0 \
  BUILD_TEST=0 cmake -S . -B build -G "Unix Makefiles" -DPython_EXECUTABLE="$python" > configure.log
grep -E "oneDNN|BLAS" configure.log || true
"${alone[@]}" cmake --build build -j "$(nproc)" -- --no-print-directory | tail -n 3
PYTHONPATH=build/python "$python" - <<'PY'
import facula

rows = facula.__config__.rows()["libraries"]
assert rows["BLAS"].startswith("no") and rows["oneDNN"] == "no", rows
a = facula.arange(6.0).reshape(2, 3)
assert (a @ a.t()).tolist() == [[5.0, 14.0], [14.0, 50.0]]
print("offline build: ok,", facula.__version__)
PY
