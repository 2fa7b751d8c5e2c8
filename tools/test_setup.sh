#!/usr/bin/env bash
# test_setup.sh [PYTHON]: the command lines of setup.py and their make targets for real, in build/test-setup: a copy of the tree and an
# environment of its own, which must be as before when everything was taken away.
set -eu
cd "$(dirname "$0")/.."
python=${1:-python3}
work=$PWD/build/test-setup
rm -rf "$work"
mkdir -p "$work/tree"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -P -t "$work/tree"
"$python" -m venv "$work/env"
"$work/env/bin/pip" install -q --disable-pip-version-check -r requirements.txt
unset CONDA_PREFIX PYTHONPATH MAKEFLAGS MAKELEVEL
export VIRTUAL_ENV=$work/env PATH=$work/env/bin:$PATH
cd "$work/tree"

listing() { (cd "$work/env" && find . -not -path '*/__pycache__*' | sort); }
unchanged() {  # unchanged WHAT: the environment is as it was
  diff "$work/before" <(listing) || { echo "$1 left a trace"; exit 1; }
}
check() {  # check TEXT: the configuration page of what the environment imports has it
  (cd "$work" && python tree/check_pytorch.py) > "$work/page"
  grep -qF "$1" "$work/page" || { cat "$work/page"; echo "the page lacks: $1"; exit 1; }
}
said() { grep -qF -- "$1" "$work/log" || { tail -n 50 "$work/log"; echo "was not said: $1"; exit 1; }; }
listing > "$work/before"

echo "setup: a debug build in place"
DEBUG=1 USE_DISTRIBUTED=0 USE_MKLDNN=0 USE_CUDA=0 BUILD_TEST=0 USE_FBGEMM=0 USE_NNPACK=0 USE_QNNPACK=0 USE_XNNPACK=0 \
  python setup.py develop > "$work/log"
said "USE_FBGEMM=OFF (from environment) means nothing here"
check "build type: Debug"
check "oneDNN: no"
check "$work/tree/build/debug/python"
python setup.py develop --uninstall
unchanged "develop"

echo "setup: OpenBLAS and a wheel, by make"
make install-all > "$work/log"
check "OpenBLAS (lib/libopenblas.so.0)"
check "$work/env/lib/python"
make uninstall-all
unchanged "install-all"

echo "setup: a wheel with symbols, built by make instead of Ninja"
USE_CUDA=1 REL_WITH_DEB_INFO=1 MAX_JOBS=16 USE_NINJA=OFF python setup.py install > "$work/log" 2>&1  # pip shows what a build says as errors
said "USE_CUDA=ON (from environment) is reserved and changes nothing yet"
check "build type: RelWithDebInfo"
check "USE_NINJA=OFF"
compgen -G "build/wheel-*-make/Makefile" > /dev/null
library=$(find "$work/env/lib" -path '*site-packages/facula/libfacula.so')
[ "$(cd "$work" && python -c 'import torch; print(torch.__name__, torch.ones(2).sum().item())')" = "torch 2.0" ]
readelf -S "$library" | grep -q '\.debug_info' || { echo "$library has no symbols"; exit 1; }
python setup.py uninstall
unchanged "install"

python setup.py bdist_wheel > "$work/log"
ls dist/facula-*.whl
python setup.py clean
[ ! -e build ] && [ ! -e dist ]
cd /
rm -rf "$work"
echo "setup: ok"
