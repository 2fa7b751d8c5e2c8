#!/usr/bin/env bash
# Installs what the simulated HammerBlade manycore needs and is missing (Debian packages, about 1.3 GB with gcc's libraries for
# all RISC-V targets): the compiler, its C library, qemu to compare with, gdb. Without root or network it says what is
# missing and goes on: the emulator needs none of it, and tests of the simulator are skipped.
set -u
needs=(
  "riscv64-unknown-elf-g++:gcc-riscv64-unknown-elf" "/usr/lib/picolibc/riscv64-unknown-elf/lib/libm.a:picolibc-riscv64-unknown-elf"
  "qemu-riscv32:qemu-user" "gdb-multiarch:gdb-multiarch"
)
say() { echo "setup-cosim: $*"; }
missing=()
for need in "${needs[@]}"; do
  what=${need%%:*}
  case $what in
    /*) [ -e "$what" ] || missing+=("${need##*:}") ;;
    *) command -v "$what" > /dev/null || missing+=("${need##*:}") ;;
  esac
done
if [ ${#missing[@]} = 0 ]; then
  say "everything is there: $(riscv64-unknown-elf-g++ --version | head -n 1)"
  exit 0
fi
sudo=""
[ "$(id -u)" = 0 ] || sudo="sudo -n"
if [ -n "${FACULA_OFFLINE:-}" ] || ! command -v apt-get > /dev/null || ! $sudo true 2> /dev/null; then
  say "missing, and not installable from here: ${missing[*]}"
  exit 0
fi
say "installing ${missing[*]} (all four take 1.3 GB)"
$sudo apt-get update -qq
for package in "${missing[@]}"; do
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" > /dev/null \
    || say "could not install $package; going on without"
done
