#!/usr/bin/env bash
# python.sh BUILD PYTHON ARGS...: an interpreter that imports the package in BUILD. A sanitizer's runtime must be loaded before
# the interpreter; what Python itself never frees is not our leak; asking for too much memory is tested, so the allocator
# answers instead of aborting.
set -eu
build=$1 python=$2
shift 2
export PYTHONPATH="$(realpath "$build")/python${PYTHONPATH:+:$PYTHONPATH}"
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
case $(sed -n 's/^FACULA_SANITIZE:[A-Z]*=//p' "$build/CMakeCache.txt") in
  address)
    preload="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libstdc++.so.6)"
    export ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:${ASAN_OPTIONS:-}" UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS:-}"
    export FACULA_SANITIZED=address
    exec env LD_PRELOAD="$preload" "$python" "$@" ;;
  thread)
    preload="$("$compiler" -print-file-name=libtsan.so) $("$compiler" -print-file-name=libstdc++.so.6)"
    export FACULA_SANITIZED=thread
    exec env LD_PRELOAD="$preload" "$python" "$@" ;;
  *) exec "$python" "$@" ;;
esac
