#!/bin/sh
# test_toolkit.sh TOOLKIT.SH SOURCE-DIR CC...: which CUDA toolkits toolkit.sh takes and refuses, with
# stand-ins for nvcc in the layouts that there are, and what meson makes of a refusal. In TAP.
set -e
# shellcheck source=tests/support/tap.sh
# shellcheck disable=SC2016,SC2086  # a compiler is words
. "$(dirname "$0")/../support/tap.sh"
toolkit=$1 source=$2
shift 2
cc=$*
unset CUDA_PATH CUDA_HOME NVCC_CCBIN
# Outside the toolkit under test there is no library of CUDA.
unset LIBRARY_PATH
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# nvcc FOLDER RELEASE LIBRARIES: a compiler whose own libraries are in that folder, and which accepts sources
# where FOLDER/compiles is there.
nvcc() {
    mkdir -p "$1/bin"
    : >"$1/compiles"
    cat >"$1/bin/nvcc" <<TEXT
#!/bin/sh
case "\$*" in
--version) echo 'Cuda compilation tools, release $2, V$2.99' ;;
--list-gpu-code) printf 'sm_%s\n' 80 90 120 ;;
--dryrun*) echo '#\$ INCLUDES="-I$1/include"'; echo '#\$ LIBRARIES= "-L$3/stubs" "-L$3"' ;;
*)
    [ -f $1/compiles ] || { echo 'probe.cu(1): error: no host compiler'; exit 1; }
    while [ "\$1" != -o ]; do shift; done
    echo 'void probe(void) {}' | $cc -fPIC -c -x c - -o "\$2"
    ;;
esac
TEXT
    chmod +x "$1/bin/nvcc"
}
# libraries SUFFIX FOLDER...: each of the three in a folder
libraries() {
    suffix=$1
    for name in cudart cublas cusolver; do
        shift
        mkdir -p "$1"
        echo "int $name;" | $cc -shared -fPIC -x c - -o "$1/lib$name.so$suffix"
    done
}
find_toolkit() { NVCC=$1 sh "$toolkit" 80,90,100,120 "$2" $cc >said; }
finds() { find_toolkit "$1" "$2" && grep -qx "library $3" said; }
refuses() { ! find_toolkit "$1" "$2" && [ "$(wc -l <said)" = 1 ] && grep -q "$3" said; }

# NVIDIA's: lib64 beside bin, and stubs, which must not be taken
nvcc "$PWD/usual" 12.4 "$PWD/usual/lib64"
libraries '' usual/lib64 usual/lib64 usual/lib64
libraries '' usual/lib64/stubs usual/lib64/stubs usual/lib64/stubs
that "NVIDIA's toolkit" finds usual/bin/nvcc '' "$PWD/usual/lib64/libcusolver.so"
that 'no stubs' sh -c '! grep stubs said'
that 'the GPUs that this nvcc knows' grep 'code=compute_120' said
that 'and no others' sh -c '! grep sm_100 said'
# gpus CAPABILITY...: those of the machine, by a stand-in for nvidia-smi. takes CAPABILITY...: what native
# means.
mkdir smi
gpus() { printf '#!/bin/sh\nprintf "%%s\\n" %s\n' "$*" >smi/nvidia-smi && chmod +x smi/nvidia-smi; }
takes() {
    PATH=$PWD/smi:$PATH NVCC=usual/bin/nvcc sh "$toolkit" native '' $cc >said &&
        grep -qx "summary CUDA 12.4 for $*" said
}
gpus 9.0 9.0
that 'native: the GPUs at hand' takes 90
gpus 12.0 8.0
that 'native: all of them' takes 80 120
gpus 7.5 9.0
that 'native: those that are not too old' takes 90
gpus 11.0
that 'native: 80 and 90 where nvcc does not know them' takes 80 90
printf '#!/bin/sh\necho no driver; exit 9\n' >smi/nvidia-smi
that 'native: 80 and 90 without a GPU' takes 80 90
# conda's: targets, which nvcc knows of
nvcc "$PWD/conda" 13.0 "$PWD/conda/targets/x86_64-linux/lib"
t=conda/targets/x86_64-linux/lib
libraries .13 $t $t $t
that "conda's" finds conda/bin/nvcc '' "$PWD/$t/libcublas.so.13"
# Debian's: nvcc is a script, and the libraries are where the compiler looks by itself
nvcc "$PWD/debian" 12.4 /nowhere
libraries '' multiarch multiarch multiarch
that "Debian's" env NVCC=debian/bin/nvcc sh "$toolkit" 80 '' $cc -B"$PWD/multiarch"
# PyPI's: one folder, or one for each package; no names without a version
nvcc "$PWD/bare" 12.4 "$PWD/bare/lib64"
libraries .12 wheels/cuda_runtime/lib wheels/cublas/lib wheels/cusolver/lib
mkdir wheels/cublas/include
that "PyPI's, one folder each" finds bare/bin/nvcc "$PWD/wheels" "$PWD/wheels/cublas/lib/libcublas.so.12"
that 'their headers' grep "include $PWD/wheels/cublas/include" said
libraries .12 cu/lib cu/lib cu/lib
that "PyPI's, one for all" finds bare/bin/nvcc "/nowhere,$PWD/cu" "$PWD/cu/lib/libcublas.so.12"
that "the toolkit's own first" finds usual/bin/nvcc "$PWD/cu" "$PWD/usual/lib64/libcublas.so"

