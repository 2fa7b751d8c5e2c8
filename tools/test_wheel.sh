#!/usr/bin/env bash
# Builds a wheel, installs it into an environment of its own, and runs it there: a product, the command line, the HammerBlade
# device with kernels that are edited and reloaded, and a C++ program and an operator library against the headers and CMake
# files inside the wheel. Where the system lets us (unshare), the source tree is out of sight meanwhile.   test_wheel.sh [PYTHON]
set -eu
cd "$(dirname "$0")/.."
root=$PWD
python=${1:-python3}
export CXX=${CXX:-c++}  # as make calls it: ccache tells names apart
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# With the environment's own tools where it has them: pip's isolated ones lie elsewhere each time, and ccache finds nothing.
alone=()
"$python" -c 'import nanobind, scikit_build_core' 2> /dev/null && alone=(--no-build-isolation)
"$python" -m pip wheel -q --disable-pip-version-check --no-deps "${alone[@]}" --wheel-dir "$work" "$root"
"$python" -m venv "$work/env"
"$work/env/bin/pip" install -q --disable-pip-version-check "$work"/facula-*.whl
cd "$work"
"$work/env/bin/python" - <<'PY'
import facula

assert "site-packages" in facula.__file__, facula.__file__
a = facula.arange(6.0).reshape(2, 3)
assert (a @ a.t()).tolist() == [[5.0, 14.0], [14.0, 50.0]]
print(facula.__config__.show(), end="")
PY
"$work/env/bin/facula" info > /dev/null
echo 'import sys, torch; assert "facula" in torch.__version__; print(torch.ones(2).sum().item())' > program.py
[ "$("$work/env/bin/facula" run program.py)" = 2.0 ]
"$work/env/bin/facula" bench torchbench --performance --training --tiny -t1 -n2 --passes 1 --only lennard_jones --output models.csv > /dev/null
grep -q ',own,.*,measured,' models.csv
package=$("$work/env/bin/python" -c 'import facula, os; print(os.path.dirname(facula.__file__))')
[ -s "$package/__init__.pyi" ] && [ -f "$package/py.typed" ]
cp -r "$root/examples/cmake-project" hello
cat > leaky.cpp <<'CPP'
#include <facula_hb/kernel.h>

template <class T>
void leaky(hb::Out<T> out, hb::In<T> a, T slope) {
  hb::map(out, [&](T x) { return x > T(0) ? x : slope * x; }, a);
}
HB_KERNEL(leaky, "", HB_NUMBERS)
CPP
cat > hammerblade.py <<'PY'
import pathlib

import facula as torch

print(torch.device("hammerblade"), torch.hammerblade.tiles())
x = torch.tensor([-2.0, 0.5, 4.0]).to("hammerblade")
assert (x @ x).item() == 20.25 and x.relu().cpu().tolist() == [0.0, 0.5, 4.0]
assert "tensorlib_leaky" in torch.hammerblade.load("leaky.cpp")
for before, after, first in (("", "", -0.5), ("slope * x", "slope * x - 1", -1.5)):
    path = pathlib.Path("leaky.cpp")
    path.write_text(path.read_text().replace(before, after))
    torch.hammerblade.reload()
    out = torch.empty_like(x)
    torch.hammerblade.launch("tensorlib_leaky", out, x, 0.25)
    assert out.cpu().tolist() == [first, 0.5, 4.0], out
kernels = pathlib.Path(torch.__file__).parent / "share/hammerblade/kernels"
source = min(kernels.glob("*.cpp"), key=lambda f: f.stat().st_size)  # one of Facula's own
source.touch()
names = torch.hammerblade.reload()
assert names, source
print(source.name, "reloaded:", *names)
assert torch.backends.fallback_counts() == {}
PY
hidden=(bash -c)
unshare -m true 2> /dev/null && hidden=(unshare -m bash -c "mount -t tmpfs none '$root' && eval \"\$0\"")
"${hidden[@]}" "$work/env/bin/python hammerblade.py"
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
