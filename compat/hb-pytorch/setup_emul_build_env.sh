# SPDX-License-Identifier: Apache-2.0
# source setup_emul_build_env.sh: the port's name. The emulated device is part of every build; there is nothing to choose.
if [ -n "${BRG_BSG_BLADERUNNER_DIR:-}" ]; then
  echo "BRG_BSG_BLADERUNNER_DIR=$BRG_BSG_BLADERUNNER_DIR is not needed: emulator and kernels come with Facula."
fi
export USE_HAMMERBLADE=1
export SKLEARN_ALLOW_DEPRECATED_SKLEARN_PACKAGE_INSTALL=True # or PyPI refuses the port's line of packages for that name
echo "pip install … sklearn …: PyPI's name of it is scikit-learn, and Facula needs neither (make setup installs what it needs)."
echo "The HammerBlade device is emulated (16 x 8 tiles; HBEMUL_TILE_X_DIM and HBEMUL_TILE_Y_DIM change that)."
echo "Build with: python setup.py develop"
