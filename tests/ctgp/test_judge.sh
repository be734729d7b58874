#!/usr/bin/env bash
# test_judge.sh CTGP: how ctgp judges models and how its tables are joined with others, in TAP.
# shellcheck source=tests/support/ctgp.sh
. "$(dirname "$0")/../support/ctgp.sh"

awk 'BEGIN { srand(7); print "site,a,b,y"
    for (i = 0; i < 60; i++) { a = rand() * 4; b = rand() * 2 - 1
        printf "\"No. %d, \"\"old\"\"\",%.6f,%.6f,%.6f\n", i % 5, a, b,
            sin(2 * a) + b * b + 0.3 * (rand() - 0.5) } }' >train.csv
fit=("$ctgp" fit --target y --max-iter 30 --kernel 'scale * rbf(ard)' --quiet)
ok 'fit' '^n=60 ' "${fit[@]}" train.csv --features a,b

# -- cross-validation ----------------------------------------------------------------------------------------

score='rmse=[0-9.e-]+ r2=[0-9.e-]+ nlpd=-?[0-9.]+ coverage95=[0-9.]+$'
that 'says what matters, and the noise' grep -qE '^  in words +mostly (a, b|b, a); noise 0\.[0-9]+$' out
ok 'of ten parts' "^n=60 folds=10 $score" "$ctgp" loo train.ctgp --folds 10 --out ten.csv
that 'a row for each' test "$(wc -l <ten.csv)" -eq 61
ok 'the same seed' . "$ctgp" loo train.ctgp --folds 10 --seed 0 --out again.csv
that 'the same parts' cmp ten.csv again.csv
ok 'another seed' . "$ctgp" loo train.ctgp --folds 10 --seed 1 --out again.csv
that 'other parts' sh -c '! cmp -s ten.csv again.csv'
ok 'of single rows' "^n=60 folds=60 $score" "$ctgp" loo train.ctgp --folds 60
cp out single
ok 'is leave-one-out' "^n=60 $score" "$ctgp" loo train.ctgp
that 'with its score' test "$(sed 's/folds=60 //' single)" = "$(cat out)"
ok 'by groups' "^n=60 folds=5 $score" "$ctgp" loo train.ctgp train.csv --by site --out by.csv
that 'with the lines of the table' sh -c 'head -n 1 by.csv | grep -qx line,mean,std,log_density &&
    test "$(sed -n 2p by.csv | cut -d, -f1) $(tail -n 1 by.csv | cut -d, -f1)" = "2 61"'
that 'groups differ from single rows' sh -c '! cut -d, -f2- by.csv | cmp -s - again.csv'
ok 'as JSON' '^\{"n": 60, "folds": 5, "rmse": ' "$ctgp" loo train.ctgp train.csv --by site --json
that 'which it is' python3 -c 'import json; assert json.load(open("out"))["folds"] == 5'
ok 'the lines alone' "^n=60 $score" "$ctgp" loo train.ctgp train.csv --out line.csv
that 'are there' grep -q '^17,' line.csv
sed '9s/,[^,]*$/,/' train.csv >holes.csv
ok 'fit where a row is incomplete' '^n=59 ' "${fit[@]}" holes.csv --features a,b
ok 'its lines' '^n=59 ' "$ctgp" loo holes.ctgp holes.csv --out line.csv
that 'leave that row out' sh -c '! grep -q "^9," line.csv && grep -q "^10," line.csv'
tr ',' ';' <train.csv | sed 's/No\. \([0-9]\);/No. \1,/' >semicolons.csv
ok 'by groups of another dialect' "^n=60 folds=5 $score" "$ctgp" loo train.ctgp semicolons.csv --by site
that 'the same' test "$(tail -n 1 out)" = "$("$ctgp" loo train.ctgp train.csv --by site)"
bad 'no group' 2 "line 4: column 'site' has no value" \
    "$ctgp" loo train.ctgp <(sed '4s/^"[^,]*, ""old"""//' train.csv) --by site
