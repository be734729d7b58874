#!/usr/bin/env bash
# test_ctgp.sh CTGP [SLOW_STAT]: the command-line tool on good and bad input, in TAP. SLOW_STAT is a library
# that makes stat slow.
# shellcheck source=tests/support/ctgp.sh
. "$(dirname "$0")/../support/ctgp.sh"
slow_stat=${2-}

# -- data ----------------------------------------------------------------------------------------------------

awk 'BEGIN { srand(7); print "id,a,b,y"
    for (i = 0; i < 60; i++) { a = rand() * 4; b = rand() * 2 - 1
        printf "row%d,%.6f,%.6f,%.6f\n", i, a, b, sin(2 * a) + b * b + 0.05 * (rand() - 0.5) } }' >all.csv
cut -d, -f2-4 all.csv >numbers.csv
head -n 41 numbers.csv >train.csv
{ head -n 1 numbers.csv; tail -n 20 numbers.csv; } >test.csv
awk -F, -v OFS=, '{ print $3, $2, $1 }' test.csv >shuffled.csv
cut -d, -f1,2 test.csv >unknown.csv
cut -d, -f1,3 train.csv >curve.csv
awk 'BEGIN { srand(7); print "a,b,c,y"
    for (i = 0; i < 80; i++) { a = rand(); b = rand(); c = rand()
        printf "%.6f,%.6f,%.6f,%.6f\n", a, b, c, a + 2 * b + rand() + rand() - 1 } }' >line.csv
awk 'BEGIN { srand(7); print "a,b,y"
    for (i = 0; i < 60; i++) {
        a = rand(); b = rand(); printf "%.6f,%.6f,%.6f\n", a, b, exp(6 * a * b) } }' >steep.csv
fit=("$ctgp" fit --target y --max-iter 30)

# -- what it does --------------------------------------------------------------------------------------------

ok 'usage' 'ctgp fit train.csv' "$ctgp" --help
ok 'version' '^ctgp [0-9]+\.[0-9]+\.[0-9]+$' "$ctgp" --version
for c in fit predict forecast loo compare sample append info grid plot; do
    ok "help $c" "^usage: ctgp $c" "$ctgp" help $c
    ok "$c --help" "^usage: ctgp $c" "$ctgp" $c --help
done
line='^n=40 features=2 nlml=-?[0-9.]+ iterations=[0-9]+ evaluations=[0-9]+ seconds=[0-9.]+ model='
ok 'fit' "${line}train.ctgp\$" "${fit[@]}" train.csv
that 'each covariance it tries has its AICc' test "$(grep -cE '^ctgp: scale .*: AICc -?[0-9.]+$' err)" -eq 3
that 'and is all progress where there is no terminal' test "$(grep -vcE 'AICc|all variances' err)" -eq 0
ok 'fit --verbose' "${line}train.ctgp\$" "${fit[@]}" train.csv --verbose
that 'has a line for each iteration' grep -qE '^scale \* matern32\(ard\):  start [0-9]+/10  iteration 1' err
that 'without carriage returns' sh -c '! grep -q "$(printf "\r")" err'
that 'the model is in the working directory' test -s train.ctgp
ok 'info names the kernel' 'kernel +scale \* matern32\(ard\) \+ scale \* rbf\(ard\)$' "$ctgp" info train.ctgp
ok 'info names the columns' 'features +a, b' "$ctgp" info train.ctgp
ok 'info shows the condition' 'condition +[0-9.e+]+: about [0-9]+ of 16 digits hold' "$ctgp" info train.ctgp
ok 'info shows how right the gradient is' 'gradient +right to [0-9.e+-]+ where a parameter' "$ctgp" info \
    train.ctgp
awk 'BEGIN { print "x,y"; for (i = 0; i < 60; i++) printf "%.2f,%.17g\n", i / 20, sin(i / 20) }' >smooth.csv
ok 'fit says where rounding hides the gradient' 'rounding of the gradient .*: --noise learned$' \
    "$ctgp" fit smooth.csv --target y --kernel 'scale * rbf' --noise none --model smooth.ctgp
ok 'info shows priors' 'noise\.variance +[0-9.e-]+ +prior: Cauchy lower bound \([0-9.e-]+, [12][0-9.]*\)$' \
    "$ctgp" info train.ctgp
awk -F, 'NR == 18 { $3 += 30 } { print $1 "," $2 "," $3 }' train.csv >odd.csv
ok 'fit shows an outlier by its line' 'outliers +line 18 \([0-9.]+\): standard deviations' \
    "${fit[@]}" odd.csv --kernel 'scale * rbf(ard)' --priors weak
ok 'info by its row' 'outliers +row [0-9]+ \([0-9.]+\): standard deviations' "$ctgp" info odd.ctgp
ok 'or by its line, with the table' 'outliers +line 18 \([0-9.]+\): standard deviations' \
    "$ctgp" info odd.ctgp odd.csv
bad 'another table' 2 'smooth.csv' "$ctgp" info odd.ctgp smooth.csv
ok 'in JSON, too' '"outliers": \[\{"row": [0-9]+, "sigmas": [0-9.]+\}' "$ctgp" info odd.ctgp --json
that 'there is none in good data' sh -c '! "$1" info train.ctgp | grep -q outliers' sh "$ctgp"
ok 'info --json' '"n": 40' "$ctgp" info train.ctgp --json
that 'info --json is JSON' python3 -c 'import json; d = json.load(open("out"))
assert d["features"] == ["a", "b"] and d["target"] == "y" and len(d["priors"]) == 5'
score='^n=20 rmse=[0-9.e-]+ r2=[0-9.e-]+ mae=[0-9.e-]+ nlpd=-?[0-9.]+ coverage95=[0-9.]+$'
ok 'predict scores' "$score" "$ctgp" predict train.ctgp test.csv --out predicted.csv
cp out score
that 'predicts well' awk -F'[= ]' '{ exit !($4 < 0.2 && $12 > 0.6) }' score
# The sum of squares of the leave-one-out residuals (y - mean) / std is the rows less the parameters, to six
# digits.
squares() {
    paste -d, "$1" loo.csv | awk -F, -v OFS=, -v p="$2" 'NR > 1 { z = ($3 - $4) / $5; sum += z * z }
        END { mean = sum / (NR - 1 - p); exit !(mean > 0.99999 && mean < 1.00001) }'
}
ok 'fit of a steep function' 'n=60' "$ctgp" fit steep.csv --target y --transform none --model steep.ctgp
that 'its variances are calibrated' grep -qE '^ctgp: all variances times 1\.[0-9]+, by the standardised' err
parameters=$(grep -cE '^  [a-z0-9#]+\.[a-z]' out)
ok 'left out' 'n=60' "$ctgp" loo steep.ctgp --out loo.csv
that 'leave-one-out residuals are as wide as predicted' squares steep.csv "$parameters"
ok 'fit with a kernel that is given' 'n=60' "$ctgp" fit steep.csv --target y --model own.ctgp \
    --kernel 'scale * rbf(ard)'
that 'its variances are those of the likelihood' sh -c '! grep -q "all variances" err'
awk 'BEGIN { srand(5); print "a,y"; for (i = 0; i < 2001; i++) { a = rand() * 6;
        printf "%.6f,%.6f\n", a, sin(a) + 0.1 * rand() } }' >many.csv
ok 'fit of many rows' '^n=2001 ' "$ctgp" fit many.csv --target y --max-iter 8 --model many.ctgp
that 'some of them make the choice' grep -qx 'ctgp: the covariance is chosen on 1000 of the rows' err
ok 'and all of them the model' '^n=40 rmse=0\.0[0-9]* ' "$ctgp" predict many.ctgp <(head -n 41 many.csv) \
    --out many.out
# Every row occurs three times. The sample of the choice takes one of each three, so the choice is the same
# for every seed.
awk 'BEGIN { srand(5); print "a,y"; for (i = 0; i < 3000; i++) { if (i % 3 == 0) { a = rand() * 6;
        y = sin(a) + 0.1 * rand() }; printf "%.6f,%.6f\n", a, y } }' >thrice.csv
