#!/usr/bin/env bash
# test_plot.sh CTGP: the script that ctgp plot sends to gnuplot, which a program in gnuplot's place keeps, and
# the messages where gnuplot fails. In TAP.
# shellcheck source=tests/support/ctgp.sh
. "$(dirname "$0")/../support/ctgp.sh"

real=$(command -v gnuplot)
mkdir bin
cat >bin/gnuplot <<'PROGRAM'
#!/bin/sh
cat >script
if [ -n "$REAL" ]; then "$REAL" "$@" <script; else echo '<svg></svg>'; fi
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
    { block curve; block learned; block others; } |
        awk '{ for (i = 1; i <= NF; i++) bad += !($i >= 0 && $i <= 1) } END { exit bad > 0 || NR < 1 }'
}
# wave BLOCK COLUMN: the column is about half way up on average, with a large variance.
wave() {
    block "$1" | awk -v c="$2" '{ s += $c; q += $c * $c }
        END { m = s / NR; exit !(m > 0.3 && m < 0.7 && q / NR - m * m > 0.04) }'
}

that 'a large offset in y' drawn big_y 'scale * rbf' "$(rows 60 'i / 6' "1e9 + $wave")"
that 'is a wave, with all its values' wave learned 2
that 'sixty of them' test "$(values learned 2)" -eq 60
that 'labels count from the offset' grep -qx 'set ylabel "y - 1e+09, mean with 95 %"' script
at='0\.[0-9]+'
that 'in numbers that can be read' \
    grep -qE "^set ytics \(\"-1\" $at, \"-0\.8\" $at, .*, \"0\" $at, .*, \"1\" $at\)$" script
that 'on the axes' on_axes
that 'a large offset in x' drawn big_x 'scale * rbf' "$(rows 60 '1e12 + i' "$wave")"
that 'keeps x apart' test "$(values learned 1)" -eq 60
that 'and the grid' test "$(values curve 1)" -ge 500
that 'its label' grep -qx 'set xlabel "x - 1e+12"' script
that 'on these axes' on_axes
that 'small x' drawn tiny_x 'scale * rbf' "$(rows 60 'i * 1e-12' "$wave")"
that 'has small labels' grep -q '"2e-11" 0' script
that 'plain numbers are labelled as they are' drawn plain 'scale * rbf' "$(rows 60 '1960 + i' "300 + $wave")"
that 'without an offset' grep -qx 'set xlabel "x"' script
that 'the years' grep -q '"1960" 0.*"1970" 0.*"2020" 0' script
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
# A lengthscale that would need ten million points.
that 'a very short lengthscale' drawn rough 'scale(1!) * matern12(lengthscale=1!)' \
    "$(rows 50 '1e6 * rand()' 'rand()')" none
that 'has no curve' test "$(block curve | wc -l)" -eq 0
that 'but its rows' test "$(block learned | wc -l)" -eq 50
that 'and a note' \
    grep -qE '^ctgp: no curve over x: .*e\+05 waves, .*e\+06 points, do not fit into 660 pixels; draw' err
that 'in the picture, too' grep -q 'no curve over x: ' rough.svg

# -- titles, dates, levels and panels --
that 'the title has the file and the kernel' \
    grep -q '^set label "rough.ctgp: scale \* matern12" at screen' script
that 'below it is the score' grep -q '^set label "● learned rows: n=50  rmse=.* tc rgb .#.\.c_learned$' script
# tics: the labels of the x axis.
tics() {
    sed -n "s/^set xtics [^(]*(\(.*\))$/\1/p" script | tail -n 1 | grep -o '"[^ ]*"' | tr -d '"' | xargs
}
# dated NAME AWK: a model of a table of dates that AWK prints, and its plot.
dated() {
    awk "BEGIN { print \"date,y\"; $2 }" >"$1.csv"
    "$ctgp" fit "$1.csv" --target y --kernel 'scale * rbf' --max-iter 10 --model "$1.ctgp" >log 2>err &&
        "$ctgp" plot "$1.ctgp" "$1.csv" --out "$1.svg" >log 2>err && test -s "$1.svg"
}
that 'dates of years' dated years \
    'for (i = 0; i < 48; i++) printf "%d-%02d-01,%g\n", 2019 + i / 12, i % 12 + 1, sin(i / 4)'
