# SPDX-License-Identifier: Apache-2.0
# source run-hb-pytest.sh: the tests of the HammerBlade device (or: sh run-hb-pytest.sh).
if [ -n "${BASH_SOURCE:-}" ]; then hb_here=$(dirname "$BASH_SOURCE"); else hb_here=$(dirname "$0"); fi
"${PYTHON:-python3}" "$hb_here/pytest_runner.py" "$@"
