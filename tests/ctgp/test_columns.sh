#!/usr/bin/env bash
# test_columns.sh CTGP: categories and times, from the table to the model and back. In TAP.
# shellcheck source=tests/support/ctgp.sh
. "$(dirname "$0")/../support/ctgp.sh"

noted() { grep -qE -- "$1" err; }
fit=("$ctgp" fit --target y --kernel 'scale * rbf(ard)' --max-iter 5 --quiet)

# -- categories ----------------------------------------------------------------------------------------------

awk 'BEGIN { srand(3); print "wood,x,y"; split("pine oak elm", w, " ")
    for (i = 0; i < 40; i++) { k = i % 3 + 1
        printf "%s,%.3f,%.4f\n", w[k], i / 10, sin(i / 6) + k + 0.05 * rand() } }' >wood.csv
awk -F, -v OFS=, 'NR == 1 || NR > 31 { print $3, $2, $1 }' wood.csv >other.csv
# elm 0, oak 1, pine 2
awk -F, -v OFS=, 'NR > 1 { $1 = index("eop", substr($1, 1, 1)) - 1 } 1' wood.csv >codes.csv

ok 'a column of text is a category' '^n=40 features=2 ' "${fit[@]}" wood.csv
ok 'info shows its levels' '^  wood +category of 3: elm, oak, pine$' "$ctgp" info wood.ctgp
wood='{"name": "wood", "kind": "category", "levels": \["elm", "oak", "pine"\]}'
ok 'so does its JSON' "\"columns\": \[$wood, {\"name\": \"x\", \"kind\": \"number\"}\]" \
    "$ctgp" info --json wood.ctgp
ok 'predict reads the same levels, in any order of columns' '^n=10 ' "$ctgp" predict wood.ctgp other.csv \
    --out a.csv
ok 'sample and append do, too' '^samples=1 of=function rows=10 ' "$ctgp" sample wood.ctgp other.csv \
    --out b.csv
ok 'append' '^n=50 appended=10 ' "$ctgp" append wood.ctgp other.csv --model more.ctgp
ok 'a longer model knows the levels' 'category of 3: elm, oak, pine' "$ctgp" info more.ctgp

sed 's/oak/ash/' other.csv >ash.csv
bad 'a level never seen is named' 2 \
    '^ctgp: ash.csv:[0-9]+: column 3 \("wood"\): "ash" is none of its levels: elm, oak, pine; ' \
    "$ctgp" predict wood.ctgp ash.csv --out c.csv
that 'and the option that allows it' noted '; predict, sample, plot and compare take it with --unseen prior$'
that 'and nothing is written' test ! -e c.csv
ok 'the prior of a level never seen' '^rows that the model learned: n=7 ' \
    "$ctgp" predict wood.ctgp ash.csv --unseen prior --out c.csv
ok 'also of a draw' '^samples=1 of=function rows=10 ' "$ctgp" sample wood.ctgp ash.csv --unseen prior \
    --out c.csv
ok 'and of a comparison' 'these rows do not show' "$ctgp" compare wood.ctgp wood.ctgp ash.csv --unseen prior
bad 'append learns no level' 2 'none of its levels' "$ctgp" append wood.ctgp ash.csv --model c.ctgp
bad 'no such choice' 1 "--unseen: 'no' is not " "$ctgp" predict wood.ctgp ash.csv --unseen no
sed 's/oak//' other.csv >gap.csv
ok 'a missing level' '^n=7 ' "$ctgp" predict wood.ctgp gap.csv --out c.csv
that 'has an empty prediction' test "$(grep -c '^,,,$' c.csv)" -eq 3

awk 'BEGIN { srand(4); print "wood,x,y"; for (i = 0; i < 66; i++)
    printf "%s,%.3f,%.4f\n", substr("abc", i % 3 + 1, 1), i / 10,
        (i % 3 < 2 ? 1 : -3) * sin(i / 6) + rand() / 20 }' >mirror.csv
ok 'levels that go against each other are found' '"kernel": "index\(' "$ctgp" fit mirror.csv --target y \
    --quiet --json