chosen() {
    ok "some of $1, seed $2" '^n=[23]00[01] ' "$ctgp" fit "$1" --target y --max-iter 1 --seed "$2" \
        --model seed.ctgp
    grep AIC err >"chosen.$2"
}
chosen thrice.csv 1
chosen thrice.csv 2
that 'one row is drawn from each stretch of the table' sh -c 'test -s chosen.1 && cmp chosen.1 chosen.2'
chosen many.csv 1
cp chosen.1 chosen.once
chosen many.csv 1
chosen many.csv 2
that 'the same seed draws the same rows' sh -c 'test -s chosen.1 && cmp chosen.1 chosen.once'
that 'another seed draws others' sh -c '! cmp -s chosen.1 chosen.2'
ok 'fit without noise' 'n=40' "$ctgp" fit curve.csv --target y --model exact.ctgp --noise none
ok 'rows that are known exactly have a score' \
    '^n=40 rmse=[0-9.e-]+ r2=[0-9.e-]+ mae=[0-9.e-]+ nlpd=-[0-9.]+ coverage95=1$' \
    "$ctgp" predict exact.ctgp curve.csv --out exact.csv
that 'the columns' grep -qx 'mean,std,lower95,upper95' predicted.csv
that 'a row for each row' test "$(wc -l <predicted.csv)" -eq 21
ok 'predict again gives the same bits' . "$ctgp" predict train.ctgp test.csv --out again.csv
that 'same bits' cmp predicted.csv again.csv
ok 'columns in any order' "$score" "$ctgp" predict train.ctgp shuffled.csv --out again.csv
that 'the same answer' cmp predicted.csv again.csv
ok 'with other intervals and quantiles' '^mean,std,lower80,upper80,lower99\.9,upper99\.9,q0\.025,q0\.5$' \
    "$ctgp" predict train.ctgp test.csv --level 0.8,0.999 --quantiles 0.025,0.5
that 'at their places' awk -F, 'NR > 1 {
        split("-1.2815515655446 1.2815515655446 -3.2905267314919 3.2905267314919 -1.95996398454 0", z, " ")
        for (k in z) { e = ($(2 + k) - $1) / $2 - z[k]; if (e * e > 1e-16) bad = 1 } }
    END { exit bad || NR != 21 }' out
ok 'a level has a name of its own' '^mean,std,lower99.99999999999999,upper99\.99999999999999,lower7,' \
    "$ctgp" predict train.ctgp test.csv --level 0.9999999999999999,0.07
bad 'no interval of everything' 1 "level: '1' is not a number between 0 and 1" "$ctgp" predict train.ctgp \
    test.csv --level 0.5,1
bad 'no interval twice' 1 "^ctgp: --level: '0.50' would be a second column lower50\$" "$ctgp" predict \
    train.ctgp test.csv --level 0.5,0.50
bad 'no quantile twice' 1 "^ctgp: --quantiles: '1e-1' would be a second column q0.1\$" "$ctgp" predict \
    train.ctgp test.csv --quantiles 0.1,1e-1
bad 'no quantile of a word' 1 "quantiles: 'median' is not a number" "$ctgp" predict train.ctgp test.csv \
    --quantiles median
bad 'no quantile of nothing' 1 "quantiles: '' is not" "$ctgp" predict train.ctgp test.csv --quantiles ''
ok 'to standard output' '^mean,std,lower95,upper95$' "$ctgp" predict train.ctgp test.csv
that 'the same numbers there' cmp out predicted.csv
ok 'the score then goes to standard error' . "$ctgp" predict train.ctgp test.csv
that 'it does' grep -qE "$score" err
ok 'predict --json' '^\{"n": 20, "rmse": ' "$ctgp" predict train.ctgp test.csv --out again.csv --json
ok 'without a target there is no score' '^$' \
    sh -c '"$1" predict train.ctgp unknown.csv --out again.csv; echo' sh "$ctgp"
that 'and the same prediction' cmp predicted.csv again.csv
ok 'fit --json' '"nlml": -?[0-9]' "${fit[@]}" train.csv --json --model j.ctgp
that 'fit --json is JSON' python3 -c 'import json; d = json.load(open("out"))
assert d["n"] == 40 and d["model"] == "j.ctgp" and len(d["parameters"]) == 8'
ok 'all options' "${line}b.ctgp\$" "${fit[@]}" train.csv --features b,a --kernel 'scale * rbf(ard) + linear' \
    --mean linear --model b.ctgp \
    --optimizer adam --restarts 1 --seed 3 --dtype f32 --device cpu --standardize no --noise learned \
    --priors none
ok 'fit by leave-one-out' "${line}o.ctgp\$" "${fit[@]}" train.csv --objective loo \
    --kernel 'scale * rbf(ard)' --model o.ctgp
ok 'fit without priors' . "${fit[@]}" train.csv --priors none --model n.ctgp
that 'there are none' sh -c '! "$1" info n.ctgp | grep -q prior:' sh "$ctgp"
ok 'nor beside a kernel of one'"'"'s own' . "${fit[@]}" train.csv --kernel 'scale * rbf' --model k.ctgp
that 'there are none either' sh -c '! "$1" info k.ctgp | grep -q prior:' sh "$ctgp"
ok 'unless asked for' . "${fit[@]}" train.csv --kernel 'scale * rbf' --priors weak --model k.ctgp
ok 'there they are' 'rbf\.lengthscale +[0-9.e-]+ +prior: soft lower bound' "$ctgp" info k.ctgp
bad 'no such prior' 1 'weak or none' "${fit[@]}" train.csv --priors strong
bad 'no such objective' 1 'likelihood or loo' "${fit[@]}" train.csv --objective mse
ok '--name=value' "${line}b.ctgp\$" "${fit[@]}" --model=b.ctgp train.csv
ok 'text in a column that is not used' 'features=2' "${fit[@]}" all.csv --features a,b
ok 'or that is dropped' 'features=2' "${fit[@]}" all.csv --drop id
ok 'a model that ignores text predicts beside it' '^n=60 ' "$ctgp" predict all.ctgp all.csv --out again.csv
ok 'the same seed' . "${fit[@]}" train.csv --restarts 2 --seed 5 --model s1.ctgp
"$ctgp" info s1.ctgp | grep -v optimizer >s1
ok 'gives the same' . "${fit[@]}" train.csv --restarts 2 --seed 5 --model s2.ctgp
"$ctgp" info s2.ctgp | grep -v optimizer >s2
that 'model' cmp s1 s2

ok 'fit a noisy line' . "${fit[@]}" line.csv
ok 'what follows the noise alone is left out' 'kernel +linear \+ scale \* matern32$' "$ctgp" info line.ctgp
ok 'fit with further starts' . "${fit[@]}" train.csv --restarts 1 --model s1.ctgp --verbose
that 'progress names the start' grep -qE ':  start 2/2  iteration [1-9]' err

# Fifty columns, of which four matter, and 75 rows to learn from: the intervals must hold new rows.
awk 'function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand()) }
    BEGIN { srand(3); for (j = 0; j < 50; j++) printf "x%d,", j; print "y"
    for (i = 0; i < 375; i++) { y = normal()
        for (j = 0; j < 50; j++) { x = normal(); printf "%.6f,", x; if (j < 4) y += j % 2 ? x : -x }
        printf "%.6f\n", y } }' >both.csv
head -n 76 both.csv >wide.csv
{ head -n 1 both.csv; tail -n 300 both.csv; } >new.csv
wide=("$ctgp" fit wide.csv --target y --model wide.ctgp)
for objective in likelihood loo; do
    ok "fit of a wide table, $objective" '^n=75 ' "${wide[@]}" --objective $objective
    that 'what has too many parameters is not tried' grep -q ' rbf(ard): left out, 75 rows are too few' err
    ok 'predict new rows' '^n=300 ' "$ctgp" predict wide.ctgp new.csv --out again.csv
    that 'its intervals hold' awk -F'[= ]' '{ exit !($8 < 2.1 && $10 >= 0.85) }' out
