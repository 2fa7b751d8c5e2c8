#!/usr/bin/env bash
# pytest.sh BUILD PYTHON ARGS...: the Python tests against the package in BUILD (tools/python.sh). They are spread over the
# cores (PYTEST_WORKERS=0: one process, for a debugger). Unless it is told files, ThreadSanitizer, which makes everything ten
# times slower, runs what is marked `threads`; AddressSanitizer leaves out what is marked `not_sanitized`, and gradients by
# differences (hundreds of calls of one kind). pyproject.toml says what the marks mean.
set -eu
build=$1 python=$2
shift 2
if [ $# = 0 ] && grep -q '^FACULA_SANITIZE:[A-Z]*=thread' "$build/CMakeCache.txt"; then set -- -q -m threads; fi
if [ $# = 0 ] && grep -q '^FACULA_SANITIZE:[A-Z]*=address' "$build/CMakeCache.txt"; then
  set -- -m "not not_sanitized" -k "not gradcheck and not gradgradcheck and not gradient_of_float32"
fi
workers=${PYTEST_WORKERS:-$(nproc)}
if [ "$workers" != 0 ] && "$python" -c 'import xdist' 2> /dev/null; then set -- -n "$workers" "$@"; fi
exec tools/python.sh "$build" "$python" -m pytest "$@"