ok 'codes are levels where an option says so' '^n=40 ' "${fit[@]}" codes.csv --categorical wood
ok 'by their text' '^  wood +category of 3: 0, 1, 2$' "$ctgp" info codes.ctgp
sed 's/^0,/0.0,/; s/^1,/01,/' codes.csv >spelled.csv
ok 'a code has several spellings' '^n=40 ' "$ctgp" predict codes.ctgp spelled.csv --out d.csv
"$ctgp" predict codes.ctgp codes.csv --out e.csv >out
that 'of one level' cmp d.csv e.csv
sed '1!s/^/the same,/; 1s/^/c,/' wood.csv >one.csv
ok 'a column of one text' 'features=2 ' "${fit[@]}" one.csv
that 'is left out, which a note says' \
    noted "one.csv: column 'c' has no other text than 'the same': it is left out\$"
awk -F, -v OFS=, 'NR == 1 { $1 = "flag" } NR > 1 { $1 = NR % 2 ? "True" : "False" } 1' wood.csv >flag.csv
ok 'true and false are two levels' '^n=40 ' "${fit[@]}" flag.csv
sed 's/True/TRUE/; s/False/false/' flag.csv >lower.csv
ok 'in any case' '^n=40 ' "$ctgp" predict flag.ctgp lower.csv --out f.csv

bad 'a target of text' 2 "^ctgp: wood.csv: the target 'wood' has no number in any row: .* another column\$" \
    "$ctgp" fit wood.csv --target wood
bad 'one of several' 2 "^ctgp: wood.csv: the target 'wood' has no number " \
    "$ctgp" fit wood.csv --target y,wood
bad 'a target with a mistake' 2 ':5: column 3 \("y"\): "late" is not a number$' "${fit[@]}" \
    <(sed '5s/[^,]*$/late/' wood.csv) --model g.ctgp
bad 'also by an option' 1 "^ctgp: --categorical names the target 'y', which must be a number$" "${fit[@]}" \
    wood.csv --categorical y
bad 'one kind a column' 1 "^ctgp: --time names 'x', which is named before$" \
    "${fit[@]}" wood.csv --categorical x --time x
bad 'no such column' 2 "wood.csv has no column 'w'; it has wood, x, y$" "${fit[@]}" wood.csv --categorical w
sed '5s/,[0-9.]*,/,oops,/' wood.csv >oops.csv
bad 'a mistake among numbers is no text' 2 \
    'oops.csv:5: column 2 \("x"\): "oops" is not a number, .* --categorical, or leave it out with --drop$' \
    "${fit[@]}" oops.csv
awk -F, -v OFS=, 'NR > 1 { sub(/\./, ",", $2); $2 = "\"" $2 "\"" } 1' wood.csv >comma.csv
bad 'nor are decimal commas' 2 'is the decimal sign a comma\?' "${fit[@]}" comma.csv

awk -F, -v OFS=, '{ $1 = NR == 1 ? "id," $1 : "tree" NR "," $1 } 1' wood.csv >id.csv
ok 'a name for each row is left out' '^n=40 features=2 ' "${fit[@]}" id.csv
that 'with a note' noted "id.csv: column 'id' has 40 texts, nearly one per row: it is left out"
ok 'unless it is asked for' '^n=40 features=3 ' "${fit[@]}" id.csv --categorical id
ok 'or named' '^n=40 features=1 ' \
    "$ctgp" fit --target y id.csv --features id --kernel 'scale * category' --quiet
awk -F, -v OFS=, 'NR == 1 { print "x,inches,down,class,y" }
    NR > 1 { print $2, $2 / 2.54, -3 * $2, NR % 4, $3 }' wood.csv >again.csv
ok 'a column on another scale is left out' '^n=40 features=2 ' "${fit[@]}" again.csv
that 'with one note for all' \
    noted 'again.csv: left out, another column on another scale: 2 columns, inches \(x\), down \(x\)$'
