#!/usr/bin/env bash
# pytest.sh BUILD PYTHON ARGS...: the Python tests against the package in BUILD (tools/python.sh). They are spread over the
# cores (PYTEST_WORKERS=0: one process, for a debugger). ThreadSanitizer makes everything ten times slower and looks for one
# kind of defect: unless it is told other files, it runs those where threads meet. AddressSanitizer leaves out what is Python
# over operators that are tested elsewhere, gradients by differences (hundreds of calls of one kind), the tests of the
# fuzzer, which runs by itself, and the HammerBlade device, which a sanitized build does not have (check mode is its own).
set -eu
build=$1 python=$2
shift 2
if [ $# = 0 ] && grep -q '^FACULA_SANITIZE:[A-Z]*=thread' "$build/CMakeCache.txt"; then
  set -- -q tests/test_threads.py tests/test_autograd.py tests/test_front.py tests/test_overrides.py tests/test_library.py \
    tests/test_observe.py tests/test_random.py tests/test_profiler.py tests/test_kernel_log.py tests/test_sparse.py \
    tests/test_autocast.py tests/test_autograd_graph.py tests/backends --ignore tests/backends/test_operators.py \
    --ignore tests/backends/test_conformance.py --ignore tests/backends/test_decompose.py
fi
if [ $# = 0 ] && grep -q '^FACULA_SANITIZE:[A-Z]*=address' "$build/CMakeCache.txt"; then
  set -- -k "not gradcheck and not gradgradcheck and not gradient_of_float32" \
    --ignore tests/bench --ignore tests/build --ignore tests/dataloader/test_datapipes.py --ignore tests/fx --ignore tests/hammerblade/test_lint.py --ignore tests/machine --ignore tests/nn \
    --ignore tests/hammerblade/test_kernel_files.py --ignore tests/hammerblade/test_hb_operators.py \
    --ignore tests/hammerblade/test_page.py --ignore tests/hammerblade/test_surface.py \
    --ignore tests/hammerblade/test_hb_training.py \
    --ignore tests/optim --ignore tests/test_benchmarks.py --ignore tests/test_command_line.py --ignore tests/test_docs.py \
    --ignore tests/test_distributions.py --ignore tests/test_fuzz_operators.py --ignore tests/test_pages.py \
    --ignore tests/test_process.py --ignore tests/test_programs.py --ignore tests/test_small_names.py --ignore tests/test_pytree.py \
    --ignore tests/test_tensorboard.py --ignore tests/test_value_profiles.py
fi
workers=${PYTEST_WORKERS:-$(nproc)}
if [ "$workers" != 0 ] && "$python" -c 'import xdist' 2> /dev/null; then set -- -n "$workers" "$@"; fi
exec tools/python.sh "$build" "$python" -m pytest "$@"
