#!/usr/bin/env bash
# The C++ files that clang-format lays out. One is laid out by hand, the table of a plugin's functions; so are the rows
# of formulas (*.def).
cd "$(dirname "$0")/.." || exit 1
git ls-files '*.cpp' '*.h' ':!include/facula/backend.h'
