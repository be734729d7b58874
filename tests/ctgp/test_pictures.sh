#!/usr/bin/env bash
# test_pictures.sh CTGP: maps, forecasts, logarithmic axes, bars and colours of ctgp plot. A program in
# gnuplot's place keeps the script and, if gnuplot is there, draws it. In TAP.
# shellcheck source=tests/support/ctgp.sh
. "$(dirname "$0")/../support/ctgp.sh"

real=$(command -v gnuplot)
mkdir bin
cat >bin/gnuplot <<'PROGRAM'
#!/bin/sh
cat >script
if [ -n "$REAL" ]; then exec "$REAL" "$@" <script; fi
grep -q 'terminal pdf' script && echo '%%EOF' || echo '<svg></svg>'
PROGRAM
chmod +x bin/gnuplot
export REAL=$real PATH=$PWD/bin:$PATH

# table NAME AWK, fitted NAME TARGET [OPTION...]: a table that AWK prints, and a model of it.
table() { awk "BEGIN { srand(5); $2 }" >"$1.csv"; }
fitted() { "$ctgp" fit "$1.csv" --target "$2" --quiet --max-iter 30 --model "$1.ctgp" "${@:3}" >out 2>err; }
# drawn NAME [OPTION...]: the model's picture of its table.
drawn() { "$ctgp" plot "$1.ctgp" "$1.csv" --out "$1.svg" "${@:2}" >out 2>err; }
# block N NAME: the rows of the data block of this name in the N-th place that it is written.
block() {
    awk -v n="$1" -v b="\$$2 << EOD" \
        '$0 == b { k++; on = 1; next } $1 == "EOD" { on = 0 } on && k == n' script
}
# ratio: height over width of the first box.
ratio() {
    awk '/^set terminal/ { split($0, p, /[ ,]/); p[1] = p[5]; p[2] = p[6] }
        /^set .margin at screen/ && !($2 in m) { m[$2] = $5 }
        END { print (m["tmargin"] - m["bmargin"]) * p[2] / (m["rmargin"] - m["lmargin"]) / p[1] }' script
}

# -- maps ----------------------------------------------------------------------------------------------------

place='a = 46 + 2 * rand(); b = 6 + 4 * rand()'
table places "print \"latitude,longitude,depth,rain\"; for (i = 0; i < 60; i++) { $place
    printf \"%.4f,%.4f,%d,%.5f\n\", a, b, i % 3, 20 + 5 * sin(2 * a) + 3 * cos(b) }"
fitted places rain --features latitude,longitude --kernel 'scale * rbf(ard)'
that 'two numbers' drawn places
that 'are two maps' test "$(grep -c '^plot .map with image' script)" -eq 2
that 'of 100 cells a side' test "$(block 1 map | wc -l) $(block 2 map | wc -l)" = '10000 10000'
that 'whose x is the longitude' test "$(grep -c '^set xlabel "longitude"' script)" -eq 2
near 'a degree of which has the length that it has at 47 degrees' "$(ratio)" \
    '0.5 / cos(47 * 3.14159265 / 180)' 0.05
that 'of the mean' grep -qx 'set cblabel "rain, mean"' script
that 'and its standard deviation' grep -qx 'set cblabel "rain, standard deviation"' script
that 'with the rows, in the colour of their target' \
    test "$(block 1 learned | awk '$3 >= -0.2 && $3 <= 1.2' | wc -l)" -eq 60
that 'above the cells' \
    grep -q '^plot .map with image.*[$]learned using 1:2:3 with points .* lc palette' script
that 'the cells are the mean' python3 - "$ctgp" <<'PYTHON'
import csv, re, subprocess, sys
text = open("script").read()
def axis(which, number):
    line = re.findall(rf"^set {which}tics .*$", text, re.M)[number]
    tics = [(float(a), float(b)) for a, b in re.findall(r'"([-0-9.e+]+)" ([0-9.e+-]+)', line)]
    (a, u), (b, v) = tics[0], tics[-1]
    return lambda share: a + (share - u) / (v - u) * (b - a)