bad 'a single group' 2 "'one' is the same in every row" \
    "$ctgp" loo train.ctgp <(awk 'NR == 1 { print "one," $0; next } { print "x," $0 }' train.csv) --by one
bad 'no such column' 2 "no column 'nowhere'" "$ctgp" loo train.ctgp train.csv --by nowhere
bad 'another table' 2 "row 8 of the model's 60 is missing from it, or moved" \
    "$ctgp" loo train.ctgp holes.csv --by site
bad 'no table' 1 'needs the table' "$ctgp" loo train.ctgp --by site
bad 'groups and parts' 1 'leave --folds out' "$ctgp" loo train.ctgp train.csv --by site --folds 3
bad 'one part' 1 "--folds: '1'" "$ctgp" loo train.ctgp --folds 1
bad 'more parts than rows' 1 'the model has 60 rows' "$ctgp" loo train.ctgp --folds 61
bad 'output over the table' 1 'is the file of TRAIN.csv' "$ctgp" loo train.ctgp train.csv --out train.csv

# -- rows that are held back ---------------------------------------------------------------------------------

held='rows held back +n=15 rmse=[0-9.e-]+ r2=[0-9.e-]+ mae=[0-9.e-]+ nlpd=-?[0-9.]+ coverage95=[0-9.]+$'
ok 'a share of the rows' "$held" "${fit[@]}" train.csv --features a,b --test-fraction 0.25 --model part.ctgp
that 'is noted' grep -qx 'ctgp: 15 of 60 rows are held back, drawn; the model learns the other 45' err
that 'with the result of the others' grep -q '^n=45 ' out
ok 'the same rows again' "$(grep 'held back' out)" "${fit[@]}" train.csv --features a,b --test-fraction 0.25 \
    --model part.ctgp
ok 'rows of another seed' "$held" "${fit[@]}" train.csv --features a,b --test-fraction 0.25 --seed 3 \
    --model other.ctgp
ok 'the rows that were learned' '^n=45 ' "$ctgp" loo part.ctgp train.csv --out learned.csv
ok 'those of the other seed' '^n=45 ' "$ctgp" loo other.ctgp train.csv --out other.csv
that 'are others' sh -c 'cut -d, -f1 learned.csv >a; cut -d, -f1 other.csv >b; ! cmp -s a b'
# The score is that of predict on the rows that are not among the learned.
cut -d, -f1 learned.csv |
    awk -F, 'NR == FNR { seen[$1]; next } FNR == 1 || !(FNR in seen)' - train.csv >rest.csv
ok 'the score' . "${fit[@]}" train.csv --features a,b --test-fraction 0.25 --model part.ctgp
grep 'held back' out | sed 's/.*\(n=.*\)/\1/' >said
ok 'is that of predict' '^n=15 ' "$ctgp" predict part.ctgp rest.csv --out predicted.csv
that 'to the digit' cmp out said
ok 'the last rows' "$held" "${fit[@]}" train.csv --features a,b --test-last 0.25 --model last.ctgp
grep 'held back' out | sed 's/.*\(n=.*\)/\1/' >said
ok 'are those of the table' '^n=15 ' "$ctgp" predict last.ctgp <(sed '2,46d' train.csv) --out predicted.csv
that 'too' cmp out said
ok 'as JSON' '"test": \{"n": 15, "rmse": ' "${fit[@]}" train.csv --features a,b --test-last 0.25 --json
that 'which it is' python3 -c 'import json; assert 0 < json.load(open("out"))["test"]["rmse"] < 2'
ok 'few of many rows' '^n=20 ' "${fit[@]}" train.csv --features a,b --max-rows 20 --model few.ctgp
that 'is noted' grep -qx 'ctgp: the model learns 20 of 60 rows, drawn; the others are held back' err
that 'and scored on the rest' grep -qE 'rows held back +n=40 ' out
ok 'few of the others' '^n=20 ' "${fit[@]}" train.csv --features a,b --max-rows 20 --test-last 0.25 \
    --model few.ctgp
