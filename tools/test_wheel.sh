#!/usr/bin/env bash
# Builds a wheel, installs it into an environment of its own, and runs it there: a product, the command line, and a
# C++ program and an operator library against the headers and CMake files inside the wheel.   test_wheel.sh [PYTHON]
set -eu
cd "$(dirname "$0")/.."
root=$PWD
python=${1:-python3}
CXX=${CXX:-c++}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/env"
"$work/env/bin/pip" install -q --disable-pip-version-check "$root"
cd "$work"
"$work/env/bin/python" - <<'PY'
import facula

assert "site-packages" in facula.__file__, facula.__file__
a = facula.arange(6.0).reshape(2, 3)
assert (a @ a.t()).tolist() == [[5.0, 14.0], [14.0, 50.0]]
print(facula.__config__.show(), end="")
PY
"$work/env/bin/facula" info > /dev/null
echo 'import sys, torch; assert torch.__name__ == "facula"; print(torch.ones(2).sum().item())' > program.py
[ "$("$work/env/bin/facula" run program.py)" = 2.0 ]
package=$("$work/env/bin/python" -c 'import facula, os; print(os.path.dirname(facula.__file__))')
[ -s "$package/__init__.pyi" ] && [ -f "$package/py.typed" ]
cp -r "$root/examples/cmake-project" hello
cmake -S hello -B hello/build -DCMAKE_PREFIX_PATH="$package" > /dev/null
cmake --build hello/build > /dev/null
hello/build/hello > /dev/null
"$work/env/bin/python" - <<'PY'
import facula

facula.ops.load_library("hello/build/libtriple.so")
assert facula.ops.hello.triple(facula.ones(2)).tolist() == [3.0, 3.0]
PY
"$CXX" -std=c++20 hello/hello.cpp -o plain -I"$package/include" -L"$package" -Wl,-rpath,"$package" -lfacula
./plain > /dev/null
echo "wheel: ok"
