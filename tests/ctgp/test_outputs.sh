#!/usr/bin/env bash
# test_outputs.sh CTGP: several targets, each by itself, with one covariance, and joint. In TAP.
# shellcheck source=tests/support/ctgp.sh
. "$(dirname "$0")/../support/ctgp.sh"

# score NAME OUTPUT: the rmse on standard output of the last command
score() { sed -n "s/^$1: .*rmse=\([^ ]*\) .*/\1/p" out; }

# low is seen everywhere; high, a multiple of it, in the first half only; other has nothing to do with it.
awk 'BEGIN { srand(1); print "x,low,high,other"
    for (i = 0; i < 40; i++) { x = i / 4; f = sin(x) + 0.3 * x
        printf "%g,%.5f,%s,%.5f\n", x, f, i < 20 ? sprintf("%.5f", 100 - 7 * f) : "", cos(3 * x) } }' >t.csv
awk 'BEGIN { print "x,high,low"; for (i = 0; i < 10; i++) { x = 5.1 + i / 4; f = sin(x) + 0.3 * x
    printf "%g,%.5f,%.5f\n", x, 100 - 7 * f, f } }' >new.csv
cut -d, -f1,2 t.csv >one.csv
awk -F, 'NR == 1 || $3 != ""' t.csv >full.csv

# -- each ----------------------------------------------------------------------------------------------------

k=(--kernel 'scale * rbf' --quiet)
ok 'each is the default' '^high:$' "$ctgp" fit t.csv --target low,high,other "${k[@]}" --model each.ctgp
that 'with the rows that have its value' grep -q '^n=20 features=1 ' out
that 'and all rows for the others' sh -c "test \$(grep -c '^n=40 features=1 ' out) = 2"
ok 'one target by itself' 'n=40 features=1 ' "$ctgp" fit one.csv --target low "${k[@]}" --model one.ctgp
"$ctgp" predict one.ctgp new.csv --out one_p.csv >one_out
ok 'predict has columns of every output' '^low: n=10 ' \
    "$ctgp" predict each.ctgp new.csv --out p.csv --level 0.8
columns=$(for o in low high other; do printf '%s_mean,%s_std,%s_lower80,%s_upper80,' $o $o $o $o; done)
that 'by their names' grep -qx "${columns%,}" p.csv
that 'and says where a target is missing' grep -q '^other: n=0 rows=10: ' out
for i in 1 5 10; do
    near "row $i as from a model of one target" "$(cell p.csv $i low_mean)" "$(cell one_p.csv $i mean)" 0
done
ok 'predict --output has one' "^$(cat one_out)$" "$ctgp" predict each.ctgp new.csv --output low --out q.csv
that 'with plain names' cmp -s q.csv one_p.csv
ok 'predict --json' '^\{"outputs": \[\{"n": 10, .*"target": "low"\}, .*\]\}$' \
    "$ctgp" predict each.ctgp new.csv \
    --out p.csv --json
ok 'columns may be kept' '^low: ' "$ctgp" predict each.ctgp new.csv --keep x --out p.csv
that 'before those of the outputs' grep -q '^x,low_mean,low_std' p.csv
ok 'a name in quotes is one target' 'n=2 ' sh -c "printf 'x,\"a,b\"\n1,2\n2,3\n' >q.csv
    '$ctgp' fit q.csv --target a,b --kernel rbf --quiet"
ok 'and one of several' '^x: n=2 ' sh -c "printf 'x,\"a,b\",z\n1,2,5\n2,3,1\n' >q.csv
    '$ctgp' fit q.csv --target 'x,\"a,b\"' --kernel rbf --quiet && '$ctgp' predict q.ctgp q.csv --out p.csv"
that 'whose columns are in quotes' grep -q ',"a,b_mean",' p.csv
ok 'without --kernel a covariance is chosen for each' '^other:$' \
    "$ctgp" fit t.csv --target low,other --quiet \
    --model chosen.ctgp

# -- shared --------------------------------------------------------------------------------------------------

ok 'shared' '^shared, of outputs divided' "$ctgp" fit t.csv --target low,high --outputs shared "${k[@]}" \
    --model shared.ctgp --features x
that 'drops rows without all values' grep -q '20 of 40 rows are left out, a value is missing: high in 20$' err
ok 'high is a multiple of low: its error, too' 'high: n=10' "$ctgp" predict shared.ctgp new.csv --out p.csv
near 'seven times' "$(score high)" "7 * $(score low)" 0.02
for m in each shared; do
    "$ctgp" fit full.csv --target low,high --outputs $m "${k[@]}" --model $m.2.ctgp --features x >/dev/null