x, y = axis("x", 0), axis("y", 0)
for number, column in ((0, "mean"), (1, "std")):
    color = axis("cb", number)
    block = text.split("$map << EOD\n")[1 + number].split("EOD")[0]
    cells = [[float(v) for v in line.split()] for line in block.splitlines()][::1234]
    with open("cells.csv", "w") as f:
        f.write("longitude,latitude\n" + "".join(f"{x(c[0])},{y(c[1])}\n" for c in cells))
    drawn = [color(c[2]) for c in cells]
    command = [sys.argv[1], "sample", "places.ctgp", "cells.csv", "--out", "-", "--samples", "4000"]
    out = subprocess.run(command, capture_output=True, text=True).stdout
    for row, value in zip(csv.reader(out.splitlines()[1:]), drawn):
        draws = [float(v) for v in row]
        mean = sum(draws) / len(draws)
        std = (sum((d - mean) ** 2 for d in draws) / len(draws)) ** 0.5
        if number == 0: assert abs(value - mean) < 0.1 * std + 2e-3 * abs(mean), (value, mean, std)
        else: assert abs(value - std) < 0.1 * std + 1e-3, (value, std)
PYTHON
that 'panels in place of a map' drawn places --panels 1
that 'are three' test "$(grep -c '^plot ' script)" -eq 3
cut -d, -f1-3 places.csv >inputs.csv
that 'a map needs no target' "$ctgp" plot places.ctgp inputs.csv --out p.svg
fitted places rain --kernel 'scale * rbf(ard)'
that 'three numbers' drawn places
that 'have panels' test "$(grep -c '^plot ' script)" -eq 5
that 'or a map of two' drawn places --map longitude,depth
that 'in their order' grep -qx 'set ylabel "depth"' script
awk -F, -v OFS=, 'NR > 1 { $3 = 1 } 1' places.csv >level.csv
that 'a table where two of three vary' "$ctgp" plot places.ctgp level.csv --out p.svg
that 'is a map' test "$(grep -c '^plot .map with image' script)" -eq 2
bad 'an input that is not there' 1 "--map: the model has no input 'height'" \
    "$ctgp" plot places.ctgp places.csv --out p.svg --map height,depth
bad 'one input' 1 "--map: 'depth' is not two inputs" \
    "$ctgp" plot places.ctgp places.csv --out p.svg --map depth
bad 'one twice' 1 "'depth,depth' are not one or two" \
    "$ctgp" plot places.ctgp places.csv --out p.svg --map depth,depth
bad 'three' 1 'are not one or two' \
    "$ctgp" plot places.ctgp places.csv --out p.svg --map depth,latitude,longitude
bad 'one that does not vary' 2 'a map needs two inputs with more than two numbers' \
    "$ctgp" plot places.ctgp level.csv --out p.svg --map depth,latitude
bad 'a map and panels' 1 'two kinds of pictures' \
    "$ctgp" plot places.ctgp places.csv --out p.svg --map depth,latitude --panels 2

table plane 'print "Yloc,Xloc,z"
    for (i = 0; i < 50; i++) printf "%.3f,%.3f,%.4f\n", 3 * rand(), 6 * rand(), i % 7'
fitted plane z --kernel 'scale(1!) * rbf(lengthscale=1!)'
that 'coordinates of one plane' drawn plane
that 'have x beside' grep -qx 'set xlabel "Xloc"' script
near 'and one scale' "$(ratio)" 0.5 0.05
fitted plane z --kernel 'scale(1!) * rbf(lengthscale=0.01!)'
that 'waves that are too short for a map' drawn plane
that 'have none' test "$(grep -c 'with image' script)" -eq 0
that 'but a note' grep -q 'no map over Xloc and Yloc: the kernel.s waves need more than 200 cells across' err

# -- logarithmic axes, bars, forecasts -----------------------------------------------------------------------

