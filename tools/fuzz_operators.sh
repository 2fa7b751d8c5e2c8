#!/usr/bin/env bash
# fuzz_operators.sh BUILD PYTHON ARGS...: tests/fuzz_operators against the package in BUILD. A sanitizer reports the first
# thing it sees and stops; a request for more memory than a child may take fails.
set -eu
build=$1 python=$2
shift 2
export PYTHONPATH="$PWD/tests${PYTHONPATH:+:$PYTHONPATH}"
export ASAN_OPTIONS="max_allocation_size_mb=1500:handle_abort=1:${ASAN_OPTIONS:-}" UBSAN_OPTIONS="halt_on_error=1:${UBSAN_OPTIONS:-}"
exec tools/python.sh "$build" "$python" -m fuzz_operators "$@"
