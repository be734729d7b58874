#!/bin/sh
# test_ctgp.sh CTGP FAIL_ALLOC.so MPIRUN...: ctgp on several processes beside one. In TAP.
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"
ctgp=$(realpath "$1") fail_alloc=$(realpath "$2")
shift 2
own_folder

awk 'BEGIN { srand(7); print "a,b,y"
    for (i = 0; i < 150; i++) {
        a = rand(); b = rand(); print a "," b "," sin(6 * a) + b * b + 0.1 * rand()
    } }' >t.csv

same() { # FILE FILE: equal but for where a search ends
    awk -F, 'NR == FNR { for (j = 1; j <= NF; j++) v[FNR, j] = $j; next }
        { for (j = 1; j <= NF; j++) if (FNR > 1 && ($j !~ /[0-9]/ || ($j - v[FNR, j]) ^ 2 > 1e-12)) bad = 1 }
        END { exit bad || FNR < 2 || NR != 2 * FNR }' "$1" "$2"
}

# The last line up to the likelihood's third digit: rounding may cost a search one step more or less.
result() { sed -n '$s/\(nlml=[-0-9]*\.[0-9]\{3\}\).*/\1/p'; }

that 'one process fits' "$ctgp" fit t.csv --target y --model one.ctgp
"$ctgp" fit t.csv --target y --model one.ctgp --verbose 2>err | result >one
begun=$(grep -c 'iteration 0 ' err)
that 'and says so' grep -q '^n=150 .* nlml=' one
for n in 2 3 4; do
    "$@" -n $n "$ctgp" fit t.csv --target y --model many.ctgp --verbose 2>err | result >many
    that "$n processes find the same model" cmp one many
    that "$n processes write it once" test "$(grep -c 'iteration 0 ' err)" -eq "$begun"
    that 'with its factor' test "$(wc -c <many.ctgp)" -eq "$(wc -c <one.ctgp)"
    "$ctgp" predict one.ctgp t.csv --out one.csv >/dev/null
    "$ctgp" predict many.ctgp t.csv --out many.csv >/dev/null
    that 'and it predicts the same' same one.csv many.csv
    rm -f many.ctgp
done
from_input() { "$@" -n 2 "$ctgp" fit - --target y --model many.ctgp <t.csv; }
that 'standard input' from_input "$@"
for command in 'predict one.ctgp t.csv' 'loo one.ctgp' 'sample one.ctgp t.csv'; do
    # shellcheck disable=SC2086 # the command is several words
    "$ctgp" $command --out table.csv >one
    mv table.csv one.csv
    # shellcheck disable=SC2086
    "$@" -n 3 "$ctgp" $command --out table.csv >many
    mv table.csv many.csv
    that "${command%% *} prints the same" cmp one many
    that 'and writes the same' same one.csv many.csv
done
that 'info' "$@" -n 2 "$ctgp" info one.ctgp
that 'plot runs once' "$@" -n 2 "$ctgp" plot one.ctgp t.csv --out plot.svg

# Stopped after some iterations, and begun again.
goes_on() {
    "$@" fit t.csv --target y --model many.ctgp --checkpoint point --max-iter 2 --kernel 'scale * rbf(ard)' ||
        return 1
    "$@" fit t.csv --target y --model many.ctgp --checkpoint point --max-iter 2 --kernel 'scale * rbf(ard)' \
        2>said || return 1
    grep 'goes on from point' said
}
that 'a fit goes on from its checkpoint' goes_on "$@" -n 3 "$ctgp"

# A failure ends all processes, with one line.
fails() { # NAME CODE ARGUMENT...
    name=$1 code=$2
    shift 2
    "$@" >out 2>err
    [ $? -eq "$code" ] && [ "$(grep -c '^ctgp: ' err)" -eq 1 ] && return 0
    cat out err
    return 1
}
that 'a file that is not there' fails file 4 "$@" -n 3 "$ctgp" fit nothing.csv --target y
that 'a target that is not there' fails target 2 "$@" -n 3 "$ctgp" fit t.csv --target z
that 'an objective that is for one alone' fails loo 6 "$@" -n 3 "$ctgp" fit t.csv --target y --objective loo
head -n 30 t.csv | awk -F, '{ print $0 "," (NR == 1 ? "z" : $1 * $1) }' >two.csv
that 'several targets are for one alone' fails two 6 "$@" -n 3 "$ctgp" fit two.csv --target y,z
"$ctgp" fit two.csv --target y,z --kernel 'scale * rbf' --quiet --model two.ctgp >/dev/null
that 'and so is their model' fails open 6 "$@" -n 3 "$ctgp" predict two.ctgp two.csv
that 'which says what to do' grep -q 'several outputs, .*: leave mpirun out' err