table mixed 'split("red,green,blue", c, ","); print "day,colour,size,y"; for (i = 0; i < 40; i++)
    printf "2024-01-%02d,%s,%d,%.4f\n", 1 + i % 31, c[1 + i % 3], i % 7, exp(i % 3 + sin(i) / 9)'
fitted mixed y --transform log --kernel 'scale * rbf(dims=0:2, ard) * category(dims=1)'
that 'a log of the target' drawn mixed
that 'has 1, 2, 5, ...' sh -c 'grep "^set ytics" script | head -n 1 | grep -q "(\"1\" .*\"2\" .*\"5\" "'
that 'at equal distances' python3 - <<'PYTHON'
import math, re
line = [l for l in open("script") if l.startswith("set ytics")][0]
tics = [(float(a), float(b)) for a, b in re.findall(r'"([0-9.]+)" ([0-9.e-]+)', line)]
slopes = [(b[1] - a[1]) / math.log(b[0] / a[0]) for a, b in zip(tics, tics[1:])]
assert len(tics) > 2 and max(slopes) - min(slopes) < 1e-9, tics
PYTHON
that 'a residual is one of the log' grep -qx 'set ylabel "log(y), residual"' script
that 'effects have axes of their own' test "$(grep -c '^set ytics' script)" -eq 5
that 'which differ' test "$(grep '^set ytics' script | sort -u | wc -l)" -eq 5

table binary 'print "sex,age,y"
    for (i = 0; i < 40; i++) printf "%d,%d,%.4f\n", i % 2, i % 11, i % 2 + sin(i)'
fitted binary y --kernel 'scale * rbf(ard)'
that 'a column of two numbers' drawn binary --panels 2
that 'has two bars' test "$(block 1 effect | wc -l)" -eq 2
that 'and is no side of a map' test "$(grep -c '^plot ' script)" -eq 4
that 'another has a curve' test "$(block 2 effect | wc -l)" -eq 500
that 'two tics' grep -q '^set xtics norotate ("0" 0.25, "1" 0.75)$' script
head -n 2 binary.csv >one.csv
that 'one of the two alone' "$ctgp" plot binary.ctgp one.csv --out p.svg
that 'has no effect' grep -q '^set label "no effects of inputs with one value in the table: 2"' script

table series 'print "t,y"; for (i = 0; i < 100; i++) printf "%d,%.4f\n", i, sin(i / 5)'
fitted series y --kernel 'scale * rbf'
table future 'print "t,y"; for (i = 100; i < 110; i++) printf "%d,%.4f\n", i, sin(i / 5)'
that 'a forecast' "$ctgp" plot series.ctgp future.csv --out p.svg
that 'shows the last rows before it' test "$(block 1 learned | wc -l)" -eq 21
that 'and its own' test "$(block 1 others | wc -l)" -eq 10
that 'in the legend' grep -q '● rows never seen: n=10' script
that 'with the others' grep -q '● the last learned rows' script
near 'the curve begins there' "$(block 1 curve | head -n 1 | cut -d' ' -f1)" \
    "$(block 1 learned | cut -d' ' -f1 | sort -g | head -n 1)" 1e-9
that 'a table with rows between' "$ctgp" plot series.ctgp <(head -n 9 series.csv) --out p.svg
that 'has no others' test "$(block 1 learned | wc -l)" -eq 8

bad 'a map of one input' 1 "--map: 't' is not two inputs" \
    "$ctgp" plot series.ctgp series.csv --out p.svg --map t

# A half-hourly series over half a year with a daily season: a wave of two pixels.
table half 'print "time,temp,load"; for (i = 0; i < 400; i++) printf "2024-%02d-%02dT%02d:30,%.2f,%.2f\n",
    1 + i / 70, 1 + i % 28, i * 7 % 24, 9 + sin(i), 5 * sin(i * 7 % 24 * 6.2831853 / 24) + sin(i)'
fitted half load --kernel 'scale * rbf(dims=1) + scale * periodic(dims=0, period=1!)'
that 'a wave that is too short for a panel' drawn half
that 'is not drawn' test "$(grep -o '^set xlabel "t.*"' script)" = 'set xlabel "temp"'
that 'which a note says' \
    grep -q '^ctgp: no curve over time: 179.9 waves, [0-9]* points, do not fit into 260 pixels; draw' err