that 'have half years' test "$(tics)" = \
    '2019-01 2019-07 2020-01 2020-07 2021-01 2021-07 2022-01 2022-07 2023-01'
that 'where they begin' python3 - <<'PYTHON'
import datetime, re
day = lambda text: datetime.date.fromisoformat(text).toordinal()
lo, hi = day("2019-01-01"), day("2022-12-01")
lo, hi = lo - 0.03 * (hi - lo), hi + 0.03 * (hi - lo)
line = [l for l in open("script") if l.startswith("set xtics")][-1]
tics = re.findall(r'"(\d+)-01" ([0-9.e-]+)', line)
assert len(tics) == 5
for year, at in tics: assert abs(float(at) - (day(year + "-01-01") - lo) / (hi - lo)) < 1e-9, (year, at)
PYTHON
that 'dates of months' dated months \
    'for (i = 0; i < 60; i++) printf "2024-%02d-%02d,%g\n", 1 + i / 12, 1 + 2 * (i % 12), sin(i / 4)'
that 'have whole months' test "$(tics)" = '2024-01 2024-02 2024-03 2024-04 2024-05'
that 'hours' dated hours \
    'for (i = 0; i < 40; i++) printf "2024-02-%02dT%02d:30,%g\n", 28 + int(i / 24), i % 24, sin(i / 4)'
that 'have whole hours, and days at midnight' test "$(tics)" = \
    '2024-02-28 06:00 12:00 18:00 2024-02-29 06:00 12:00'
printf "when,colour,y\n" >levels.csv
awk 'BEGIN { split("red,green,it'"'"'s", c, ","); for (i = 0; i < 45; i++)
    printf "2024-01-%02d,%s,%.17g\n", 1 + i % 31, c[1 + i % 3], i % 3 + sin(i) }' >>levels.csv
"$ctgp" fit levels.csv --target y --features colour --kernel 'scale * category' --max-iter 10 \
    --model level.ctgp >log 2>err
that 'one category' "$ctgp" plot level.ctgp levels.csv --out level.svg
that 'has its levels as tics' grep -qE \
    '^set xtics norotate \("green" 0\.16.*, "it'"'"'s" 0\.5, "red" 0\.8' script
that 'and a point with an interval for each' test "$(block curve | wc -l)" -eq 3
# The model learns the first 30 rows; the table has them in another order, and 15 others.
head -n 31 levels.csv >first.csv
{ head -n 1 levels.csv && tail -n +2 levels.csv | sort -t, -k3; } >mixed.csv
"$ctgp" fit first.csv --target y --kernel 'scale * rbf(dims=0) * category(dims=1)' --max-iter 10 \
    --model both.ctgp >log 2>err
that 'several inputs' "$ctgp" plot both.ctgp mixed.csv --out both.svg
# panel N BLOCK: the rows of a block in the N-th place that it is written.
panel() {
    awk -v n="$1" -v b="\$$2 << EOD" \
        '$0 == b { k++; on = 1; next } $1 == "EOD" { on = 0 } on && k == n' script
}
that 'learned rows are found in any order' test "$(panel 1 learned | wc -l)" -eq 30
that 'and the others' test "$(panel 1 others | wc -l)" -eq 15
that 'they are in the legend' \
    sh -c 'grep -q "● learned rows: n=30 " script && grep -q "● rows never seen: n=15 " script'
