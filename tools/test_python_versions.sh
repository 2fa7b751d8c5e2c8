#!/usr/bin/env bash
# test_python_versions.sh BUILD PYTHON [OTHER …]: every Python test on BUILD, which is PYTHON's, and then on each other interpreter,
# with a build and an environment of its own in build/python-X.Y. Given none, it takes the newest other Python that is found (on the
# path, or pyenv's). What PYTEST_ARGS holds goes to pytest.
set -eu
cd "$(dirname "$0")/.."

describe() {  # describe PYTHON: "3.13 /real/path", nothing if it is older than 3.10 or has no headers
  "$1" - 2> /dev/null <<'PY' || true
import os, sys, sysconfig
if sys.version_info >= (3, 10) and os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
    print("%d.%d" % sys.version_info[:2], sys.executable)
PY
}

run() {  # run VERSION BUILD PYTHON
  # shellcheck disable=SC2086
  if PATH=$(dirname "$(realpath -s "$3")"):$PATH tools/pytest.sh "$2" "$3" ${PYTEST_ARGS:-}; then
    echo "=== Python $1: ok"
  else
    failed+=("$1")
    echo "=== Python $1: FAILED"
  fi
}

failed=()
build=$1 python=$2
shift 2
own=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
others=()
for other in "$@"; do
  found=$(describe "$other")
  [ -n "$found" ] || { echo "test-python-versions: $other is no Python of 3.10 or newer with headers"; exit 1; }
  others+=("$found")
done
if [ $# = 0 ]; then
  newest=$(for other in $(compgen -c python3. | grep -x 'python3\.[0-9]*' | sort -u) "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python; do
    describe "$other"
  done | sort -Vu | grep -v "^$own " | tail -n 1)
  if [ -z "$newest" ]; then
    echo "test-python-versions: no Python but $own was found: install another with its headers (Debian's python3.13-dev," \
      "uv python install 3.13, conda, pyenv), or name it: make test-python-versions PYTHONS=/path/to/python3.13"
    exit 1
  fi
  others=("$newest")
fi

echo "=== Python $own: $python, in $build"
run "$own" "$build" "$python"
for found in "${others[@]}"; do
  version=${found%% *} folder=build/python-${found%% *}
  echo "=== Python $version: ${found#* }, in $folder"
  [ -x "$folder/env/bin/python" ] || "${found#* }" -m venv "$folder/env"
  "$folder/env/bin/python" -m pip install -q --disable-pip-version-check -r requirements.txt
  generator="Unix Makefiles"
  command -v ninja > /dev/null && generator=Ninja
  env -u VIRTUAL_ENV -u CONDA_PREFIX cmake -S . -B "$folder" -G "$generator" -DPython_EXECUTABLE="$PWD/$folder/env/bin/python" > "$folder/configure.log" \
    || { cat "$folder/configure.log"; exit 1; }
  cmake --build "$folder" -j "${MAX_JOBS:-$(nproc)}"
  run "$version" "$folder" "$folder/env/bin/python"
done
[ ${#failed[@]} = 0 ] || { echo "FAILED on Python ${failed[*]}"; exit 1; }
