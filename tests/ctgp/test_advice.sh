#!/usr/bin/env bash
# test_advice.sh CTGP: what ctgp info advises, in TAP.
# shellcheck source=tests/support/ctgp.sh
. "$(dirname "$0")/../support/ctgp.sh"

# chance: numbers in [0, 1), the same with every awk
chance='function chance(k) { k = sin(12.9898 * (k + 1)) * 43758.5453; return k - int(k) + (k < 0) }'
awk "$chance"'BEGIN { print "a,b,c,sd,level,wave,line,noise,half,rough"
    for (i = 0; i < 40; i++) { a = i / 8
        printf "%.4f,%.4f,%.4f,0.2,%s,%.6f,%.6f,%.6f,%.6f,%.6f\n", a, chance(i), chance(i + 100),
            i % 2 ? "u" : "v", sin(a), 2 * a + 1, chance(i + 200), sin(a) + (i % 2 ? chance(i + 300) : 0),
            3 * sin(i / 30) + 0.2 * chance(i + 400) + (i % 15 == 7 ? 0.6 : 0) } }' >t.csv

# info TARGET OPTION...: what ctgp info says of a fit, in the file info
info() {
    "$ctgp" fit "${table-t.csv}" --target "$1" --quiet --model m.ctgp "${@:2}" >out 2>err &&
        "$ctgp" info m.ctgp >info 2>err
}
# advises NAME PATTERN TARGET OPTION...: a line of advice
advises() {
    if ! info "${@:3}"; then flunk "$1" 'it failed'
    elif ! sed -n '/^advice:$/,$p' info | grep -qE "^  $2\$"; then
        cp info log
        flunk "$1" "no advice '$2': $(sed -n '/^advice:$/,$p' info)"
    else pass "$1"; fi
}
# also NAME PATTERN: another line of the same advice
also() { that "$1" grep -qE "^  $2\$" info; }

a=(--features a)
info half "${a[@]}" --kernel 'scale * rbf'
that 'a good model' grep -q '^at bounds    0$' info
that 'needs no advice' sh -c '! grep -q advice: info'

# -- noise ---------------------------------------------------------------------------------------------------

advises 'exact data' 'noise\.variance is at its lower bound: .* exact, --noise none, and if .*--priors weak' \
    wave "${a[@]}" --kernel 'scale * rbf'
that 'once' test "$(grep -c '^advice:$' info)" -eq 1
advises 'noise that may be no larger' 'noise\.variance is at its upper bound: the inputs explain nothing;.*' \
    noise "${a[@]}" --kernel 'scale * rbf' --upper 'noise.variance=0.01'
advises 'noise that is given' 'noise\.variance .*: the given noise suffices, without --noise learned' \
    wave "${a[@]}" --kernel 'scale * rbf' --noise-column sd --noise learned
advises 'a level without noise' \
    'noise\.variance\[v\] is .*: the model passes through its rows, against which .* --priors weak' \
    half "${a[@]}" --kernel 'scale * rbf' --noise-by level
that 'and no other' sh -c '! grep -q "variance.u. is at" info'
advises 'with priors' 'noise\.variance\[v\] is .*: the model passes through its rows' \
    half "${a[@]}" --kernel 'scale * rbf' --noise-by level --priors weak --lower 'noise.variance[v]=0.5'
advises 'a noise that falls' 'noise\.slope\[a\] is at its bound: .* vanishes .*; --noise learned' \
    half "${a[@]}" --kernel 'scale * rbf' --noise inputs --upper 'noise.slope*=0.01'

# -- the kernel's parameters ---------------------------------------------------------------------------------

advises 'a target that jumps' 'rbf\.lengthscale is at its lower bound: the target jumps along a; .*weak' \
    noise "${a[@]}" --kernel 'scale * rbf' --noise none
advises 'along several columns' \
    'rbf\.lengthscale is at its lower bound: the target jumps along its columns;.*' \
    wave --features a,b --kernel 'scale * rbf' --lower rbf.lengthscale=5
