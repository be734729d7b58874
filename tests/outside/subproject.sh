#!/bin/sh
# subproject.sh SOURCE-DIR OUTSIDE.C: sets up a project that has the library as a subproject, and compiles
# OUTSIDE.C in it. In TAP.
set -e
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"
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
absent() { ! grep -E -e "$1" build/build.ninja; }

that 'setup' meson setup build --wrap-mode=forcefallback
# Building the whole library takes minutes. One object shows that the headers are found, and the link commands
# show that the library is.
that 'the headers' ninja -C build outside.p/outside.c.o
that 'the library' grep '^ LINK_ARGS.*subprojects/cotangent.*libcotangent' build/build.ninja
# Warnings of an unknown compiler must not be errors for the project.
that 'no -Werror' absent -Werror
that 'neither CUDA nor MPI' absent 'nvcc|cotangent-mpi|-lmpi'
that 'only the library' absent '^build subprojects/cotangent/(tests|examples|bench|src/ctgp)/'

plan
