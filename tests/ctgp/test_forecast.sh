#!/usr/bin/env bash
# test_forecast.sh CTGP: the next rows of a series, in its spacing, and forecasts from earlier rows. In TAP.
# shellcheck source=tests/support/ctgp.sh
. "$(dirname "$0")/../support/ctgp.sh"

fit=("$ctgp" fit --target y --max-iter 20 --quiet)
# times KIND: 40 rows of "when,y" that are KIND apart.
times() {
    python3 - "$1" <<'PY'
import datetime as d, math, sys
kind = sys.argv[1]
print("when,y")
for i in range(40):
    month = 12 * 2020 + i
    first = lambda m: d.date(m // 12, m % 12 + 1, 1)
    t = {"months": first(month), "quarters": first(12 * 2020 + 3 * i),
         "ends": first(month + 1) - d.timedelta(1), "days": d.date(2024, 2, 1) + d.timedelta(i),
         "years": d.date(1950 + i, 7, 1),
         "hours": f"2024-02-27T{i % 24:02}:00" if i < 24 else f"2024-02-28T{i - 24:02}:00"}[kind]
    print(f"{t},{3 + i / 20 + math.sin(i * math.pi / 6):.4f}")
PY
}
# nth FILE ROW COLUMN
nth() { sed -n "$(($2 + 1))p" "$1" | cut -d, -f"$3"; }

# -- the calendar --------------------------------------------------------------------------------------------

while read -r kind first fifth; do
    times "$kind" >"$kind.csv"
    "${fit[@]}" --kernel 'scale * rbf' --model "$kind.ctgp" "$kind.csv" >/dev/null 2>&1
    ok "the next $kind" "^steps=5 first=$first last=$fifth out=f.csv\$" \
        "$ctgp" forecast "$kind.ctgp" --steps 5 --out f.csv
    that 'are the rows of the table' test "$(nth f.csv 1 1),$(nth f.csv 5 1)" = "$first,$fifth"
    that 'without a note' test ! -s err
done <<'TABLE'
months 2023-05-01 2023-09-01
quarters 2030-01-01 2031-01-01
ends 2023-05-31 2023-09-30
days 2024-03-12 2024-03-16
years 1990-07-01 1994-07-01
hours 2024-02-28T16:00:00Z 2024-02-28T20:00:00Z
TABLE
sed '5d;9d;20,25d' months.csv >gaps.csv
"${fit[@]}" --kernel 'scale * rbf' --model gaps.ctgp gaps.csv >/dev/null 2>&1
ok 'rows that are missing change nothing' '^steps=2 first=2023-05-01 last=2023-06-01 out=f.csv$' \
    "$ctgp" forecast gaps.ctgp --steps 2 --out f.csv
ok 'up to a time' '^steps=8 first=2023-05-01 last=2023-12-01 ' \
    "$ctgp" forecast months.ctgp --until 2023-12 --out f.csv
ok 'a tenth of the rows unless told' '^steps=4 ' "$ctgp" forecast months.ctgp --out f.csv
tac days.csv | sed '$d' | { echo when,y; cat; } >backwards.csv
"${fit[@]}" --kernel 'scale * rbf' --model backwards.ctgp backwards.csv >/dev/null 2>&1
ok 'rows in any order' '^steps=1 first=2024-03-12 ' "$ctgp" forecast backwards.ctgp --steps 1 --out f.csv

# -- numbers -------------------------------------------------------------------------------------------------

awk 'BEGIN { print "t,y"; for (i = 0; i < 48; i++)
    printf "%.3f,%.4f\n", 1990 + i / 12, i / 9 + sin(i * 0.5236) }' >decimal.csv
"${fit[@]}" --model decimal.ctgp decimal.csv >/dev/null 2>&1
ok 'a year as a decimal' '^steps=12 first=1994(\.000[0-9]*)? ' \
    "$ctgp" forecast decimal.ctgp --steps 12 --out f.csv