that 'and one on what may be codes' noted 'again.csv: few whole numbers: class; --categorical NAME,... where'
ok 'asked for, it stays' '^n=40 features=2 ' "${fit[@]}" again.csv --features x,inches
that 'without a note' sh -c '! grep -qE "left out|few whole" err'
ok 'a column of codes' '^n=40 features=2 ' "${fit[@]}" again.csv --categorical class
that 'that is named has no note' sh -c '! grep -q "few whole" err'
awk -F, -v OFS=, '{ print $2, NR == 1 ? "y" : NR % 2 }' wood.csv >binary.csv
ok 'a target of 0 and 1' '^n=40 ' "${fit[@]}" binary.csv
that 'has a note' noted "'y' is 0 or 1: "
awk -F, -v OFS=, '{ print $2, NR == 1 ? "y" : NR * NR % 5 }' wood.csv >count.csv
ok 'a target that counts' '^n=40 ' "${fit[@]}" count.csv
that 'has one, too' noted "'y' counts from 0: intervals reach below; --transform sqrt holds them above$"
ok 'and on this scale' '^n=40 ' "${fit[@]}" count.csv --transform sqrt
that 'has none' sh -c '! grep -q counts err'
LINES_ALLOWED=2 bad 'nothing else is left' 2 "no column is left to learn 'y' from$" "${fit[@]}" \
    <(cut -d, -f1,4 id.csv) --model g.ctgp

# -- missing cells -------------------------------------------------------------------------------------------

awk -F, -v OFS=, 'NR > 1 && NR % 4 == 0 { $2 = "NA" } NR > 1 && NR % 7 == 0 { $1 = "" } 1' wood.csv >gaps.csv
ok 'rows with missing cells are left out' '^n=26 ' "${fit[@]}" gaps.csv
that 'unless they are kept' noted 'x in 10; --drop x keeps 9 of them, and --missing keep all$'
ok 'which is an option' '^n=40 features=3 ' "${fit[@]}" gaps.csv --missing keep
that 'with a note' \
    noted 'missing cells are the mean of their column, and further columns say where: x \(missing\)$'
ok 'the model says so' '^  wood +category of 4: elm, missing, oak, pine$' "$ctgp" info gaps.ctgp
that 'of numbers, too' grep -qE '^  x +filled number$' out
ok 'and reads other tables so' '^n=1 ' "$ctgp" predict gaps.ctgp <(printf 'x,wood,y\nNA,,1\n') --out g.csv
ok 'as if the cells were there' '^n=1 ' "$ctgp" predict gaps.ctgp \
    <(printf 'x,wood,y\n%s,missing,1\n' "$(awk -F, 'NR > 1 && $2 != "NA" { s += $2; n++ }
        END { printf "%.17g", s / n }' gaps.csv)") --out h.csv
that 'but for what says that they are not' sh -c '! cmp -s g.csv h.csv'
ok 'the rows are those that it learned' '^n=40 ' "$ctgp" predict gaps.ctgp gaps.csv --out g.csv
that 'all of them' noted 'the model learned these rows'
bad 'no such choice of it' 1 "--missing: 'some' is not drop or keep" "${fit[@]}" gaps.csv --missing some

# -- levels that go together or against each other -----------------------------------------------------------

awk 'BEGIN { print "wood,x,y"; for (i = 0; i < 60; i++)
    printf "%s,%.1f,%.4f\n", i % 2 ? "oak" : "elm", i / 10, i % 2 ? sin(2 * i) : cos(i * i) }' >apart.csv
ok 'levels that share nothing' '^  category.lengthscale +0.0001$' "$ctgp" fit apart.csv --target y --quiet \
    --kernel 'scale * rbf(dims=x, lengthscale=0.3) * category(lengthscale=0.0001)'
ok 'are at a bound' '^at bounds +[1-9]' "$ctgp" info apart.ctgp
that 'about which there is nothing to advise' test "$(grep -c 'category.*bound' out)" -eq 0

# elm and oak mirror each other, and pine is a line
awk 'BEGIN { print "wood,x,y"; split("elm oak pine", w, " ")
    for (i = 0; i < 60; i++) { k = (i + int(i / 7)) % 3
        y = k == 2 ? i / 50 : k == 1 ? -sin(.3 * i) : sin(.3 * i)
        printf "%s,%.1f,%.5f\n", w[k + 1], i / 10, y + cos(7 * i) / 20 } }' \
    >mirror.csv
ok 'a kernel of levels' '^n=60 features=2 ' "$ctgp" fit mirror.csv --target y --restarts 4 --quiet \
    --kernel 'index * rbf(lengthscale=1)'