done
ok 'the score that was optimised' ' \(optimised on: new rows do worse\)$' "$ctgp" loo wide.ctgp
ok 'the same as JSON' '"optimised_on": true\}' "$ctgp" loo wide.ctgp --json
ok 'info says so' '^objective +leave-one-out' "$ctgp" info wide.ctgp
ok 'a kernel of many parameters' '^n=75 ' "${wide[@]}" --kernel 'scale * rbf(ard)'
that 'with a word' grep -q '^ctgp: 53 parameters from 75 rows: expect intervals that are too narrow; ' err
ok 'a score that was not optimised' 'coverage95=[0-9.]+$' "$ctgp" loo wide.ctgp

sed '3s/^[^,]*/NA/; 5s/[^,]*$//' train.csv >holes.csv
ok 'rows with missing values are left out' '^n=38 ' "${fit[@]}" holes.csv
that 'with a note' grep -qx 'ctgp: 2 of 40 rows are left out, a value is missing: a in 1, y in 1' err
sed '3,8s/^[^,]*/NA/; 4s/[^,]*$//' train.csv >holes.csv
ok 'many of one column' '^n=34 ' "${fit[@]}" holes.csv
that 'name it' grep -q ' missing: a in 5, y in 1; --drop a keeps 5 of them, and --missing keep all$' err
sed '3s/^[^,]*//; 5s/[^,]*$//' test.csv >holes.csv
ok 'a missing input gives an empty prediction, a missing target no score' '^n=18 ' "$ctgp" predict \
    train.ctgp holes.csv --out again.csv
that 'a row for each row, still' test "$(wc -l <again.csv)" -eq 21

# -- leave-one-out, draws, more rows -------------------------------------------------------------------------

score='^n=40 rmse=[0-9.e-]+ r2=[0-9.e-]+ nlpd=-?[0-9.]+ coverage95=[0-9.]+$'
ok 'loo scores' "$score" "$ctgp" loo train.ctgp
that 'as well as it should' awk -F'[= ]' '{ exit !($4 < 0.3 && $10 > 0.6) }' out
ok 'loo --out' "$score" "$ctgp" loo train.ctgp --out left.csv
that 'its columns' grep -qx 'mean,std,log_density' left.csv
that 'a row for each row of the model' test "$(wc -l <left.csv)" -eq 41
ok 'loo --json' '^\{"n": 40, "rmse": ' "$ctgp" loo train.ctgp --json
that 'is JSON' python3 -c 'import json; d = json.load(open("out"))
assert d["n"] == 40 and 0 < d["coverage95"] <= 1'
# The printed rmse is that of the file and the training data.
ok 'loo again' "$score" "$ctgp" loo train.ctgp
that 'the score is that of the file' python3 - <<'PYTHON'
import csv, re
y = [float(r["y"]) for r in csv.DictReader(open("train.csv"))]
m = [float(r["mean"]) for r in csv.DictReader(open("left.csv"))]
rmse = (sum((a - b) ** 2 for a, b in zip(y, m)) / len(y)) ** 0.5
said = float(re.search(r"rmse=(\S+)", open("out").read()).group(1))
assert abs(rmse - said) < 1e-5 * rmse, (rmse, said)
PYTHON
ok 'sample' '^samples=3 of=function rows=20 out=drawn.csv$' "$ctgp" sample train.ctgp test.csv \
    --samples 3 --seed 7 \
    --out drawn.csv
that 'a column for each draw' grep -qx 'draw0,draw1,draw2' drawn.csv
that 'a row for each row' test "$(wc -l <drawn.csv)" -eq 21
ok 'sample again' . "$ctgp" sample train.ctgp test.csv --samples 3 --seed 7 --out again.csv
that 'the same seed, the same draws' cmp drawn.csv again.csv
ok 'sample, another seed' . "$ctgp" sample train.ctgp test.csv --samples 3 --seed 8 --out again.csv
that 'other draws' sh -c '! cmp -s drawn.csv again.csv'
ok 'sample --noisy' 'samples=1 of=observations rows=20' "$ctgp" sample train.ctgp test.csv \
    --noisy --out noisy.csv
ok 'sample where inputs are missing' 'rows=19' "$ctgp" sample train.ctgp holes.csv --out again.csv
that 'with a note' grep -q '1 of 20 rows lack an input, so that their draws are empty: a in 1$' err
that 'and a row for each row' test "$(wc -l <again.csv)" -eq 21
ok 'append' '^n=60 appended=20 nlml=-?[0-9.]+ model=more.ctgp$' "$ctgp" append train.ctgp shuffled.csv \
    --model more.ctgp
ok 'the model knows them' 'points +60' "$ctgp" info more.ctgp
ok 'and predicts them better' . "$ctgp" predict more.ctgp test.csv --out again.csv
that 'much better' \
    sh -c 'awk -F"[= ]" "{ print \$4 }" score out | { read a; read b; awk "BEGIN { exit !($b <= $a) }"; }'
ok 'append in place' '^n=80 ' "$ctgp" append more.ctgp test.csv --model more.ctgp
sed '7s/[^,]*$/1000000/' test.csv >typo.csv
bad 'append: a value that lies far off' 2 \
    "typo.csv, line 7, column 'y': 1000000 is [0-9.e+]+ standard deviations from .*; --force takes it\$" \
    "$ctgp" append train.ctgp typo.csv --model typo.ctgp
that 'appends nothing' test ! -e typo.ctgp
ok 'unless it is meant' '^n=60 appended=20 ' "$ctgp" append train.ctgp typo.csv --model typo.ctgp --force
ok 'fit --no-factor' "${line}bare.ctgp\$" "${fit[@]}" train.csv --no-factor --model bare.ctgp
that 'the file is smaller' test "$(wc -c <bare.ctgp)" -eq \
    $(($(wc -c <train.ctgp) - 26 - 40 * 8 - 40 * 41 / 2 * 8))
ok 'predict without a factor in the file' '^n=20 ' "$ctgp" predict bare.ctgp test.csv --out again.csv
that 'the same numbers' cmp predicted.csv again.csv
ok 'loo without one' '^n=40 ' "$ctgp" loo bare.ctgp --out again.csv
that 'the same numbers, too' cmp left.csv again.csv
ok 'sample without one' '^samples=3 ' "$ctgp" sample bare.ctgp test.csv --samples 3 --seed 7 --out again.csv
that 'the same draws again' cmp drawn.csv again.csv
ok 'info says that it is left out' '^factor +left out of the file' "$ctgp" info bare.ctgp
ok 'of a file with one it does not' '^jitter ' "$ctgp" info train.ctgp
that 'not a word' sh -c '! grep -q ^factor out'
ok 'info --json says it' '"factor": false, ' "$ctgp" info bare.ctgp --json
ok 'append to a model without one' '^n=60 appended=20 ' "$ctgp" append bare.ctgp test.csv --model bare.ctgp
ok 'leaves it out again' '^factor +left out of the file' "$ctgp" info bare.ctgp
ok 'append leaves incomplete rows out' '^n=58 appended=18 ' "$ctgp" append train.ctgp holes.csv \
    --model again.ctgp
