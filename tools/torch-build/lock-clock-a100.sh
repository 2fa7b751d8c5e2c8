#!/usr/bin/env bash
# lock-clock-a100.sh: locks the clocks of all NVIDIA cards, whichever they are, at what each sustains (root).
#   sudo lock-clock-a100.sh [--gpu-clock MHZ]     sudo lock-clock-a100.sh --unlock
# Clocks are chosen from those that the card supports; persistence mode and clocks are saved and taken back by --unlock.
set -eu
machine=$(cd "$(dirname "$(readlink -f "$0")")/../../python/facula/machine" && pwd)
if [ "${1:-}" = --unlock ]; then
  shift
  exec python3 "$machine" unlock --only gpu "$@"
fi
exec python3 "$machine" lock --only gpu "$@"
