#!/usr/bin/env bash
# torch-update.sh: fetches what is new of this tree and rebases onto it if nothing is edited here, then says which of the
# packages from PyPI have a newer version. There are no submodules.
#   --help, --dry-run
set -eu
. "$(dirname "$0")/torch-common.sh"
torch_options "$@"

cd "$FACULA_ROOT"
if ! upstream=$(git rev-parse --abbrev-ref '@{upstream}' 2> /dev/null); then
  echo "this tree follows no other (git branch --set-upstream-to=REMOTE/BRANCH lets it): nothing to fetch"
else
  step git fetch --quiet
  behind=$(git rev-list --count "HEAD..$upstream")
  if [ "$behind" = 0 ]; then
    echo "this tree has all of $upstream"
  elif [ -n "$(git status --porcelain --untracked-files=no)" ]; then
    echo "$upstream is $behind commits ahead; edits here stand in the way: commit them, then git rebase $upstream"
  else
    echo "$upstream is $behind commits ahead: they are taken, and pytorch-build.sh builds them"
    step git rebase --quiet "$upstream"
  fi
fi

newer=$(PIP_DISABLE_PIP_VERSION_CHECK=1 "$(torch_python)" -m pip list --outdated --format=json 2> /dev/null || echo '[]')
"$(torch_python)" - "$newer" "${TORCH_PACKAGES[@]}" <<'PY'
import json, sys
newer = {row["name"].lower(): row for row in json.loads(sys.argv[1])}
rows = [newer[name] for name in sys.argv[2:] if name in newer]
for row in rows:
    print(f"{row['name']} {row['version']}: {row['latest_version']} is on PyPI (tools/install_without_torch.py --upgrade {row['name']})")
if not rows:
    print("no newer package on PyPI was found")
PY