that 'with a note' grep -qx 'ctgp: 2 of 20 rows are left out, a value is missing: a in 1, y in 1' err
bad 'append: no target column' 2 "no column 'y'" "$ctgp" append train.ctgp unknown.csv --model x.ctgp
bad 'append: no input column' 2 "no column 'b'" "$ctgp" append train.ctgp curve.csv --model x.ctgp
bad 'append: no --model' 1 '--model FILE' "$ctgp" append train.ctgp test.csv
bad 'append: a folder that is not there' 4 'nowhere' "$ctgp" append train.ctgp test.csv --model nowhere/x.ctgp
bad 'append: no such file' 4 'nowhere.csv' "$ctgp" append train.ctgp nowhere.csv --model x.ctgp
that 'nothing was written' test ! -e x.ctgp
bad 'sample: no --out' 1 '--out FILE' "$ctgp" sample train.ctgp test.csv
bad 'sample: no draws' 1 "--samples: '0'" "$ctgp" sample train.ctgp test.csv --samples 0 --out x.csv
bad 'sample: no seed' 1 "--seed: '-1'" "$ctgp" sample train.ctgp test.csv --seed=-1 --out x.csv
bad 'sample: a folder that is not there' 4 'nowhere' "$ctgp" sample train.ctgp test.csv --out nowhere/x.csv
bad 'loo: no model' 4 'nowhere.ctgp' "$ctgp" loo nowhere.ctgp
bad 'loo: a model that is none' 2 'train.csv' "$ctgp" loo train.csv
bad 'loo: a folder that is not there' 4 'nowhere' "$ctgp" loo train.ctgp --out nowhere/x.csv

if command -v gnuplot >/dev/null; then
    ok 'plot of several inputs' '^picture=p.svg$' "$ctgp" plot train.ctgp test.csv --out p.svg
    that 'is SVG' grep -q '</svg>' p.svg
    ok 'fit of one input' 'features=1' "${fit[@]}" curve.csv
    name="it's \"odd\"; \$(touch pwned) \`touch pwned\` |.png"
    ok 'a plot needs no folder for temporary files' '^picture=' env TMPDIR=nowhere "$ctgp" plot train.ctgp \
        test.csv --out p.svg
    ok 'plot of one input, with an odd file name' '^picture=' "$ctgp" plot curve.ctgp curve.csv --out "$name"
    that 'is PNG' grep -q PNG "$name"
    that 'nothing was executed' test ! -e pwned
    that 'nothing is left over' sh -c '! ls | grep -q part'
    bad 'a plot of several inputs needs the target' 2 'target' \
        "$ctgp" plot train.ctgp unknown.csv --out p.svg --panels 2
    ok 'a map does not' '^picture=p.svg$' "$ctgp" plot train.ctgp unknown.csv --out p.svg
fi
bad 'plot without gnuplot' 6 'gnuplot is not installed' env PATH=/nowhere "$ctgp" plot train.ctgp test.csv \
    --out q.svg

# -- why the search ended ------------------------------------------------------------------------------------

for k in 1 2 3; do
    ok "--max-iter $k" "^n=40 .* iterations=$k " "$ctgp" fit train.csv --target y --max-iter $k \
        --restarts 0 --model short.ctgp
    ok "--max-iter $k of a kernel" "^n=40 .* iterations=$k evaluations=" "$ctgp" fit train.csv --target y \
        --kernel 'scale * rbf(ard)' --max-iter $k --restarts 0 --model short.ctgp
    ok "--max-iter $k of Adam" "^n=40 .* iterations=$k evaluations=$((k + 3)) " "$ctgp" fit train.csv \
        --target y --kernel 'scale * rbf(ard)' --optimizer adam --max-iter $k --restarts 0 --model short.ctgp
    that 'it says that this is no end' grep -qE '^  end of the search +not converged: iteration limit$' out
done
ok 'info says so' '^search +not converged: iteration limit$' "$ctgp" info short.ctgp
ok 'and its JSON' '"converged": false, "end": "iteration limit"' "$ctgp" info short.ctgp --json
that 'which is JSON' python3 -c 'import json; json.load(open("out"))'
ok 'fit --json says so, too' '"converged": false, "end": "iteration limit", .*"iterations": 1,' "$ctgp" fit \
    train.csv --target y --max-iter 1 --model short.ctgp --json
that 'which is JSON as well' python3 -c 'import json; json.load(open("out"))'
ok 'a search that converges' '^  end of the search +converged: ' "$ctgp" fit train.csv --target y \
    --kernel 'scale * rbf(ard)' --model long.ctgp
ok 'info says so of it' '^search +converged: ' "$ctgp" info long.ctgp
ok 'all is fixed' '^  end of the search +converged: every parameter is fixed$' "$ctgp" fit train.csv \
    --target y --mean zero --noise none --kernel 'scale(1!) * matern12(lengthscale=1!)' --model short.ctgp

# -- advice --------------------------------------------------------------------------------------------------

# sin(7a) + 3b² and a kernel of two parts, each of which uses one of the columns: neither column can be
# dropped. Column c is noise.
awk 'BEGIN { srand(3); print "a,b,c,y"; for (i = 0; i < 80; i++) { a = rand(); b = rand(); c = rand()
    y = sin(7 * a) + 3 * b * b + 0.02 * (rand() + rand() - 1)
    printf "%.6f,%.6f,%.6f,%.6f\n", a, b, c, y } }' >parts.csv
ok 'fit of two parts' 'n=80' "$ctgp" fit parts.csv --target y --kernel 'scale * rbf(ard) + scale * rbf(ard)' \
    --restarts 0 --upper 'rbf*.lengthscale*=100' --model parts.ctgp
ok 'a column of no part can go' '^  --drop c: leave-one-out loses [0-9.e-]+ nats without it$' "$ctgp" info \
    parts.ctgp
that 'one that another part needs stays' \
    grep -qE '^  [ab] stays, although rbf.*: leave-one-out loses [0-9.e+]+ nats without it$' out
that 'nothing else is to go' test "$(grep -c -- --drop out)" -eq 1
# The borehole function, in which r and Tu hardly matter: columns that the advice names can be dropped, and
# the others cannot.
borehole() {
    awk -v seed="$1" 'function u(lo, hi) { return lo + (hi - lo) * rand() }
    BEGIN { srand(seed); print "rw,r,Tu,Hu,Tl,Hl,L,Kw,flow"; for (i = 0; i < 100; i++) {
        rw = u(0.05, 0.15); r = u(100, 50000); Tu = u(63070, 115600); Hu = u(990, 1110)
        Tl = u(63.1, 116); Hl = u(700, 820); L = u(1120, 1680); Kw = u(9855, 12045); log_r = log(r / rw)
        flow = 2 * 3.14159265358979 * Tu * (Hu - Hl)
        flow /= log_r * (1 + 2 * L * Tu / (log_r * rw * rw * Kw) + Tu / Tl)
        printf "%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.12g\n", rw, r, Tu, Hu, Tl, Hl, L, Kw, flow } }'
}
borehole 1 >wells.csv
borehole 2 >more_wells.csv
rmse() {
    "$ctgp" fit wells.csv --target flow --noise none --model wells.ctgp "$@" >log 2>err &&
        "$ctgp" predict wells.ctgp more_wells.csv --out wells.out | sed 's/.*rmse=\([^ ]*\).*/\1/'
}
all=$(rmse)
ok 'info of the borehole function' '^at bounds +[1-9]' "$ctgp" info wells.ctgp
drop=$(sed -n 's/^  --drop \([^:]*\):.*/\1/p' out)
that 'it does not drop what flow depends on' \
    sh -c 'case ",$1," in *,rw,* | *,Hu,* | *,Hl,* | *,L,* | *,Kw,*) exit 1 ;; esac' sh "$drop"
[ -z "$drop" ] || that 'what it drops is not missed' awk \
    "BEGIN { exit !($(rmse --drop "$drop") < 1.2 * $all) }"
# Every option that a message names belongs to some command.
for c in fit predict forecast loo sample append info grid plot; do "$ctgp" help $c; done |
    grep -oE -- '--[a-z][a-z-]*' | sort -u >has
strings -n 7 "$ctgp" | grep -oE -- '(^|[ (])--[a-z][a-z-]*' | tr -d ' (' | sort -u >names
that 'every option that a message names is there' test \
    -z "$(comm -13 has <(grep -vxE -- '--(help|version)' names))"
ok 'a parameter can begin beyond its bounds' '^  rq\.alpha +' "$ctgp" fit train.csv --target y \
    --kernel 'scale(variance=1e9) * rq(alpha=1e6!)' --max-iter 2 --model short.ctgp

# -- tables as people have them ------------------------------------------------------------------------------

