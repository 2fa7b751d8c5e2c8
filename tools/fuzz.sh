#!/usr/bin/env bash
# fuzz.sh [SECONDS] [TARGET...]: lets libFuzzer look for inputs that break a promise of tests/fuzz, with clang's
# sanitizers on, and adds what reached new code to the target's corpus (smallest set). A finding is left in
# build/fuzz/TARGET/ and ends with 1.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ $# -gt 0 ] && shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(schema dlpack zip inflate archive pickle safetensors graph source)
mkdir -p build/fuzz
for target in "${targets[@]}"; do
  echo "fuzz: $target, $seconds s"
  # What is fuzzed is looked at closely, the rest is the build's.
  case $target in
    graph) # passes and the interpreter call operators, which are the build's
      sources=(src/jit/log.cpp src/jit/ir/*.cpp src/jit/passes/*.cpp src/jit/run/*.cpp)
      export ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=512
      ;;
    archive)
      sources=(src/files/*.cpp src/jit/files/*.cpp)
      export ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=512
      ;;
    source)
      sources=(src/jit/frontend/*.cpp src/jit/ir/range.cpp)
      export ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=512
      ;;
    *) sources=(src/dispatch/schema.cpp src/core/dlpack.cpp src/files/*.cpp) ;;
  esac
  link=(-Lbuild/release/python/facula -lfacula "-Wl,-rpath,$PWD/build/release/python/facula")
  clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -DFUZZ_TARGET="$target" \
    -Isrc -Iinclude tests/fuzz/main.cpp "tests/fuzz/$target.cpp" "${sources[@]}" "${link[@]}" -o "build/fuzz/fuzz_$target"
  corpus=tests/fuzz/corpus/$target new=build/fuzz/$target
  mkdir -p "$corpus" "$new"
  "build/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=4096 -print_final_stats=1 -artifact_prefix="$new/found-" \
    "$new" "$corpus"
  "build/fuzz/fuzz_$target" -merge=1 "$corpus" "$new" 2> /dev/null
  echo "fuzz: $target: $(ls "$corpus" | wc -l) inputs kept"
done
