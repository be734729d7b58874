#!/bin/sh
# outside.sh BUILD-DIR SOURCE LANGUAGE COMPILER...: installs into a scratch folder, then builds and runs SOURCE there
# with what pkg-config says, shared and static. The version there must be that of the header and of the library.
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
version=$(pkg-config --modversion cotangent)
"$@" -x "$language" -Wall -Wextra -Werror -DVERSION="\"$version\"" outside.in -x none -o shared \
    $(PKG_CONFIG_SYSROOT_DIR=$scratch pkg-config --cflags --libs cotangent)
LD_LIBRARY_PATH=$libdir ./shared && passed=$((passed + 1))

# The static library's own dependencies lie outside the scratch folder.
"$@" -x "$language" -DVERSION="\"$version\"" outside.in -x none -o static -I"$include" "$libdir/libcotangent.a" \
    $(pkg-config --libs --static cotangent | sed 's/-lcotangent//')
./static && passed=$((passed + 1))

# The installed tool finds its library beside it.
[ -z "$tool" ] || "$tool" --help >help.txt && passed=$((passed + 1))

# Nothing leaves the library but what the headers declare; in the static one everything has its prefix.
only() { awk -v good="$1" 'NF == 3 && $2 != "A" && $3 !~ good { print "exported: " $3; bad = 1 } END { exit bad }'; }
nm -D --defined-only "$libdir/libcotangent.so" | only '^ct_[^_]' && passed=$((passed + 1))
nm -g --defined-only "$libdir/libcotangent.a" | only '^ct_' && passed=$((passed + 1))

# Before 1.0 the SONAME changes with the minor version, then with the major one.
case $version in 0.*) soname=libcotangent.so.${version%.*} ;; *) soname=libcotangent.so.${version%%.*} ;; esac
if readelf -d shared | grep -F "[$soname]"; then passed=$((passed + 1)); else echo "the program does not ask for $soname"; fi

echo "[  PASSED  ] $passed test(s)."
[ $passed -eq 6 ]
