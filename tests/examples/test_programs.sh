#!/usr/bin/env bash
# test_programs.sh PROGRAMS SOURCES: every example runs and prints what it should, and README.md and
# pages of the book quote them exactly. In TAP.
set -u
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"
programs=$1 sources=$2
own_folder

# prints PROGRAM PATTERN: exit code 0, nothing on standard error, the pattern on standard output.
prints() {
    local rc=0
    "$programs/$1" >said 2>err || rc=$?
    that "$1 succeeds" test $rc -eq 0
    that "$1 complains of nothing" test ! -s err
    that "$1 prints its result" grep -qE -- "$2" said
}

prints first_gradient '^f = 11\.6667, gradient = \(-6, -8\.66667\)$'
prints custom_op '^the rule is right$'
that 'custom_op checks something' grep -qE '^[1-9][0-9]* checks, 0 failed$' said
prints embedded_loss '^loss 0\.2637, slopes 2\.9'
that 'embedded_loss trains two models' test "$(wc -l <said)" -eq 2
prints own_likelihood '^f = 148\.738461, df/dlog l = 21\.821673, df/dlog s2 = -109\.442590'
prints block_layers '^loss 29\.0[0-9]* -> 0\.[0-9]+ for 8 networks at once$'
prints half_training '^ f32, scale 2\^0: 1\.3e\+00 .* [0-9.]+e-1[23], scale 2\^0$'
that 'bf16 learns to its rounding' grep -qE '^bf16, .* 1\.[0-9]e-05, scale 2\^0$' said
that 'f16 with a scale learns what it loses without' \
    awk '/^ f16/ { end[n++] = $(NF - 2) + 0 } END { exit !(end[0] > 1e-6 && end[1] < 4e-7) }' said
that 'overflow halves the scale' grep -qE '^ f16, scale 2\^30: .*, scale 2\^2[0-9]$' said
prints expert_rows '^loss [0-9.]+ -> 0\.000[0-9] with 50 matrices for 4000 samples$'
prints partial_inverse '^exact: loss 0\.3907, after 20 steps 0\.1[67][0-9]* $'
that 'partial_inverse learns by both losses' grep -qE '^ridge: loss 0\.3848, after 20 steps 0\.00' said
prints many_machines '^f\(0\.5, 0\.5\) = 0\.64[0-9], deviation 0\.0[0-9]+, by 1 processes$'
prints train_gp '^f\(1\.2\) = (0\.9|1\.0)'
that 'train_gp saves its model' test -s bump.ctgp

prints choose_kernel '^\* scale \* periodic\(period=7\) \+ scale \* rbf +AICc 185\.1$'

prints bayesopt '^31: .* best 0\.39[0-9]*$'

prints batch_improvement 'expected to fall by 0\.[0-9]+, is now -0\.[4-9]'

# The demo on every tenth week: the same program, in seconds.
mkdir -p examples/data
cp "$sources/examples/demo.gnuplot" examples
awk 'NR == 1 || NR % 10 == 2' "$sources/examples/data/co2_weekly.csv" >examples/data/co2_weekly.csv
last='^demo rmse_ppm=[0-9.]+ coverage95=[01]\.[0-9]+ nlml=-?[0-9.]+ seconds=[0-9.]+ picture='
prints demo "${last}out/co2.png\$|^no picture"
that 'its last line is for scripts' sh -c "tail -n 1 said | grep -qE '$last'"
that 'a line for each iteration' grep -qE '^iteration +[1-9]' said
that 'it forecasts' awk -F'[= ]' '/^demo/ { exit !($3 < 3 && $5 > 0.8) }' said
that 'it says what the parameters mean' grep -qE 'season: period \(held fixed\) +1 year' said
if command -v gnuplot >/dev/null; then
    that 'it draws SVG' grep -q '</svg>' out/co2.svg
    that 'and PNG' test -s out/co2.png
fi
PATH=/nowhere "$programs/demo" >said.log 2>err
that 'without gnuplot it runs, too' test $? -eq 0
that 'and says that no picture was drawn' grep -q '^no picture was drawn' said.log
that 'and in its last line' sh -c "tail -n 1 said.log | grep -q 'picture=none\$'"
rm examples/data/co2_weekly.csv
"$programs/demo" >said.log 2>err
that 'without its data it says so' test $? -ne 0 -a -s err

for f in first_gradient custom_op embedded_loss train_gp own_likelihood block_layers half_training \
    expert_rows partial_inverse bayesopt many_machines; do
    that "$f.c is under 60 lines" test "$(wc -l <"$sources/examples/$f.c")" -lt 60
done
for f in propose.h batch_improvement.c; do
    that "$f is under 70 lines" test "$(wc -l <"$sources/examples/$f")" -lt 70
done
that 'train_gp.c is under 30 lines' test "$(wc -l <"$sources/examples/train_gp.c")" -lt 30
that 'demo.c is under 150 lines' test "$(wc -l <"$sources/examples/demo.c")" -lt 150

# Every block of C in these pages is part of an example, line for line.
cat >blocks.py <<'PYTHON'
import pathlib, re, sys
root = pathlib.Path(sys.argv[1])
examples = [p.read_text() for p in root.glob("examples/*.c")]
pages = "".join((root / page).read_text() for page in ("README.md", "docs/half.md", "docs/many-machines.md"))
blocks = re.findall(r"^```c\n(.*?)^```", pages, re.M | re.S)
missing = [b for b in blocks if not any(b.strip() in e for e in examples)]
print("\n---\n".join(missing))
sys.exit(bool(missing) or len(blocks) < 7)
PYTHON
that 'the pages show the examples as they are' python3 blocks.py "$sources"

plan
