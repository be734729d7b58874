#!/usr/bin/env bash
# test_plot.sh CTGP: the script that ctgp plot sends to gnuplot, which a program in gnuplot's place keeps, and
# the messages where gnuplot fails. In TAP.
set -u
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"
ctgp=$1
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 2

real=$(command -v gnuplot)
mkdir bin
cat >bin/gnuplot <<'PROGRAM'
#!/bin/sh
for script; do :; done
cp "$script" script
picture=$(sed -n "s/^set output '\(.*\)'$/\1/p" script)
if [ -n "$REAL" ]; then "$REAL" "$@"; else echo '<svg></svg>' >"$picture"; fi
PROGRAM
chmod +x bin/gnuplot
export REAL=$real PATH=$PWD/bin:$PATH

# block NAME: the rows of a data block of the script.
block() { sed -n "/^\\\$$1 << EOD/,/^EOD/p" script | grep -v EOD; }
# rows N X Y: awk that prints N rows.
rows() { echo "for (i = 0; i < $1; i++) printf \"%.17g,%.17g\\n\", $2, $3"; }
wave='sin(i / 6) + 0.01 * rand()'
# drawn NAME KERNEL AWK: a model of KERNEL on a table that AWK prints, and its plot.
drawn() {
    awk "BEGIN { srand(3); print \"x,y\"; $3 }" >"$1.csv"
    "$ctgp" fit "$1.csv" --target y --kernel "$2" --noise "${4-learned}" --max-iter 30 \
        --model "$1.ctgp" >log 2>err &&
        "$ctgp" plot "$1.ctgp" "$1.csv" --out "$1.svg" >log 2>err && test -s "$1.svg"
}
# values BLOCK COLUMN: the number of different values.
values() { block "$1" | awk -v c="$2" '!($c in seen) { seen[$c]; n++ } END { print n + 0 }'; }
# All numbers of all blocks lie on the axes.
on_axes() {
    { block curve; block data; } |
        awk '{ for (i = 1; i <= NF; i++) bad += !($i >= 0 && $i <= 1) } END { exit bad > 0 || NR < 1 }'
}
# wave BLOCK COLUMN: the column is about half way up on average, with a large variance.
wave() {
    block "$1" | awk -v c="$2" '{ s += $c; q += $c * $c }
        END { m = s / NR; exit !(m > 0.3 && m < 0.7 && q / NR - m * m > 0.04) }'
}

that 'a large offset in y' drawn big_y 'scale * rbf' "$(rows 60 'i / 6' "1e9 + $wave")"
that 'is a wave, with all its values' wave data 2
that 'sixty of them' test "$(values data 2)" -eq 60
that 'labels count from the offset' grep -qx "set ylabel 'y - 1e+09'" script
at='0\.[0-9]+'
that 'in numbers that can be read' \
    grep -qE "^set ytics \('-1' $at, '-0\.5' $at, '0' $at, '0\.5' $at, '1' $at\)$" script
that 'on the axes' on_axes
that 'a large offset in x' drawn big_x 'scale * rbf' "$(rows 60 '1e12 + i' "$wave")"
that 'keeps x apart' test "$(values data 1)" -eq 60
that 'and the grid' test "$(values curve 1)" -ge 500
that 'its label' grep -qx "set xlabel 'x - 1e+12'" script
that 'on these axes' on_axes
that 'small x' drawn tiny_x 'scale * rbf' "$(rows 60 'i * 1e-12' "$wave")"
that 'has small labels' grep -q "'2e-11' 0" script
that 'plain numbers are labelled as they are' drawn plain 'scale * rbf' "$(rows 60 '1960 + i' "300 + $wave")"
that 'without an offset' grep -qx "set xlabel 'x'" script
that 'the years' grep -q "'1960' 0.*'1970' 0.*'2020' 0" script
"$ctgp" plot plain.ctgp <(head -n 2 plain.csv) --out row.svg >log 2>err
that 'one row alone has axes' on_axes
printf 'x,y\n1e308,1\n-1e308,2\n' >far.csv
that 'numbers beyond an axis are refused' sh -c '"$1" plot plain.ctgp far.csv --out far.svg 2>err
    [ $? = 2 ] && grep -q "numbers of .x. are too large" err' sh "$ctgp"

# Twenty points a period or more: the mean of each week reaches the same height.
weekly="$(rows 400 '3 * i' 'sin(6.283185307179586 * 3 * i / 7) + 0.01 * rand()')"
that 'a short period' drawn weekly 'scale * periodic(period=7!, lengthscale=2!)' "$weekly"
that 'has a fine grid' test "$(block curve | wc -l)" -ge 3000
that 'and no beat' sh -c "sed -n '/^.curve/,/^EOD/p' script | awk 'NF == 4 {
    if (++n % 150 == 0) { if (n > 150 && (top < 0.8 || top > 1)) bad = 1; top = 0 }
    if (\$2 > top) top = \$2 } END { exit bad || n < 3000 }'"
# A lengthscale that would need ten million points: there are at most 20,000 and those of the data, drawn in
# 1600 columns with the extremes of each.
that 'a very short lengthscale' drawn rough 'scale(1!) * matern12(lengthscale=1!)' \
    "$(rows 50 '1e6 * rand()' 'rand()')" none
that 'is drawn in columns' test "$(block curve | wc -l)" -le 3200
that 'that pass through the data' python3 - <<'PYTHON'
rows = {}
for line in open("script"):
    if line.startswith("$"): name = line.split()[0]; rows[name] = []
    elif len(line.split()) in (2, 4) and line[0].isdigit():
        rows[name].append([float(v) for v in line.split()])
curve, data = rows["$curve"], rows["$data"]
assert sum(min(abs(y - r[1]) for r in curve if abs(r[0] - x) < 2e-3) < 1e-6 for x, y in data) >= 45
PYTHON

# The name of a column cannot end a line of the script.
printf '"x\n!touch pwned\n",y\n' >evil.csv
awk 'BEGIN { for (i = 0; i < 20; i++) print i "," sin(i) }' >>evil.csv
"$ctgp" fit evil.csv --target y --kernel rbf --model evil.ctgp --max-iter 5 >log 2>err
that "a line's end in a column's name" "$ctgp" plot evil.ctgp evil.csv --out evil.svg
that 'is no command of gnuplot' test ! -e pwned

# A failure of gnuplot gives one line of ctgp.
fails() { # BODY PATTERN
    printf '#!/bin/sh\n%s\n' "$1" >bin/gnuplot
    local rc=0
    "$ctgp" plot plain.ctgp plain.csv --out lost.svg >log 2>err || rc=$?
    [ $rc = 4 ] && [ "$(wc -l <err)" = 1 ] && grep -qE "$2" err && [ ! -e lost.svg ]
}
that 'its last line is the reason' fails \
    'printf "plot x\n     ^\n\"f\" line 3: no such thing\n\n" >&2; exit 1' \
    '^ctgp: gnuplot failed: "f" line 3: no such thing$'
that 'a signal' fails 'kill -9 $$' '^ctgp: gnuplot was ended by signal 9$'
that 'no picture' fails 'exit 0' '^ctgp: lost.svg: No such file'
that 'nothing is left over' sh -c '! ls | grep -q part'

plan
