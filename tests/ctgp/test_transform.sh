#!/usr/bin/env bash
# test_transform.sh CTGP: a target on another scale, against closed forms: likelihood, scores, intervals and
# draws are those of the target. In TAP.
# shellcheck source=tests/support/ctgp.sh
. "$(dirname "$0")/../support/ctgp.sh"

# field NAME FILE: the number of "NAME=..." or "NAME": ... in a file
field() { sed -nE "s/.*\"?$1\"?(=|: )(-?[0-9.e+-]+).*/\2/p" "$2" | head -n 1; }

# Rows so far apart that they are independent: z is normal with mean 0 and variance k + v = 1.25, and one row
# more of the same x has mean z / 1.25 and variance 1.25 - 1 / 1.25 = 0.45.
fixed=(--target y --mean zero --standardize no --quiet --kernel 'scale(1!) * rbf(lengthscale=1!)'
    --lower noise.variance=0.25 --upper noise.variance=0.25)
printf 'x,y\n0,2\n100,0.5\n200,3\n' >log.csv
printf 'x,y\n0,0.2\n100,0.5\n200,0.7\n' >logit.csv
printf 'x,y\n0,4\n100,0\n200,1\n' >sqrt.csv
printf 'x,y\n0,0.5\n-500,0.8\n' >new.csv
pi2=6.283185307179586
declare -A g=([log]='log(y)' [logit]='log(y / (1 - y))' [sqrt]='sqrt(y)')
# The slope of a 0 is the average one up to the smallest positive y, which is 1.
declare -A slope=([log]='-log(y)' [logit]='-log(y * (1 - y))' [sqrt]='(y > 0 ? -log(2 * sqrt(y)) : 0)')
declare -A inverse=([log]='exp(z)' [logit]='1 / (1 + exp(-z))' [sqrt]='(z > 0 ? z * z : 0)')
# of KIND: minus the log density of y, in a program of awk that knows mean and variance of z
loss() { echo "(log($pi2 * v) + (${g[$1]} - m) ^ 2 / v) / 2 - (${slope[$1]})"; }
# at KIND Z: g⁻¹
at() { awk "BEGIN { z = $2; printf \"%.17g\", ${inverse[$1]} }"; }

for kind in log logit sqrt; do
    ok "$kind: a fit" 'parameters are of' "$ctgp" fit $kind.csv "${fixed[@]}" --transform $kind
    that "$kind: which says of what" grep -q "parameters are of *$kind(y)" out
    sum=$(awk -F, "NR > 1 { y = \$2; m = 0; v = 1.25; s += $(loss $kind) }
        END { printf \"%.12g\", s }" $kind.csv)
    near "$kind: the likelihood is that of y" "$(field nlml out)" "$sum" 1e-6
    ok "$kind: leave-one-out" '"n": 3,' "$ctgp" loo $kind.ctgp --json --out loo.csv
    near "$kind: has its density" "$(field nlpd out)" "$sum / 3" 1e-6
    says "$kind: a prediction and its score" '"n": 2,' "$ctgp" predict $kind.ctgp new.csv --out $kind.out \
        --level 0.5 --quantiles 0.9 --json
    first=$(awk -F, "NR == 2 { y = \$2; printf \"%.17g\", (${g[$kind]}) / 1.25 }" $kind.csv)
    near "$kind: the median" "$(cell $kind.out 1 median)" "$(at $kind "$first")" 1e-5
    near "$kind: the interval's lower end" "$(cell $kind.out 1 lower50)" \
        "$(at $kind "$first - 0.6744897501960817 * sqrt(0.45)")" 1e-5
    near "$kind: the upper one" "$(cell $kind.out 1 upper50)" \
        "$(at $kind "$first + 0.6744897501960817 * sqrt(0.45)")" 1e-5
    near "$kind: far from all rows" "$(cell $kind.out 2 q0.9)" \
        "$(at $kind '1.2815515655446004 * sqrt(1.25)')" 1e-9
    near "$kind: the nlpd of y" "$(field nlpd out)" "$(awk "BEGIN { y = 0.5; m = $first; v = 0.45
        a = $(loss $kind); y = 0.8; m = 0; v = 1.25; printf \"%.12g\", (a + $(loss $kind)) / 2 }")" 1e-5
    that "$kind: both rows are inside" grep -q '"coverage95": 1[,}]' out
    says "$kind: info" "^transform +$kind$" "$ctgp" info $kind.ctgp
    that "$kind: of what its parameters are" grep -q "parameters, in the units of $kind(y):" out
    says "$kind: as JSON" "\"transform\": \"$kind\"" "$ctgp" info --json $kind.ctgp
    says "$kind: sensitivity" "sensitivity of the mean of $kind\(y\) to features" \
        "$ctgp" info --sensitivity $kind.ctgp
    says "$kind: draws" 'of=observations' "$ctgp" sample $kind.ctgp new.csv --noisy --samples 3000 --seed 2 \
        --out draws.csv
    near "$kind: have the quantiles of y" "$(tail -n 1 draws.csv | tr , '\n' |
        awk -v q="$(cell $kind.out 2 q0.9)" '$1 < q { n++ } END { print n / NR }')" 0.9 0.02
    says "$kind: rows appended" 'n=4 appended=1 ' "$ctgp" append $kind.ctgp \
        <(printf 'x,y\n300,0.5\n') --model more.ctgp
    near "$kind: with their density" "$(field nlml out)" \
        "$(awk "BEGIN { y = 0.5; m = 0; v = 1.25; printf \"%.12g\", $sum + $(loss $kind) }")" 1e-6