# table NAME OPTION...: the model of curve.csv, written differently, is the same.
quick=("$ctgp" fit --kernel 'scale * rbf' --max-iter 5)
noted() { grep -qE "^ctgp: [^ ]*$1" err; }
"${quick[@]}" curve.csv --target y --model like.ctgp >out 2>err
"$ctgp" info like.ctgp | grep -v optimizer >like.txt
table() {
    ok "fit of $1" 'n=40' "${quick[@]}" --target y --model table.ctgp "$@"
    "$ctgp" info table.ctgp | grep -v optimizer >table.txt
    that 'the same model' cmp like.txt table.txt
}
tr ,. ';,' <curve.csv >german.csv
table german.csv
that 'a note shows how it is read' \
    noted 'german.csv: fields are separated by semicolons, and decimals by a comma$'
ok 'predict reads each table in its own way' '^n=40 ' "$ctgp" predict table.ctgp curve.csv --out first.out
ok 'with semicolons' '^n=40 ' "$ctgp" predict table.ctgp german.csv --out again.out
that 'the same numbers' cmp first.out again.out
table german.csv --separator semicolon --decimal comma
that 'no note on what is given' sh -c '! grep -q separated err'
tr , '\t' <curve.csv >tabs.tsv
table tabs.tsv
tr , ' ' <curve.csv >blanks.txt
table blanks.txt
tr , '|' <curve.csv >bars.txt
table bars.txt --separator bar
{ echo '# made by a tool'; cat curve.csv; echo '# the end'; } >comment.csv
table comment.csv
awk -v OFS=, 'NR == 1 { print "", $0; next } { print NR - 2, $0 }' curve.csv >index.csv
table index.csv
that 'a note on the column that counts' noted 'index.csv: the first column has no name and counts the rows'
ok 'which --features can use' 'features=2' "${quick[@]}" index.csv --target y --features 'a,c0' --model t.ctgp
sed 's/,\(.*\)/,\1%/; 1s/%//' curve.csv >percent.csv
table percent.csv
that 'a note on percentages' noted "percent.csv: column 'y' is in percent: 50% is read as 50\$"
awk 'BEGIN { print "x,y"; for (i = 1; i < 9; i++) printf "%d,\"%d,%03d\"\n", i, i * i, 7 * i }' >groups.csv
ok 'groups of thousands' '^n=8 ' "${quick[@]}" groups.csv --target y --model t.ctgp
that 'a note on them' noted "groups.csv: column 'y' has commas for thousands: 1,000 is read as 1000\$"
printf '0,1\n0.5,2\n1.5,3\n2,5\n' >numbers.txt
ok 'a first row of numbers is a row' '^n=4 ' "${quick[@]}" numbers.txt --target c1 --model t.ctgp
that 'a note says that it may be a header' noted 'numbers.txt: line 1 may be a header .* with --header$'
LINES_ALLOWED=2 bad 'also where it names the target' 2 "line 1 may be a header .* with --header\$" \
    "${quick[@]}" numbers.txt --target 1
ok 'and --header yes makes it one' '^n=3 ' "${quick[@]}" numbers.txt --target 1 --header yes --model t.ctgp
ok '--header no says that it is none' '^n=4 ' "${quick[@]}" numbers.txt --target c1 --header no --model t.ctgp
that 'without a note' sh -c '! grep -q header err'
printf 'x;y\n1;2,000\n2;3,000\n' >either.csv
bad 'a sign of which nothing is certain' 2 'either.csv:2: "2,000" may .* with --decimal$' \
    "${quick[@]}" either.csv --target y
printf 'a;1,5;2,5\nb;2,5;3,5\n' >either.csv
bad 'nor of the separator' 2 'either.csv:1: .* state the separator with --separator$' \
    "${quick[@]}" either.csv --target c1
sed '2,$s/$/,/' curve.csv >trailing.csv
bad 'a comma at the end of the rows' 2 'trailing.csv:2: .*: remove the separator at the end' "${quick[@]}" \
    trailing.csv --target y
sed 's/$/,/' curve.csv >trailing.csv
bad 'and of the header' 2 "column 'c2' has no value in any row; leave it out: --drop c2\$" "${quick[@]}" \
    trailing.csv --target y
sed 's/,/|/g' curve.csv >bars.txt
bad 'a separator that is not found' 2 "bars.txt has no column 'y'; it has x|y alone: --separator says" \
    "${quick[@]}" bars.txt --target y
bad 'no such separator' 1 "--separator: 'dot' is not comma" "${quick[@]}" curve.csv --target y --separator dot
bad 'no such decimal sign' 1 "--decimal: ';' is not point or comma" "${quick[@]}" curve.csv --target y \
    --decimal ';'
bad 'no such header' 1 "--header: 'maybe' is not yes or no" "${quick[@]}" curve.csv --target y --header maybe

awk 'BEGIN { srand(2); print "\"size, total\",\"na\"\"me\",x1,x2,x[3],y 1"
    for (i = 0; i < 20; i++) print rand() "," rand() "," rand() "," rand() "," rand() "," rand() }' >names.csv
pick=("${quick[@]}" names.csv --target 'y 1' --model t.ctgp)
ok 'a name in quotes' 'features=2' "${pick[@]}" --features '"size, total", "na""me"'
ok 'a quote within a name' 'features=1' "${pick[@]}" --features 'na"me'
ok 'a pattern' 'features=3' "${pick[@]}" --features 'x*'
ok 'a pattern that takes all leaves the target' 'features=5' "${pick[@]}" --features '*'
ok 'what is named before a pattern is not taken twice' 'features=5' "${pick[@]}" --features 'x2,*'
ok 'a name with the signs of a pattern' 'features=1' "${pick[@]}" --features 'x[3]'
ok '--drop by patterns' 'features=2' "${pick[@]}" --drop 'x?, "size, total"'
bad 'a pattern that nothing fits' 2 "no column fits 'z\*'" "${pick[@]}" --features 'z*'
bad 'a column twice' 1 "column 'x1' is there twice" "${pick[@]}" --features 'x1,x1'
bad 'the target by name' 1 "--features names the target 'y 1'" "${pick[@]}" --features 'x1,y 1'

# -- pipes and standard streams ------------------------------------------------------------------------------

