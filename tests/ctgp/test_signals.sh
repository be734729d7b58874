#!/usr/bin/env bash
# test_signals.sh CTGP SIGNAL_SYNC: a signal while a file is written leaves the whole file and nothing beside
# it. In TAP.
# shellcheck source=tests/support/ctgp.sh
. "$(dirname "$0")/../support/ctgp.sh"
sync=$2

awk 'BEGIN { print "x,z,y"; for (i = 0; i < 20; i++) print i / 5 "," i % 3 "," sin(i / 4) }' >t.csv
fit=(fit t.csv --target y --kernel rbf --max-iter 2 --quiet)
"$ctgp" "${fit[@]}" --model m.ctgp >out 2>err
"$ctgp" predict m.ctgp t.csv --out p.csv >out 2>err
"$ctgp" sample m.ctgp t.csv --out s.csv >out 2>err
"$ctgp" loo m.ctgp --out l.csv >out 2>err

# leaves FILE CODE COMMAND...: the command ends with the code, and FILE is as it is without the signal. Signal
# 1, which nohup has programs ignore, has its usual effect.
leaves() {
    local file=$1 wanted=$2 rc=0
    shift 2
    cp "$file" whole && rm "$file"
    env --default-signal SIGNAL="$number" LD_PRELOAD="$sync" "$@" >out 2>err || rc=$?
    [ $rc = "$wanted" ] && ! compgen -G '*.tmp-*' >log && cmp "$file" whole
}
for number in 1 2 15; do
    ended=$((128 + number))
    "$ctgp" append m.ctgp t.csv --model a.ctgp >out 2>err
    that "signal $number in predict" leaves p.csv $ended "$ctgp" predict m.ctgp t.csv --out p.csv
    that "signal $number in sample" leaves s.csv $ended "$ctgp" sample m.ctgp t.csv --out s.csv
    that "signal $number in loo" leaves l.csv $ended "$ctgp" loo m.ctgp --out l.csv
    that "signal $number in append" leaves a.ctgp $ended "$ctgp" append m.ctgp t.csv --model a.ctgp
    if command -v gnuplot >/dev/null; then
        "$ctgp" plot m.ctgp t.csv --out p.png >out 2>err
        that "signal $number in plot" leaves p.png $ended "$ctgp" plot m.ctgp t.csv --out p.png
    fi
    # A fit takes the first SIGINT or SIGTERM for the end of its search; the time it took is in the model.
    rm m.ctgp
    env --default-signal SIGNAL="$number" LD_PRELOAD="$sync" "$ctgp" "${fit[@]}" --model m.ctgp >out 2>err
    that "signal $number in fit" test $? = $((number == 1 ? ended : 0))
    ok 'leaves its model' '^target ' "$ctgp" info m.ctgp
    that 'and nothing else' sh -c '! ls | grep tmp-'
done

# Ignored, it stays so; the second of a signal ends a program that hangs.
that 'an ignored signal' sh -c 'trap "" HUP; SIGNAL=1 LD_PRELOAD=$1 "$2" predict m.ctgp t.csv --out p.csv' \
    sh "$sync" "$ctgp"
mkfifo pipe
that 'a signal while nobody reads a pipe' sh -c '
    timeout -s TERM 1 "$1" predict m.ctgp t.csv --out pipe; [ $? = 124 ]' sh "$ctgp"

plan
