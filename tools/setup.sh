#!/usr/bin/env bash
# Installs what a build needs and is missing: Debian packages for C++, those of requirements.txt into the Python
# environment given (default .venv; virtual or conda). Run again it does nothing; without root or network it says what is
# missing and goes on with what it finds. FACULA_OFFLINE=1 installs nothing.
set -u
cd "$(dirname "$0")/.."
environment=${1:-.venv}

# command or file that shows it is there : Debian package
needs=(
  "python3:python3" "g++:g++" "cmake:cmake" "ninja:ninja-build" "ccache:ccache" "mold:mold" "git:git"
  "clang++:clang" "clang-format:clang-format" "clang-tidy:clang-tidy" "valgrind:valgrind"
  "/usr/include/gtest/gtest.h:libgtest-dev"
  "/usr/include/*/openblas-openmp/cblas.h:libopenblas-openmp-dev"
  "/usr/lib/*/libdw.so.1:libdw1"
  "/usr/include/gloo/context.h:libgloo-dev"
  "mpirun:openmpi-bin" "/usr/lib/*/openmpi/include/mpi.h:libopenmpi-dev"
)
python_packages=()
while read -r line; do python_packages+=("$line"); done < <(grep -v '^#' requirements.txt)
# A distribution's CMake may be older than 3.25; PyPI has one.
cmake_version=$(cmake --version 2> /dev/null | sed -n '1s/[^0-9]*//p')
[ "$(printf '%s\n3.25\n' "${cmake_version:-0}" | sort -V | head -n 1)" = 3.25 ] || python_packages+=("cmake>=3.25")

stamp=build/setup.stamp
wanted=$(printf '%s\n' "${needs[@]}" "${python_packages[@]}" "$environment" "${FACULA_OFFLINE:-}" | cksum)
if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && [ -x "$environment/bin/python" ]; then exit 0; fi

say() { echo "setup: $*"; }
complete=1

# ---- Debian packages ----------------------------------------------------------------------------
missing=()
for need in "${needs[@]}"; do
  what=${need%%:*} package=${need##*:}
  case $what in  # a header or library may be the environment's own, which conda fills
    /*) compgen -G "$what" > /dev/null || [ -e "$environment/include/${what##*/include/}" ] \
      || [ -e "$environment/include/${what##*/}" ] || [ -e "$environment/lib/${what##*/}" ] || missing+=("$package") ;;
    *) command -v "$what" > /dev/null || missing+=("$package") ;;
  esac
done
# A Python without its headers, or one that cannot make an environment.
has() { python3 -c "$1" > /dev/null 2>&1; }
has "import os, sysconfig; os.stat(sysconfig.get_path('include') + '/Python.h')" || missing+=(python3-dev)
[ -x "$environment/bin/python" ] || has "import ensurepip, venv" || missing+=(python3-venv)
if [ ${#missing[@]} -gt 0 ]; then
  sudo=""
  [ "$(id -u)" = 0 ] || sudo="sudo -n"
  if [ -n "${FACULA_OFFLINE:-}" ] || ! command -v apt-get > /dev/null || ! $sudo true 2> /dev/null; then
    say "missing, and not installable from here: ${missing[*]}; going on without"
    complete=0
  else
    say "installing Debian packages: ${missing[*]}"
    $sudo apt-get update -qq
    for package in "${missing[@]}"; do  # one by one: a name unknown to a release must not stop the rest
      $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$package" > /dev/null \
        || { say "could not install $package; going on without"; complete=0; }
    done
  fi
fi

# ---- Python packages ----------------------------------------------------------------------------
if [ ! -x "$environment/bin/python" ]; then
  say "making the Python environment $environment"
  site=""
  [ -n "${FACULA_OFFLINE:-}" ] && site=--system-site-packages
  python3 -m venv $site "$environment" 2> /dev/null || {
    rm -rf "$environment"
    say "no Python environment could be made; python3 itself is used"
    complete=0
  }
fi
python=$environment/bin/python
[ -x "$python" ] || python=python3

absent=$("$python" - "${python_packages[@]}" <<'PY'
import importlib.metadata, sys
try:
    from packaging.requirements import Requirement
except ImportError:
    try:
        from pip._vendor.packaging.requirements import Requirement
    except ImportError:
        sys.exit(print("pip"))
for want in map(Requirement, sys.argv[1:]):
    if want.marker and not want.marker.evaluate():
        continue
    try:
        fits = importlib.metadata.version(want.name) in want.specifier
    except importlib.metadata.PackageNotFoundError:
        fits = False
    if not fits:
        print(f"{want.name}{want.specifier}")
PY
)
if [ -n "$absent" ]; then
  if [ -n "${FACULA_OFFLINE:-}" ]; then
    say "Python packages not there: $(echo $absent); going on without"
    complete=0
  else
    say "installing into $environment: $(echo $absent)"
    # shellcheck disable=SC2086
    "$python" -m pip install -q --disable-pip-version-check $absent \
      || { say "pip could not install them; going on with what is there"; complete=0; }
  fi
fi

# The release build is importable from the environment as it stands in the tree, unless another build of the tree was
# chosen (setup.py develop). (An environment that is a link belongs to another tree.)
site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
if [ -w "$site" ] && [ ! -L "$environment" ] && ! grep -qs "^$PWD/build/" "$site/facula-build.pth"; then
  "$python" tools/link_environment.py build/release > /dev/null
fi

mkdir -p build
if [ $complete = 1 ]; then echo "$wanted" > "$stamp"; say "complete"; else say "done, with gaps (see above)"; fi
exit 0