read_by() {
    "$ctgp" fit "$1" --target y --kernel 'scale * rbf(ard)' --max-iter 5 --model piped.ctgp >out 2>err &&
        "$ctgp" info piped.ctgp | grep -v optimizer >"piped.$2"
}
read_by train.csv file
cat train.csv | read_by /dev/stdin device
cat train.csv | read_by - dash
read_by <(cat train.csv) process
mkfifo train.fifo
cat train.csv >train.fifo &
read_by train.fifo fifo
read_by - redirected <train.csv
for how in device dash process fifo redirected; do that "fit reads it by $how" cmp piped.file piped.$how; done
that 'fit reads a socket' python3 - "$ctgp" <<'PYTHON'
import socket, subprocess, sys
ours, theirs = socket.socketpair()
p = subprocess.Popen([sys.argv[1], "fit", "-", "--target", "y", "--max-iter", "3", "--model", "piped.ctgp"],
                     stdin=theirs, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
theirs.close()
ours.sendall(open("train.csv", "rb").read())
ours.close()
sys.exit(p.wait(60))
PYTHON
bad 'standard input names no model' 1 'standard input gives the model no name: --model FILE' "$ctgp" fit - \
    --target y
bad 'nor does a pipe' 1 '/dev/stdin gives the model no name: --model FILE' "$ctgp" fit /dev/stdin --target y
bad 'standard input is empty' 2 'standard input: ' "$ctgp" fit - --target y --model piped.ctgp
sed '7s/,.*//' train.csv >short.csv
ok 'a bad row of standard input' '^ctgp: standard input:7' \
    sh -c '"$1" fit - --target y --model piped.ctgp <short.csv 2>&1; true' sh "$ctgp"
ok 'predict from standard input' '^mean,std,lower95,upper95$' sh -c '"$1" predict train.ctgp - <test.csv' \
    sh "$ctgp"
that 'the same numbers' cmp out predicted.csv
ok 'predict --out -' '^mean,std,lower95,upper95$' "$ctgp" predict train.ctgp test.csv --out -
that 'the table alone' cmp out predicted.csv
that 'the score is on standard error' grep -qE '^n=20 rmse=' err
ok 'loo --out -' '^mean,std,log_density$' "$ctgp" loo train.ctgp --out -
that 'the table alone, too' cmp out left.csv
that 'and the score on standard error' grep -qE '^n=40 rmse=' err
ok 'sample --out -' '^draw0,draw1,draw2$' "$ctgp" sample train.ctgp test.csv --samples 3 --seed 7 --out -
that 'nothing but the table' cmp out drawn.csv
that 'and its line on standard error' grep -qx 'samples=3 of=function rows=20 out=-' err
ok 'append from standard input' '^n=60 appended=20 ' \
    sh -c '"$1" append train.ctgp - --model piped.ctgp <test.csv' sh "$ctgp"
that 'no file of that name' test ! -e ./-
ok 'predict --json without a target' \
    '^\{"n": 0, "rmse": null, .*"rows": 20, "learned_rows": 0, "target": null\}$' \
    "$ctgp" predict train.ctgp unknown.csv --out again.csv --json
that 'says so in JSON' python3 -c 'import json; assert json.load(open("out"))["target"] is None'
ok 'and without --json' "^n=0 rows=20: there is no value of the target 'y' to score by$" "$ctgp" predict \
    train.ctgp unknown.csv --out again.csv

# -- the command line, wrong ---------------------------------------------------------------------------------

bad 'no such command' 1 "no command 'frob'" "$ctgp" frob
bad 'no such option' 1 "'--frob' is no option of fit" "${fit[@]}" train.csv --frob
bad 'a value is missing' 1 '--kernel needs a value' "${fit[@]}" train.csv --kernel
bad 'a file is missing' 1 'a file is missing' "$ctgp" fit --target y
bad 'one file too many' 1 'one argument too many' "${fit[@]}" train.csv test.csv
bad 'no target' 1 '--target NAME' "$ctgp" fit train.csv
bad 'twice' 1 'given twice' "${fit[@]}" train.csv --seed 1 --seed 2
bad 'no number' 1 "--restarts: 'x' is no whole number" "${fit[@]}" train.csv --restarts x
bad 'out of range' 1 "--max-iter: '0'" "$ctgp" fit train.csv --target y --max-iter 0
bad 'no such mean' 1 'constant, zero or linear' "${fit[@]}" train.csv --mean cubic
bad 'no such device' 6 'tpu' "${fit[@]}" train.csv --device tpu
bad 'plot to no picture' 1 'neither in .svg nor in .png or .pdf' "$ctgp" plot train.ctgp test.csv --out p.txt
LINES_ALLOWED=3
bad 'no such kernel' 1 '^ *\^' "${fit[@]}" train.csv --kernel 'scale * rfb + linear'
bad 'an open bracket' 1 '^ *\^' "${fit[@]}" train.csv --kernel 'scale * (rbf'
bad 'an empty kernel' 1 '^ *\^' "${fit[@]}" train.csv --kernel ''
LINES_ALLOWED=1
LINES_ALLOWED=3 bad 'a kernel that looks at no column' 1 'no such column; there are a, b' "${fit[@]}" \
    train.csv --kernel 'rbf(dims=7)'

# -- data, wrong ---------------------------------------------------------------------------------------------

bad 'absent file' 4 'nowhere.csv' "${fit[@]}" nowhere.csv
: >empty.csv
bad 'empty file' 2 'empty.csv' "${fit[@]}" empty.csv
mkdir dir.csv
bad 'a directory' 4 'dir.csv' "${fit[@]}" dir.csv
echo 'a,b,y' >header.csv
bad 'a header alone' 2 'no rows' "${fit[@]}" header.csv
sed '7s/^[^,]*/seven/' train.csv >text.csv
bad 'text in a number column' 2 'text.csv:7: column 1 \("a"\): "seven"' "${fit[@]}" text.csv
sed '7s/,.*//' train.csv >ragged.csv
bad 'a short row' 2 'ragged.csv:7' "${fit[@]}" ragged.csv
bad 'no such target' 2 "no column 'z'; it has a, b, y" "$ctgp" fit train.csv --target z
bad 'no such feature' 2 "no column 'c'; it has a, b, y" "${fit[@]}" train.csv --features a,c
bad 'the target among the features' 1 "names the target 'y'" "${fit[@]}" train.csv --features a,y
bad 'a feature twice' 1 "'a' is there twice" "${fit[@]}" train.csv --features a,a
bad 'no features' 2 "no column is left" "${fit[@]}" train.csv --drop a,b
sed '1s/b/a/' train.csv >twins.csv
bad 'two columns of one name' 2 "'a' is there twice: rename one, or leave both out with --drop$" \
    "${fit[@]}" twins.csv
head -n 2 train.csv >one.csv
bad 'one row' 2 '1 complete row' "${fit[@]}" one.csv
awk -F, -v OFS=, 'NR > 1 { $2 = 3 } 1' train.csv >constant.csv
bad 'a constant column that is asked for' 2 "'b' has the same value in every row" \
    "${fit[@]}" constant.csv --features a,b
ok 'one that is not' 'features=1' "${fit[@]}" constant.csv
that 'is left out' noted 'constant.csv: left out, the same value in every row: 1 column, b$'
ok 'which can be dropped' 'features=1' "${fit[@]}" constant.csv --drop b
sed "1s/b/\"it's \"\"b\"\", 5\"/" constant.csv >odd.csv
bad 'in quotes for the shell and for --drop' 2 "; leave it out: --drop '\"it" \
    "${fit[@]}" odd.csv --features '*'
eval "drop=$(sed 's/.*--drop //' err)"
ok 'which they do' 'features=1' "${fit[@]}" odd.csv --drop "$drop"
awk -F, -v OFS=, 'NR > 1 { $3 = 3 } 1' train.csv >flat.csv
bad 'a constant target' 2 "'y' has the same value in every row" "${fit[@]}" flat.csv
for column in 1 2 3; do
    name=$(echo a,b,y | cut -d, -f$column)
    for by in e200 e300 e-200 e-310; do
        awk -F, -v OFS=, -v c=$column -v by=$by 'NR > 1 { $c = $c by } 1' train.csv >scaled.csv
        bad "column $name of 1$by" 2 \
            "scaled.csv: column '$name' goes from .*: multiply it by a power of ten" "${fit[@]}" scaled.csv
    done
    awk -F, -v OFS=, -v c=$column 'NR > 1 { $c = "100000000000000" int(9 * rand()) } 1' train.csv >offset.csv
    bad "column $name is an offset" 2 "offset.csv: column '$name' goes from 1.*: subtract a constant" \
        "${fit[@]}" offset.csv
    awk -F, -v OFS=, -v c=$column 'NR > 1 { $c = $c "e140" } 1' train.csv >scaled.csv
    ok "column $name of 1e140" '^n=40 ' "${fit[@]}" scaled.csv
    awk -F, -v OFS=, -v c=$column 'NR > 1 { $c = "1e300" } 1' train.csv >flat.csv
    bad "column $name is constant and huge" 2 "'$name' has the same value in every row" \
        "${fit[@]}" flat.csv --features 'a,b'
done
awk -F, -v OFS=, 'NR > 1 { $3 = "" } 1' train.csv >void.csv
bad 'all-missing target' 2 "the target 'y' has no number in any row" "${fit[@]}" void.csv
awk -F, -v OFS=, 'NR == 4 { $1 = "inf" } 1' train.csv >infinite.csv
bad 'an infinite value' 2 'infinite.csv' "${fit[@]}" infinite.csv
# Names in UTF-8, in Latin-1, and of bytes that are neither.
printf 'h\303\266he,caf\351,\300\200\360\220,y\n1,2,5,3\n2,1,4,5\n3,5,1,1\n4,2,2,2\n' >latin.csv
ok 'names in any encoding' . "$ctgp" fit latin.csv --target y --kernel rbf --json
ok 'and in info' . "$ctgp" info latin.ctgp --json
that 'are JSON in UTF-8' python3 -c 'import json
names = json.load(open("out", encoding="utf-8"))["features"]
assert names == ["h\u00f6he", "caf\u00e9", "\u00c0\u0080\u00f0\u0090"], names'

{ cat train.csv; sed -n '5p' train.csv | sed 's/[^,]*$/9/'; } >duplicate.csv
bad 'duplicate rows without noise' 2 'lines 5 and 42 have equal inputs' "${fit[@]}" duplicate.csv --noise none
ok 'duplicate rows with noise' '^n=41 ' "${fit[@]}" duplicate.csv
awk 'BEGIN { print "a,y"; for (i = 0; i < 400000; i++) print i "," i % 7 - 3 }' >huge.csv
bad 'more rows than memory allows' 5 '[0-9]{9}.* bytes.*: use fewer rows; --max-rows draws them$' \
    timeout 200 "${fit[@]}" huge.csv
bad 'columns that prediction misses' 2 "no column 'b'" "$ctgp" predict train.ctgp curve.csv
bad 'predict: text' 2 'text.csv:7' "$ctgp" predict train.ctgp text.csv
head -n 1 test.csv >header.csv
bad 'predict: no rows' 2 'no rows' "$ctgp" predict train.ctgp header.csv

# -- models, damaged; files that cannot be written -----------------------------------------------------------

bad 'no model' 4 'nowhere.ctgp' "$ctgp" info nowhere.ctgp
bad 'a model that is none' 2 'train.csv' "$ctgp" info train.csv
bytes=$(wc -c <train.ctgp)
for part in 0 1 20 $((bytes / 2)) $((bytes - 1)); do
    head -c "$part" train.ctgp >cut.ctgp
    bad "a model cut after $part bytes" 2 'cut.ctgp' "$ctgp" predict cut.ctgp test.csv
done
for at in 0 9 100 $((bytes / 2)) $((bytes - 3)); do
    cp train.ctgp flipped.ctgp
    byte=$(od -An -tu1 -j "$at" -N 1 train.ctgp)
    printf "\\$(printf %o $((byte ^ 16)))" | dd of=flipped.ctgp bs=1 seek="$at" conv=notrunc 2>/dev/null
    bad "a model with a flipped bit at $at" 2 'flipped.ctgp' "$ctgp" info flipped.ctgp
done

# A checkpoint: kill -9 after some iterations, again and again; the same command then ends in the same model.
# info --json prints all of a model, with 17 digits; its seconds may differ.
described() { "$ctgp" info "$1" --json | sed 's/"seconds": [0-9.e+-]*//'; }
waves() { awk -v n="$1" 'BEGIN { srand(1); print "a,b,y"; for (i = 0; i < n; i++) {
    a = rand(); b = rand(); print a "," b "," sin(9 * a) * b + 0.1 * rand() } }'; }
