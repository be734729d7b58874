#!/usr/bin/env bash
# test_reported.sh CTGP: what ctgp reports of models: their noise, precision and seasons, and which of two is
# better. In TAP.
# shellcheck source=tests/support/ctgp.sh
. "$(dirname "$0")/../support/ctgp.sh"

awk 'BEGIN { print "a,b,sd,level,y"; for (i = 0; i < 40; i++)
    printf "%g,%g,%g,%s,%.6f\n", i / 8, i * 7 % 40, 0.2 + i % 3 / 10, i % 2 ? "u" : "v",
        sin(i / 8) + 0.3 * sin(i * i * 17) }' >t.csv
fit=("$ctgp" fit t.csv --target y --features a --kernel 'scale * rbf' --quiet --max-iter 10)

# -- noise ---------------------------------------------------------------------------------------------------

# noise NAME TEXT JSON OPTION...: both ways in which info reports the noise of a fit
noise() {
    ok "$1" '^n=40 ' "${fit[@]}" --model m.ctgp "${@:4}"
    ok 'is reported' "^noise        $2\$" "$ctgp" info m.ctgp
    ok 'in JSON' "\"noise\": \"$3\"" "$ctgp" info m.ctgp --json
}
noise 'learned noise' learned learned
noise 'no noise' none none --noise none
noise 'given noise' 'given, standard deviations in sd' given --noise-column sd
noise 'given variances' 'given, variances in sd' given --noise-column variance:sd
noise 'given and learned noise' 'given and learned, standard deviations in sd' 'given and learned' \
    --noise-column sd --noise learned
noise 'noise of levels' 'learned for each level of level' 'by level' --noise-by level
noise 'noise of the inputs' 'learned, a function of the inputs' inputs --noise inputs
awk -F, -v OFS=, '{ $4 = NR == 1 ? "l" : NR % 20 } 1' t.csv >twenty.csv
ok 'a covariance of twenty levels' '^n=40 ' \
    "$ctgp" fit twenty.csv --target y --features a,l --categorical l \
    --kernel 'index(dims=1) * rbf(dims=0)' --quiet --max-iter 2 --model l.ctgp
ok 'is reported in part' '^  and [0-9]+ more$' "$ctgp" info l.ctgp
that 'by a line for each of the first' test "$(sed -n '/^levels of l, by index/,/^  and/p' out | wc -l)" -eq \
    $((22 - $(sed -n 's/^  and \([0-9]*\) more$/\1/p' out)))

# -- precision and search ------------------------------------------------------------------------------------

ok 'mixed precision' '^  objective in mixed precision -?[0-9.]+, to about [0-9.e-]+$' \
    "${fit[@]}" --precision mixed --model m.ctgp
near 'is that of full precision' "$(awk '/mixed precision/ { sub(",", "", $5); print $5 }' out)" \
    "$(sed -n 's/.* nlml=\([^ ]*\) .*/\1/p' out)" 1e-4
ok 'info reports it' '^precision    mixed: .* objective to about [0-9.e-]+; 0 evaluations refused$' \
    "$ctgp" info m.ctgp
ok 'in JSON, too' '"precision": "mixed", "objective_error": [0-9.e-]+' "$ctgp" info m.ctgp --json
ok 'full precision' '^n=40 ' "${fit[@]}" --model m.ctgp
that 'has no such line' sh -c '! grep -q "mixed precision" out'
that 'says how many starts agree' grep -qE '^  starts +10, [0-9]+ of which ended here' out
ok 'in JSON, too' '"starts": 10, "starts_agreed": [0-9]+' "${fit[@]}" --model m.ctgp --json
ok 'one start' '"starts": 1, "starts_agreed": 1' "${fit[@]}" --restarts 0 --model m.ctgp --json
ok 'nor in info' '"precision": "full"' "$ctgp" info m.ctgp --json
ok 'leave-one-out' '^n=40 ' "${fit[@]}" --objective loo --optimizer adam --restarts 0 \
    --model loo.ctgp
ok 'is reported' '^objective    leave-one-out: ' "$ctgp" info loo.ctgp
that 'with the optimizer' grep -q '^optimizer    adam, 10 iterations' out
ok 'in JSON, too' '"objective": "loo"' "$ctgp" info loo.ctgp --json
ok 'numbers as they are' '^n=40 ' "${fit[@]}" --standardize no --model raw.ctgp
ok 'are reported' '^standardize  no$' "$ctgp" info raw.ctgp

# -- which is better -----------------------------------------------------------------------------------------

# Rows without noise. The first model is near other rows and too sure of them; the second is far, and says so.
awk 'BEGIN { print "a,y"; for (i = 0; i < 20; i++) printf "%g,%.6f\n", i / 4, sin(i / 4) }' >clean.csv
awk 'BEGIN { print "a,y"; for (i = 0; i < 60; i++) printf "%g,%.6f\n", 0.05 + i / 14,
    sin(0.05 + i / 14) + 0.3 * sin(i * i * 13) }' >noisy.csv
clean=("$ctgp" fit clean.csv --target y --quiet --max-iter 10)
ok 'a model that is too sure' '^n=20 ' "${clean[@]}" --kernel 'scale * rbf' --model sure.ctgp
ok 'a model that knows little' '^n=20 ' "${clean[@]}" --kernel 'rbf(lengthscale=1000!)' --model humble.ctgp
for order in 'sure humble' 'humble sure'; do
    read -r first second <<<"$order"
    ok "$order" '^sure.ctgp has the better means, humble.ctgp the better densities$' \
        "$ctgp" compare "$first.ctgp" "$second.ctgp" noisy.csv
done
ok 'in JSON' '"squared_error": \{.*"better": "B"\}, "nlpd": \{.*"better": "A"\}' \
    "$ctgp" compare humble.ctgp sure.ctgp noisy.csv --json

# -- two seasons ---------------------------------------------------------------------------------------------

awk 'BEGIN { w = 8 * atan2(1, 1); print "date,b,y"; for (i = 0; i < 120; i++) {
    m = i < 31 ? 1 : i < 59 ? 2 : i < 90 ? 3 : 4
    d = i - (m > 1 ? 31 : 0) - (m > 2 ? 28 : 0) - (m > 3 ? 31 : 0) + 1
    printf "2023-%02d-%02d,%d,%.5f\n", m, d, i * 7 % 11,
        sin(w * i / 7) + 1.2 * sin(w * i / 17) + 0.1 * sin(i * i * 17) } }' >two.csv
# period N: the N-th period of the fit
period() { sed -n 's/^  periodic[#0-9]*\.period  *\([0-9.]*\) days$/\1/p' out | sed -n "$1p"; }
for columns in date date,b; do
    ok "seasons of $columns" '^n=120 ' \
        "$ctgp" fit two.csv --target y --features $columns --season date --max-iter 20 --model two.ctgp
    that 'are two' test "$(grep -cE '^ctgp: date: season of (17\.|7\.0)[0-9]* days ' err)" -eq 2
    that 'each with a part of its own, from the fit with one' grep -qE \
        'periodic\([^)]*period=17[^)]*\) \* rbf[^+]* \+ scale \* periodic\([^)]*=7\.0.*, from there: AICc' err
    near 'the first period' "$(period 1)" 17 0.03
    near 'the second' "$(period 2)" 7 0.01
done
plan