done
# The moments: of the log-normal, of a square.
near 'the mean of a log-normal' "$(cell log.out 2 mean)" 'exp(1.25 / 2)' 1e-9
near 'its deviation' "$(cell log.out 2 std)" 'exp(1.25 / 2) * sqrt(exp(1.25) - 1)' 1e-9
near 'the mean of half a square' "$(cell sqrt.out 2 mean)" '1.25 / 2' 1e-9
near 'a share between even ends' "$(cell logit.out 2 mean)" 0.5 1e-12
near 'leave-one-out of y' "$(cell loo.csv 1 mean)" '1.25 / 2' 1e-9
near 'and its deviation' "$(cell loo.csv 1 std)" '1.25 * sqrt(1.25)' 1e-9

# -- with other options --------------------------------------------------------------------------------------

awk 'BEGIN { srand(3); print "x,batch,y"
    for (i = 0; i < 60; i++) { x = 6 * rand(); e = rand() + rand() + rand()
    printf "%.3f,%s,%.4f\n", x, i % 2 ? "a" : "b", exp(1 + sin(x) + 0.8 * (e - 1.5)) } }' >skew.csv
ok 'a skewed target' 'parameters are of +log\(y\)$' \
    "$ctgp" fit skew.csv --target y --drop batch --quiet --model plain.ctgp
that 'learns its log' grep -qE "log of 'y' is learned: leave-one-out gains [0-9.]+ nats a row" err
ok 'unless it may not' '^n=60 ' "$ctgp" fit skew.csv --target y --drop batch --quiet --transform none \
    --model plain.ctgp
that 'in which case nothing is tried' bash -c '! grep -q skewed err'
says 'with the option there is none' 'nlml' "$ctgp" fit skew.csv --target y --drop batch --quiet \
    --transform log --test-fraction 0.3 --model log.ctgp
that 'or none' bash -c '! grep -q skewed err'
near 'held-back rows are covered' "$(field coverage95 out)" 0.95 0.08
sed 's/,a,/,1,/; s/,b,/,2,/' skew.csv >two.csv
that 'not one that is not skewed' bash -c '! "$1" fit two.csv --target batch --drop y --quiet 2>&1 |
    grep -q skewed' - "$ctgp"
awk -F, 'NR == 1 { print "x,y,err"; next } { print $1 "," $3 "e-140,0.1" }' skew.csv >tiny.csv
awk -F, 'NR == 1 { print "x,y,err"; next } { print $1 "," $3 ",0.1" }' skew.csv >err.csv
that 'nor beside a noise that is given' bash -c '! "$1" fit err.csv --target y --noise-column err \
    --quiet 2>&1 | grep -q skewed' - "$ctgp"
says 'a log far from 0' 'nlml' "$ctgp" fit tiny.csv --target y --drop err --quiet --transform log \
    --kernel 'scale * rbf' --model tiny.ctgp
says 'whose rows are found again' 'folds=' "$ctgp" loo tiny.ctgp tiny.csv --by x
says 'all rows' 'nlml' "$ctgp" fit skew.csv --target y --drop batch --quiet --transform log --model log.ctgp
says 'a comparison of the two' 'log.ctgp (has|is).*densities' "$ctgp" compare plain.ctgp log.ctgp
says 'on a table' 'log.ctgp (has|is).*densities' "$ctgp" compare plain.ctgp log.ctgp skew.csv
says 'folds' 'folds=5' "$ctgp" loo log.ctgp --folds 5
says 'a learned noise for each level' 'noise.variance\[a\]' "$ctgp" fit skew.csv --target y --transform log \
    --quiet --noise-by batch --model batch.ctgp
