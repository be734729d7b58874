#!/bin/sh
# Fuzzes: tests/fuzz/fuzz.sh [SECONDS EACH [TARGET...]]; all fuzz_*.c by default. Needs clang with libFuzzer.
# The corpus grows in build-fuzz/corpus/TARGET; an input that crashes is left beside it as TARGET-crash-*, and
# the exit status is not 0. To run it again: build-fuzz/fuzz_TARGET build-fuzz/corpus/TARGET-crash-*
set -eu
cd "$(dirname "$0")/../.."
source=$PWD/tests/fuzz
build=$PWD/build-fuzz
seconds=${1:-60}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- $(cd "$source" && ls fuzz_*.c | sed 's/^fuzz_//; s/\.c$//')

if [ ! -f "$build/build.ninja" ]; then
    CC=clang meson setup "$build" -Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false \
        -Dwerror=false -Dtests=disabled -Dexamples=disabled -Dcuda=disabled \
        -Dc_args='-fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined'
fi
ninja -C "$build" >"$build/ninja.log" || { tail -n 20 "$build/ninja.log"; exit 1; }

# Seeds are printf formats: seed TARGET NAME FORMAT; npy NAME HEADER DATA writes the magic and the length
# before.
seed()
{
    mkdir -p "$build/corpus/$1"
    printf -- "$3" >"$build/corpus/$1/seed-$2"
}
npy() { seed npy "$1" "\\223NUMPY\\001\\000\\$(printf %03o ${#2})\\000$2$3"; }

# csv: the first byte is the delimiter + 128 (below: found), the second modulo 3 the header (1: detect), a
# third of it modulo 3 the decimal sign (0: found); bits of the third: kinds, columns, unseen, texts; a
# sixteenth of it modulo 7 the form of dates
seed csv plain '\000\001\000x0,x1,y\n1,2,3\n4.5,-6e-3,NA\n'
seed csv quoted '\000\001\000"a ""b""", "c\r\nd"\r\n"1",inf\r\n,?\r\n'
seed csv semicolon '\273\000\0001;2\n\n3;nan\n'
seed csv german '\000\001\000# r\nx;y\n0,5;1.000\n7;1.234,5\n'
seed csv forms '\000\001\000,x,y\n0,50%%,"1,000"\n# z\n1,#N/A,"2,000.5"\n'
seed csv blanks '\000\007\000"1" 2\n1.5 \t2,5\n'
seed csv bom '\000\001\000\357\273\277y\n1\n\n0.1234567890123456789012345678901234567890e-5\n'
seed csv kinds '\000\001\001s,t\n"b",2024-01\nYes,1970-02-28T12:30:05.5+02:00\nyes,\n1a,0000-01-01 00:00\n'
seed csv dates '\000\001\041t,u\n1/2/2024,9:30\n13.2.24 2:30 PM,1-Jan-20\n2024-W05-3,20240131\n'
seed csv asked '\000\001\007c0,c1,c2,a\nYES,1e12,x,1\n1.0,5,y,?\nz,,x,3\n'
seed csv ragged '\000\002\000a,b\n1\n'
npy f8 "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }" '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\360\077'
npy f4 "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 1), }" '\077\0\0\0\0\0\0\0'
npy i2 "{'descr': '<i2', 'fortran_order': False, 'shape': (), }" '\001\002'
npy b1 "{'shape': (1, 0, 3), 'descr': '|b1', 'fortran_order': False}" ''
seed kernel all \
    'scale(4!) * rbf(ard, dims=0:2, lengthscale=0.5:2) + poly(degree=3, offset=.5) * rq(alpha=1e-3)'
seed kernel rest \
    '(white(0.1) + constant) * periodic(period=2) * cosine * linear * matern12 + (matern32 * matern52)'
