#!/bin/sh
# test_rehearsal.sh SOURCE-DIR BUILD-DIR [real]: `./run gpu --from` on a machine that has nothing but Python:
# a bare Debian in a folder, without a network. Every row passes on the simulated GPU. With `real`, the real
# module meets a driver without a GPU, and the run ends at once and says so. In TAP.
set -u
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"
source=$1 build=$2 real=${3-} root=$2/bare-debian

leave() {
    pass "left out: $1"
    plan
    exit 0
}
[ "$(id -u)" = 0 ] || leave 'only root can enter another root'
command -v debootstrap >/dev/null || leave 'debootstrap is not installed'
unshare --net --mount true 2>/dev/null || leave 'this machine refuses new namespaces'
own_folder
if [ ! -f "$root/complete" ]; then
    rm -rf "$root"
    debootstrap --variant=minbase --include=python3 trixie "$root" >log 2>&1 || leave "$(tail -n 1 log)"
    touch "$root/complete"
fi

# The checkout and a pack in it, as a user copies them to a node.
rm -rf "$root/node"
mkdir "$root/node"
git -C "$source" ls-files -coz --exclude-standard | (cd "$source" && xargs -0 cp --parents -t "$root/node")
# pack OPTION...: as ./run gpu --pack, from the build that is there
pack() {
    "$source/tools/gpu_pack" "$@" "$build" "$PWD/pack" && tar -C pack -c . | xz -0 >"$root/node/pack.tar.xz"
}
# on_node ARGUMENT...: ./run gpu there; its output is in said.
on_node() {
    # shellcheck disable=SC2016
    timeout 3000 unshare --net --mount --pid --fork sh -c '
        mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev"
        cuda=/usr/local/cuda
        [ ! -d $cuda ] || { mkdir -p "$0$cuda" && mount --rbind $cuda "$0$cuda"; }
        exec chroot "$0" /bin/bash -c "cd /node && exec ./run gpu \"\$@\"" bash "$@"' "$root" "$@" >said 2>&1
}
finds() { grep -q "$1" "$2"; }

if [ -n "$real" ]; then
    that 'packs the real module' pack
    # A driver that counts one GPU and does no more.
    cp -L "$build/tests/cudasim/module/libcuda.so.1" "$root/usr/lib/libcuda.so.1"
    printf '#!/bin/sh\necho "a GPU, which is none"\n' >"$root/usr/bin/nvidia-smi"
    chmod +x "$root/usr/bin/nvidia-smi"
    start=$(date +%s)
    on_node --from pack.tar.xz --out out --within 300
    that 'fails without a GPU' test $? = 2
    that 'at once' test $(($(date +%s) - start)) -lt 60
    that 'and says so' finds 'the GPU does not open, and nothing else can work' said
    that 'the real module was loaded' finds 'CUDA driver version is insufficient' "$root/node/out/log.txt"
    that 'the report names the GPU' finds 'a GPU, which is none' "$root/node/out/report.md"
    rm -f "$root/usr/lib/libcuda.so.1" "$root/usr/bin/nvidia-smi"
else
    that 'packs the simulated GPU' pack --simulated
    on_node --from pack.tar.xz --out out
    status=$?
    grep '^|' "$root/node/out/report.md" | grep -vE '\| (ok|not installed) \|' >said # what did not pass
    that 'every row passes' test $status = 0
    that 'first of all' finds '^| first | the GPU opens | ok |' "$root/node/out/report.md"
    that 'all benchmarks are done' finds '^| bench | benchmarks | ok |' "$root/node/out/report.md"
    that 'what is missing has a row' finds '^| profile | ncu | not installed |' "$root/node/out/report.md"
    that 'figures' finds '^bench=mll .*device=cuda:0' "$root/node/out/report.md"
    on_node --from pack.tar.xz --out short --within 8 --only first,tests
    that 'a row that has no time says so' finds 'no time was left' "$root/node/short/report.md"
fi
rm -rf "$root/node"
plan
