# SPDX-License-Identifier: Apache-2.0
# source setup_cosim_build_env.sh: the port's name. One build serves all engines; a simulator is not among them yet.
if [ -n "${BRG_BSG_BLADERUNNER_DIR:-}" ]; then
  echo "BRG_BSG_BLADERUNNER_DIR=$BRG_BSG_BLADERUNNER_DIR is not needed: emulator and kernels come with Facula."
fi
export USE_HAMMERBLADE=1
echo "The device is emulated; the cycle-level simulator does not exist yet. Build with: python setup.py develop"
