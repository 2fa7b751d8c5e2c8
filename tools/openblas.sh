#!/usr/bin/env bash
# openblas.sh install|uninstall ENVIRONMENT [JOBS]: an OpenBLAS inside of a Python environment, where the build looks first.
# OPENBLAS_SRC names its source tree, which is built on OpenMP (the one pool here); variables of its own Makefile (TARGET,
# DYNAMIC_ARCH, NO_LAPACK, DEBUG …) may be set as well. Without it, the distribution's packaged library is laid there.
# What was written stands in ENVIRONMENT/share/facula/openblas.txt, and uninstall takes just that away.
set -eu
action=$1 prefix=$(realpath "$2") jobs=${3:-$(nproc)}
record=$prefix/share/facula/openblas.txt

say() { echo "openblas: $*"; }
fail() { say "$*" >&2; exit 1; }

remove() {
  local kind path
  while read -r kind path; do  # folders come after their files
    case $kind:/$path/ in
      *"/../"*) ;;
      file:*) rm -f "$prefix/$path" ;;
      folder:*) rmdir --ignore-fail-on-non-empty "$prefix/$path" 2> /dev/null || true ;;
    esac
  done < <(cat "$record")
}

if [ "$action" = uninstall ]; then
  [ -f "$record" ] || { say "openblas-install put none into $prefix: nothing to take away"; exit 0; }
  remove
  say "taken away from $prefix"
  exit 0
fi
[ "$action" = install ] || fail "$action is neither install nor uninstall"
[ -d "$prefix" ] && [ -w "$prefix" ] || fail "$prefix is no environment that can be written: activate one, or make setup"

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
tree=$stage$prefix
if [ -n "${OPENBLAS_SRC:-}" ]; then
  [ -f "$OPENBLAS_SRC/Makefile.system" ] || fail "OPENBLAS_SRC=$OPENBLAS_SRC is no source tree of OpenBLAS (it has no Makefile.system)"
  lapack=(netlib)
  [ "${NO_LAPACK:-0}" = 1 ] && lapack=()  # Debian's sources put theirs in all the same
  make -C "$OPENBLAS_SRC" -j "$jobs" USE_OPENMP=1 libs "${lapack[@]}" shared
  make -C "$OPENBLAS_SRC" USE_OPENMP=1 PREFIX="$prefix" DESTDIR="$stage" install
  from=$OPENBLAS_SRC
else
  packaged=$(compgen -G "/usr/lib/*/openblas-openmp/libopenblas.so.0" | head -n 1) \
    || fail "no packaged OpenBLAS on OpenMP was found (Debian's is libopenblas-openmp-dev): give a source tree as OPENBLAS_SRC"
  if [ ! -f "$record" ] && [ -e "$prefix/lib/libopenblas.so" ]; then
    say "$prefix has one already, which the build finds: nothing to do (OPENBLAS_SRC builds another)"
    exit 0
  fi
  mkdir -p "$tree/lib" "$tree/include"
  cp -L "$packaged" "$tree/lib/libopenblas.so.0"
  ln -s libopenblas.so.0 "$tree/lib/libopenblas.so"
  cp -L /usr/include/*/openblas-openmp/*.h "$tree/include/"
  from=$packaged
fi

[ -f "$record" ] && remove
mkdir -p "$tree/share/facula"
touch "$tree/share/facula/openblas.txt"
cd "$tree"
there=()
while read -r path; do
  if [ -e "$prefix/$path" ] || [ -L "$prefix/$path" ]; then there+=("$path"); fi
done < <(find . -not -type d -printf '%P\n')
[ ${#there[@]} = 0 ] || fail "$prefix already has ${there[*]}, not from here: take them away first"
{
  find . -not -type d -printf 'file %P\n'
  find . -mindepth 1 -depth -type d -printf '%P\n' | while read -r path; do [ -d "$prefix/$path" ] || echo "folder $path"; done
} > share/facula/openblas.txt
mkdir -p "$prefix/share/facula"
cp share/facula/openblas.txt "$record.new"
mv "$record.new" "$record"  # first, so that what is interrupted can be taken away
cp -a . "$prefix/"
say "$from is now $prefix/lib/libopenblas.so; the next build finds it first"
