#!/usr/bin/env bash
# test_python_versions.sh PYTHON [PYTHON …]: builds for each interpreter and runs every Python test on it, in build/python-X.Y with
# an environment of its own. Given one, it also takes the newest other Python that is found (on the path, or pyenv's).
set -eu
cd "$(dirname "$0")/.."

describe() {  # describe PYTHON: "3.13 /real/path", nothing if it is older than 3.9 or has no headers
  "$1" - 2> /dev/null <<'PY' || true
import os, sys, sysconfig
if sys.version_info >= (3, 9) and os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
    print("%d.%d" % sys.version_info[:2], sys.executable)
PY
}

declare -A pythons=()
for python in "$@"; do
  read -r version path <<< "$(describe "$python")"
  [ -n "${path:-}" ] || { echo "test-python-versions: $python is no Python of 3.9 or newer with headers"; exit 1; }
  pythons[$version]=$path
done
if [ ${#pythons[@]} = 1 ]; then
  own=${!pythons[*]}
  newest=$(for python in $(compgen -c python3. | grep -x 'python3\.[0-9]*' | sort -u) "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python; do
    describe "$python"
  done | sort -Vu | grep -v "^$own " | tail -n 1)
  if [ -z "$newest" ]; then
    echo "test-python-versions: no Python but $own was found: install another with its headers (Debian's python3.13-dev," \
         "uv python install 3.13, conda, pyenv), or name it: make test-python-versions PYTHONS=\"python3.11 /path/to/python3.13\""
    exit 1
  fi
  pythons[${newest%% *}]=${newest#* }
fi

failed=()
for version in $(printf '%s\n' "${!pythons[@]}" | sort -V); do
  build=build/python-$version
  echo "=== Python $version: ${pythons[$version]}, in $build"
  [ -x "$build/env/bin/python" ] || "${pythons[$version]}" -m venv "$build/env"
  "$build/env/bin/python" -m pip install -q --disable-pip-version-check -r requirements.txt
  generator="Unix Makefiles"
  command -v ninja > /dev/null && generator=Ninja
  env -u VIRTUAL_ENV -u CONDA_PREFIX cmake -S . -B "$build" -G "$generator" -DPython_EXECUTABLE="$PWD/$build/env/bin/python" > "$build/configure.log" \
    || { cat "$build/configure.log"; exit 1; }
  cmake --build "$build" -j "${MAX_JOBS:-$(nproc)}"
  if PATH="$PWD/$build/env/bin:$PATH" tools/pytest.sh "$build" "$build/env/bin/python" ${PYTEST_ARGS:-}; then
    echo "=== Python $version: ok"
  else
    failed+=("$version")
    echo "=== Python $version: FAILED"
  fi
done
[ ${#failed[@]} = 0 ] || { echo "FAILED on Python ${failed[*]}"; exit 1; }
