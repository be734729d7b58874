#!/usr/bin/env bash
# test_trend.sh CTGP: a mean of basis functions on a file with a trend, a season and rows beyond it, in TAP.
# shellcheck source=tests/support/ctgp.sh
. "$(dirname "$0")/../support/ctgp.sh"

# 120 months: 300 + 1.5 a month and a wave; the last 24 are kept for the forecast.
awk 'BEGIN { srand(11); print "the month,kind,y"
    for (i = 0; i < 144; i++)
        printf "%d,%d,%.4f\n", 2000 + i, i % 2, 300 + 1.5 * i + 2 * sin(i / 3) + rand() - 0.5 }' >all.csv
head -n 121 all.csv >train.csv
{ head -n 1 all.csv; tail -n 24 all.csv; } >later.csv
fit=("$ctgp" fit train.csv --target y --features 'the month' --kernel 'scale * matern32')

ok 'fit' '^  "the month" +1\.[45][0-9]* +\+- 0\.0' "${fit[@]}" --mean '1 + "the month"' --model line.ctgp
ok 'info tells the mean' '^mean +1 \+ "the month"$' "$ctgp" info line.ctgp
that 'and the coefficients with their errors' grep -qE '^  "the month" +1\.[45][0-9]* +\+- 0\.0' out
ok 'in JSON, too' '"mean": "1 \+ \\"the month\\""' "$ctgp" info line.ctgp --json
that 'which is JSON' python3 -c 'import json; d = json.load(open("out"))
c = d["coefficients"]["\"the month\""]
assert abs(c["value"] - 1.5) < 3 * c["error"] < 0.5, c'
ok 'fit --json' '"coefficients": \{"1": \{"value": ' \
    "${fit[@]}" --mean '1 + "the month"' --model j.ctgp --json
ok 'a forecast follows the trend' '^n=24 ' "$ctgp" predict line.ctgp later.csv --out line.csv
that 'and its intervals hold' awk -F'[= ]' '{ exit !($4 < 6 && $10 >= 0.8) }' out
ok 'fit of a level' . "${fit[@]}" --model level.ctgp
ok 'its forecast does not' '^n=24 ' "$ctgp" predict level.ctgp later.csv --out level.csv
that 'by far' awk -F'[= ]' '{ exit !($4 > 6) }' out
ok 'fit of a bend' . "${fit[@]}" --mean '1 + "the month" + "the month"^2' --model bend.ctgp
ok 'its forecast' '^n=24' "$ctgp" predict bend.ctgp later.csv --out bend.csv
that 'has intervals that grow faster with the distance' sh -c 'paste -d, line.csv bend.csv |
    awk -F, "NR == 25 { exit !(\$6 > 1.2 * \$2) }"'
ok 'leave-one-out' '^n=120 rmse=0\.[0-9]+ ' "$ctgp" loo line.ctgp
ok 'append' '^n=144 appended=24' "$ctgp" append line.ctgp later.csv --model longer.ctgp
ok 'the coefficients follow' '^  "the month" +1\.[45][0-9]* ' "$ctgp" info longer.ctgp
ok 'draws' . "$ctgp" sample line.ctgp later.csv --samples 2 --seed 1 --out -
ok 'a model without its factor' . "${fit[@]}" --mean '1 + "the month"' --no-factor --model bare.ctgp
ok 'predicts the same' '^n=24 ' "$ctgp" predict bare.ctgp later.csv --out bare.csv
that 'to rounding' sh -c 'paste -d, line.csv bare.csv |
    awk -F, "NR > 1 { d = \$1 - \$5; e = \$2 - \$6; if (d * d > 1e-12 || e * e > 1e-12) exit 1 }"'
ok 'the choice of a covariance, too' '^n=120 features=2 ' "$ctgp" fit train.csv --target y \
    --mean '1 + "the month" + kind' --model chosen.ctgp

LINES_ALLOWED=3 bad 'no such column' 1 'mean: no such column; there are the month' "${fit[@]}" --mean '1 + q'
that 'with a caret under it' grep -qE '^      \^$' err
bad 'no such word' 1 "'liner' is not constant, zero or linear" "${fit[@]}" --mean liner
LINES_ALLOWED=3 bad 'a coefficient' 1 'the only number is 1' "${fit[@]}" --mean '2 * "the month"'
bad 'a function twice over' 2 'the function kind\^2 is, to rounding, a combination of those before' \
    "$ctgp" fit train.csv --target y --mean '1 + kind + kind^2' --kernel 'scale * rbf'
head -n 4 train.csv >few.csv
bad 'more functions than rows' 2 '3 functions for 3 rows' "$ctgp" fit few.csv --target y \
    --features 'the month' --kernel 'scale * rbf' --mean '1 + "the month" + "the month"^2'
for other in '--objective loo' '--precision mixed'; do
    # shellcheck disable=SC2086
    bad "not with $other" 1 "a trend .* leave $other out" "${fit[@]}" --mean 1 $other
done
for other in '--objective loo' '--dtype f32'; do
    # shellcheck disable=SC2086
    bad "mixed precision not with $other" 1 "--precision mixed .* leave $other out" "${fit[@]}" \
        --precision mixed $other
done
ok 'folds' '^n=120 folds=3 ' "$ctgp" loo line.ctgp --folds 3
ok 'groups' '^n=120 folds=2 ' "$ctgp" loo line.ctgp train.csv --by kind

plan
