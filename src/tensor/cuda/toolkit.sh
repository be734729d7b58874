#!/bin/sh
# toolkit.sh CAPABILITIES ROOTS CC...: finds an nvcc of CUDA 12 or later with CUB, cuBLAS and cuSOLVER, and
# proves it: nvcc compiles a kernel and calls of both, and CC links them. An nvcc names the folders of its
# own headers and libraries, whatever the layout (NVIDIA's, Debian's, conda's). What it lacks may be in ROOTS:
# folders with include/ and lib/, or of such folders, as PyPI's packages are laid out. Lists have commas.
#
# Prints lines of a key and a value: nvcc, summary, flag (of nvcc), include (a folder), library (a file).
# Fails where none will do, and prints one line that says why. $NVCC names the only nvcc to try.
set -u
capabilities=$(echo "$1" | tr , ' ') roots=$(echo "$2" | tr , ' ')
shift 2
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/probe.cu" <<'TEXT'
#include <cub/version.cuh>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>
static __global__ void twice(double *x) { x[threadIdx.x] *= 2; }
extern "C" int probe(cublasHandle_t b, cusolverDnHandle_t s, cusolverDnParams_t p, double *x, int64_t n)
{
    size_t device = 0, host = 0;
    twice<<<1, 1>>>(x);
    return cudaGetLastError() != cudaSuccess ||
           cublasDtrsm_64(b, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, n, n, x,
                          x, n, x, n) != CUBLAS_STATUS_SUCCESS ||
           cusolverDnXpotrf_bufferSize(s, p, CUBLAS_FILL_MODE_LOWER, n, CUDA_R_64F, x, n, CUDA_R_64F, &device,
                                       &host) != CUSOLVER_STATUS_SUCCESS;
}
TEXT

# The first complaint in the log of a compiler or linker.
complaint() {
    grep -m 1 -iE 'error|fatal|unsupported|cannot|undefined|not found' "$scratch/log" ||
        head -n 1 "$scratch/log"
}

# folders PATTERN: which of the roots, and of the folders in them, have such a folder.
folders() {
    for root in $roots; do
        for folder in "$root/$1" "$root"/*/"$1" "$root/targets"/*/"$1"; do
            [ ! -d "$folder" ] || echo "$folder"
        done
    done
}

# library CC... -print-file-name=FILE: the file of library $name, in the folders of nvcc, then of the roots,
# then of CC. Folders named stubs have libraries to link with that cannot run.
library() {
    for folder in $own $(folders lib64) $(folders lib) "$(dirname "$("$@" 2>/dev/null)")"; do
        folder=$(cd "${folder%/stubs}" 2>/dev/null && pwd)
        for file in "$folder/lib$name.so" "$folder/lib$name".so.[0-9]*; do
            [ ! -f "$file" ] || { echo "$file"; return; }
        done
    done
}

# try NVCC CC...: 1 where it will not do; the reason is in `why`.
try() {
    nvcc=$1
    shift
    version=$("$nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
    [ -n "$version" ] || { why="$nvcc does not run"; return 1; }
    [ "${version%%.*}" -ge 12 ] || { why="$nvcc is CUDA $version, which is older than 12"; return 1; }

    # The GPUs that this nvcc knows, and for later ones the code of the last, which they translate.
    flags='' newest='' known=''
    codes=$("$nvcc" --list-gpu-code 2>/dev/null)
    for capability in $capabilities; do
        number=${capability%%[!0-9]*} # of 90a, say
        [ "${number:-0}" -ge 80 ] || { why="gpu_capabilities has $capability: the least is 80"; return 1; }
        ! echo "$codes" | grep -qx "sm_$capability" || {
            newest=$capability known="$known $capability"
            flags="$flags -gencode=arch=compute_$newest,code=sm_$newest"
        }
    done
    [ -n "$newest" ] ||
        { why="$nvcc ($version) knows none of the gpu_capabilities $capabilities"; return 1; }
    flags="$flags -gencode=arch=compute_$newest,code=compute_$newest"
    [ -z "${NVCC_CCBIN-}" ] || flags="$flags -ccbin=$NVCC_CCBIN"

    "$nvcc" --dryrun -c "$scratch/probe.cu" >"$scratch/dry" 2>&1
    own=$(sed -n 's/^#[$] LIBRARIES=//p' "$scratch/dry" | tr -d '"' | tr ' ' '\n' | sed -n 's/^-L//p')
    includes=$(sed -n 's/^#[$] INCLUDES=//p' "$scratch/dry" | tr -d '"' | tr ' ' '\n' | sed -n 's/^-I//p')
    includes="$includes $(folders include)"
    libraries='' missing='' runtime=''
    for name in cudart cublas cusolver; do
        file=$(library "$@" "-print-file-name=lib$name.so")
        if [ -n "$file" ]; then libraries="$libraries $file"; else missing="$missing lib$name.so"; fi
        : "${runtime:=$file}"
    done
    [ -z "$missing" ] ||
        { why="$nvcc ($version) is without$missing: name their folder with -Dextra_cuda=..."; return 1; }

    runtime=$(readlink -f "$runtime" | sed -n 's/.*libcudart[.]so[.]\([0-9]*\).*/\1/p')
    [ "${runtime:-${version%%.*}}" = "${version%%.*}" ] ||
        { why="$nvcc is CUDA $version, but libcudart is CUDA $runtime: give it another folder"; return 1; }

    system=$(for folder in $includes; do printf ' -isystem %s' "$folder"; done)
    # shellcheck disable=SC2086  # flags and files are words
    "$nvcc" -std=c++17 -Xcompiler -fPIC $flags $system -c "$scratch/probe.cu" -o "$scratch/probe.o" \
        >"$scratch/log" 2>&1 || { why="$nvcc ($version) does not compile: $(complaint)"; return 1; }
    # shellcheck disable=SC2086
    "$@" -shared "$scratch/probe.o" $libraries -lstdc++ -Wl,--no-undefined -o "$scratch/probe.so" \
        >"$scratch/log" 2>&1 ||
        { why="what $nvcc ($version) compiles does not link: $(complaint)"; return 1; }
}

reasons='' tried=''
for candidate in ${NVCC:-nvcc "${CUDA_PATH:-/}/bin/nvcc" "${CUDA_HOME:-/}/bin/nvcc" /usr/local/cuda/bin/nvcc \
    $(folders bin | sed 's,$,/nvcc,')}; do
    found=$(command -v "$candidate" 2>/dev/null) || continue
    case " $tried " in *" $found "*) continue ;; esac
    tried="$tried $found"
    if try "$found" "$@"; then
        printf 'nvcc %s\nsummary CUDA %s for%s\n' "$nvcc" "$version" "$known"
        for flag in $flags; do echo "flag $flag"; done
        for folder in $includes; do echo "include $folder"; done
        for file in $libraries; do echo "library $file"; done
        exit 0
    fi
    reasons="$reasons${reasons:+; }$why"
done
none='there is no nvcc in PATH, CUDA_PATH or /usr/local/cuda: install CUDA 12 or later, or set NVCC'
echo "${reasons:-$none}"
exit 1