# Memory fails in one process alone: one line, with its rank. Some of its allocations fail in turn.
cat >without_memory <<WRAPPER
#!/bin/sh
export FAIL_ALLOC_FROM=\$FAIL FAIL_ALLOC_TO=\$FAIL FAIL_ALLOC_COUNT=count
[ "\$OMPI_COMM_WORLD_RANK" != 1 ] || export LD_PRELOAD=$fail_alloc
exec "$ctgp" "\$@"
WRAPPER
chmod +x without_memory
starved() { # K MPIRUN...
    export FAIL=$1
    shift
    # shellcheck disable=SC2086 # the command is several words
    timeout 60 "$@" -n 3 ./without_memory $command >out 2>err
    code=$?
    [ $code -ne 0 ] || return 0 # what the program can do without
    [ $code -eq 5 ] && [ "$(grep -c '^ctgp: ' err)" -eq 1 ] &&
        grep -q '^ctgp: process 1 of 3: .*memory' err && return 0
    echo "request $FAIL: exit code $code"
    cat out err
    return 1
}
command='fit t.csv --target y --kernel rbf --max-iter 1 --model many.ctgp'
while_the_table_is_received() {
    for k in $(seq 40); do
        starved "$k" "$@" || return 1
        ! grep -q 't.csv: no memory for [0-9]* bytes' err || return 0
    done
    return 1
}
that 'no memory while the table is received: one line, with the rank' while_the_table_is_received "$@"
command='predict one.ctgp t.csv --out table.csv'
starved 0 "$@"
all=$(cat count)
that 'there are many allocations' test "$all" -gt 50
each_starved() {
    for k in $(seq 1 $((all / 8 + 1)) "$all"); do starved "$k" "$@" || return 1; done
}
that 'and so anywhere else' each_starved "$@"

# A process that dies ends the others.
awk 'BEGIN { srand(9); print "a,y"
    for (i = 0; i < 3000; i++) { a = rand(); print a "," sin(9 * a) + rand() } }' >large.csv
dies() {
    "$@" -n 3 "$ctgp" fit large.csv --target y --model large.ctgp --kernel 'scale * rbf' --verbose \
        >out 2>err &
    started=$!
    for _ in $(seq 100); do
        grep -q 'iteration 0' err && break
        sleep 0.1
    done
    kill -9 "$(pgrep -P "$started" -n -f ctgp)"
    for _ in $(seq 300); do
        kill -0 $started 2>/dev/null || return 0
        sleep 0.1
    done
    kill -9 $started
    return 1
}
that 'a process that dies ends the others within 30 seconds' dies "$@"
that 'and there is no model' test ! -e large.ctgp

# begin NAME MPIRUN...: a long fit, whose first iterations are over. Its mpirun is $started.
begin() {
    model=$1
    shift
    : >err # else the loop may read the lines of an earlier fit
    "$@" -n 3 "$ctgp" fit t.csv --target y --model "$model" --kernel 'scale * rbf' --verbose \
        --restarts 1000 >out 2>err &
    started=$!
    for _ in $(seq 300); do
        grep -q 'iteration 1 ' err && return
        sleep 0.1
    done
}

# A process that is stopped is named after 30 seconds, and the fit goes on when it does.
begin silent.ctgp "$@"
stopped=$(pgrep -P $started -n -f ctgp)
kill -STOP "$stopped"
for _ in $(seq 600); do
    grep -q 'silent for' err && break
    sleep 0.1
done
that 'a stopped process is named' grep -qE '^ctgp: process(es)? .*[12].* of 3: silent for 30 s' err
kill -CONT "$stopped"
sleep 1
kill -USR1 $started
wait $started
that 'and SIGUSR1 to mpirun ends the fit well' test $? -eq 0
that 'which says so' grep -q '^ctgp: stopped; the best model so far is kept$' err
that 'with a model' "$ctgp" info silent.ctgp
that 'a stopped process is named once' test "$(grep -c 'silent for' err)" -eq 1

# Open MPI passes SIGTERM on after this time, and kills after twice the time. Meanwhile mpirun reads nothing,
# so a fit that prints much would wait for it. mpirun's own exit status is 1.
OMPI_MCA_odls_base_sigkill_timeout=5
export OMPI_MCA_odls_base_sigkill_timeout
"$@" -n 3 "$ctgp" fit t.csv --target y --model ended.ctgp --kernel 'scale * rbf' --restarts 1000 >out 2>err &
started=$!
sleep 3
kill -TERM $started
wait $started
that 'SIGTERM to mpirun keeps the model' "$ctgp" info ended.ctgp
that 'and says so' grep -q '^ctgp: stopped; the best model so far is kept$' err

plan
