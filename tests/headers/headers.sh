#!/bin/sh
# headers.sh INCLUDE-DIR LANGUAGE COMPILER...: compiles every public header alone.
include=$1 language=$2
shift 2
passed=0 failed=0
tally() { if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi; }

for path in "$include"/cotangent/*.h; do
    header=cotangent/${path##*/}
    # Twice: a header must also survive a second inclusion.
    printf '#include <%s>\n#include <%s>\n' "$header" "$header" |
        "$@" -x "$language" -Wall -Wextra -Wpedantic -Werror -I"$include" -fsyntax-only -
    tally $?
    [ "$header" = cotangent/cotangent.h ] || grep -q "^#include <$header>" "$include/cotangent/cotangent.h" ||
        { echo "cotangent.h does not include $header"; tally 1; }
done

echo "[  PASSED  ] $passed test(s)."
[ $failed -eq 0 ] || { echo "[  FAILED  ] $failed test(s)."; exit 1; }
