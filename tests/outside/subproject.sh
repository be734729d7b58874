#!/bin/sh
# subproject.sh SOURCE-DIR FOLDER: sets up a project that has the libraries as a subproject, and compiles
# FOLDER/engine.c and FOLDER/gp.c in it. In TAP.
set -e
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/subprojects"
ln -s "$1" "$scratch/subprojects/cotangent"
cp "$2/engine.c" "$2/gp.c" "$scratch"
cat >"$scratch/meson.build" <<'TEXT'
project('consumer', 'c')
cotangent = dependency('cotangent', fallback: 'cotangent')
cotangent_gp = dependency('cotangent-gp', fallback: 'cotangent')
version = '-DVERSION="' + cotangent.version() + '"'
executable('engine', 'engine.c', dependencies: cotangent, c_args: version)
executable('gp', 'gp.c', dependencies: cotangent_gp)
TEXT

cd "$scratch"
absent() { ! grep -E -e "$1" build/build.ninja; }

that 'setup' meson setup build --wrap-mode=forcefallback
# Building the whole library takes minutes. Two objects show that the headers are found, and the link commands
# show that the libraries are.
that 'the headers' ninja -C build engine.p/engine.c.o gp.p/gp.c.o
links() { sed -n "/^build $1:/,/^$/p" build/build.ninja | grep -E "$2"; }
lacks() { ! links "$@"; }
that 'the engine' links engine '^ LINK_ARGS.*subprojects/cotangent.*libcotangent\.so'
that 'and nothing else of ours' lacks engine 'nlopt|cotangent-gp'
that 'the GP' links gp '^ LINK_ARGS.*subprojects/cotangent.*libcotangent-gp\.so'
# Warnings of an unknown compiler must not be errors for the project.
that 'no -Werror' absent -Werror
that 'neither CUDA nor MPI' absent 'nvcc|cotangent-mpi|-lmpi'
that 'only the library' absent '^build subprojects/cotangent/(tests|examples|bench|src/ctgp)/'

plan