done
that 'one factor is in the file once' sh -c '[ $(wc -c <shared.2.ctgp) -lt $(($(wc -c <each.2.ctgp) * 3 \
    / 4)) ]'
ok 'info has the parameters in the units of an output' '^target +high' "$ctgp" info shared.ctgp --output high
ok 'whose values are standardised' '^standardize  yes$' "$ctgp" info shared.ctgp --output high
near 'a variance 49 times as large' "$("$ctgp" info shared.ctgp --output high | awk '/scale.variance/ { \
    print $2 }')" \
    "49 * $("$ctgp" info shared.ctgp --output low | awk '/scale.variance/ { print $2 }')" 1e-4

# -- joint ---------------------------------------------------------------------------------------------------

ok 'joint' '^  high +[0-9.]+ +-(0.9|1.0)' \
    "$ctgp" fit t.csv --target low,high --outputs joint --kernel rbf --quiet \
    --model joint.ctgp --features x
that 'uses rows with one value' sh -c '! grep -q "left out" err'
ok 'and learns high from low where it was never seen' '^high: n=10' \
    "$ctgp" predict joint.ctgp new.csv --out p.csv
that 'well' awk "BEGIN { exit !($(score high) < 0.3) }"
ok 'by itself it cannot' '^high: n=10' "$ctgp" predict each.ctgp new.csv --out p.csv
that 'at all' awk "BEGIN { exit !($(score high) > 0.5) }"
ok 'loo scores every output' '^high: n=20 ' "$ctgp" loo joint.ctgp
that 'and says what it knows' grep -q 'those of the other outputs in its row' err
ok 'loo of one, with the lines of the table' '^n=20 ' "$ctgp" loo joint.ctgp t.csv --output high --out loo.csv
that 'that has its values' sh -c '[ $(sed -n 21p loo.csv | cut -d, -f1) = 21 ]'
ok 'loo --json' '^\{"outputs": \[\{"target": "low", "n": 40, .*\]\}$' "$ctgp" loo joint.ctgp --json
ok 'compare' 'better' "$ctgp" compare each.ctgp joint.ctgp new.csv --output high
ok 'info' '^outputs +2, joint$' "$ctgp" info joint.ctgp
ok 'info --json' '^\{"kind": "joint", "outputs": \[\{"target": "low", .*\}\]\}$' \
    "$ctgp" info joint.ctgp --json
ok 'sensitivity' '^  x  ' "$ctgp" info joint.ctgp --output high --sensitivity
ok 'sample' 'rows=10' "$ctgp" sample joint.ctgp new.csv --output high --samples 2 --out p.csv
awk -F, 'NR == 1 { print "x,low,high" } NR > 1 { print $1 "," $2 + (NR == 31 ? 20 : 0) "," \
    (NR % 3 ? $4 : "") }' t.csv >far.csv
awk -F, 'BEGIN { OFS = "," } NR > 1 && NR % 4 == 0 { $2 = "" } { print }' far.csv >gaps.csv
ok 'an outlier is named by its line' 'outliers +line 31 ' "$ctgp" fit gaps.csv --target low,high \
    --outputs joint --kernel rbf --quiet --model gaps.ctgp
ok 'by fit and by info' '^outliers +line 31 ' "$ctgp" info gaps.ctgp gaps.csv --output low
for kind in shared joint; do
    ok "$kind: a period without a start" '^n=' "$ctgp" fit full.csv --target low,high --features x \
        --outputs $kind --kernel 'scale * periodic(dims=x)' --quiet --max-iter 5 --model period.ctgp
    that 'is searched five times, as with one target' grep -q 'no start of its own: 5 searches' err
done
awk -F, 'NR == 1 { print "x,kind,low,high" } NR > 1 { k = NR % 2
    print $1 "," (k ? "a" : "b") "," $2 + 3 * k "," 100 - 7 * $2 + 9 * k }' t.csv >kinds.csv
for kind in shared joint; do
    ok "$kind: a category is used" 'kernel": "[^"]*category' \
        "$ctgp" fit kinds.csv --target low,high --outputs $kind --quiet --json --model kinds.ctgp
    ok "$kind: or nothing else" 'kernel": "[^"]*category' "$ctgp" fit kinds.csv --target low,high \
        --features kind --outputs $kind --quiet --json --model kinds.ctgp
