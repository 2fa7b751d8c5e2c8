#!/usr/bin/env bash
# The C++ files that clang-format lays out. Two are laid out by hand: tables of formulas and of a plugin's functions.
cd "$(dirname "$0")/.." || exit 1
git ls-files '*.cpp' '*.h' ':!src/kernels/scalar.h' ':!include/facula/backend.h'
