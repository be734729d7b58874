#!/usr/bin/env bash
# test_season.sh CTGP: a week in a table of dates, of numbers and of several columns, in TAP.
# shellcheck source=tests/support/ctgp.sh
. "$(dirname "$0")/../support/ctgp.sh"

# 140 days: a slow rise, less at weekends, noise, and a second column that matters little.
awk 'BEGIN { srand(5); print "day,date,heat,sold"
    for (i = 0; i < 140; i++) {
        month = i < 31 ? 1 : i < 59 ? 2 : i < 90 ? 3 : i < 120 ? 4 : 5
        of = i - (month > 1 ? 31 : 0) - (month > 2 ? 28 : 0) - (month > 3 ? 31 : 0) - (month > 4 ? 30 : 0) + 1
        heat = rand()
        printf "%d,2023-%02d-%02d,%.4f,%.4f\n", i, month, of, heat,
            20 + i / 50 - 5 * (i % 7 == 0 || i % 7 == 6) + heat + rand() - 0.5 } }' >all.csv
cut -d, -f2,4 all.csv >dates.csv
cut -d, -f1,4 all.csv >days.csv
cut -d, -f2-4 all.csv >heat.csv
awk 'BEGIN { srand(6); print "date,y"
    for (i = 1; i <= 60; i++) printf "%d-01-01,%.4f\n", 1950 + i, rand() }' >noise.csv

ok 'a table of dates' '^  periodic\.period +(7|6\.99|7\.00)[0-9]* days$' \
    "$ctgp" fit dates.csv --target sold --test-last 0.2 --model dates.ctgp
that 'says so in words' grep -qE \
    '^  in words +a season of (7|6\.99[0-9]*|7\.0[0-9]*) days; noise 0\.[0-9]+$' out
that 'shows the season' grep -qE \
    '^ctgp: date: season of (7|6\.99[0-9]*|7\.00[0-9]*) days \(power 0\.[0-9]+\)$' err
that 'and compares it' grep -qE 'periodic\(period=[67]\.[0-9]+\) \* rbf: AICc [0-9.]+$' err
that 'forecasts it' sh -c 'sed -n "s/.*rows held back.* rmse=\([0-9.]*\).*/\1/p" out |
    awk "{ exit !(\$1 < 1) }"'
ok 'without it' '^n=112 ' "$ctgp" fit dates.csv --target sold --test-last 0.2 --season none --model none.ctgp
that 'nothing is said' sh -c '! grep -q season err'
that 'and nothing is forecast' sh -c 'sed -n "s/.*rows held back.* rmse=\([0-9.]*\).*/\1/p" out |
    awk "{ exit !(\$1 > 2) }"'
ok 'in JSON' '"seasons": \[\{"period": [67]\.' \
    "$ctgp" fit dates.csv --target sold --json --quiet --model j.ctgp
that 'which is JSON' python3 -c 'import json; s = json.load(open("out"))["seasons"]
assert abs(s[0]["period"] - 7) < 0.05 and 0 < s[0]["power"] < 1 and s[0]["false_alarm"] < 1e-4, s'
ok 'noise has none' '"seasons": \[\]' "$ctgp" fit noise.csv --target y --json --model noise.ctgp

ok 'a table of numbers' '^  periodic\.period +[67]\.[0-9]+$' \
    "$ctgp" fit days.csv --target sold --model days.ctgp
awk 'BEGIN { srand(7); print "x,y"
    for (i = 0; i < 90; i++) print i "," rand() + (i % 9 == 0) / 4 }' >weak.csv
ok 'a weak season of numbers' '^n=90 ' "$ctgp" fit weak.csv --target y --model weak.ctgp
that 'is none' sh -c '! grep -q season err'
# a straight trend goes on
awk 'BEGIN { srand(8); print "t,y"
    for (i = 0; i < 150; i++) { wander = 0.8 * wander + rand() - 0.5
        printf "%.6f,%.5f\n", i / 12, i / 5 + 3 * sin(i * 3.14159265 / 6) + wander } }' >rise.csv
ok 'a season on a straight trend' '^n=105 ' \
    "$ctgp" fit rise.csv --target y --test-last 0.3 --model rise.ctgp
