#!/usr/bin/env bash
# configure.sh PRESET PYTHON SWITCH...: configures build/PRESET when it never was, or when a switch's
# value in the environment, the interpreter or a build file changed. Otherwise it costs nothing.
set -eu
preset=$1 python=$2
shift 2
build=build/$preset
now="python=$python"
openblas=$(dirname "$python")/../lib/libopenblas.so  # tools/openblas.sh
[ -e "$openblas" ] && now+=$'\n'"openblas=$(realpath "$openblas")"
for name in "$@" CC CXX CXXFLAGS LDFLAGS FACULA_NANOBIND MKLROOT ONEDNN_ROOT; do
  [ -n "${!name+set}" ] && now+=$'\n'"$name=${!name}"
done
if [ -f "$build/CMakeCache.txt" ] && [ "$(cat "$build/switches.txt" 2> /dev/null)" = "$now" ]; then
  exit 0  # edited build files are noticed by the build itself
fi
generator=Ninja use=${USE_NINJA-ON}
if [[ ${use^^} =~ ^(0|OFF|FALSE|NO|N|)$ ]] || ! command -v ninja > /dev/null; then generator="Unix Makefiles"; fi
fresh=()
grep -qs "^CMAKE_GENERATOR:INTERNAL=$generator$" "$build/CMakeCache.txt" || fresh=(--fresh)  # a folder has one generator
case $python in /*) ;; */*) python=$PWD/$python ;; *) python=$(command -v "$python") ;; esac
cmake --preset "$preset" "${fresh[@]}" -G "$generator" -DPython_EXECUTABLE="$python"
echo "$now" > "$build/switches.txt"
