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
    that "$1" test "$(sed -n 's/^set xtics [^(]*(\(.*\))$/\1/p' script | tail -n 1 | grep -o '"[^"]*"' |
        tr '\n"' " '")" = "$2"
}
# block NAME: the rows of the first data block of this name.
block() { sed -n "/^\\\$$1 << EOD/,/^EOD/p" script | sed '1d;/^EOD/,$d'; }

# -- numbers -------------------------------------------------------------------------------------------------

drawn 'numbers far below zero' 'scale * rbf' "$(rows 20 %.17g 'i - 1e9')"
label 'count from a round one' 'x + 1e+09'
tics 'in steps that can be read' "'0' '2' '4' '6' '8' '10' '12' '14' '16' '18' "
drawn 'numbers far above' 'scale * rbf' "$(rows 20 %.17g '123456700 + i')"
label 'from one with all its digits' 'x - 123456700'
drawn 'numbers that differ in the ninth digit' 'scale * rbf' "$(rows 20 %.17g '0.5 + i * 1e-9')"
label 'count from a fraction' 'x - 0.5'
tics 'too' "'0' '5e-09' '1e-08' '1.5e-08' "
printf 'x,y\n0,1\n' >zero.csv
that 'a table of one row at zero' "$ctgp" plot m.ctgp zero.csv --out p.svg
tics 'has five on each side' "'-1' '-0.8' '-0.6' '-0.4' '-0.2' '0' '0.2' '0.4' '0.6' '0.8' '1' "

# -- times ---------------------------------------------------------------------------------------------------

drawn 'seconds' 'scale * rbf' "$(rows 20 2024-02-03T10:00:%02d i)"
tics 'have a time of day' "'10:00:00' '10:00:05' '10:00:10' '10:00:15' "
label 'and the name has the date' 'x, 2024-02-03'
drawn 'less than four seconds' 'scale * rbf' "$(rows 20 2024-02-03T10:00:00.%02d i)"
label 'are seconds' 'x, seconds after 2024-02-03T09:59:59Z'
tics 'from a whole one' "'1' '1.02' '1.04' '1.06' '1.08' '1.1' '1.12' '1.14' '1.16' '1.18' "
drawn 'the last months of four digits' 'scale * rbf' "$(rows 40 9999-%02d-%02d '7 + int(i / 8), i % 8 + 1')"
tics 'have dates' "'9999-07' '9999-08' '9999-09' '9999-10' '9999-11' "
drawn 'an axis beyond them' 'scale * rbf' "$(rows 40 9999-%02d-28 '1 + i % 12')"
label 'has days' 'x, days since 1970'
drawn 'and one before' 'scale * rbf' "$(rows 40 0001-%02d-01 '1 + i % 12')"
label 'has days, too' 'x, days since 1970'

# -- names and levels ----------------------------------------------------------------------------------------

e=ééééééééééé
drawn 'a name of two-byte letters' 'scale * rbf' \
    "print \"$e$e$e,y\"; for (i = 0; i < 9; i++) print i \",\" sin(i)"
label 'is counted in letters' "$e$e$e"
drawn 'wide letters' 'scale * rbf' \
    "print \"$(printf '界%.0s' {1..50}),y\"; for (i = 0; i < 9; i++) print i \",\" sin(i)"
label 'take twice the room' "$(printf '界%.0s' {1..43})…"
drawn 'fifty levels' 'scale * category' \
    'print "x,y"; for (i = 0; i < 100; i++) print "level" i % 50 "," sin(i % 50) + i / 1000'
that 'have a point each' test "$(block curve | wc -l)" -eq 50
that 'and a bar' grep -q '[$]curve using 1:2:([$]1-0.004000):([$]1+0.004000):3:4 with boxxyerror' script
label 'and the name says how many names there are' 'x, one in 2 named'

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
that 'the 10 with the widest effects' test "$(wc -l <shown)" -eq 10
that 'a note' grep -qx 'ctgp: 10 of 27 effects, over which the mean ranges most; --panels 27 draws all' err
that 'is in the picture' grep -q '^set label "10 of 27 effects, .* at screen' script
that 'in their order' sort -nc shown
that 'the first and the last make the target' test "$(sed -n '1p;$p' shown | xargs)" = '1 27'
that 'a number of panels' "$ctgp" plot m.ctgp t.csv --out p.svg --panels 3
that 'is that of the effects' test "$(grep -c '^set xlabel "v' script)" -eq 3
that 'none' "$ctgp" plot m.ctgp t.csv --out p.svg --panels 0
that 'leaves two panels' test "$(grep -c '^plot ' script)" -eq 2
"$ctgp" plot m.ctgp t.csv --out p.svg --panels 27 >out 2>err
that 'as many as there are need no note' test ! -s err
awk -F, -v OFS=, 'NR > 1 { $2 = 5 } 1' t.csv >same.csv
"$ctgp" plot m.ctgp same.csv --out p.svg --panels 27 >out 2>err
that 'an input with one value has no effect' test "$(grep -c '^set xlabel "v' script)" -eq 26
that 'and a note' grep -q 'no effects of inputs with one value in the table: 1' err
sed '5s/[^,]*$//' t.csv >holes.csv
that 'where a target is missing' "$ctgp" plot m.ctgp holes.csv --out p.svg
that 'that row has no point' test "$(block learned | wc -l)" -eq 29
bad 'where every target is missing' 2 'drawn against its target, which is missing here' \
    "$ctgp" plot m.ctgp <(sed '2,$s/[^,]*$//' t.csv) --out q.svg
bad 'or its column' 2 'drawn against its target, which is missing here' \
    "$ctgp" plot m.ctgp <(cut -d, -f1-27 t.csv) --out q.svg

# -- what is refused -----------------------------------------------------------------------------------------

bad 'no file' 1 'where to\? --out FILE.svg, FILE.png or FILE.pdf' "$ctgp" plot m.ctgp t.csv
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
