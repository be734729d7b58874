#!/bin/sh
# headers.sh INCLUDE-DIR LANGUAGE COMPILER...: compiles every public header alone, and checks that cotangent.h
# includes it, but for mpi.h, which needs MPI. In TAP.
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"
include=$1 language=$2
shift 2
own_folder

mpi=$(pkg-config --cflags-only-I mpi 2>/dev/null | sed 's/-I/-isystem /g')
for path in "$include"/cotangent/*.h; do
    header=cotangent/${path##*/}
    [ "$header" != cotangent/mpi.h ] || [ -n "$mpi" ] || continue
    # Twice: a header must also survive a second inclusion.
    printf '#include <%s>\n#include <%s>\n' "$header" "$header" >twice
    # shellcheck disable=SC2086 # $mpi is several words
    that "$header" "$@" -x "$language" -Wall -Wextra -Wpedantic -Werror -I"$include" $mpi \
        -fsyntax-only twice
    case $header in */cotangent.h | */mpi.h) continue ;; esac
    grep -q "^#include <$header>" "$include/cotangent/cotangent.h" ||
        flunk "$header" 'cotangent.h does not include it'
done
plan
