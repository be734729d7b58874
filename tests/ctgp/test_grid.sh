#!/usr/bin/env bash
# test_grid.sh CTGP: the function over one or two inputs, as a table. In TAP.
# shellcheck source=tests/support/ctgp.sh
. "$(dirname "$0")/../support/ctgp.sh"

# table NAME AWK, fitted NAME TARGET [OPTION...]: a table that AWK prints, and a model of it.
table() { awk "BEGIN { srand(5); $2 }" >"$1.csv"; }
fitted() { "$ctgp" fit "$1.csv" --target "$2" --quiet --max-iter 30 --model "$1.ctgp" "${@:3}" >out 2>err; }

table places 'print "latitude,longitude,depth,rain"; for (i = 0; i < 60; i++) {
    a = 46 + 2 * rand(); b = 6 + 4 * rand()
    printf "%.4f,%.4f,%d,%.5f\n", a, b, i % 3, 20 + 5 * sin(2 * a) + 3 * cos(b) }'
fitted places rain --features latitude,longitude --kernel 'scale * rbf(ard)'
ok 'a grid' '^rows=100 of=function out=g.csv$' "$ctgp" grid places.ctgp places.csv --points 10 --out g.csv
that 'has a line for each point' test "$(wc -l <g.csv)" -eq 101
that 'with its inputs' test "$(head -n 1 g.csv)" = 'latitude,longitude,mean,std,lower95,upper95'
ok 'and is a table' 'n=0' "$ctgp" predict places.ctgp g.csv --out h.csv
that 'that predicts its means' sh -c "cut -d, -f3 g.csv | tail -n +2 >a; cut -d, -f1 h.csv | tail -n +2 >b
    paste a b | awk '{ bad += (\$1 - \$2) ^ 2 > 1e-12 * \$1 ^ 2 } END { exit bad > 0 || NR < 100 }'"
"$ctgp" grid places.ctgp places.csv --points 10 --noisy --out n.csv >out 2>err
that 'of new observations, it has their deviations' sh -c "cut -d, -f2 h.csv | tail -n +2 >a
    cut -d, -f4 n.csv | tail -n +2 >b
    paste a b | awk '{ bad += (\$1 - \$2) ^ 2 > 1e-12 * \$1 ^ 2 } END { exit bad > 0 || NR < 100 }'"
table mixed 'split("red,green,blue", c, ","); print "day,colour,size,y"; for (i = 0; i < 40; i++)
    printf "2024-01-%02d,%s,%d,%.4f\n", 1 + i % 31, c[1 + i % 3], i % 7, exp(i % 3 + sin(i) / 9)'
fitted mixed y --transform log --kernel 'scale * rbf(dims=0:2, ard) * category(dims=1)'
"$ctgp" grid mixed.ctgp mixed.csv --over day,colour --points 5 >g.csv 2>err
that 'a date and a category' test "$(wc -l <g.csv)" -eq 16
that 'are written as they are read' test "$(cut -d, -f1-3 g.csv | sed -n 2p)" = '2024-01-01,blue,3'
that 'with a median' test "$(head -n 1 g.csv)" = 'day,colour,size,mean,std,median,lower95,upper95'
"$ctgp" grid mixed.ctgp mixed.csv --over size --points 3 >g.csv 2>err
that 'one input' test "$(cut -d, -f3 g.csv | xargs)" = 'size 0 3 6'
bad 'three that vary' 2 'mixed.csv: 3 inputs vary in the table; --over A,B' "$ctgp" grid mixed.ctgp mixed.csv
bad 'none of that name' 1 "--over: the model has no input 'x'" "$ctgp" grid mixed.ctgp mixed.csv --over x
table plane 'print "Yloc,Xloc,z"
    for (i = 0; i < 50; i++) printf "%.3f,%.3f,%.4f\n", 3 * rand(), 6 * rand(), i % 7'
fitted plane z --kernel 'scale(1!) * rbf(lengthscale=0.01!)'
says 'too few points for the waves are said' 'waves over Xloc need [0-9]+ points: --points' \
    "$ctgp" grid plane.ctgp plane.csv --points 5
table binary 'print "sex,age,y"
    for (i = 0; i < 40; i++) printf "%d,%d,%.4f\n", i % 2, i % 11, i % 2 + sin(i)'
fitted binary y --kernel 'scale * rbf(ard)'
ok 'levels of two numbers' '^rows=2 ' "$ctgp" grid binary.ctgp binary.csv --over sex --out g.csv
that 'are those' test "$(cut -d, -f1 g.csv | xargs)" = 'sex 0 1'
if [ -e /dev/full ]; then
    ln -s /dev/full full.csv
    bad 'a full disk' 4 'writing failed after' "$ctgp" grid binary.ctgp binary.csv --over age --out full.csv
fi
# -- missing cells -------------------------------------------------------------------------------------------

awk 'BEGIN { print "a,b,y"; for (i = 0; i < 40; i++)
    printf "%s,%g,%.4f\n", i % 5 ? i / 4 : "", i * 7 % 40, sin(i / 8) + i * 7 % 40 / 50 }' >gaps.csv
ok 'a model that keeps missing cells' 'features=3 ' "$ctgp" fit gaps.csv --target y --missing keep \
    --kernel 'scale * rbf(ard)' --quiet --max-iter 5
ok 'over a column of numbers that lacks some' '^rows=5 ' \
    "$ctgp" grid gaps.ctgp gaps.csv --over a --points 5 --out gaps_grid.csv
that 'has numbers' sh -c 'sed -n 2p gaps_grid.csv | grep -qE "^0.25,[0-9.]+,0,"'
"$ctgp" predict gaps.ctgp gaps_grid.csv --out p.csv >out 2>err
that 'which predict reads alike' python3 -c 'import csv
for a, b in zip(csv.DictReader(open("gaps_grid.csv")), csv.DictReader(open("p.csv")), strict=True):
    assert abs(float(a["mean"]) - float(b["mean"])) < 1e-6, (a, b)'
ok 'and plot draws' '^picture=gaps.svg$' "$ctgp" plot gaps.ctgp gaps.csv --out gaps.svg
plan
