#!/bin/sh
# headers.sh INCLUDE-DIR LANGUAGE COMPILER...: compiles every public header alone, and checks that cotangent.h
# includes it. In TAP. shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"
include=$1 language=$2
shift 2
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 2

for path in "$include"/cotangent/*.h; do
    header=cotangent/${path##*/}
    # Twice: a header must also survive a second inclusion.
    printf '#include <%s>\n#include <%s>\n' "$header" "$header" >twice
    that "$header" "$@" -x "$language" -Wall -Wextra -Wpedantic -Werror -I"$include" -fsyntax-only twice
    [ "$header" = cotangent/cotangent.h ] || grep -q "^#include <$header>" "$include/cotangent/cotangent.h" ||
        flunk "$header" 'cotangent.h does not include it'
done
plan