that 'is chosen by forecasts, too' grep -q 'AICc and by forecasts of the last tenth' err
that 'is forecast' sh -c 'sed -n "s/.*rows held back.* rmse=\([0-9.]*\).*/\1/p" out |
    awk "{ exit !(\$1 < 2) }"'
ok 'a kernel without a part for it' '^n=140 ' \
    "$ctgp" fit days.csv --target sold --kernel 'scale * rbf' --model rbf.ctgp
that 'has a hint' grep -qE \
    '^ctgp: the kernel has no part for it, such as scale \* periodic\(period=[67]\.[0-9]+\)$' err
awk 'BEGIN { print "day,sold"
    for (i = 0; i < 140; i++) printf "%d,%.6g\n", i, exp(3 * sin(0.8975979 * i)) }' >waves.csv
ok 'a wave in the log of the target' '^n=140 ' \
    "$ctgp" fit waves.csv --target sold --transform log --kernel 'scale * rbf' --model rbf.ctgp
that 'has a hint of its strength there' grep -qE '^ctgp: day: season of [67]\.[0-9]+ \(power 0\.9[0-9]\)$' err
ok 'a week in f32' '^n=140 ' "$ctgp" fit days.csv --target sold --dtype f32 --kernel 'scale * rbf' \
    --max-iter 3 --model narrow.ctgp
that 'has a hint, too' grep -qE '^ctgp: day: season of [67]\.[0-9]+ \(power ' err
ok 'among several columns' '^  periodic\.period +[67][.0-9]* days$' \
    "$ctgp" fit heat.csv --target sold --model heat.ctgp
ok 'and a kernel' '^n=140 ' "$ctgp" fit heat.csv --target sold --kernel 'scale * rbf' --model rbf.ctgp
that 'has a hint' grep -qE 'such as scale \* periodic\(dims=0, period=[67]\.[0-9]+\)$' err
ok 'and the column by name' '^  periodic\.period +[67][.0-9]* days$' \
    "$ctgp" fit heat.csv --target sold --season date --model heat.ctgp
ok 'the model says so' 'periodic\(dims=0\)' "$ctgp" info heat.ctgp
ok 'and predicts' '^n=140 ' "$ctgp" predict heat.ctgp heat.csv --out predicted.csv

ok 'a column that has no season' '^n=140 ' \
    "$ctgp" fit all.csv --target sold --features day,heat --season heat --model heat.ctgp
that 'is noted as absent' grep -qx 'ctgp: heat: no season is found' err
sed '1s/day/"the day, in \x27all\x27"/' all.csv >odd.csv
ok 'a name with blanks, commas and quotes' '^n=140 ' "$ctgp" fit odd.csv --target sold --drop date,heat \
    --season "the day, in 'all'" --model odd.ctgp

ok 'a period without a start' '^  periodic\.period +[67][.0-9]* days$' \
    "$ctgp" fit dates.csv --target sold --kernel 'scale * periodic * rbf' --model p.ctgp
that 'is searched five times' grep -qE '^ctgp: the period has no start of its own: 5 searches, ' err
ok 'unless told' '^n=140 ' "$ctgp" fit dates.csv --target sold --kernel 'scale * periodic * rbf' \
    --restarts 0 --model p.ctgp
that 'how many' sh -c '! grep -q searches err'
ok 'or where it begins' '^n=140 ' "$ctgp" fit dates.csv --target sold --kernel 'scale * periodic(period=7)' \
    --model p.ctgp
that 'which is one' sh -c '! grep -q searches err'

bad 'no such feature' 1 "season: 'week' is no feature; there are date" \
    "$ctgp" fit dates.csv --target sold --season week
bad 'the target' 1 "season: 'sold' is no feature" "$ctgp" fit dates.csv --target sold --season sold
bad 'a category' 1 "season: 'heat' is a category" \
    "$ctgp" fit heat.csv --target sold --categorical heat --season heat
bad 'beside a kernel' 1 'season is for a covariance that is chosen' \
    "$ctgp" fit dates.csv --target sold --season date --kernel rbf
plan
