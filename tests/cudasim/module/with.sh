#!/bin/sh
# with.sh LIBRARY DRIVER MODULE COMMAND...: runs the command with the library in a folder of its own, beside a
# driver and a module that need no GPU. The build folder may hold the real module.
set -eu
lib=$(mktemp -d)
trap 'rm -rf "$lib"' EXIT
cp "$1" "$lib/$(readelf -d "$1" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')"
cp "$2" "$lib/libcuda.so.1"
cp "$3" "$lib/libcotangent-cuda.so"
shift 3
LD_LIBRARY_PATH=$lib "$@"