advises 'a lengthscale of several' \
    'rbf\.lengthscale is at its upper bound: this part of the kernel does not see its columns' \
    line --features a,b --kernel 'scale * rbf' --upper rbf.lengthscale=0.5
advises 'another parameter' \
    'rq\.alpha is at its upper bound: in --kernel rq\(alpha=VALUE\) .* \(alpha=VALUE!\) holds it' \
    wave "${a[@]}" --kernel 'scale * rq' --lower 'noise.variance=1e-4'
advises 'at the other end' 'rq\.alpha is at its lower bound: .*' \
    rough "${a[@]}" --kernel 'scale * rq' --lower rq.alpha=0.5 --noise none
advises 'a term that is not needed' \
    '--kernel without the term of scale#2\.variance, which is at its lower bound: leave-one-out loses .*' \
    half --features a,b --kernel 'scale * rbf(dims=0) + scale * rbf(dims=1)' --lower 'scale#2.variance=1e-4' \
    --restarts 0
advises 'and one that is' \
    'scale\.variance is at its lower bound, yet leave-one-out loses [0-9.e+]+ nats without this term' \
    half --features a,b --kernel 'scale * rbf + scale * linear' --lower scale.variance=3

# -- columns -------------------------------------------------------------------------------------------------

advises 'columns that do not matter' '--drop b,c: leave-one-out loses [0-9.e-]+ nats without them' \
    wave --features a,b,c --kernel 'scale * rbf(ard)'
advises 'one' '--drop b: leave-one-out loses [0-9.e-]+ nats without it' \
    wave --features a,b --kernel 'scale * rbf(ard)'
that 'is dropped' sh -c '"$1" fit t.csv --target wave --features a,b --drop b --quiet --model d.ctgp &&
    "$1" info d.ctgp | grep -qx "features     a"' - "$ctgp"
advises 'a column that matters at its bound' \
    'a stays, although rbf\.lengthscale\[a\] is at its upper bound: leave-one-out loses .* nats without it' \
    line --features a,b --kernel 'scale * rbf(ard)' --upper 'rbf.lengthscale*=0.2'
printf 'x,y\n-1,1\n1,3\n' >pair.csv
table=pair.csv advises 'a column without which there is no covariance' \
    'x matters, although rbf\.lengthscale is at its upper bound: without it there is no covariance' \
    y --kernel 'linear(dims=0) * rbf(dims=0)' --noise none --upper rbf.lengthscale=1
ok 'its sensitivity says so' '^  x  .* no covariance without it$' "$ctgp" info m.ctgp --sensitivity
ok 'in JSON, too' '"feature": "x", .*"loo_nlpd_without": null' "$ctgp" info m.ctgp --sensitivity --json

# -- the matrix ----------------------------------------------------------------------------------------------

advises 'a singular covariance' \
    'the covariance is singular without the jitter of .*: --noise learned, or leave out row [0-9]+' \
    line "${a[@]}" --kernel linear --noise none
also 'rows alike' 'rows are alike .*: --noise learned, or leave out one of each pair'
also 'few digits' 'few digits hold: --noise learned, or expect no more of a prediction'
{ cat t.csv && sed -n '3p;9p' t.csv; } >twice.csv
table=twice.csv advises 'rows that are there twice' \
    'rows are alike and there is next to no noise: --priors weak, or leave out one of each pair' \
    line "${a[@]}" --kernel 'scale * rbf(lengthscale=0.5!)'
that 'by their numbers' grep -qx 'rows alike   2: 41 as 2, 42 as 8' info
table=t.csv advises 'few digits of f32' 'no digits hold: --dtype f64' \
    half "${a[@]}" --kernel 'scale * rbf' --dtype f32 --lower scale.variance=1000000
also 'and their jitter' 'the covariance is singular without the jitter of [0-9.e-]+: --priors weak, or .*'
plan
