# SPDX-License-Identifier: Apache-2.0
# source setup_cosim_build_env.sh: the port's name. One build serves all engines; the simulator needs a compiler for the chip.
if [ -n "${BRG_BSG_BLADERUNNER_DIR:-}" ]; then
  echo "BRG_BSG_BLADERUNNER_DIR=$BRG_BSG_BLADERUNNER_DIR is not needed: simulator and kernels come with Facula."
fi
export USE_HAMMERBLADE=1
export SKLEARN_ALLOW_DEPRECATED_SKLEARN_PACKAGE_INSTALL=True # or PyPI refuses the port's line of packages for that name
echo "pip install … sklearn …: PyPI's name of it is scikit-learn, and Facula needs neither (make setup installs what it needs)."
for _facula_need in riscv64-unknown-elf-g++:gcc-riscv64-unknown-elf qemu-riscv32:qemu-user gdb-multiarch:gdb-multiarch; do
  command -v "${_facula_need%%:*}" > /dev/null || echo "missing: ${_facula_need##*:} (make setup-cosim installs it)"
done
[ -e /usr/lib/picolibc/riscv64-unknown-elf/lib/libm.a ] || echo "missing: picolibc-riscv64-unknown-elf (make setup-cosim installs it)"
unset _facula_need
echo "The HammerBlade device is simulated by pycosim, pycosim.profile, .trace, .wave and .saif (docs/cosim.md)."
echo "Build with: python setup.py develop"