says 'draws with it' 'of=observations' "$ctgp" sample batch.ctgp skew.csv --noisy --out draws.csv
that 'are positive' awk -F, 'NR > 1 && !($1 > 0) { exit 1 }' draws.csv
says 'a trend of the log' 'x +' "$ctgp" fit skew.csv --target y --drop batch --transform log --quiet \
    --mean '1 + x' --model trend.ctgp
says 'the leave-one-out objective' 'nlml' "$ctgp" fit skew.csv --target y --drop batch --transform log \
    --quiet --objective loo --model loo.ctgp
printf 'x,y\n0,0.5\n1,0.999999999\n2,0.7\n3,0.2\n' >shares.csv
says 'a share that f32 would make 1' 'features=1' "$ctgp" fit shares.csv --target y --transform logit \
    --quiet --dtype f32 --kernel 'scale * rbf' --model narrow.ctgp
says 'such a row appended' 'n=8 appended=4' "$ctgp" append narrow.ctgp shares.csv --model more.ctgp
says 'none is no transform' '"transform": "none"' "$ctgp" fit skew.csv --target y --drop batch \
    --transform none --quiet --json --model none.ctgp
if command -v gnuplot >/dev/null; then
    says 'a curve' 'picture=' "$ctgp" plot log.ctgp skew.csv --out curve.svg
    that 'of medians' grep -q 'y, median with 95 %' curve.svg
    that 'whose title says of what' grep -q 'log.ctgp, of log(y): ' curve.svg
    says 'a model of two inputs' 'features=2' "$ctgp" fit skew.csv --target y --transform log --quiet \
        --model both.ctgp
    says 'has panels' 'picture=' "$ctgp" plot both.ctgp skew.csv --out panels.svg
    that 'of medians, too' grep -q 'median with 95 %' panels.svg
fi

# -- refusals ------------------------------------------------------------------------------------------------

bad 'no such transform' 1 "--transform: 'ln' is not none, log, logit or sqrt" \
    "$ctgp" fit skew.csv --target y --transform ln
bad 'a zero' 2 "sqrt.csv, line 3, column 'y': 0, and log takes numbers above 0: fit with --transform sqrt" \
    "$ctgp" fit sqrt.csv --target y --transform log --model no.ctgp
printf 'x,y\n1,30%%\n2,50%%\n3,80%%\n' >percent.csv
LINES_ALLOWED=2 bad 'percent' 2 \
    "line 2, column 'y': 30, and logit takes numbers between 0 and 1: divide the column by 100" \
    "$ctgp" fit percent.csv --target y --transform logit --model no.ctgp
printf 'x,y\n1,1\n2,-3\n3,5\n4,6\n' >negative.csv
bad 'a negative number' 2 "negative.csv, line 3, column 'y': -3, and sqrt takes numbers from 0 on" \
    "$ctgp" fit negative.csv --target y --transform sqrt --model no.ctgp
that 'nothing is written' test ! -e no.ctgp
bad 'rows to score' 2 "negative.csv, line 3, column 'y': -3, and log takes" \
    "$ctgp" predict log.ctgp negative.csv --out no.csv
bad 'rows to append' 2 "negative.csv, line 3, column 'y': -3, and log takes" \
    "$ctgp" append log.ctgp negative.csv --model no.ctgp
that 'nor is it here' test ! -e no.csv -a ! -e no.ctgp
bad 'a noise that is given' 1 '--noise-column tells the noise of the target, not of its log' \
    "$ctgp" fit skew.csv --target y --transform log --noise-column x
printf 'x,y\n0,1e-140\n1,1e140\n2,1\n3,1e-100\n' >wide.csv
says 'a target over 280 decades' 'nlml' "$ctgp" fit wide.csv --target y --transform log --quiet \
    --model wide.ctgp --kernel 'scale * rbf'
bad 'a mean beyond all numbers' 3 "line [23]: the mean of 'y' is beyond the range of numbers, as its log" \
    "$ctgp" predict wide.ctgp <(cut -d, -f1 new.csv) --out no.csv
bad 'the same by leave-one-out' 3 "row 1 of the model: .* the mean of 'y' is beyond the range of numbers" \
    "$ctgp" loo wide.ctgp --json --out no.csv
bad 'and in a comparison' 3 "row 1 of the model: .* the mean of 'y' is beyond the range of numbers" \
    "$ctgp" compare wide.ctgp wide.ctgp
that 'nothing is written there' test ! -e no.csv
plan