that 'no nvcc' refuses /nowhere/nvcc '' 'there is no nvcc'
that 'an nvcc that does not run' refuses /bin/false '' 'does not run'
nvcc "$PWD/old" 11.8 "$PWD/usual/lib64"
that 'CUDA 11' refuses old/bin/nvcc '' '11.8, which is older than 12'
that 'headers only' refuses bare/bin/nvcc '' 'without libcudart.so libcublas.so libcusolver.so: .*-Dextra'
NVCC=usual/bin/nvcc sh "$toolkit" 999 '' $cc >said || true
that 'GPUs that it does not know' grep 'knows none of the gpu_capabilities 999' said
NVCC=usual/bin/nvcc sh "$toolkit" '80 75' '' $cc >said || true
NVCC=usual/bin/nvcc sh "$toolkit" '80 90a' '' $cc >other || true
that 'a GPU with a letter' test -z "$(grep 'the least' other)"
that 'GPUs that are too old' grep 'gpu_capabilities has 75: the least is 80' said
libraries .13 newer/lib newer/lib newer/lib
that 'a runtime of another CUDA' refuses bare/bin/nvcc "$PWD/newer" 'is CUDA 12.4, but libcudart is CUDA 13'
rm usual/compiles
that 'an nvcc that does not compile' refuses usual/bin/nvcc '' 'does not compile: .*no host compiler'
: >usual/compiles
echo not a library >usual/lib64/libcublas.so
that 'a library that does not link' refuses usual/bin/nvcc '' 'does not link: .*libcublas'
# Where PATH has one that will not do, the next is tried.
mkdir path
ln -s "$PWD/old/bin/nvcc" path/nvcc
PATH=$PWD/path:$PATH CUDA_PATH=$PWD/conda sh "$toolkit" 80 '' $cc >said || true
that 'the next nvcc' grep "nvcc $PWD/conda/bin/nvcc" said

# In meson, for the library alone
set_up() {
    NVCC=$PWD/old/bin/nvcc meson setup "$1" "$source" -Dcuda="$1" -Dtests=disabled -Dexamples=disabled \
        -Dmpi=disabled >said 2>&1
}
gives_its_reason() {
    [ "$(grep -c 'CUDA backend: .*11.8, which is older than 12' said)" = 1 ] && grep "$1" said
}
fails_to_set_up() { ! set_up "$1"; }
that 'auto goes on without' set_up auto
that 'and says why' gives_its_reason ' CUDA backend: no: '
that 'enabled fails' fails_to_set_up enabled
that 'and says why, too' gives_its_reason 'ERROR: .*no CUDA backend: '

plan
