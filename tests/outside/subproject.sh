#!/bin/sh
# subproject.sh SOURCE-DIR OUTSIDE.C: sets up a project that has the library as a subproject, and compiles OUTSIDE.C
# in it. In TAP.
set -e
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/subprojects"
ln -s "$1" "$scratch/subprojects/cotangent"
cp "$2" "$scratch/outside.c"
cat >"$scratch/meson.build" <<'TEXT'
project('consumer', 'c')
cotangent = dependency('cotangent', fallback: 'cotangent')
executable('outside', 'outside.c', dependencies: cotangent,
  c_args: '-DVERSION="' + cotangent.version() + '"')
TEXT

cd "$scratch"
echo '1..5'
# check NAME COMMAND...: the command succeeds.
check() {
    name=$1
    shift
    if "$@" >log.txt 2>&1; then echo "ok - $name"; else
        echo "not ok - $name"
        head -n 30 log.txt | sed 's/^/# /'
    fi
}
absent() { ! grep -E -e "$1" build/build.ninja; }

check 'setup' meson setup build --wrap-mode=forcefallback -Dcotangent:cuda=disabled
# The whole library takes minutes: one object shows that the headers are found, the links that the library is.
check 'the headers' ninja -C build outside.p/outside.c.o
check 'the library' grep '^ LINK_ARGS.*subprojects/cotangent.*libcotangent' build/build.ninja
# Warnings of a compiler that we do not know are no errors of the consumer's.
check 'no -Werror' absent -Werror
check 'neither tests nor examples' absent '^build subprojects/cotangent/(tests|examples|bench)/'