that 'scored on the last' grep -qE 'rows held back +n=15 ' out
ok 'no more than there are' '^n=60 ' "${fit[@]}" train.csv --features a,b --max-rows 60
that 'holds none back' sh -c '! grep -q held out err'
ok 'thousands of rows' '^n=50 ' "${fit[@]}" <(awk 'BEGIN { srand(1); print "a,y"
    for (i = 0; i < 20000; i++) { a = rand(); print a "," sin(9 * a) + rand() } }') --max-rows 50 \
    --model many.ctgp
that 'of which the rest is scored' grep -qE 'rows held back +n=5000 ' out
bad 'a share of all' 1 "test-fraction: '1' is not a number between 0 and 1" "${fit[@]}" train.csv \
    --test-fraction 1
bad 'a share of no row' 2 'holds back 0 of 60 rows' "${fit[@]}" train.csv --features a,b --test-last 0.001
bad 'two shares' 1 'one of them' "${fit[@]}" train.csv --test-last 0.1 --test-fraction 0.1
bad 'a single row' 1 "--max-rows: '1'" "${fit[@]}" train.csv --max-rows 1

# -- two models ----------------------------------------------------------------------------------------------

awk 'BEGIN { srand(9); print "b,y,a"
    for (i = 0; i < 200; i++) { a = rand() * 4; b = rand() * 2 - 1
        printf "%.6f,%s,%.6f\n", b, i == 5 ? "" : sin(2 * a) + b * b + 0.3 * (rand() - 0.5), a } }' >new.csv
ok 'fit of one column' '^n=60 ' "${fit[@]}" train.csv --features a --model a.ctgp
ok 'compare' '^train.ctgp is better, in its means and in its densities$' "$ctgp" compare a.ctgp train.ctgp \
    new.csv
that 'both scores' sh -c 'grep -qE "^a\.ctgp +0\.[0-9]+ +-?[0-9.]+$" out &&
    grep -qE "^train\.ctgp +0\.[0-9]+ " out'
ok 'the other way round' '^train.ctgp is better' "$ctgp" compare train.ctgp a.ctgp new.csv
ok 'with itself' '^these rows do not show' "$ctgp" compare train.ctgp train.ctgp new.csv
ok 'by leave-one-out' '^leave-one-out +rmse +nlpd$' "$ctgp" compare a.ctgp train.ctgp
that 'too' grep -q '^train.ctgp is better' out
for data in new.csv ''; do
    ok "as JSON ${data:-by leave-one-out}" '^\{"n": ' "$ctgp" compare a.ctgp train.ctgp $data --json
    mv out compared.json
    for m in a train; do
        if [ -n "$data" ]; then "$ctgp" predict $m.ctgp $data --out $m.out >out 2>err
        else "$ctgp" loo $m.ctgp --out $m.out >out; fi
    done
    that 'the numbers are those of the predictions' python3 - "${data:-train.csv}" <<'PYTHON'
import csv, json, math, statistics, sys
y = [float(r["y"] or "nan") for r in csv.DictReader(open(sys.argv[1]))]
square, nlpd, said = [], [], json.load(open("compared.json"))
for m in "a.out", "train.out":
    rows = [(float(r["mean"]), float(r["std"])) for r in csv.DictReader(open(m))]
    assert len(rows) == len(y)
    pairs = [(t - mean, s) for t, (mean, s) in zip(y, rows) if t == t]
    square.append([e * e for e, s in pairs])
    nlpd.append([0.5 * math.log(2 * math.pi * s * s) + 0.5 * (e / s) ** 2 for e, s in pairs])
n = len(square[0])
def close(a, b): assert abs(a - b) < 1e-9 * max(abs(a), abs(b), 1), (a, b)
assert said["n"] == n and n == sum(t == t for t in y)
for k, name in enumerate("AB"):
    close(said[name]["rmse"], math.sqrt(sum(square[k]) / n))
    close(said[name]["nlpd"], sum(nlpd[k]) / n)