# A lengthscale that columns share is in standard deviations.
table shared 'print "a,b,y"
    for (i = 0; i < 50; i++) printf "%d,%.5f,%.3f\n", 1e4 * i, i * 7 % 50 / 1e4, sin(i / 9)'
fitted shared y --kernel 'scale * rbf(lengthscale=0.5!)'
that 'a shared lengthscale' drawn shared
that 'has a map' test "$(grep -c '^plot .map with image' script)" -eq 2
that 'or effects' drawn shared --panels 2
that 'of all columns' test "$(block 1 effect | wc -l) $(block 2 effect | wc -l)" = '500 500'

kernel='scale * rbf + scale * matern32 * periodic(period=30!)'
fitted series y --kernel "$kernel + $kernel + linear"
that 'a long kernel' drawn series
that 'is cut to the width of the page' grep -qE '^set label "series.ctgp: .{81}…" at screen' script

# -- colours and files ---------------------------------------------------------------------------------------

that 'on a light ground' grep -q "^c_back = '#ffffff'" script
that 'on a dark one' drawn half --dark
that 'the ground differs' grep -q "^c_back = '#15181d'" script
that 'and the letters' grep -q "^c_ink = '#d8dade'" script
that 'a PDF' "$ctgp" plot series.ctgp series.csv --out p.pdf
that 'is whole' sh -c 'tail -c 8 p.pdf | grep -q "%%EOF"'
if [ -n "$real" ]; then
    ln -s /dev/full full.pdf
    bad 'to a full disk' 4 'writing failed after' "$ctgp" plot series.ctgp series.csv --out full.pdf
    # What stands in the picture: labels of an axis do not meet, and all lie on the page.
    awk 'BEGIN { print "a very long name of a station,a measurement with a long name,v"
        for (i = 0; i < 90; i++) print "station number " i % 45 "," 1e5 * i % 777777 "," i % 5 }' >wide.csv
    fitted wide v --kernel 'scale * category(dims=0) + scale * rbf(dims=1)'
    for name in wide mixed places binary half series; do
        drawn "$name"
        that "labels of $name are on the page, and apart" python3 - "$name.svg" <<'PYTHON'
import re, sys
from xml.etree import ElementTree
root = ElementTree.parse(sys.argv[1]).getroot()
width, height = [float(v) for v in root.get("viewBox").split()[2:]]
boxes = []
def visit(node, x, y, turn, anchor):
    move = re.search(r"translate\(([-0-9.]+),([-0-9.]+)\)", node.get("transform", ""))
    if move: x, y = x + float(move[1]), y + float(move[2])
    rotated = re.search(r"rotate\(([-0-9.]+)\)", node.get("transform", ""))
    turn = turn + float(rotated[1]) if rotated else turn
    anchor = node.get("text-anchor", anchor)
    text = "".join(node.itertext()).strip()
    if node.tag.endswith("}text") and text:
        w = 7 * len(text)
        left = x - {"start": 0, "middle": w / 2, "end": w}[anchor]
        if turn % 360 == 0: boxes.append((left, left + w, y, text))
        elif turn % 180 == 90: assert 0 <= y - w / 2 and y + w / 2 <= height, (text, y)
        else: assert x - 0.5 * w >= -8 and y + 0.87 * w <= height + 8, (text, x, y)
    if not node.tag.endswith("}text"):
        for child in node: visit(child, x, y, turn, anchor)
visit(root, 0, 0, 0, "start")
assert len(boxes) > 8, boxes
for i, a in enumerate(boxes):
    assert a[0] >= 0 and a[1] <= width and 0 <= a[2] <= height, a
    for b in boxes[:i]:
        assert a[1] <= b[0] or b[1] <= a[0] or abs(a[2] - b[2]) >= 11, (a, b)
PYTHON
    done
fi
plan
