#!/usr/bin/env bash
# pytest.sh BUILD PYTHON ARGS...: the Python tests against the package in BUILD (tools/python.sh). They are spread over the
# cores (PYTEST_WORKERS=0: one process, for a debugger).
set -eu
build=$1 python=$2
shift 2
workers=${PYTEST_WORKERS:-$(nproc)}
if [ "$workers" != 0 ] && "$python" -c 'import xdist' 2> /dev/null; then set -- -n "$workers" "$@"; fi
exec tools/python.sh "$build" "$python" -m pytest "$@"
