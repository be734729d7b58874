#!/usr/bin/env bash
# test_refused.sh CTGP: command lines and tables that ctgp refuses, and those beside them that it takes. In
# TAP.
# shellcheck source=tests/support/ctgp.sh
. "$(dirname "$0")/../support/ctgp.sh"

awk 'BEGIN { print "a,b,sd,level,y,z"; for (i = 0; i < 30; i++)
    printf "%g,%g,0.1,%s,%.6f,%.6f\n", i / 5, i * 7 % 30, i % 2 ? "u" : "v", sin(i / 5), cos(i / 5) }' >t.csv
fit=("$ctgp" fit --kernel 'scale * rbf' --max-iter 5 --quiet)
ok 'a model' '^n=30 ' "${fit[@]}" t.csv --target y --features a --model m.ctgp

# -- words ---------------------------------------------------------------------------------------------------

"$ctgp" >out 2>err
that 'no command' test $? -eq 1
that 'is told the commands' grep -qx 'usage: ctgp COMMAND ...' err
that 'on standard error' test ! -s out
cp m.ctgp ./-m.ctgp
ok 'a name with a hyphen after --' '^target       y$' "$ctgp" info -- -m.ctgp
bad 'but not before' 1 "'-m.ctgp' is no option of info" "$ctgp" info -m.ctgp
bad 'an option after --' 1 "'--json' is one argument too many" "$ctgp" info -- m.ctgp t.csv --json
bad 'a value of a switch' 1 -- "$ctgp" info m.ctgp --json=yes
that 'says so' grep -qx 'ctgp: --json takes no value' err
bad 'no number of rows' 1 "max-rows: '' is no whole number from 2" "${fit[@]}" t.csv --target y --max-rows ''
bad 'a number with more behind it' 1 "max-iter: '5x' is no whole number" \
    "$ctgp" fit t.csv --target y --max-iter 5x
bad 'a number too large for any integer' 1 'restarts: .9999999999999999999999. is no whole number' \
    "${fit[@]}" t.csv --target y --restarts 9999999999999999999999
bad 'bounds without a kernel' 1 'upper needs --kernel' \
    "$ctgp" fit t.csv --target y --upper noise.variance=1
bad 'a bound that is no number' 1 'noise\.variance=much' \
    "${fit[@]}" t.csv --target y --features a --lower noise.variance=much

# What was likely meant.
bad 'a misspelt command' 1 "plot: did you mean 'predict'[?]$" "$ctgp" perdict m.ctgp t.csv
bad 'a misspelt option' 1 "no option of fit: did you mean '--target'[?] 'ctgp help fit'" \
    "${fit[@]}" t.csv --traget y
bad 'a misspelt column' 2 "z: did you mean 'level'[?]$" "${fit[@]}" t.csv --target y --features a,Levle
LINES_ALLOWED=4 bad 'a misspelt profile' 1 'scale: did you mean matern32[?]$' \
    "$ctgp" fit t.csv --target y --kernel matren32
bad 'a misspelt parameter' 1 "mean.constant: did you mean 'noise.variance'[?]$" \
    "${fit[@]}" t.csv --target y --features a --lower noise.varience=1
bad 'a name like none' 2 "it has a, b, sd, level, y, z$" "${fit[@]}" t.csv --target temperature

# -- names ---------------------------------------------------------------------------------------------------

mkdir sub && cp t.csv sub/two.parts.csv && cp t.csv .hidden && cp t.csv plain
ok 'a table in a folder' 'model=two.parts.ctgp$' "${fit[@]}" sub/two.parts.csv --target y --features a
that 'has its model in this one' test -s two.parts.ctgp
ok 'a name that begins with a dot' 'model=.hidden.ctgp$' "${fit[@]}" .hidden --target y --features a
ok 'a name without an ending' 'model=plain.ctgp$' "${fit[@]}" plain --target y --features a
long=$(printf '%040d' 0)
awk -v long="$long" 'BEGIN { for (i = 0; i < 40; i++) printf "%s%d,", long, i; print "y" }' >names.csv
awk 'BEGIN { for (i = 0; i < 3; i++) { for (k = 0; k < 40; k++) printf "%d,", i + k; print i } }' >>names.csv
bad 'a column among many with long names' 2 "names.csv has no column 'x'; it has ${long}0, .*0, \.\.\., y\$" \
    "${fit[@]}" names.csv --target x
printf ',y\n1,2\n2,3\n3,5\n' >counts.csv
ok 'a nameless count of rows' '^n=3 features=1 ' "${fit[@]}" counts.csv --target y
printf ',x,y\n1,5,2\n2,6,3\n3,8,5\n' >counts.csv
ok 'beside a feature' '^n=3 features=1 ' "${fit[@]}" counts.csv --target y
that 'is left out' grep -q 'the first column has no name and counts the rows: it is left out$' err

