#!/bin/bash
# test_hosts.sh CTGP MPIRUN: ctgp on four hosts, which are network namespaces, and on what is left when one of
# them is cut off and killed. Needs root, iproute2 and Open MPI. In TAP.
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"
ctgp=$(realpath "$1") mpirun=$2
name=ct$$
folder=$(mktemp -d) || exit 2
cleanup() {
    for i in 1 2 3 4; do
        ip netns pids "$name-$i" 2>/dev/null | xargs -r kill -9
        ip netns del "$name-$i" 2>/dev/null
    done
    ip netns del "$name" 2>/dev/null
    rm -rf "$folder"
}
trap cleanup EXIT
cd "$folder" || exit 2

if ! ip netns add "$name" 2>/dev/null || ! unshare --uts true 2>/dev/null; then
    echo '1..0 # SKIP network namespaces cannot be made here'
    exit 0
fi

# Four hosts on one switch, 10.77.0.1 to 10.77.0.4.
ip -n "$name" link add switch type bridge
ip -n "$name" link set switch up
for i in 1 2 3 4; do
    ip netns add "$name-$i"
    ip link add "host$i" netns "$name" type veth peer name eth0 netns "$name-$i"
    ip -n "$name" link set "host$i" master switch up
    ip -n "$name-$i" addr add "10.77.0.$i/24" dev eth0
    ip -n "$name-$i" link set eth0 up
    ip -n "$name-$i" link set lo up
done

# In place of ssh: agent ADDRESS COMMAND... runs the command on that host, which has a name and a folder.
cat >agent <<AGENT
#!/bin/sh
host=\${1##*.}
shift
mkdir -p "$folder/\$host"
exec ip netns exec "$name-\$host" unshare --uts sh -c "hostname host\$host; export TMPDIR=$folder/\$host; \$*"
AGENT
chmod +x agent

# fit HOSTS ARGUMENT...: the keepalive finds a host that is gone within some 10 s.
fit() {
    local hosts=$1 count
    count=$(tr ',' '\n' <<<"$hosts" | wc -l)
    shift
    OMP_NUM_THREADS=1 timeout 100 ./agent 10.77.0.1 "$mpirun" --allow-run-as-root \
        --host "$hosts" -n "$count" \
        --mca plm_rsh_agent "$folder/agent" --mca btl tcp,self --mca btl_tcp_if_include eth0 \
        --mca oob_tcp_if_include eth0 --mca oob_tcp_keepalive_time 5 --mca oob_tcp_keepalive_intvl 2 \
        --mca oob_tcp_keepalive_probes 3 --mca mpi_yield_when_idle 1 -x OMP_NUM_THREADS -x LD_LIBRARY_PATH \
        "$ctgp" fit --target y --kernel rbf "$@"
}
value() { sed -n '$s/.* nlml=\([^ ]*\) .*/\1/p' "$1"; }

awk 'BEGIN { srand(9); print "a,b,y"
    for (i = 0; i < 2500; i++) {
        a = rand(); b = rand(); print a "," b "," sin(9 * a) + b + rand()
    } }' >t.csv
four=10.77.0.1,10.77.0.2,10.77.0.3,10.77.0.4

"$ctgp" fit t.csv --target y --kernel rbf --model one.ctgp >one 2>/dev/null
fit $four t.csv --model four.ctgp >four 2>err
that 'four hosts fit' test -n "$(value four)"
that 'as one process does' test "$(value one)" = "$(value four)"

fit $four t.csv --model cut.ctgp --checkpoint point --verbose >out 2>err &
for _ in $(seq 300); do
    grep -q '^iteration 1 ' err && break
    sleep 0.1
done
ip -n "$name" link set host3 down
ip netns pids "$name-3" | xargs -r kill -9
SECONDS=0
wait $!
code=$?
that 'a host that is cut off ends the others within 30 seconds' test "$SECONDS" -le 30
that 'with a failure' test $code -ne 0 -a $code -ne 124
that 'which mpirun names' grep -qiE 'lost|daemon|terminat|abort' err
that 'and without a model' test ! -e cut.ctgp
for i in 1 2 4; do
    that "nothing is left running on host $i" test -z "$(ip netns pids "$name-$i")"
done

fit 10.77.0.1,10.77.0.2,10.77.0.4 t.csv --model rest.ctgp --checkpoint point >rest 2>err
that 'the other hosts go on from the checkpoint' grep -q 'goes on from point' err
that 'to the same optimum' awk -v a="$(value rest)" -v b="$(value four)" \
    'BEGIN { exit !(a != "" && (a - b) ^ 2 < 1e-8) }'
plan
