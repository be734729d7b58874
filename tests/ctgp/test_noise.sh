#!/usr/bin/env bash
# test_noise.sh CTGP: noise from a column, by level and of the inputs, against closed forms. In TAP.
# shellcheck source=tests/support/ctgp.sh
. "$(dirname "$0")/../support/ctgp.sh"

# parameter MODEL NAME
parameter() { "$ctgp" info "$1" | awk -v name="$2" '$1 == name { print $2 }'; }
# std FILE ROW
std() { cell "$1" "$2" std; }

# Rows so far apart that they are independent: with k(x, x) = 1 a row with noise v leaves the variance
# v / (1 + v) of f there.
far=(--target y --mean zero --standardize no --quiet)
fixed=("${far[@]}" --kernel 'scale(1!) * rbf(lengthscale=1!)')

# -- given ---------------------------------------------------------------------------------------------------

cat >given.csv <<'CSV'
x,err,var,y
0,0.5,0.25,1
100,2,4,-1
200,0.1,0.01,2
CSV
cat >new.csv <<'CSV'
var,x,err
0.09,0,0.3
1,100,1
,200,
CSV
cut -d, -f2 new.csv >plain.csv
says 'standard deviations' 'features=1 ' "$ctgp" fit given.csv "${fixed[@]}" --noise-column err --drop var \
    --model sd.ctgp
says 'and variances' 'features=1 ' "$ctgp" fit given.csv "${fixed[@]}" --noise-column variance:var \
    --drop err --model var.ctgp
for m in sd var; do
    says "$m: predictions" 'lack an input' "$ctgp" predict $m.ctgp new.csv --out $m.csv
    near "$m: rows have their own noise, and so has a prediction" "$(std $m.csv 1)" \
        'sqrt(0.25 / 1.25 + 0.09)' 1e-9
    near "$m: another row" "$(std $m.csv 2)" 'sqrt(4 / 5 + 1)' 1e-9
    that "$m: none without noise" sh -c "sed -n 4p $m.csv | grep -qxE '(nan)?(,(nan)?){3}'"
    says "$m: the average is said" 'without a column of the noise, (err|var), the noise is the average' \
        "$ctgp" predict $m.ctgp plain.csv --out average.csv
    near "$m: and used" "$(std average.csv 1)" 'sqrt(0.25 / 1.25 + (0.25 + 4 + 0.01) / 3)' 1e-9
done
says 'info names the column' 'noise +given, standard deviations in err$' "$ctgp" info sd.ctgp
says 'info names the variances' 'noise +given, variances in var$' "$ctgp" info var.ctgp
says 'JSON, too' '"noise": "given", .*"noise_column": "err"' "$ctgp" info --json sd.ctgp
says 'leave-one-out has each own noise' 'n=3 ' "$ctgp" loo sd.ctgp --out loo.csv
near 'and each a deviation of its own' "$(std loo.csv 2)" 'sqrt(1 + 4)' 1e-9
says 'a learned noise beside it' 'noise.variance' "$ctgp" fit given.csv "${far[@]}" --noise learned \
    --noise-column err --features x --kernel 'scale * rbf' --model plus.ctgp
says 'a feature that is named stays one' 'features=2 ' "$ctgp" fit given.csv "${far[@]}" --features x,err \
    --noise-column err --kernel 'scale * rbf' --model both.ctgp
says 'rows appended with their noise' 'n=6 appended=3 ' "$ctgp" append sd.ctgp <(sed 's/00,/50,/' given.csv) \
    --model more.ctgp
bad 'none without it' 2 "has no column 'err'" "$ctgp" append sd.ctgp <(cut -d, -f1,4 given.csv) \
    --model no.ctgp
sed 's/0.5/-0.5/' given.csv >negative.csv
bad 'a negative deviation' 2 "negative.csv, line 2, column 'err': -0.5 is negative" \
    "$ctgp" fit negative.csv "${fixed[@]}" --noise-column err
bad 'no such column' 2 "no column 'error'; it has" \
    "$ctgp" fit given.csv "${fixed[@]}" --noise-column error