# -- several targets -----------------------------------------------------------------------------------------

shared=("${fit[@]}" t.csv --target "y,z" --features a --outputs shared)
bad 'noise of levels' 1 'shared learns its noise: leave --noise-by out' "${shared[@]}" --noise-by level
bad 'noise of a column' 1 'shared learns its noise: leave --noise-column out' "${shared[@]}" --noise-column sd
bad 'mixed precision' 1 'in full precision: leave --precision out' "${shared[@]}" --precision mixed
bad 'a checkpoint of several fits' 1 'checkpoint is of one fit: .*, or take --outputs shared' \
    "${fit[@]}" t.csv --target y,z --features a --checkpoint c.log
that 'leaves none' test ! -e c.log
awk 'BEGIN { for (r = -1; r < 2; r++) for (i = 1; i <= 514; i++)
    printf "%s%s", r < 0 ? "c" i : r * i, i < 514 ? "," : "\n" }' >wide.csv
bad 'too many' 1 'target names 513 columns, it takes at most 512' \
    "${fit[@]}" wide.csv --target "$(seq -f c%g -s, 1 513)"

# -- rows ----------------------------------------------------------------------------------------------------

printf 'a,y\n,1\n2,\n' >holes.csv
cp m.ctgp more.ctgp
bad 'nothing to append' 2 'holes.csv: no row has a value in every column that the model uses' \
    "$ctgp" append m.ctgp holes.csv --model more.ctgp
that 'changes nothing' cmp more.ctgp m.ctgp
bad 'nothing to predict' 2 'no row has a value in every input column' \
    "$ctgp" predict m.ctgp <(printf 'a,y\n,1\n')
head -n 2 t.csv >one.csv
bad 'a single row to compare in' 2 '1 rows have a target and all inputs of both models; it takes at least 2' \
    "$ctgp" compare m.ctgp m.ctgp one.csv
bad 'a table that is read twice' 1 '/dev/fd/[0-9]* can be read once' \
    "$ctgp" compare m.ctgp m.ctgp <(cat t.csv)
bad 'standard input, too' 1 'standard input can be read once' "$ctgp" compare m.ctgp m.ctgp -
sed '4s/0\.1/1e200/' t.csv >large.csv
bad 'a spread without a square' 2 "line 4, column 'sd': the square of 1e\+?200 is out of range" \
    "${fit[@]}" large.csv --target y --features a --noise-column sd
ok 'a variance as large' '^n=30 ' "${fit[@]}" large.csv --target y --features a --noise-column variance:sd
ok 'noise of rows that are held back' 'rows held back +n=9 ' \
    "${fit[@]}" t.csv --target y --features a --noise-column sd --test-fraction 0.3
sed '31s/,u,/,w,/' t.csv >levels.csv
LINES_ALLOWED=2 bad 'a held-back level that no learned row has' 2 . \
    "${fit[@]}" levels.csv --target y --features a --noise-by level --test-last 0.05 --model l.ctgp
that 'is named' grep -q "line 31, column 'level': the model has no noise for the level w, which no row" err
that 'and leaves no model' test ! -e l.ctgp
awk 'BEGIN { print "a,y"
    for (i = 0; i < 9000; i++) printf "%.6f,%.6f\n", i / 1500, sin(i / 1500) }' >many.csv
ok 'a long table' '^n=8970 ' "$ctgp" predict m.ctgp many.csv --out file.csv
that 'on standard input' sh -c '"$1" predict m.ctgp - --out input.csv <many.csv' - "$ctgp"
that 'is the same' cmp file.csv input.csv
gzip -c many.csv >many.csv.gz
if "$ctgp" predict m.ctgp many.csv.gz --out gzip.csv >out 2>err; then
    that 'a compressed table is the same' cmp file.csv gzip.csv
    that 'also on standard input' sh -c '"$1" predict m.ctgp - --out input.csv <many.csv.gz' - "$ctgp"
    that 'which is read alike' cmp file.csv input.csv
    head -c 999 many.csv.gz >part.csv.gz
    bad 'a part of one' 2 'part.csv.gz: the compressed file is damaged or cut off$' \
        "$ctgp" predict m.ctgp part.csv.gz --out none.csv
    gzip -c t.csv >packed.csv.gz
    ok 'its model has the name of the table' 'model=packed.ctgp$' "${fit[@]}" packed.csv.gz --target y
else
    that 'without zlib a compressed table is refused' grep -q 'a compressed file: unpack it with gunzip$' err
fi
"$ctgp" predict m.ctgp - --out none.csv <. >out 2>err
that 'a folder there' test $? -eq 4
that 'is no table' grep -qx 'ctgp: standard input: Is a directory' err
plan