waves 150 >waves.csv
for kernel in '' 'scale * rbf(ard)'; do
    long=("$ctgp" fit waves.csv --target y --restarts 9 --seed 4 ${kernel:+--kernel "$kernel"})
    rm -f long.log
    ok "a long fit, ${kernel:-of a kernel that is chosen}" 'n=150' "${long[@]}" --model whole.ctgp
    for lines in 2 9; do
        python3 - "$lines" "${long[@]}" --model resumed.ctgp --checkpoint long.log --verbose <<'PYTHON'
import fcntl, subprocess, sys
p = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0)
fcntl.fcntl(p.stderr, 1031, 4096) # F_SETPIPE_SZ: it waits when some 40 more lines are not read
for _ in range(int(sys.argv[1])): p.stderr.readline()
p.kill()
p.wait()
PYTHON
    done
    that 'that is killed has no model' test ! -e resumed.ctgp
    ok 'goes on' 'n=150' "${long[@]}" --model resumed.ctgp --checkpoint long.log
    that 'and says so' grep -qE '^ctgp: goes on from long.log with [1-9][0-9]* evaluations$' err
    that 'once' test "$(grep -c 'goes on' err)" -eq 1
    that 'to the same bits' test "$(described resumed.ctgp)" = "$(described whole.ctgp)"
    rm resumed.ctgp
    cp long.log before.log
    ok 'after the end it is there at once' 'n=150' "${long[@]}" --model resumed.ctgp --checkpoint long.log
    that 'and nothing is added' cmp long.log before.log
    that 'the same bits again' test "$(described resumed.ctgp)" = "$(described whole.ctgp)"
    rm resumed.ctgp
done
that 'a first fit does not say that it goes on' sh -c '! "$@" 2>&1 | grep "goes on"' sh "${fit[@]}" \
    train.csv --model c.ctgp --checkpoint first.log
bad 'a checkpoint of other options' 2 'long.log: a checkpoint of other data, kernels or options: give' \
    "${long[@]}" --model resumed.ctgp --checkpoint long.log --max-iter 7
bad 'or of other data' 2 'long.log: a checkpoint of other' "${fit[@]}" train.csv --checkpoint long.log
that 'which stays as it is' cmp long.log before.log
bad 'a table as a checkpoint' 2 'test.csv: not the checkpoint of a fit' "${fit[@]}" train.csv \
    --checkpoint test.csv
bad 'a folder as a checkpoint' 4 'dir.csv: not a regular file' "${fit[@]}" train.csv --checkpoint dir.csv
bad 'a checkpoint in no folder' 4 'nowhere/c.log' "${fit[@]}" train.csv --checkpoint nowhere/c.log
bad 'a checkpoint that is the model' 1 'is the model.s file, too' "${fit[@]}" train.csv --model c.log \
    --checkpoint c.log
limited 1 "${fit[@]}" train.csv --restarts 9 --checkpoint full.log --model full.ctgp >out 2>err
that 'a disk that fills up' test $? -eq 4
that 'says so' grep -qE '^ctgp: full.log: writing failed after [0-9]+ bytes' err
that 'and leaves no model' test ! -e full.ctgp

bad 'a folder that is not there' 4 'nowhere' "${fit[@]}" train.csv --model nowhere/m.ctgp
bad 'a folder as the model' 4 'directory' "${fit[@]}" train.csv --model dir.csv
bad 'predictions into a folder that is not there' 4 'nowhere' "$ctgp" predict train.ctgp test.csv \
    --out nowhere/p.csv
[ -e /dev/full ] && bad 'a full disk' 4 'standard output' \
    sh -c '"$1" predict train.ctgp unknown.csv >/dev/full' sh "$ctgp"
if [ -e /dev/full ]; then
    cp train.ctgp grown.ctgp
    LINES_ALLOWED=2 bad 'a full disk for what append prints' 4 'the model is kept in grown.ctgp' \
        sh -c '"$1" append train.ctgp test.csv --model grown.ctgp >/dev/full' sh "$ctgp"
    that 'it is the longer one' sh -c '"$1" info grown.ctgp | grep -q 60' sh "$ctgp"
    LINES_ALLOWED=2 bad 'and for what fit prints' 4 'the model is kept in grown.ctgp' \
        sh -c '"$1" fit curve.csv --target y --kernel rbf --model grown.ctgp >/dev/full' sh "$ctgp"
fi

