#!/bin/sh
# test_dependencies.sh BUILD-DIR SOURCE-DIR: what nvcc compiles is compiled again after a change of any
# header, public ones included. A header is touched, and gets its time back. In TAP.
set -e
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"
build=$1 source=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
if ninja -C "$build" -n | grep -q Regenerating; then
    echo "1..0 # SKIP $build is older than a meson.build"
    exit
fi

compiled_again() { # HEADER OBJECT
    touch -r "$source/$1" before
    touch "$source/$1"
    ninja -C "$build" -n -v >log 2>&1 || true
    touch -r before "$source/$1"
    grep -q -- "-o src/tensor/cuda/$2.cuda.o" log
}
that 'nothing to do' sh -c '! ninja -C "$1" -n -v src/libcotangent-cuda.so | grep nvcc.sh' - "$build"
that 'a public header' compiled_again include/cotangent/view.h flag
that "a public header's table" compiled_again include/cotangent/maps.h map
that 'a header of the library' compiled_again src/tensor/backend.h cholesky
that 'a header of the backend' compiled_again src/tensor/cuda/config.h index
plan
