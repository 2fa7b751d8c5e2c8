#!/usr/bin/env bash
# configure.sh PRESET PYTHON SWITCH...: configures build/PRESET when it never was, or when a switch's
# value in the environment, the interpreter or a build file changed. Otherwise it costs nothing.
set -eu
preset=$1 python=$2
shift 2
build=build/$preset
now="python=$python"
for name in "$@" CC CXX CXXFLAGS LDFLAGS FACULA_NANOBIND MKLROOT ONEDNN_ROOT; do
  [ -n "${!name+set}" ] && now+=$'\n'"$name=${!name}"
done
if [ -f "$build/CMakeCache.txt" ] && [ "$(cat "$build/switches.txt" 2> /dev/null)" = "$now" ]; then
  exit 0  # edited build files are noticed by the build itself
fi
generator=()
command -v ninja > /dev/null || generator=(-G "Unix Makefiles")
[ -f "$build/CMakeCache.txt" ] && generator=()
case $python in /*) ;; */*) python=$PWD/$python ;; *) python=$(command -v "$python") ;; esac
cmake --preset "$preset" "${generator[@]}" -DPython_EXECUTABLE="$python"
echo "$now" > "$build/switches.txt"
