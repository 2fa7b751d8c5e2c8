#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# link_compat.sh [ROOT]: puts links to what is in compat/<work>/ where the pages of that work type it, in the root. What
# is there already stays: a link as it is, anything else with a sentence.
set -eu
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"
for entry in compat/*/*; do
  name=${entry##*/}
  if [ ! -e "$name" ] && [ ! -L "$name" ]; then ln -s "$entry" "$name"
  elif [ ! -L "$name" ]; then echo "$name is yours and stays: commands of ${entry%/*} that use it are at $entry"
  fi
done
