#!/bin/sh
# outside.sh BUILD-DIR SOURCE LANGUAGE COMPILER...: installs into a scratch folder, then builds and runs SOURCE there
# with what pkg-config says, shared and static.
# shellcheck disable=SC2046  # flags are words
set -e
unset LD_LIBRARY_PATH
build=$1 source=$2 language=$3
shift 3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

DESTDIR=$scratch meson install -C "$build" --no-rebuild --quiet
pc=$(find "$scratch" -name cotangent.pc)
libdir=${pc%/pkgconfig/cotangent.pc}
include=$(dirname "$(dirname "$(find "$scratch" -name cotangent.h)")")
tool=$(find "$scratch" -path '*/bin/ctgp')
export PKG_CONFIG_PATH="${pc%/*}"

cp "$source" "$scratch/outside.in"
cd "$scratch"
passed=0
"$@" -x "$language" -Wall -Wextra -Werror outside.in -x none -o shared \
    $(PKG_CONFIG_SYSROOT_DIR=$scratch pkg-config --cflags --libs cotangent)
LD_LIBRARY_PATH=$libdir ./shared && passed=$((passed + 1))

# The static library's own dependencies lie outside the scratch folder.
"$@" -x "$language" outside.in -x none -o static -I"$include" "$libdir/libcotangent.a" \
    $(pkg-config --libs --static cotangent | sed 's/-lcotangent//')
./static && passed=$((passed + 1))

# The installed tool finds its library beside it.
[ -z "$tool" ] || "$tool" --help >help.txt && passed=$((passed + 1))

# Nothing leaves the library but what the headers declare.
nm -D --defined-only "$libdir/libcotangent.so" |
    awk '$2 != "A" && $3 !~ /^ct_[^_]|^\.gomp_critical/ { print "exported: " $3; bad = 1 } END { exit bad }' && passed=$((passed + 1))
echo "[  PASSED  ] $passed test(s)."
[ $passed -eq 4 ]
