#!/bin/sh
# toolkit.sh CAPABILITIES ROOTS CC...: finds an nvcc of CUDA 12 or later with CUB, cuBLAS and cuSOLVER, and
# tests it: nvcc compiles a kernel and calls of both libraries, and CC links them. nvcc reports the folders of
# its own headers and libraries, whatever the layout (NVIDIA's, Debian's, conda's). Missing parts may be in
# ROOTS: folders with include/ and lib/, or folders of such folders, the layout of PyPI's packages. Lists are
# separated by commas. The CAPABILITIES `native` are those of the GPUs at hand, or 80 and 90.
#
# Prints lines of a key and a value: nvcc, summary, flag (of nvcc), include (-isystem, or a folder), library
# (a file), folder (of libraries).
# If no nvcc is usable, fails and prints one line with the reasons. $NVCC names the only nvcc to try.
set -u
capabilities=$(echo "$1" | tr , ' ') roots=$(echo "$2" | tr , ' ')
shift 2
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/probe.cu" <<'TEXT'
#include <cub/version.cuh>
#include <cublas_v2.h>
#include <cusolverDn.h>
static __global__ void twice(double *x) { x[threadIdx.x] *= 2; }
extern "C" void probe(double *x, void **routine)
{
    twice<<<1, 1>>>(x);
    routine[0] = (void *)cublasDtrsm_64, routine[1] = (void *)cusolverDnXpotrf;
}
TEXT

# The first error in the log of a compiler or linker.
complaint() {
    grep -m 1 -iE 'error|fatal|unsupported|cannot|undefined|not found' "$scratch/log" ||
        head -n 1 "$scratch/log"
}

# folders PATTERN: the folders of this name in the roots and in the folders in them.
folders() {
    for root in $roots; do
        for folder in "$root/$1" "$root"/*/"$1" "$root/targets"/*/"$1"; do
            [ ! -d "$folder" ] || echo "$folder"
        done
    done
}

# library CC... -print-file-name=FILE: the file of library $name, searched in the folders of nvcc, then of the
# roots, then of CC. Folders named stubs have libraries for linking only, and are replaced by their parents.
library() {
    for folder in $own $(folders lib64) $(folders lib) "$(dirname "$("$@" 2>/dev/null)")"; do
        folder=$(cd "${folder%/stubs}" 2>/dev/null && pwd)
        for file in "$folder/lib$name.so" "$folder/lib$name".so.[0-9]*; do
            [ ! -f "$file" ] || { echo "$file"; return; }
        done
    done
}

# The compute capabilities of the GPUs at hand that the backend can use.
at_hand() {
    nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
        tr -d '. ' | awk '$1 >= 80' | sort -nu
}

# no REASON: rejects this nvcc.
no() { echo "$1"; exit 1; }

# listed NAME LETTER: the folders -LETTER... in the variable NAME of nvcc's dry run.
listed() { sed -n "s/^#[$] $1=//p" "$scratch/dry" | tr -d '"' | tr ' ' '\n' | sed -n "s/^-$2//p"; }

# try NVCC CC...: prints the lines for this nvcc, or why it is rejected; in a subshell.
# shellcheck disable=SC2086  # flags, folders and files are words
try() (
    nvcc=$1
    shift
    version=$("$nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
    major=${version%%.*}
    [ -n "$version" ] || no "$nvcc does not run"
    [ "$major" -ge 12 ] || no "$nvcc is CUDA $version, which is older than 12"

    # The GPUs that this nvcc knows, and for later ones PTX of the last, which the driver translates.
    flags='' newest='' known=''
    codes=$("$nvcc" --list-gpu-code 2>/dev/null)
    if [ "$capabilities" = native ]; then
        capabilities=$(at_hand | sed 's/^/sm_/' | grep -xF "$codes" | sed 's/^sm_//')
        capabilities=${capabilities:-80 90}
    fi
    for capability in $capabilities; do
        number=${capability%%[!0-9]*} # 90 of 90a
        [ "${number:-0}" -ge 80 ] || no "gpu_capabilities has $capability: the least is 80"
        echo "$codes" | grep -qx "sm_$capability" || continue
        newest=$capability known="$known $capability"
        flags="$flags -gencode=arch=compute_$newest,code=sm_$newest"
    done
    [ -n "$newest" ] || no "$nvcc ($version) knows none of the gpu_capabilities $capabilities"
    flags="$flags -gencode=arch=compute_$newest,code=compute_$newest${NVCC_CCBIN:+ -ccbin=$NVCC_CCBIN}"

    "$nvcc" --dryrun -c "$scratch/probe.cu" >"$scratch/dry" 2>&1
    own=$(listed LIBRARIES L) includes="$(listed INCLUDES I) $(folders include)" libraries='' missing=''
    for name in cusolver cublas cudart; do
        file=$(library "$@" "-print-file-name=lib$name.so")
        if [ -n "$file" ]; then libraries="$file $libraries"; else missing=" lib$name.so$missing"; fi
    done
    [ -z "$missing" ] || no "$nvcc ($version) is without$missing: name their folder with -Dextra_cuda=..."

    runtime=$(readlink -f "$file" | sed -n 's/.*libcudart[.]so[.]\([0-9]*\).*/\1/p')
    [ "${runtime:-$major}" = "$major" ] ||
        no "$nvcc is CUDA $version, but libcudart is CUDA $runtime: give it another folder"

    system=$(printf ' -isystem %s' $includes)
    "$nvcc" -std=c++17 -Xcompiler -fPIC $flags $system -c "$scratch/probe.cu" -o "$scratch/probe.o" \
        >"$scratch/log" 2>&1 || no "$nvcc ($version) does not compile: $(complaint)"
    "$@" -shared "$scratch/probe.o" $libraries -lstdc++ -Wl,--no-undefined -o "$scratch/probe.so" \
        >"$scratch/log" 2>&1 || no "what $nvcc ($version) compiles does not link: $(complaint)"

    printf 'nvcc %s\nsummary CUDA %s for%s\n' "$nvcc" "$version" "$known"
    printf 'flag %s\n' $flags
    printf 'include -isystem\ninclude %s\n' $includes
    printf 'library %s\n' $libraries
    printf 'folder %s\n' $(dirname $libraries | sort -u)
)

reasons='' tried=''
for candidate in ${NVCC:-nvcc "${CUDA_PATH:-/}/bin/nvcc" "${CUDA_HOME:-/}/bin/nvcc" /usr/local/cuda/bin/nvcc \
    $(folders bin | sed 's,$,/nvcc,')}; do
    found=$(command -v "$candidate" 2>/dev/null) || continue
    case " $tried " in *" $found "*) continue ;; esac
    tried="$tried $found"
    said=$(try "$found" "$@") && { echo "$said"; exit 0; }
    reasons="$reasons${reasons:+; }$said"
done
none='there is no nvcc in PATH, CUDA_PATH or /usr/local/cuda: install CUDA 12 or later, or set NVCC'
echo "${reasons:-$none}"
exit 1
