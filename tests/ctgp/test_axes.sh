#!/usr/bin/env bash
# test_axes.sh CTGP: the axes, names and rows of the script that ctgp plot sends to gnuplot. A program in
# gnuplot's place keeps it, so this needs no gnuplot. In TAP.
# shellcheck source=tests/support/ctgp.sh
. "$(dirname "$0")/../support/ctgp.sh"

mkdir bin
cat >bin/gnuplot <<'PROGRAM'
#!/bin/sh
cat >script
echo '<svg></svg>'
PROGRAM
chmod +x bin/gnuplot
PATH=$PWD/bin:$PATH

# drawn NAME KERNEL AWK [OPTION...]: a model of the table that AWK prints, and its script.
drawn() {
    awk "BEGIN { $3 }" >t.csv
    if "$ctgp" fit t.csv --target y --kernel "$2" --max-iter 5 --quiet --model m.ctgp "${@:4}" >out 2>err &&
        "$ctgp" plot m.ctgp t.csv --out p.svg >out 2>err; then pass "$1"; else flunk "$1" 'it failed'; fi
}
# rows N FORMAT VALUE...: awk that prints a table of x and a wave.
rows() { echo "print \"x,y\"; for (i = 0; i < $1; i++) printf \"$2,%.6f\n\", $3, sin(i / 3)"; }
# label NAME TEXT [x|y], tics NAME TEXT: of the script; of several the last.
label() { that "$1" test "$(sed -n "s/^set ${3-x}label \"\(.*\)\"$/\1/p" script | tail -n 1)" = "$2"; }
tics() {
    that "$1" test "$(sed -n 's/^set xtics [^(]*(\(.*\))$/\1/p' script | tail -n 1 | grep -o "'[^']*'" |
        tr '\n' ' ')" = "$2"
}
# block NAME: the rows of the first data block of this name.
block() { sed -n "/^\\\$$1 << EOD/,/^EOD/p" script | sed '1d;/^EOD/,$d'; }

# -- numbers -------------------------------------------------------------------------------------------------

drawn 'numbers far below zero' 'scale * rbf' "$(rows 20 %.17g 'i - 1e9')"
label 'count from a round one' 'x + 1e+09'
tics 'in steps that can be read' "'0' '5' '10' '15' "
drawn 'numbers far above' 'scale * rbf' "$(rows 20 %.17g '123456700 + i')"
label 'from one with all its digits' 'x - 123456700'
drawn 'numbers that differ in the ninth digit' 'scale * rbf' "$(rows 20 %.17g '0.5 + i * 1e-9')"
label 'count from a fraction' 'x - 0.5'
tics 'too' "'0' '5e-09' '1e-08' '1.5e-08' "
printf 'x,y\n0,1\n' >zero.csv
that 'a table of one row at zero' "$ctgp" plot m.ctgp zero.csv --out p.svg
tics 'has two on each side' "'-1' '-0.5' '0' '0.5' '1' "

# -- times ---------------------------------------------------------------------------------------------------

drawn 'seconds' 'scale * rbf' "$(rows 20 2024-02-03T10:00:%02d i)"
tics 'that would leave the picture have no text' "'' '2024-02-03T10:00:10' "
drawn 'less than four seconds' 'scale * rbf' "$(rows 20 2024-02-03T10:00:00.%02d i)"
label 'are numbers of days' 'x - 19756.416668, days since 1970'
drawn 'the last months of four digits' 'scale * rbf' "$(rows 40 9999-%02d-%02d '7 + int(i / 8), i % 8 + 1')"
tics 'have dates' "'9999-07' '9999-08' '9999-09' '9999-10' '9999-11' "
drawn 'an axis beyond them' 'scale * rbf' "$(rows 40 9999-%02d-20 '1 + i % 12')"
label 'has days' 'x, days since 1970'
drawn 'and one before' 'scale * rbf' "$(rows 40 0001-%02d-01 '1 + i % 12')"
label 'has days, too' 'x, days since 1970'

# -- names and levels ----------------------------------------------------------------------------------------

e=ééééééééééé
drawn 'a name of two-byte letters' 'scale * rbf' \
    "print \"$e$e$e,y\"; for (i = 0; i < 9; i++) print i \",\" sin(i)"
label 'is cut between letters' "$(printf 'é%.0s' {1..30})…"
drawn 'fifty levels' 'scale * category' \
    'print "x,y"; for (i = 0; i < 100; i++) print "level" i % 50 "," sin(i % 50) + i / 1000'