that 'goes on in months' sh -c 'sed -n 3p f.csv | grep -q ^1994.083'
"$ctgp" predict decimal.ctgp <(cut -d, -f1 f.csv) --out p.csv >/dev/null 2>&1
that 'and is what predict says' python3 -c 'import csv
for a, b in zip(csv.DictReader(open("f.csv")), csv.DictReader(open("p.csv")), strict=True):
    assert all(abs(float(a[k]) - float(b[k])) < 1e-6 for k in b), (a, b)'
printf 't,y\n1,1\n2,2\n4,3\n7,5\n9,4\n11,6\n' >uneven.csv
"${fit[@]}" --kernel 'scale * rbf' --model uneven.ctgp uneven.csv >/dev/null 2>&1
ok 'rows that are not evenly spaced' '^steps=1 first=13 ' "$ctgp" forecast uneven.ctgp --steps 1 --out f.csv
that 'have a note' grep -q "^ctgp: the rows of 't' are not evenly spaced: .* their median spacing, 2\$" err
ok 'quantiles' . "$ctgp" forecast uneven.ctgp --quantiles 0.1 --level 0.5
that 'are columns' grep -qx 't,mean,std,lower50,upper50,q0.1' out

# -- earlier origins -----------------------------------------------------------------------------------------

ok 'forecasts from earlier rows' '^  this model +rmse +[0-9.e-]+ \+- .* nlpd .* coverage95 ' \
    "$ctgp" forecast decimal.ctgp --steps 6 --origins 3 --out f.csv
"$ctgp" forecast decimal.ctgp --steps 6 --origins 3 --out f.csv --json >out 2>err
that 'are the errors that they say' python3 - <<'PY'
import json, math, statistics
rows = [tuple(map(float, l.split(","))) for l in open("decimal.csv").read().split()[1:]]
y, steps = [b for a, b in rows], 6
said = json.load(open("out"))["origins"]
def rmse(n, f): return math.sqrt(sum((y[n + i] - f(n, i))**2 for i in range(steps)) / steps)
ways = {"last_value": lambda n, i: y[n - 1], "last_season": lambda n, i: y[n - 12 + i % 12],
        "drift": lambda n, i: y[n - 1] + (i + 1) * (y[n - 1] - y[0]) / (n - 1)}
for way, f in ways.items():
    r = [rmse(len(y) - steps - k * said["apart"], f) for k in range(3)]
    assert abs(said[way]["rmse"]["mean"] - statistics.mean(r)) < 1e-9, way
    assert abs(said[way]["rmse"]["error"] - statistics.stdev(r) / math.sqrt(3)) < 1e-9, way
assert said["apart"] == 6 and said["model"]["rmse"]["mean"] < said["last_value"]["rmse"]["mean"], said
PY

# -- what is refused -----------------------------------------------------------------------------------------

awk 'BEGIN { print "a,b,y"; for (i = 0; i < 20; i++) print i "," i * 7 % 20 "," i % 5 + i / 7 }' >two.csv
"${fit[@]}" --kernel 'scale * rbf' --model two.ctgp two.csv >/dev/null 2>&1
bad 'two features' 1 'of one time or number, and this one has 2 features, a, [.][.][.]: ctgp predict' \
    "$ctgp" forecast two.ctgp
bad 'a time that is none' 1 "--until: 'soon' is no time, as 'when' is" \
    "$ctgp" forecast months.ctgp --until soon
bad 'a time in the past' 1 "the next row of 'when' comes later" "$ctgp" forecast months.ctgp --until 2020-01
bad 'too far' 1 'more than a million rows' "$ctgp" forecast uneven.ctgp --until 1e9
bad 'beyond the calendar' 1 'row [0-9]+ of the forecast lies beyond the year 9999' \
    "$ctgp" forecast months.ctgp --steps 200000
bad 'both' 1 'leave --steps out, or --until' "$ctgp" forecast uneven.ctgp --until 20 --steps 3
bad 'no room' 1 'no room for forecasts of 30 rows' "$ctgp" forecast months.ctgp --steps 30 --origins 3
plan
