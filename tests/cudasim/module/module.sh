#!/bin/sh
# module.sh LIBRARY DRIVER MODULE STALE-MODULE PROBE STATIC-PROBE: the library's messages, in a folder of its
# own, where a driver, a GPU or the module is missing, does not fit, or is there. In TAP.
set -u
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../../support/tap.sh"
unset LD_LIBRARY_PATH
library=$1 driver=$2 module=$3 stale=$4 probe=$5 static=$6
lib=$(mktemp -d)
trap 'rm -rf "$lib"' EXIT
cp "$library" "$lib/$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')"

# says WORDS COMMAND...: its output has these words.
says() {
    words=$1
    shift
    said=$(LD_LIBRARY_PATH=$lib "$@" 2>&1)
    case $said in
    *"$words"*) pass "$words" ;;
    *) flunk "$words" "$said" ;;
    esac
}

: >"$lib/libcuda.so.1" # no driver, also where there is one
says 'CT_EDEVICE' "$probe" cuda:0
says 'cuda:0: there is no NVIDIA driver (libcuda.so.1): install one, or open "cpu"' "$probe" cuda:0
says 'not a GPU: cuda:0: there is no NVIDIA driver' "$probe"
says 'cpu, CT_OK, sum 150' "$probe"

cp "$driver" "$lib/libcuda.so.1"
says 'the NVIDIA driver finds no GPU' env DRIVER_GPUS=0 "$probe" cuda:0
says 'the NVIDIA driver finds no GPU' env DRIVER_ERROR=100 "$probe" cuda:0
says 'the NVIDIA driver does not start (error 999)' env DRIVER_ERROR=999 "$probe" cuda:0
echo "no library" >"$lib/libcotangent-cuda.so"
says 'CT_EUNSUPPORTED' "$probe" cuda:0
says 'libcotangent-cuda.so does not load' "$probe" cuda:0
cp "$stale" "$lib/libcotangent-cuda.so"
says 'belongs to another build of cotangent' "$probe" cuda:0
rm "$lib/libcotangent-cuda.so"
if ! "$static" cuda:0 | grep -q 'in /.*libcotangent-cuda'; then # unless one is installed
    says 'there is no CUDA backend (libcotangent-cuda.so) in /' "$probe" cuda:0
fi

cp "$module" "$lib/libcotangent-cuda.so"
says 'cuda:0, CT_OK, sum 150' "$probe" cuda:0
says 'the module is loaded' "$probe" cuda:0
says 'cuda:0: simulated GPU' "$probe"
says 'there is 1 GPU, counted from 0' "$probe" cuda:7
says 'no module is loaded' "$probe" cpu
# A statically linked program finds the module beside itself, or where the loader looks.
says 'cuda:0, CT_OK, sum 150' "$static" cuda:0
mkdir "$lib/bin"
cp "$static" "$lib/bin/static"
mv "$lib/libcotangent-cuda.so" "$lib/bin"
says 'cuda:0, CT_OK, sum 150' "$lib/bin/static"

plan
