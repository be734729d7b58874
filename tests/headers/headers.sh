#!/bin/sh
# headers.sh INCLUDE-DIR LANGUAGE COMPILER...: compiles every public header alone, and checks that cotangent.h
# includes all of the engine and gp.h all of the GP, but for mpi.h, which needs MPI. In TAP.
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"
include=$1 language=$2
shift 2
own_folder

mpi=$(pkg-config --cflags-only-I mpi 2>/dev/null | sed 's/-I/-isystem /g')
for path in "$include"/cotangent/*.h "$include"/cotangent/gp/*.h; do
    header=${path#"$include"/}
    case $header in
    cotangent/cotangent.h | cotangent/gp.h) umbrella= ;;
    cotangent/gp/mpi.h) umbrella= && [ -n "$mpi" ] || continue ;;
    cotangent/gp/*) umbrella=cotangent/gp.h ;;
    *) umbrella=cotangent/cotangent.h ;;
    esac
    # Twice: a header must also survive a second inclusion.
    printf '#include <%s>\n#include <%s>\n' "$header" "$header" >twice
    # shellcheck disable=SC2086 # $mpi is several words
    that "$header" "$@" -x "$language" -Wall -Wextra -Wpedantic -Werror -I"$include" $mpi \
        -fsyntax-only twice
    [ -z "$umbrella" ] || grep -q "^#include <$header>" "$include/$umbrella" ||
        flunk "$header" "$umbrella does not include it"
done
plan