ok 'has as many as its column' '^kernel +index\(dims=0, rank=1, levels=3\) \* rbf\(dims=1\)$' \
    "$ctgp" info mirror.ctgp
that 'info shows which go against each other' grep -qE '^  oak +[0-9.]+ +-(0\.9.|1\.00)$' out
that 'with parameters of any sign' grep -qE '^  index.w\[[01],0\] +-' out
that 'and without advice on them' test "$(grep -c '^  index.* is at its' out)" -eq 0
ok 'predict, of a level never seen, too' '^n=1 ' "$ctgp" predict mirror.ctgp \
    <(sed '5s/^[a-z]*/ash/' mirror.csv) --unseen prior --out j.csv
least_certain=$(awk -F, 'NR > 1 && $2 > s { s = $2; at = NR } END { print at }' j.csv)
that 'which is the least certain' test "$least_certain" = 5
ok 'bounds by name' '^n=60 ' "$ctgp" fit mirror.csv --target y --quiet --max-iter 5 --kernel 'index * rbf' \
    --lower '"index.w[0,0]=-0.5"' --upper 'index.kappa*=2' --model bounded.ctgp
for text in 'index(dims=x)' 'index(levels=2)' 'index(rank=4)'; do
    bad "refused: $text" 2 '^ctgp: .*index' "$ctgp" fit mirror.csv --target y --kernel "$text"
done

# -- times ---------------------------------------------------------------------------------------------------

# from 2024-02-20 on, a day a row
python3 - <<'PYTHON'
import datetime as dt, math
first = dt.datetime(2024, 2, 20, tzinfo=dt.timezone.utc)
rows = [(first + dt.timedelta(days=i), math.sin(i / 6)) for i in range(40)]
def write(name, column):
    with open(name, "w") as f:
        print("when,y", file=f)
        for t, y in rows: print(f"{column(t)},{y:.6f}", file=f)
