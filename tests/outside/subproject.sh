#!/bin/sh
# subproject.sh SOURCE-DIR OUTSIDE.C: sets up a project that has the library as a subproject, and compiles OUTSIDE.C in it.
set -e
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/subprojects"
ln -s "$1" "$scratch/subprojects/cotangent"
cp "$2" "$scratch/outside.c"
cat >"$scratch/meson.build" <<'TEXT'
project('consumer', 'c')
cotangent = dependency('cotangent', fallback: 'cotangent')
executable('outside', 'outside.c', dependencies: cotangent,
  c_args: '-DVERSION="' + cotangent.version() + '"')
TEXT

cd "$scratch"
passed=0
meson setup build --wrap-mode=forcefallback -Dcotangent:cuda=disabled >log.txt || { cat log.txt; exit 1; }
passed=$((passed + 1))
# The whole library takes minutes: one object shows that the headers are found, the links that the library is.
ninja -C build outside.p/outside.c.o >log.txt && passed=$((passed + 1)) || cat log.txt
grep '^ LINK_ARGS.*subprojects/cotangent.*libcotangent' build/build.ninja >log.txt && passed=$((passed + 1))
# Warnings of a compiler that we do not know are no errors of the consumer's.
if grep -e -Werror build/build.ninja >log.txt; then echo "the consumer gets -Werror"; else passed=$((passed + 1)); fi
# Nor are our tests and examples his.
if grep -E '^build subprojects/cotangent/(tests|examples|bench)/' build/build.ninja >log.txt; then
    head -n 3 log.txt
else
    passed=$((passed + 1))
fi

echo "[  PASSED  ] $passed test(s)."
[ $passed -eq 5 ]