seed kernel named 'rbf(dims=temp:"a ""b""") + linear(dims="") * cosine(dims=temp : 1)'
seed names quoted '"size, total" , "na""me",it'\''s, x*'
# basis: a byte for the names before the text
seed basis plain '01 + x0 + x0^2*x1 + x2'
seed basis quoted '11 + "my col" + "a""b"^8 * 1 + x'
seed basis odd '2"1" + x2*x0 + ""^2'
# plot: the kind of picture, then names of four columns, of three levels and of the file, each with a zero
seed plot number "\\000'a\\000\\140touch x\\140\\000y\\000z\\000a\\000b\\000c\\000it''s %%d \\\\n"
seed plot time '\001@a_{b}^c\000"y"\000$x\000\351t\351\000a\000b\000c\000<b>&amp;'
seed plot digits '\002"50\000`7`\000u\000v\000\\7\000"7\000`0\000"11'
seed plot levels '\002a\nb\000y\033[2J\000u\000v\000%%s\000\\"\000\302\233\000\357\277\277'
seed plot panels '\003x\\\000"\140c\000t%%\000'\'\'\''y\000{/Symbol a}\000%%1$n\000]]>\000#!'
seed plot map '\004long\000"lat`\000z\000\000a\000b\000c\000<i>'
# fit: sixteen bytes of options and scales before the text
seed fit ard '\001\006\001\000\000\000\000\001\000\000\000\000\001\000\001\002scale * rbf(ard) + linear'
seed fit sum \
    '\002\007\002\000\000\000\000\001\001\001\001\001\000\001\000\001scale * periodic * matern32 + white(0.1)'
seed fit rest '\004\005\000\000\310\000\000\001\002\000\000\000\000\000\001\001(rq + cosine)'\
' * poly(degree=3) + matern12 * constant(2!)'

# command: the options of fit, a command and its options, the table
seed command plain '--target\ty\npredict\t--json\nx,y\n1,2\n2,3\n4,1\n5,2\n7,4\n'
seed command outputs '--target\ty,z\t--outputs\tshared\nloo\t--folds\t3\nx,y,z\n1,2,0\n2,3,1\n4,1,5\n5,2,2\n'
seed command kinds '--target\ty\t--kernel\tscale*rbf\t--drop\tk\ninfo\t--json\nd;k;y\n2024-01-01;a;1,5\n'\
'2024-01-02;b;2\n2024-01-04;a;3,5\n'
seed command time '--target\ty\t--season\td\t--transform\tlog\nsample\t--samples\t2\nd,y\n2024-01-01,1\n'\
'2024-01-02,2\n2024-01-03,1\n2024-01-04,3\n2024-01-05,1\n'
# records: the model, the command, and its changes: what, where, how long, and the value
seed records whole '\000\001'
seed records number '\002\002\001\050\000\010\005'
seed records count '\003\004\002\020\000\010\006'
seed records shorter '\004\000\004\100\000\003'
seed number plain '1.5e3'
seed number long '-0.3000000000000000444089209850062616169452667236328125E-10'
seed number large '1797693134862315708145274237317043567981e269'
seed number word '#N/A'
seed number time '2024-02-29T12:30:05.25+02:00'
seed number month '-000001-03'

for target; do
    [ -f "$source/fuzz_$target.c" ] || { echo "fuzz: no target $target in tests/fuzz" >&2; exit 2; }
    mkdir -p "$build/corpus/$target"
    # Those of ctgp need its files; main.c is included or left out.
    more=
    ! grep -q 'src/ctgp/\|ctgp.h"' "$source/fuzz_$target.c" ||
        more=$(ls src/ctgp/*.c | grep -v '/main.c\|/unpack_none.c')" -lz"
    ! grep -q '<expat.h>' "$source/fuzz_$target.c" || more="$more -lexpat"
    clang -std=c11 -D_DEFAULT_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined \
        -fno-sanitize-recover=undefined -Iinclude -Isrc "$source/fuzz_$target.c" $more \
        -o "$build/fuzz_$target" \
        -L"$build/src" -Wl,-rpath,"$build/src" -lcotangent-gp -lcotangent -lm
    log=$build/fuzz_$target.log
    case $target in
    fit | kernel) words=-dict=$source/kernel.dict ;;
    command) words=-dict=$source/command.dict ;;
    *) words= ;;
    esac
    if OMP_NUM_THREADS=1 "$build/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -max_len=4096 $words -verbosity=0 -print_final_stats=1 -artifact_prefix="$build/corpus/$target-" \
        "$build/corpus/$target" >"$log" 2>&1; then
        sed -n "s/^stat::number_of_executed_units: */fuzz: $target inputs=/p" "$log"
    else
        tail -n 60 "$log"
        exit 1
    fi
done
