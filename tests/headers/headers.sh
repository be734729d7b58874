#!/bin/sh
# headers.sh INCLUDE-DIR LANGUAGE COMPILER...: compiles every public header alone, and looks for it in the umbrella. In TAP.
include=$1 language=$2
shift 2
headers=$(cd "$include" && ls cotangent/*.h)
echo "1..$(echo "$headers" | wc -l)"

for header in $headers; do
    # Twice: a header must also survive a second inclusion.
    if printf '#include <%s>\n#include <%s>\n' "$header" "$header" |
        "$@" -x "$language" -Wall -Wextra -Wpedantic -Werror -I"$include" -fsyntax-only - &&
        { [ "$header" = cotangent/cotangent.h ] || grep -q "^#include <$header>" "$include/cotangent/cotangent.h"; }; then
        echo "ok - $header"
    else
        echo "not ok - $header does not compile alone, or is not in cotangent.h"
    fi
done