write("dates.csv", lambda t: t.date().isoformat())
write("stamps.csv", lambda t: t.strftime("%Y-%m-%d %H:%M"))
write("days.csv", lambda t: int(t.timestamp()) // 86400)
write("seconds.csv", lambda t: int(t.timestamp()))
write("ms.csv", lambda t: int(t.timestamp()) * 1000)
PYTHON
ok 'dates are times' '^n=40 features=1 ' "${fit[@]}" dates.csv
ok 'info says so' '^  when +time' "$ctgp" info dates.ctgp
ok 'from when to when' 'when +time, 2024-02-20 to 2024-03-30$' "$ctgp" info dates.ctgp
ok 'and a lengthscale in days' 'lengthscale\[when\] +[0-9.e+]+ days' "$ctgp" info dates.ctgp
ok 'so does its JSON' '{"name": "when", "kind": "time", "first": "2024-02-20", "last": "2024-03-30"}' \
    "$ctgp" info --json dates.ctgp
ok 'the same as days in numbers' '^n=40 ' "${fit[@]}" days.csv
that 'with the same likelihood' \
    test "$("$ctgp" info dates.ctgp | grep ^nlml)" = "$("$ctgp" info days.ctgp | grep ^nlml)"
ok 'dates and times of day' '^n=40 ' "$ctgp" predict dates.ctgp stamps.csv --out h.csv
"$ctgp" predict dates.ctgp dates.csv --out i.csv >out
that 'are the same days' cmp h.csv i.csv
for unit in seconds ms; do
    ok "$unit since 1970" '^n=40 ' "${fit[@]}" $unit.csv --time when
    ok "are times, too" '^n=40 ' "$ctgp" predict $unit.ctgp dates.csv --out i.csv
    that 'and the same days' cmp h.csv i.csv
    ok 'also in predict' '^n=40 ' "$ctgp" predict dates.ctgp $unit.csv --out i.csv
    that 'of a model of dates' cmp h.csv i.csv
done
that 'the unit is noted' noted "ms.csv: column 'when' is read as milliseconds since 1970$"
sed -E 's,^(....)-(..)-(..),\3.\2.\1,' dates.csv >dotted.csv
ok 'days before months are times' '^n=40 ' "${fit[@]}" dotted.csv --model j.ctgp
that 'and a note says so' noted "'when' is read as dates with the day before the month$"
ok 'in predict, too' '^n=40 ' "$ctgp" predict j.ctgp dates.csv --out j.csv
that 'they are the same days' cmp h.csv j.csv
sed -nE '1p; s,^(....)-(..)-(0.|1[0-2]),\3/\2/\1,p' dates.csv >either.csv
bad 'either order' 2 'either.csv:2: .* in "01/03/2024": state the order of dates with --dates$' \
    "${fit[@]}" either.csv --model k.ctgp
ok 'but for an option' '^n=12 ' "${fit[@]}" either.csv --dates day-first --model k.ctgp
ok 'which the model remembers' '^n=12 ' "$ctgp" predict k.ctgp either.csv --out k.csv
that 'in its file' noted "'when' is read as dates with the day before the month$"
ok 'or of a model that knows it' '^n=12 ' "$ctgp" predict j.ctgp either.csv --out k.csv
awk -F, 'NR == 1 || NR > 11 && NR < 24' h.csv >l.csv
that 'they are the right days' cmp k.csv l.csv
awk -F, 'NR == 1 { print; next } { print $1 + 25569 "," $2 }' days.csv >excel.csv
ok "Excel's days" '^n=40 ' "${fit[@]}" excel.csv --time when --dates excel
ok 'are the same' '^n=40 ' "$ctgp" predict excel.ctgp excel.csv --out i.csv
that 'days' cmp h.csv i.csv
sed '10s/2024-02-28/2024-02-30/' dates.csv >never.csv
bad 'a day that is not in the calendar' 2 \
    'never.csv:10: column 1 \("when"\): "2024-02-30" is not in the calendar$' "${fit[@]}" never.csv
bad 'also in predict' 2 'never.csv:10: .* is not in the calendar$' "$ctgp" predict dates.ctgp never.csv
sed '10s/2024-02-28/someday/' dates.csv >never.csv
bad 'what is no date' 2 '"someday" is not a date, .* is with --categorical, or leave it out with --drop$' \
    "${fit[@]}" never.csv
bad 'in predict' 2 '"someday" is not a date as 2024-01-31 or 2024-01-31T12:30$' \
    "$ctgp" predict dates.ctgp never.csv

# -- units ---------------------------------------------------------------------------------------------------

awk 'BEGIN { print "mass;price"; for (i = 1; i < 20; i++) printf "%d kg;$1 %03d,%d\n", i, 50 * i, i % 10 }' \
    >shop.csv
ok 'numbers with units' '^n=19 ' "$ctgp" fit shop.csv --target price --quiet
that 'are noted' noted "column 'mass' is in kg$"
ok 'predict' '^n=19 ' "$ctgp" predict shop.ctgp shop.csv --out p.csv
sed 's/^5 kg/5 lb/' shop.csv >mixed.csv
bad 'another unit' 2 'mixed.csv:6: column 1 \("mass"\): "5 lb" is not ' \
    "$ctgp" fit mixed.csv --target price --quiet

# -- columns by name in a kernel -----------------------------------------------------------------------------

ok 'dims by name' '^n=40 ' "$ctgp" fit wood.csv --target y --max-iter 5 --quiet \
    --kernel 'scale * rbf(dims=x) + scale * matern32(dims="wood")'
ok 'are numbers in the model' '^kernel +scale \* rbf\(dims=1\) \+ scale \* matern32\(dims=0\)$' \
    "$ctgp" info wood.ctgp
LINES_ALLOWED=3 bad 'no such column in a kernel' 1 '^ctgp: kernel: no such column; there are wood, x$' \
    "$ctgp" fit wood.csv --target y --kernel 'rbf(dims=z)'
LINES_ALLOWED=3 bad 'no such number' 1 '^ctgp: kernel: no such column; there are wood, x$' \
    "$ctgp" fit wood.csv --target y --kernel 'rbf(dims=2)'
LINES_ALLOWED=3 bad 'a function of a category' 1 \
    '^ctgp: mean: this column is a category, and a function takes numbers$' \
    "$ctgp" fit wood.csv --target y --mean '1 + wood'

plan