# An output that is one of the inputs, under any name.
apart() { bad "$1" 1 "$2 is the file of $3, which it would overwrite" "$ctgp" "${@:4}"; }
cp train.csv data.csv
cp train.ctgp model.ctgp
ln -s data.csv link.csv
ln model.ctgp hard.ctgp
ln data.csv data.svg
ln data.csv data.ctgp
apart 'predict over its data' '--out data.csv' DATA.csv predict model.ctgp data.csv --out data.csv
apart 'predict through a link' '--out link.csv' DATA.csv predict model.ctgp ./data.csv --out link.csv
apart 'predict over its model' '--out hard.ctgp' MODEL predict model.ctgp data.csv --out hard.ctgp
apart 'sample over its data' '--out data.csv' DATA.csv sample model.ctgp link.csv --out data.csv
apart 'sample over its model' '--out model.ctgp' MODEL sample model.ctgp data.csv --out model.ctgp
apart 'loo over its model' '--out model.ctgp' MODEL loo model.ctgp --out model.ctgp
apart 'plot over its data' '--out data.svg' DATA.csv plot model.ctgp data.csv --out data.svg
apart 'grid over its data' '--out data.csv' DATA.csv grid model.ctgp data.csv --out data.csv
apart 'append over its rows' '--model data.csv' NEW.csv append model.ctgp data.csv --model data.csv
apart 'fit over its data' '--model data.csv' TRAIN.csv fit data.csv --target y --model data.csv
apart 'fit of a table that is named like its model' '--model data.ctgp' TRAIN.csv fit data.ctgp --target y
that 'the data are as they were' cmp data.csv train.csv
that 'and the model' cmp model.ctgp train.ctgp
bad 'a device is no file that could be lost' 2 '/dev/null: the file is empty' "$ctgp" predict model.ctgp \
    /dev/null --out /dev/null

# A dozen processes append to one model at once, under different names: each adds its row.
ln -sf model.ctgp link.ctgp
for i in 0 1 2 3 4 5 6 7 8 9 10 11; do
    { echo 'a,b,y'; echo "0.$i,0.5,1"; } >row.$i.csv
    name=model.ctgp
    [ $((i % 3)) -ne 0 ] || name=link.ctgp
    LD_PRELOAD=$slow_stat "$ctgp" append $name row.$i.csv --model $name --force >append.$i 2>&1 &
    sleep 0.02 # one looks while another replaces the file
done
wait
that 'all of them succeed' sh -c 'test "$(cat append.* | grep -c "appended=1 ")" -eq 12'
ok 'no row is lost' 'points +52' "$ctgp" info model.ctgp
that 'the link is one still' test -L link.ctgp
that 'nothing is left beside the model' sh -c '! ls | grep "tmp-"'
ln -s later.ctgp now.ctgp
ok 'a link to a model that is not there yet' 'n=40' "${fit[@]}" data.csv --model now.ctgp
that 'leads to it then' test -L now.ctgp -a -s later.ctgp
bad 'a file beyond the shell limit' 4 'larger than' \
    limited 1 "$ctgp" append train.ctgp test.csv --model limited.ctgp
bad 'standard output beyond it' 4 'standard output' limited 1 "$ctgp" predict train.ctgp unknown.csv
that 'nothing is left of it' sh -c '! ls limited.ctgp* 2>/dev/null'

# kill -9 at many moments while a model is being replaced: the old file or the new one, never a part.
cp train.ctgp kept.ctgp
whole=true
for delay in 0.01 0.02 0.03 0.05 0.08 0.12 0.2 0.3; do
    "${fit[@]}" train.csv --model kept.ctgp >out 2>err &
    sleep "$delay"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
    "$ctgp" info kept.ctgp >out 2>err || whole=false
done 2>/dev/null
that 'kill -9 leaves a whole model' $whole
ok 'what is killed leaves nothing for long' . "$ctgp" append kept.ctgp test.csv --model kept.ctgp
that 'nothing is left' sh -c '! ls | grep "tmp-"'

# Ctrl-C keeps the best model so far. (A background job of this shell ignores it unless told otherwise.)
# interrupt.py CTGP TABLE MOMENT SIGNALS [OPTION]... sends the signals once ctgp has said MOMENT; for 'fit',
# once it catches them.
waves 900 >slow.csv
cat >interrupt.py <<'PYTHON'
import signal, subprocess, sys, time
ctgp, table, moment, signals, *options = sys.argv[1:]
p = subprocess.Popen([ctgp, "fit", table, "--target", "y", "--model", "cut.ctgp", "--verbose", *options],
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                     text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
def caught():
    return int(next(l for l in open(f"/proc/{p.pid}/status") if l.startswith("SigCgt")).split()[1], 16)
said = []
while moment == "fit" and not caught() & 2: time.sleep(0.001)
while moment != "fit" and p.poll() is None and not (said and moment in said[-1]):
    said.append(p.stderr.readline())
for name in signals.split(","):
    p.send_signal(getattr(signal, name))
    time.sleep(0.05)
out, err = p.communicate(timeout=100)
print(out, *said, err, p.returncode)
sys.exit(p.returncode if p.returncode >= 0 else 128 - p.returncode)
PYTHON
ok 'Ctrl-C keeps the best model' 'n=900' python3 interrupt.py "$ctgp" slow.csv 'iteration 1 ' SIGINT \
    --restarts 500
that 'and says so' grep -q 'best model so far' out

begun=$(date +%s%N)
ok 'so does the end of a time limit' '^n=900 ' "$ctgp" fit slow.csv --target y --restarts 500 --time-limit 2
that 'which is not early' test $(($(date +%s%N) - begun)) -ge 1500000000
that 'with a message' grep -qx 'ctgp: the 2 s of --time-limit are over; the best model so far is kept' err
bad 'a time limit of nothing' 1 "time-limit: '0' is no whole number" "$ctgp" fit slow.csv --target y \
    --time-limit 0
ok 'without progress' '^n=40 ' "${fit[@]}" train.csv --quiet
that 'there is none' test "$(grep -vc 'all variances' err)" -eq 0
bad 'without progress, and with all of it' 1 'quiet and --verbose: give one' "${fit[@]}" train.csv --quiet \
    --verbose

# So does SIGTERM, and the model says that it is not finished. Before the first iteration the old model stays.
# A second signal ends the program.
waves 3000 >slower.csv
ok 'SIGTERM keeps the best model' 'n=900' python3 interrupt.py "$ctgp" slow.csv 'iteration 1 ' SIGTERM \
    --restarts 500 --kernel 'scale * rbf(ard)'
that 'and says that it was interrupted' grep -qE 'end of the search +not converged: interrupted$' out
ok 'so does info' '^search +not converged: interrupted$' "$ctgp" info cut.ctgp
cp cut.ctgp whole.ctgp
bad_rc=0
python3 interrupt.py "$ctgp" slower.csv fit SIGINT --kernel 'scale * rbf(ard)' >out 2>err || bad_rc=$?
that 'before the first iteration it fails' test $bad_rc -eq 7
that 'with a message' grep -qx ' *ctgp: stopped before the first iteration: no model is written' out
that 'and the old model stays' cmp cut.ctgp whole.ctgp
bad_rc=0
python3 interrupt.py "$ctgp" slower.csv 'iteration 0 ' SIGINT,SIGTERM \
    --kernel 'scale * rbf(ard)' >out 2>err || bad_rc=$?
that 'a second signal ends at once' test $bad_rc -eq 143
that 'and leaves the old model as well' cmp cut.ctgp whole.ctgp
# After the search the model is there, although its score on many rows that are held back takes longer.
awk 'BEGIN { OFS = ","; print "x", "y"
             for (i = 0; i < 100000; i++) print i * 7919 % 100003 / 1e4, sin(i % 997) }' >scored.csv
cat >second.py <<'PYTHON'
import os, signal, subprocess, sys, time
fit = "fit scored.csv --target y --max-rows 1500 --kernel rbf --model scored.ctgp --verbose"
p = subprocess.Popen([sys.argv[1], *fit.split()], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                     text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
for line in p.stderr:
    if line.startswith("iteration 1 "): p.send_signal(signal.SIGINT)
    if "best model so far" in line: break
for _ in range(12000):
    if os.path.exists("scored.ctgp") or p.poll() is not None: break
    time.sleep(0.01)
p.send_signal(signal.SIGINT)
sys.exit(p.wait() != -signal.SIGINT)
PYTHON
that 'a second Ctrl-C ends the score' python3 second.py "$ctgp"
ok 'and the model is whole' '^points +1500' "$ctgp" info scored.ctgp

plan