bad 'not the target' 1 "--noise-column names the target 'y'" \
    "$ctgp" fit given.csv "${fixed[@]}" --noise-column y
bad 'given and none' 1 'give one of them' \
    "$ctgp" fit given.csv "${fixed[@]}" --noise none --noise-column err

# -- by level ------------------------------------------------------------------------------------------------

# y has variance 1 + v_l, so that the likelihood is highest at v_l = mean of y² - 1.
awk 'BEGIN { srand(5); print "x,batch,y"; for (i = 0; i < 60; i++)
    printf "%d,%g,%.6f\n", 100 * i, i % 3 ? -1.5 : 20,
        (i % 3 ? 2 : 9) * (i % 2 ? 1 : -1) * (1 + rand()) }' >levels.csv
means=$(awk -F, 'NR > 1 { s[$2] += $3 * $3; n[$2]++ }
    END { print s["-1.5"] / n["-1.5"] - 1, s[20] / n[20] - 1 }' levels.csv)
says 'a noise for each level' 'features=1 ' "$ctgp" fit levels.csv "${fixed[@]}" --noise-by batch \
    --model levels.ctgp
near 'the first level' "$(parameter levels.ctgp 'noise.variance[-1.5]')" "${means% *}" 1e-4
near 'the second level' "$(parameter levels.ctgp 'noise.variance[20]')" "${means#* }" 1e-4
says 'info says so' 'noise +learned for each level of batch$' "$ctgp" info levels.ctgp
printf 'x,batch\n-50,20\n-50,-1.5\n' >new.csv
says 'predictions of levels' '' "$ctgp" predict levels.ctgp new.csv --out levels.out
near 'of the one' "$(std levels.out 1)" "sqrt(1 + ${means#* })" 1e-4
near 'of the other' "$(std levels.out 2)" "sqrt(1 + ${means% *})" 1e-4
says 'an average over the rows' 'without a column of the noise, batch' "$ctgp" predict levels.ctgp \
    <(cut -d, -f1 new.csv) --out average.csv
near 'and its value' "$(std average.csv 1)" "sqrt(1 + (2 * ${means% *} + ${means#* }) / 3)" 1e-4
says 'noisy draws' 'samples=4000 ' "$ctgp" sample levels.ctgp new.csv --noisy --samples 4000 --out draws.csv
square=$(awk -F, 'NR == 2 { for (i = 1; i <= NF; i++) s += $i * $i; print s / NF }' draws.csv)
near 'have the noise of their level' "$square" "1 + ${means#* }" 0.1
says 'draws of the function need none' 'samples=1 ' "$ctgp" sample levels.ctgp <(cut -d, -f1 new.csv) \
    --out draws.csv
says 'a level that is there' 'appended=1 ' "$ctgp" append levels.ctgp <(printf 'x,batch,y\n-90,20,3\n') \
    --model more.ctgp
printf 'x,batch,y\n-70,20,1\n-50,21,1\n' >new.csv
unknown="new.csv, line 3, column 'batch': the model has no noise for the level 21,"
bad 'a level never seen' 2 "$unknown" "$ctgp" predict levels.ctgp new.csv
bad 'nor appended' 2 "$unknown" "$ctgp" append levels.ctgp new.csv --model no.ctgp
that 'and nothing is written' test ! -e no.ctgp
bad 'a level for each row' 2 "column 'x' has 60 levels in 60 rows" "$ctgp" fit levels.csv "${far[@]}" \
    --features batch --noise-by x
(echo x,l,y; for i in {1..20}; do echo "$i,$((i > 16)),$((i * i % 7))"; done) >held.csv
LINES_ALLOWED=2 bad 'a level of rows that are held back alone' 2 'line 18, .*no noise for the level 1' \
    "$ctgp" fit held.csv --target y --noise-by l --test-last 0.2 --model held.ctgp
that 'before the fit' bash -c '! grep -q AICc err'
sed 's/,1,/,-1,/' held.csv >negative.csv
LINES_ALLOWED=2 bad 'a negative noise of such a row' 2 'line 18, .*-1 is negative' \
    "$ctgp" fit negative.csv --target y --noise learned --noise-column l --test-last 0.2 --model held.ctgp
that 'before the fit, too' bash -c '! grep -q AICc err'
bad 'one way or the other' 1 '--noise-column and --noise-by: give one' \
    "$ctgp" fit levels.csv "${far[@]}" --noise-by batch --noise-column x
# The same levels with names.
sed 's/,20,/,"north, coast",/; s/,-1.5,/,south,/' levels.csv >names.csv
says 'levels are texts' 'noise.variance.south' "$ctgp" fit names.csv "${fixed[@]}" --noise-by batch \
    --model names.ctgp
says 'info says of what' 'noise +learned for each level of batch$' "$ctgp" info names.ctgp
near 'the same noise' "$(parameter names.ctgp 'noise.variance[south]')" \
    "$(parameter levels.ctgp 'noise.variance[-1.5]')" 1e-4
says 'a row with a text' 'rows=1' "$ctgp" predict names.ctgp <(printf 'x,batch\n-70,"north, coast"\n') \
    --out names.out
near 'has the noise of that' "$(std names.out 1)" "sqrt(1 + ${means#* })" 1e-4
printf 'x,batch,y\n-70,south,1\n-50,west,1\n' >west.csv
unknown='west.csv:3: column 2 ."batch".: "west" is none of its levels'
bad 'a text never seen' 2 "$unknown" "$ctgp" predict names.ctgp west.csv
says 'unless --unseen takes it' 'n=2 ' "$ctgp" predict names.ctgp west.csv --unseen prior --out west.out
"$ctgp" predict names.ctgp <(printf 'x\n-50\n') --out average.out >log 2>err
near 'with the average noise' "$(std west.out 2)" "$(std average.out 1)" 1e-9
bad 'nor appended' 2 "$unknown" "$ctgp" append names.ctgp west.csv --model no.ctgp
says 'a text that is there' 'appended=1 ' "$ctgp" append names.ctgp <(head -2 west.csv) --model more.ctgp
says 'a chosen covariance' 'noise.variance\[20\]' "$ctgp" fit levels.csv --target y --quiet --noise-by batch \
    --model chosen.ctgp
if command -v gnuplot >/dev/null; then
    says 'a curve has the average noise' 'picture=' "$ctgp" plot levels.ctgp <(head -n 5 levels.csv) \
        --out levels.svg
    that 'and says so' grep -q 'with the average noise' levels.svg
fi

# -- a function of the inputs --------------------------------------------------------------------------------

# f is next to nothing, and x is 0 or 1: exp(a) and exp(a + b) are the means of y² there.
awk 'BEGIN { srand(6); print "x,y"; for (i = 0; i < 80; i++)
    printf "%d,%.6f\n", i % 2, (i % 2 ? 5 : 0.5) * (i % 4 < 2 ? 1 : -1) * (1 + rand()) }' >inputs.csv
means=$(awk -F, 'NR > 1 { s[$1] += $2 * $2; n[$1]++ } END { print s[0] / n[0], s[1] / n[1] }' inputs.csv)
says 'a noise that changes' 'noise.slope\[x\]' "$ctgp" fit inputs.csv "${far[@]}" --noise inputs \
    --kernel 'scale(1e-9!) * rbf(lengthscale=1!)' --model inputs.ctgp
near 'its level at 0' "$(parameter inputs.ctgp noise.log_variance)" "log(${means% *})" 1e-4
near 'its slope' "$(parameter inputs.ctgp 'noise.slope[x]')" "log(${means#* }) - log(${means% *})" 1e-4
says 'info says what it is' 'noise +learned, a function of the inputs$' "$ctgp" info inputs.ctgp
says 'predictions with it' 'n=80 ' "$ctgp" predict inputs.ctgp inputs.csv --out inputs.out
near 'at 0' "$(std inputs.out 1)" "sqrt(${means% *})" 1e-4
near 'at 1' "$(std inputs.out 2)" "sqrt(${means#* })" 1e-4
bad 'no other kind' 1 "--noise: 'input' is not learned, none or inputs" \
    "$ctgp" fit inputs.csv "${far[@]}" --noise input
plan