that 'have a point each' test "$(block curve | wc -l)" -eq 50
that 'which is small' grep -q 'with yerrorbars pt 7 ps 0\.4 lw 0\.7' script

# -- curves and points ---------------------------------------------------------------------------------------

drawn 'a line' linear 'print "x,y"; for (i = 0; i < 9; i++) print i "," 2 * i + sin(i)'
block curve | awk '{ d = ($2 - y) / ($1 - x); x = $1; y = $2; if (NR > 2) { if (NR == 3) first = d
    bad += (d - first) ^ 2 > 1e-6 * first ^ 2 } } END { exit bad || NR < 3 }'
that 'is straight' test $? -eq 0
for kernel in linear 'poly(degree=2, lengthscale=1!)'; do
    drawn "$kernel of a long range" "${kernel/#linear/linear(lengthscale=1!)}" \
        'print "x,y"; for (i = 0; i < 9; i++) print i * 1e5 "," i ^ 2 + sin(i)'
    that 'needs few points' test "$(block curve | wc -l)" -le 1001
done
cut -d, -f1 t.csv >inputs.csv
that 'a table without the target' "$ctgp" plot m.ctgp inputs.csv --out p.svg
that 'has a curve' test "$(block curve | wc -l)" -gt 100
that 'and no points' test -z "$(block learned)$(block others)"
sed '4s/,.*/,/' t.csv >holes.csv
that 'a table with a hole in the target' "$ctgp" plot m.ctgp holes.csv --out p.svg
that 'has the other points' test "$(block learned | wc -l)" -eq 8
drawn 'rows held back' 'scale * rbf' "$(rows 20 %d i)" --test-fraction 0.2
printf '30,1\n' >>t.csv
that 'beside others' "$ctgp" plot m.ctgp t.csv --out p.svg
that 'are three kinds of points' \
    test "$(block learned | wc -l) $(block held | wc -l) $(block others | wc -l)" = '16 4 1'

# -- several inputs ------------------------------------------------------------------------------------------

drawn 'many inputs' 'scale * rbf(ard)' 'for (k = 1; k <= 27; k++) printf "v%d,", k; print "y"
    for (i = 0; i < 30; i++) { for (k = 1; k <= 27; k++) printf "%d,", i * (k + 6) % 37
        printf "%.6f\n", sin(i * 7 % 37 / 5) + i * 33 % 37 / 10 }'
sed -n 's/^set xlabel "v\([0-9]*\)"$/\1/p' script >shown
that 'the 25 with the widest effects' test "$(wc -l <shown)" -eq 25
that 'in their order' sort -nc shown
that 'the first and the last make the target' test "$(sed -n '1p;$p' shown | xargs)" = '1 27'
sed '5s/[^,]*$//' t.csv >holes.csv
that 'where a target is missing' "$ctgp" plot m.ctgp holes.csv --out p.svg
that 'that row has no point' test "$(block learned | wc -l)" -eq 29
bad 'where every target is missing' 2 'drawn against its target, which is missing here' \
    "$ctgp" plot m.ctgp <(sed '2,$s/[^,]*$//' t.csv) --out q.svg
bad 'or its column' 2 'drawn against its target, which is missing here' \
    "$ctgp" plot m.ctgp <(cut -d, -f1-27 t.csv) --out q.svg

# -- what is refused -----------------------------------------------------------------------------------------

bad 'no file' 1 'where to\? --out FILE.svg or FILE.png' "$ctgp" plot m.ctgp t.csv
bad 'a short name' 1 "'svg' ends neither in .svg nor in .png" "$ctgp" plot m.ctgp t.csv --out svg
bad 'an ending alone' 1 "'.svg' ends neither" "$ctgp" plot m.ctgp t.csv --out .svg
bad 'an option that is not there' 1 "'--quiet' is no option of plot" "$ctgp" plot m.ctgp t.csv --quiet
cp m.ctgp model.svg
bad 'the model as the picture' 1 'is the file of MODEL' "$ctgp" plot model.svg t.csv --out model.svg
that 'stays' cmp model.svg m.ctgp
cp t.csv table.svg
bad 'the table as the picture' 1 'is the file of DATA.csv' "$ctgp" plot m.ctgp table.svg --out table.svg
that 'stays' cmp table.svg t.csv
plan
