#!/bin/sh
# outside.sh BUILD-DIR SOURCE LANGUAGE COMPILER...: installs into a scratch prefix, then builds and runs SOURCE
# there with what pkg-config says, shared and static.
set -e
build=$1 source=$2 language=$3
shift 3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

DESTDIR=$scratch meson install -C "$build" --no-rebuild --quiet
pc=$(find "$scratch" -name cotangent.pc)
export PKG_CONFIG_PATH="${pc%/*}" PKG_CONFIG_SYSROOT_DIR="$scratch"
prefix=$(pkg-config --variable=prefix cotangent)
libdir=$(pkg-config --variable=libdir cotangent)

cp "$source" "$scratch/outside.in"
cd "$scratch"
passed=0
"$@" -x "$language" -Wall -Wextra -Werror outside.in -x none -o shared $(pkg-config --cflags --libs cotangent)
LD_LIBRARY_PATH=$libdir ./shared && passed=$((passed + 1))

# The static library brings its own dependencies, which lie outside the scratch prefix.
unset PKG_CONFIG_SYSROOT_DIR
"$@" -x "$language" outside.in -x none -o static -I"$scratch$prefix/include" "$libdir/libcotangent.a" \
    $(pkg-config --libs-only-l --libs-only-L --libs-only-other --static cotangent | sed 's/-lcotangent//')
./static && passed=$((passed + 1))

# The installed tool finds its library beside it.
tool=$scratch$(pkg-config --variable=prefix cotangent)/bin/ctgp
[ ! -f "$tool" ] || "$tool" --help >help.txt && passed=$((passed + 1))

# Nothing leaves the library but what the headers declare.
if nm -D --defined-only "$libdir"/libcotangent.so | awk '$2 != "A" && $3 !~ /^ct_/ { print "exported: " $3; bad = 1 } END { exit bad }'
then passed=$((passed + 1)); fi
echo "[  PASSED  ] $passed test(s)."
[ $passed -eq 4 ]
