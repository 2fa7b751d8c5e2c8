#!/usr/bin/env bash
# test_faults.sh BUILD PYTHON ARGS...: tests/faults against the package in BUILD, with the library that makes allocations fail.
set -eu
build=$1 python=$2
shift 2
export PYTHONPATH="$PWD/tests${PYTHONPATH:+:$PYTHONPATH}"
exec env LD_PRELOAD="$PWD/$build/tests/faults/faults.so" tools/python.sh "$build" "$python" -m faults "$@"