for name, loss in ("squared_error", square), ("nlpd", nlpd):
    d = [b - a for a, b in zip(*loss)]
    close(said[name]["mean"], statistics.mean(d))
    close(said[name]["standard_error"], statistics.stdev(d) / math.sqrt(n))
    assert said[name]["better"] == "B"
PYTHON
done
bad 'models of other rows' 2 'have not learned the same targets' "$ctgp" compare part.ctgp train.ctgp
ok 'can be compared on a table' '^B minus A' "$ctgp" compare part.ctgp train.ctgp new.csv
ok 'fit of another target' '^n=60 ' "$ctgp" fit train.csv --target b --features a --kernel rbf --quiet \
    --model b.ctgp
bad 'which is nothing to compare with' 2 "predicts 'y' and b.ctgp 'b'" "$ctgp" compare train.ctgp b.ctgp
cut -d, -f1,3 new.csv >no_target.csv
bad 'no target in the table' 2 "no column 'y'" "$ctgp" compare a.ctgp train.ctgp no_target.csv
bad 'a table that can be read once' 1 'standard input can be read once' "$ctgp" compare a.ctgp train.ctgp -
bad 'no second model' 1 'a file is missing' "$ctgp" compare a.ctgp

# -- sensitivity ---------------------------------------------------------------------------------------------

# The Ishigami function: first-order indices 0.3139, 0.4424, 0, total ones 0.5576, 0.4424, 0.2437.
# Each column has the middles of 500 equal parts of its range [-pi, pi], in a drawn order.
awk 'function shuffle(c,    i, k) {
        for (i = 0; i < 500; i++) { k = int(rand() * (i + 1)); x[c, i] = x[c, k]
            x[c, k] = atan2(0, -1) * (2 * (i + 0.5) / 500 - 1) } }
    BEGIN { srand(4); print "u,v,w,y"; for (c = 0; c < 3; c++) shuffle(c)
    for (i = 0; i < 500; i++) { u = x[0, i]; v = x[1, i]; w = x[2, i]
        printf "%.6f,%.6f,%.6f,%.6f\n", u, v, w, sin(u) + 7 * sin(v) ^ 2 + 0.1 * w ^ 4 * sin(u) } }' \
    >ishigami.csv
ok 'fit of the Ishigami function' '^n=500 ' "${fit[@]}" ishigami.csv
ok 'its sensitivity' '^  u +0\.[0-9]+ +0\.[0-9]+ +\+[0-9.e+]+$' "$ctgp" info ishigami.ctgp --sensitivity
ok 'as JSON' '"sensitivity": \[\{"feature": "u", "first": ' "$ctgp" info ishigami.ctgp --sensitivity --json
that 'is as known' python3 -c 'import json
found = json.load(open("out"))["sensitivity"]
for f, first, total in zip(found, (0.3139, 0.4424, 0), (0.5576, 0.4424, 0.2437)):
    assert abs(f["first"] - first) < 0.03 and abs(f["total"] - total) < 0.03, f
    assert f["loo_nlpd_without"] > 0.5, f'
ok 'again' . "$ctgp" info ishigami.ctgp --sensitivity --json --seed 0
cp out again
ok 'and again' . "$ctgp" info ishigami.ctgp --sensitivity --json
that 'the same seed, the same numbers' cmp out again
that 'none unless asked for' sh -c '! "$1" info train.ctgp --json | grep -q sensitivity' sh "$ctgp"

# -- columns that are kept -----------------------------------------------------------------------------------

cat >named.csv <<'TABLE'
day,"the, id",a,b,y
2024-01-05,"Ann ""A.""",0.5,0.1,
2024-01-06 10:30, x ,,0.2,0.7
# a remark
2024-02-30,"two
lines",1.50,-0.3,1
,é,2,0.9,1e0
TABLE
ok 'predict with names' '^n=2 ' "$ctgp" predict train.ctgp named.csv --keep 'day,"the, id",y,a' \
    --out joined.csv
