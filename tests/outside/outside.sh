#!/bin/sh
# outside.sh BUILD-DIR SOURCE LANGUAGE COMPILER...: installs into a scratch folder, then builds and runs
# SOURCE there with what pkg-config says, shared and static. The version there must be that of the header
# and of the library. In TAP.
# shellcheck disable=SC2046  # flags are words
set -e
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"
unset LD_LIBRARY_PATH
build=$1 source=$2 language=$3
shift 3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Without the modules, which have tags of their own.
DESTDIR=$scratch meson install -C "$build" --no-rebuild --quiet --tags devel,runtime
pc=$(find "$scratch" -name cotangent.pc)
libdir=${pc%/pkgconfig/cotangent.pc}
tool=$(find "$scratch" -path '*/bin/ctgp')
export PKG_CONFIG_PATH="${pc%/*}"

cp "$source" "$scratch/outside.in"
cd "$scratch"
version=$(pkg-config --modversion cotangent)
"$@" -x "$language" -Wall -Wextra -Werror -DVERSION="\"$version\"" outside.in -x none -o shared \
    $(PKG_CONFIG_SYSROOT_DIR=$scratch pkg-config --cflags --libs cotangent)
that 'with the shared library' env LD_LIBRARY_PATH="$libdir" ./shared

# The static library's own dependencies lie outside the scratch folder.
prefix=$scratch$(pkg-config --variable=prefix cotangent)
"$@" -x "$language" -DVERSION="\"$version\"" outside.in -x none -o static \
    $(pkg-config --define-variable=prefix="$prefix" --static --cflags --libs cotangent)
that 'with the static library' ./static
that 'and with no shared one of ours' sh -c '! readelf -d static | grep libcotangent'

that 'the installed tool finds its library beside it' "$tool" --help

# The library exports only what the headers declare; in the static library every name has the prefix.
exports_only() {
    nm "$1" --defined-only "$2" |
        awk -v good="$3" 'NF == 3 && $2 != "A" && $3 !~ good { print "exported: " $3; bad = 1 }
            END { exit bad }'
}
that 'names in the shared library' exports_only -D "$libdir/libcotangent.so" '^ct_[^_]'
that 'names in the static library' exports_only -g "$libdir/libcotangent.a" '^ct_'

# Before 1.0 the SONAME changes with the minor version, then with the major one.
case $version in 0.*) soname=libcotangent.so.${version%.*} ;; *) soname=libcotangent.so.${version%%.*} ;; esac
that "the program asks for $soname" sh -c "readelf -d shared | grep -F '[$soname]'"

plan
