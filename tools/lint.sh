#!/usr/bin/env bash
# lint.sh BUILD PYTHON: every check that needs no running test. Prints each check's name and result;
# ends with 1 if one failed. clang-tidy takes five seconds a file: it reads the core and the dispatcher, everything
# with TIDY=all, what differs from a commit with TIDY=<commit>, nothing with TIDY=none. That leaves clang's warnings out, too.
set -u
build=$1 python=$2
failed=0

check() {  # check NAME COMMAND...: quiet when it passes
  local name=$1 out
  shift
  if out=$("$@" 2>&1); then
    echo "lint: $name: ok$( [ -n "$out" ] && echo " ($(echo "$out" | tail -n 1))")"
  else
    echo "$out" | tail -n 60
    echo "lint: $name: FAILED"
    failed=1
  fi
}

format() {
  tools/formatted_files.sh | xargs clang-format --dry-run -Werror
}

tidy() {
  local files
  case ${TIDY:-core} in
    core) files=$(git ls-files 'src/core/*.cpp' 'src/dispatch/*.cpp') ;;
    all) files=$(git ls-files 'src/*.cpp' | grep -v /isa/) ;;
    *) files=$(git diff --name-only --diff-filter=d "$TIDY" -- 'src/*.cpp' | grep -v /isa/) ;;
  esac
  # Each file in a process of its own, as many as fit into the time; the compile commands are gcc's, whose flags
  # clang may not know.
  local out
  out=$(mktemp)
  echo "$files" | timeout "${TIDY_SECONDS:-240}" xargs -P "$(nproc)" -I{} sh -c \
    'clang-tidy --quiet -p "$0" --extra-arg=-Wno-unknown-warning-option "$1" 2> /dev/null; echo "read $1"' "$build" {} > "$out"
  local found
  found=$(grep -c ': error: ' "$out")
  grep -v '^read ' "$out"
  echo "$(grep -c '^read ' "$out") of $(echo "$files" | wc -l) files read, $found findings"
  rm -f "$out"
  [ "$found" = 0 ]
}

line_length() { tools/formatted_files.sh | xargs "$python" tools/check_lines.py; }

files() { git ls-files '*.cpp' '*.h' '*.hpp' '*.py' '*.def' '*.sh' '*.cmake' ':!tests/data' | xargs "$python" tools/check_files.py; }

whitespace() { git diff --check "$(git hash-object -t tree /dev/null)" HEAD -- . ':!tests/data' ':!*.patch'; }

if command -v clang-format > /dev/null; then check "clang-format" format; else echo "lint: clang-format: not installed"; fi
check "ruff" "$python" -m ruff check --quiet .
check "include directions" "$python" tools/check_includes.py
check "formulas need no library" "$python" tools/check_formulas.py
check "white space" whitespace
check "line length" line_length
check "length of files, contracts of headers" files
check "facts stand on rows" "$python" tools/check_tables.py
if compgen -G "$build/CMakeFiles/facula_core.dir/**" > /dev/null; then
  check "nothing runs before main" "$python" tools/check_start_up.py "$build"
else
  echo "lint: nothing runs before main: $build is not built, left out"
fi
if [ "${TIDY:-}" != none ] && command -v clang++ > /dev/null; then
  check "clang compiles it without warnings" "$python" tools/check_clang.py "$build"
fi
if [ "${TIDY:-}" != none ] && command -v clang-tidy > /dev/null; then check "clang-tidy" tidy; fi
exit $failed