that 'has them as they are written' python3 - <<'PYTHON'
import csv
def rows(name): return list(csv.reader(line for line in open(name, newline="") if line[0] != "#"))
was, now = rows("named.csv"), rows("joined.csv")
assert now[0] == ["day", "the, id", "y", "a", "mean", "std", "lower95", "upper95"], now[0]
assert [[r[0], r[1].strip(), r[4], r[2]] for r in was[1:]] == [r[:4] for r in now[1:]], now
assert [r[4] != "" for r in now[1:]] == [True, False, True, True]
PYTHON
ok 'without' '^n=2 ' "$ctgp" predict train.ctgp named.csv --out plain.csv
that 'the same numbers' sh -c 'python3 -c "import csv
for r in csv.reader(open(\"joined.csv\", newline=\"\")): print(*r[4:], sep=\",\")" | cmp - plain.csv'
python3 -c 'import csv, sys
csv.writer(sys.stdout, delimiter=";").writerows([c.replace(".", ",") if i > 1 else c for i, c in enumerate(r)]
    for r in csv.reader(open("named.csv", newline="")) if r[0][:1] != "#")' >semicolons.csv
ok 'from another dialect' '^day,y$|^day,y,mean' "$ctgp" predict train.ctgp semicolons.csv --keep 'd*,y'
that 'as written there' grep -q '^,"1e0",\|^,1e0,' out
tr ';' '\t' <semicolons.csv >tabs.csv
ok 'from tabs' '^day,mean' "$ctgp" predict train.ctgp tabs.csv --keep day
that 'each row' test "$(cut -d, -f1 out | head -n 3 | tail -n 1)" = '2024-01-06 10:30'
sed '1d' train.csv | cut -d, -f3- | tr ',' ' ' >bare.txt
ok 'fit of a table of blanks without a header' '^n=60 ' "$ctgp" fit bare.txt --target c2 --kernel rbf \
    --quiet --model bare.ctgp
ok 'keep its columns' '^c0,c2,mean' "$ctgp" predict bare.ctgp bare.txt --keep 'c0,c2'
that 'as they are' sh -c 'cut -d, -f1,2 out | tail -n +2 | tr , " " >kept
    cut -d " " -f1,3 bare.txt | cmp - kept'
bad 'no such column to keep' 2 "no column 'nowhere'" "$ctgp" predict train.ctgp named.csv --keep nowhere
{ echo 'b,mean,a,std' && printf '%s\n' 0.3,1,0.5,2 0.1,2,1.5,3; } >again.csv
bad 'a column with the name of one of the prediction' 1 \
    "^ctgp: --keep: the prediction has a column 'mean', too: rename it in DATA.csv\$" \
    "$ctgp" predict train.ctgp again.csv --keep a,mean --out twice.csv
that 'writes nothing' test ! -e twice.csv
bad 'a column twice' 1 "'day' is there twice" "$ctgp" predict train.ctgp named.csv --keep day,day
ok 'draws of the function' '^samples=1 of=function rows=60 ' "$ctgp" sample train.ctgp train.csv \
    --out draw.csv
ok 'or of observations' '^samples=1 of=observations ' "$ctgp" sample train.ctgp train.csv \
    --noisy --out draw.csv

# -- rows that the model learned -----------------------------------------------------------------------------

ok 'a score of rows that the model learned' '^n=60 ' "$ctgp" predict train.ctgp train.csv --out p.csv
that 'says so' grep -qx \
    'ctgp: train.csv: the model learned these rows: new rows are predicted less well, as ctgp loo tells' err
awk -F, -v OFS=, 'NR > 1 { $NF += 0.01 } 1' train.csv >moved.csv
{ cat train.csv; sed 1d moved.csv; } >both.csv
ok 'others are scored apart' '^rows that the model learned: n=60 rmse=' \
    "$ctgp" predict train.ctgp both.csv --out p.csv
head -n 1 out >apart
"$ctgp" predict train.ctgp moved.csv --out p.csv >alone
that 'as if they were alone' cmp apart alone
ok 'also in JSON' '"learned_rows": 60, "learned": \{"n": 60, ' \
    "$ctgp" predict train.ctgp both.csv --out p.csv --json

# -- numbers without digits ----------------------------------------------------------------------------------

awk 'BEGIN { print "t,y"; for (i = 0; i < 60; i++) printf "%d,%.9f\n", i, sin(i * 0.5235987756) }' >wave.csv
"$ctgp" fit wave.csv --target y --kernel 'scale * periodic(period=12!) * rbf' --quiet --model wave.ctgp >out
printf 't\n61\n1e16\n' >far.csv
ok 'a row that is far out' '^mean,' "$ctgp" predict wave.ctgp far.csv
coarse='is so large that its last digit is coarse beside periodic.period, 12: the prediction has no digits'
that 'has a note' grep -qx "ctgp: far.csv, line 3: 't' $coarse" err
printf 't,y\n0,1\n8e-8,1\n1,0.6\n' >close.csv
"$ctgp" fit close.csv --target y --kernel 'scale(variance=1!) * rbf(lengthscale=1!)' --noise none --quiet \
    --standardize no --mean zero --model close.ctgp >out
ok 'a singular covariance' '^mean,' "$ctgp" predict close.ctgp <(printf 't\n0.5\n')
that 'has one, too' grep -q "rounding leaves no digit of the standard deviations of 'y'" err

# -- bounds of parameters ------------------------------------------------------------------------------------

between() { python3 -c 'import json, sys
p = json.load(open("out"))["parameters"]
for name, low, high in zip(*[iter(sys.argv[1:])] * 3): assert float(low) <= p[name] <= float(high), p' "$@"; }
own=("$ctgp" fit train.csv --target y --features a,b --kernel 'scale * rbf(ard)' --quiet --json
    --model own.ctgp)
ok 'fit without bounds' . "${own[@]}"
that 'is elsewhere' between noise.variance 0 0.1 'rbf.lengthscale[0]' 0.5 9 'rbf.lengthscale[1]' 0.5 9
ok 'fit with bounds' . "${own[@]}" --lower 'noise.variance=0.25' --upper 'noise.variance=0.3, rbf.length*=0.4'
that 'is within' between noise.variance 0.25 0.3 'rbf.lengthscale[0]' 0 0.4 'rbf.lengthscale[1]' 0 0.4
ok 'by the name of its column' . "${own[@]}" --lower 'rbf.lengthscale[b]=11'
that 'alone' between 'rbf.lengthscale[0]' 0.5 9 'rbf.lengthscale[1]' 11 9999
ok 'of the mean' . "${own[@]}" --lower mean.constant=2 --upper mean.constant=2.5
that 'too' between mean.constant 2 2.5
bad 'no such parameter' 1 "no parameter 'alpha'; it has scale.variance, rbf.lengthscale\[a\], " "${own[@]}" \
    --lower alpha=1
bad 'no number' 1 "'scale.variance=x' is not NAME=VALUE" "${own[@]}" --upper scale.variance=x
bad 'no room' 1 'noise.variance would have to be at least 2 and at most 1' "${own[@]}" \
    --lower noise.variance=2 --upper noise.variance=1
bad 'below zero' 1 '^ctgp: --upper: scale.variance' "${own[@]}" --upper scale.variance=-1
ok 'a lower bound below zero is none' . "${own[@]}" --lower 'rbf.lengthscale[0]=-1,noise.variance=-1'
sed 's/"seconds": [0-9.e+-]*//' out >unbounded
ok 'as without' . "${own[@]}"
that 'the same fit' sh -c 'sed "s/\"seconds\": [0-9.e+-]*//" out | cmp - unbounded'
bad 'of what is held' 1 "rbf.lengthscale is held by the kernel's text" "$ctgp" fit train.csv --target y \
    --features a --kernel 'scale * rbf(lengthscale=1!)' --upper rbf.lengthscale=3
bad 'without a kernel' 1 'lower needs --kernel' "$ctgp" fit train.csv --target y --lower noise.variance=1

# -- how long it takes ---------------------------------------------------------------------------------------

awk 'BEGIN { srand(1); print "a,y"
    for (i = 0; i < 1500; i++) { a = rand(); print a "," sin(9 * a) + rand() } }' >slow.csv
slow=("$ctgp" fit slow.csv --target y --kernel 'scale * rbf' --optimizer adam --max-iter 100000
    --time-limit 1)
ok 'a long fit' '^n=1500 ' "${slow[@]}"
that 'shows its time before' grep -qE \
    '^ctgp: an evaluation takes [0-9.]+ s: the fit some [0-9.]+ (s|min|h), for 100000 evaluations' err
that 'once' test "$(grep -c 'the fit some' err)" -eq 1
ok 'quietly' '^n=1500 ' "${slow[@]}" --quiet
that 'it does not' sh -c '! grep -q "the fit some" err'
ok 'a short fit' '^n=60 ' "$ctgp" fit train.csv --target y --features a --kernel 'scale * rbf'
that 'does not either' sh -c '! grep -q "the fit some" err'
awk 'BEGIN { print "a"; for (i = 0; i < 5000; i++) print i / 1000 }' >grid.csv
cat >terminal.py <<'PYTHON'
import os, pty, sys
program, said = sys.argv[1:], b""
pid, fd = pty.fork()
if pid == 0:
    os.execv(program[0], program)
try:
    while True:
        more = os.read(fd, 4096)
        if not more: break
        said += more
except OSError: pass
os.waitpid(pid, 0)
sys.stdout.buffer.write(said)
PYTHON
ok 'many rows on a terminal' 'predicted 4096 of 5000 rows \(82 %\)' python3 terminal.py "$ctgp" \
    predict a.ctgp grid.csv --out grid.out
that 'the line is cleared' grep -q "$(printf '\r\033\\[Kn=0')" out
ok 'many rows elsewhere' . "$ctgp" predict a.ctgp grid.csv --out again.out
that 'are the same' cmp grid.out again.out
that 'without a bar' test ! -s err

ok 'a fit on a terminal' 'iteration 1 .*objective' python3 terminal.py "$ctgp" \
    fit train.csv --target y --features a --kernel 'scale * rbf' --restarts 0
that 'shows one line' grep -q "$(printf 'iteration 1 .*\r\033\\[Kiteration 2 ')" out
ok 'or many' '^iteration 1 ' python3 terminal.py "$ctgp" \
    fit train.csv --target y --features a --kernel 'scale * rbf' --restarts 0 --verbose
that 'which stay' sh -c '! grep -q "$(printf "\033")" out'

# -- help on kernels -----------------------------------------------------------------------------------------

ok 'help kernels' '^  rbf +exp\(-r\^2 / 2\)$' "$ctgp" help kernels
cp out kernels
for name in $("$ctgp" help fit | sed -n 's/^Kernels: \(.*\), combined by/\1/p'); do
    that "has $name" grep -qE "^  $name +[^ ]" kernels
done
awk 'BEGIN { srand(2); print "year,y"; for (i = 0; i < 120; i++) { t = i / 12
    print t "," t / 5 + sin(6.283185307 * t) + 0.5 * cos(12.56637 * t) + 0.1 * rand() } }' >season.csv
recipe=$(sed -n '/--kernel "/,/)"/p' kernels | tr -d '\n' | sed 's/.*--kernel "\(.*\)"/\1/')
ok 'its recipe for a time series' 'rows held back +n=24 rmse=0\.0' "$ctgp" fit season.csv --target y \
    --test-last 0.2 --kernel "$recipe" --quiet

plan