that 'four panels' test "$(grep -c '^plot ' script)" -eq 4
that 'the effect of a date' test "$(panel 1 effect | wc -l)" -eq 500
that 'and of a category' test "$(panel 2 effect | wc -l)" -eq 3
that 'the effect is the mean with the other input at its median' python3 - "$ctgp" <<'PYTHON'
import csv, re, subprocess, sys
rows = list(csv.DictReader(open("mixed.csv")))
day = sorted(r["when"] for r in rows)[len(rows) // 2]
with open("at.csv", "w") as f:
    f.write("when,colour\n" + "".join(f"{day},{c}\n" for c in ("green", "it's", "red")))
command = [sys.argv[1], "predict", "both.ctgp", "at.csv"]
out = subprocess.run(command, capture_output=True, text=True).stdout
mean = [float(r["mean"]) for r in csv.DictReader(out.splitlines())]
text = open("script").read()
block = text.split("$effect << EOD\n")[2].split("EOD")[0]
effect = [[float(v) for v in line.split()] for line in block.splitlines()]
axis = [line for line in text.splitlines() if line.startswith("set ytics")][-1]
tics = re.findall(r'"([-0-9.e]+)" ([0-9.e-]+)', axis)
(a, u), (b, v) = [(float(p), float(q)) for p, q in (tics[0], tics[-1])]
for e, m in zip(effect, mean):
    assert abs(a + (e[1] - u) / (v - u) * (b - a) - m) < 1e-6 * max(1, abs(m)), (e, m)
PYTHON
tail -n 15 levels.csv | sed '1i when,colour,y' >rest.csv
that 'rows never seen' "$ctgp" plot both.ctgp rest.csv --out rest.svg
that 'are not learned' test "$(panel 1 learned | wc -l) $(panel 1 others | wc -l)" = '0 15'
that 'nor in the legend' sh -c '! grep -q "learned rows" script'
# Rows that are held back, and one that comes behind the table of the fit.
"$ctgp" fit levels.csv --target y --kernel 'scale * rbf(dims=0) * category(dims=1)' --max-iter 10 \
    --test-fraction 0.2 --model held.ctgp >log 2>err
{ cat levels.csv && printf '2024-06-01,red,1\n'; } >longer.csv
that 'rows that were held back' "$ctgp" plot held.ctgp longer.csv --out held.svg
that 'each in its block' \
    test "$(panel 1 learned | wc -l) $(panel 1 held | wc -l) $(panel 1 others | wc -l)" = '36 9 1'
legend() { grep -oE '● [a-z -]+: n=[0-9]+' script | xargs; }
that 'are in the legend, each with its score' test "$(legend)" = \
    '● learned rows: n=36 ● held-back rows: n=9 ● rows never seen: n=1'
that 'another table has none' "$ctgp" plot held.ctgp rest.csv --out rest.svg
that 'of them' test "$(panel 1 held | wc -l)" -eq 0
awk "BEGIN { print \"x,y\"; $(rows 2500 'i / 100' 'sin(i)') }" >dense.csv
that 'few rows are opaque' grep -q "points pt 7 ps 0.5 lc rgb '#00" script
that 'many rows' "$ctgp" plot plain.ctgp dense.csv --out dense.svg
that 'are small and transparent' grep -q "points pt 7 ps 0.2 lc rgb '#A0" script

# Names longer than a panel end in an ellipsis, and what is drawn stays whole.
long='a name that is far too long for the width of a panel'
echo "$long 1,$long 2,y of $long" >long.csv
awk 'BEGIN { for (i = 0; i < 30; i++) print i % 7 "," i "," sin(i) }' >>long.csv
"$ctgp" fit long.csv --target "y of $long" --kernel rbf --max-iter 5 --model long.ctgp >log 2>err
that 'long names' "$ctgp" plot long.ctgp long.csv --out long.svg --panels 2
that 'are shortened' grep -qx 'set xlabel "a name that is far too long for the …"' script
that 'before what follows them' grep -qx 'set ylabel "y of a name …, predicted with 95 %"' script

# The name of a column cannot end a line of the script.
printf '"x\n!touch pwned\n",y\n' >evil.csv
awk 'BEGIN { for (i = 0; i < 20; i++) print i "," sin(i) }' >>evil.csv
"$ctgp" fit evil.csv --target y --kernel rbf --model evil.ctgp --max-iter 5 >log 2>err
that "a line's end in a column's name" "$ctgp" plot evil.ctgp evil.csv --out evil.svg
that 'is no command of gnuplot' test ! -e pwned

# A failure of gnuplot gives one line of ctgp. Nothing is left over, and an old picture stays.
instead() { printf '#!/bin/sh\n%s\n' "$1" >bin/gnuplot; }
echo old >lost.svg
fails() { # BODY PATTERN
    instead "$1"
    local rc=0
    "$ctgp" plot plain.ctgp plain.csv --out lost.svg >log 2>err || rc=$?
    [ $rc = 4 ] && [ "$(wc -l <err)" = 1 ] && grep -qE "$2" err && [ "$(cat lost.svg)" = old ]
}
that 'its last line is the reason' fails \
    'printf "plot x\n     ^\n\"f\" line 3: no such thing\n\n" >&2; exit 1' \
    '^ctgp: gnuplot failed: "f" line 3: no such thing$'
that 'a signal' fails 'kill -9 $$' '^ctgp: gnuplot was ended by signal 9$'
that 'no picture' fails 'exit 0' '^ctgp: lost.svg: gnuplot has drawn no whole picture$'
that 'half a picture' fails 'cat >/dev/null; echo "<svg>"' 'no whole picture$'
that 'a gnuplot that reads nothing' fails 'echo "<svg"; echo why >&2; exit 3' '^ctgp: gnuplot failed: why$'
that 'a reason that acts on terminals' fails 'printf "\033[2Jwhy\n" >&2; exit 1' \
    '^ctgp: gnuplot failed: \?\[2Jwhy$'

# A full disk: the good picture stays. gnuplot's own writes would fail without a word.
instead 'exec "$REAL" "$@"'
full() { # COMMAND...: with code 4 and a line that says so
    local rc=0
    "$@" >log 2>err || rc=$?
    [ $rc = 4 ] && [ "$(wc -l <err)" = 1 ] && grep -q "writing failed after" err && ! grep -q picture= log
}
for kind in svg png; do
    "$ctgp" plot plain.ctgp plain.csv --out "good.$kind" >log 2>err
    cp "good.$kind" "copy.$kind"
    that "a limit on the size of a $kind" full limited 2 "$ctgp" plot plain.ctgp plain.csv \
        --out "good.$kind"
    that 'leaves the old one' cmp "good.$kind" "copy.$kind"
done
ln -s /dev/full full.svg
that 'a full device' full "$ctgp" plot plain.ctgp plain.csv --out full.svg
mkdir disk
if mount -t tmpfs -o size=8k tmpfs disk 2>log; then
    trap 'umount "$folder/disk" 2>/dev/null; rm -rf "$folder"' EXIT
    echo old >disk/p.svg
    that 'a full disk' full "$ctgp" plot plain.ctgp plain.csv --out disk/p.svg
    that 'has the old picture' test "$(cat disk/p.svg)" = old
    that 'and nothing else' test "$(ls disk)" = p.svg
    # gnuplot and ctgp need no room in TMPDIR.
    head -c 20000 /dev/zero >disk/zeros 2>log
    that 'a full folder for temporary files' env TMPDIR="$PWD/disk" \
        "$ctgp" plot plain.ctgp plain.csv --out good.svg
    umount disk
fi

# No name beside the picture can be known before, so that nothing planted there is followed.
echo mine >victim
cat >planted.sh <<'SCRIPT'
ln -s victim "planted.svg.part$$" && exec "$@"
SCRIPT
that 'a planted link' sh planted.sh "$ctgp" plot plain.ctgp plain.csv --out planted.svg
that 'is not followed' test "$(cat victim)" = mine
ln -s aim.svg link.svg
that 'a link to the picture' "$ctgp" plot plain.ctgp plain.csv --out link.svg
that 'stays a link' test -L link.svg -a -s aim.svg

# A signal leaves neither a scratch folder nor a part of a picture.
rm -rf planted.svg.part* && mkdir tmp
instead 'cat >script; kill -$SIGNAL $PPID; sleep 0.1; exec "$REAL" "$@" <script'
for SIGNAL in TERM INT HUP; do
    export SIGNAL
    ls >before
    python3 - "$ctgp" >log 2>&1 <<'PYTHON'
import os, signal, subprocess, sys
for s in (signal.SIGINT, signal.SIGHUP): signal.signal(s, signal.SIG_DFL)
command = [sys.argv[1], "plot", "plain.ctgp", "plain.csv", "--out", "good.svg"]
code = subprocess.run(command, env=os.environ | {"TMPDIR": "tmp"}).returncode
sys.exit(code != -getattr(signal, "SIG" + os.environ["SIGNAL"]))
PYTHON
    that "SIG$SIGNAL ends the program" test $? = 0
    that 'which leaves nothing' sh -c 'ls | diff before - && cmp good.svg copy.svg && [ -z "$(ls tmp)" ]'
done

plan