done
ok 'a kernel with a covariance of outputs for each part' 'index#2' \
    "$ctgp" fit t.csv --target low,high --outputs joint \
    --kernel 'index(dims=output) * rbf(dims=x) + index(dims=output) * linear(dims=x)' --quiet --features x \
    --model sum.ctgp
ok 'a rank' 'index.w\[1,1\]' \
    "$ctgp" fit t.csv --target low,high --outputs joint --rank 2 --kernel rbf --quiet \
    --features x --model rank.ctgp
ok 'rows held back are scored' 'rows held back +n=8' \
    "$ctgp" fit t.csv --target low,high --outputs joint --kernel rbf \
    --quiet --features x --model held.ctgp --test-fraction 0.2
ok 'fit --json' '^\{"kind": "joint", "outputs": \[\{"kernel": .*"model": .*\}, \{.*\}\]\}$' \
    "$ctgp" fit t.csv --target low,high \
    --outputs joint --json --quiet --model json.ctgp

# -- append --------------------------------------------------------------------------------------------------

printf 'x,low,high,other\n10.5,1,,3\n11,2,90,\n12,,,\n' >more.csv
ok 'append to each' 'n=104 appended=2 ' "$ctgp" append each.ctgp more.csv --model more.ctgp --force
ok 'append to shared' 'n=42 appended=1 ' "$ctgp" append shared.ctgp more.csv --model more.ctgp
ok 'append to joint' 'n=63 appended=2 ' "$ctgp" append joint.ctgp more.csv --model more.ctgp \
    --force
ok 'what was appended is known' '^high: n=1 ' "$ctgp" predict more.ctgp more.csv --out p.csv
ok 'without a factor' 'n=20' "$ctgp" fit full.csv --target low,high --features x --outputs shared "${k[@]}" \
    --no-factor --model bare.ctgp
ok 'it is computed when needed' '^high: ' "$ctgp" predict bare.ctgp new.csv --out p.csv

# -- what is refused -----------------------------------------------------------------------------------------

bad 'a target that is no column' 2 "no column 'none'" "$ctgp" fit t.csv --target low,none
bad 'a target twice' 1 "'low' twice" "$ctgp" fit t.csv --target low,low
bad 'no such kind' 1 'each, shared or joint' "$ctgp" fit t.csv --target low,high --outputs all
bad 'a rank without outputs' 1 '--outputs joint' "$ctgp" fit t.csv --target low,high --rank 2
bad 'a rank above the outputs' 1 'rank 3 is above the number of targets, 2$' "$ctgp" fit t.csv \
    --target low,high --outputs joint --rank 3 --quiet
bad 'also of one' 1 'rank 2 is above the number of targets, 1$' "$ctgp" fit t.csv --target low \
    --outputs joint --rank 2 --quiet
bad 'a trend' 1 'averages' "$ctgp" fit t.csv --target low,high --outputs joint --mean linear
bad 'a noise' 1 'learns its noise' "$ctgp" fit t.csv --target low,high --outputs shared --noise none
bad 'a transform' 1 'has no --transform' "$ctgp" fit t.csv --target low,high --outputs joint --transform log
bad 'a season' 1 'has no --season' "$ctgp" fit t.csv --target low,high --outputs shared --season x
bad 'another objective' 1 'likelihood' "$ctgp" fit t.csv --target low,high --outputs shared --objective loo
bad 'a target among the features' 1 "target 'high'" "$ctgp" fit t.csv --target low,high --features x,high
bad 'an output that is not there' 1 "no output 'none'; it has low, high" \
    "$ctgp" predict joint.ctgp new.csv --output none
bad 'several for a picture' 1 'several outputs, low, high: --output' \
    "$ctgp" plot joint.ctgp new.csv --out p.svg
bad 'several for draws' 1 '--output NAME' "$ctgp" sample joint.ctgp new.csv --out p.csv
bad 'several left out into one file' 1 '--output NAME' "$ctgp" loo joint.ctgp --out p.csv
bad 'folds of joint outputs' 1 'one by one' "$ctgp" loo joint.ctgp --folds 3
bad 'an output that one of two models has' 1 "one.ctgp has no output 'high'" \
    "$ctgp" compare one.ctgp joint.ctgp \
    --output high
plan
