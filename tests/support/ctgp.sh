# Checks of ctgp, the script's first argument, in a folder of their own. Sourced in place of tap.sh.
# shellcheck shell=bash
set -u
# shellcheck source=tests/support/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"
# shellcheck disable=SC2034 # the scripts use it
ctgp=$1
own_folder

# ok NAME PATTERN COMMAND...: exit code 0 and the pattern somewhere on standard output.
ok() {
    local name=$1 pattern=$2 rc=0
    shift 2
    "$@" >out 2>err </dev/null || rc=$?
    if [ $rc -ne 0 ]; then flunk "$name" "exit code $rc"
    elif ! grep -qE -- "$pattern" out; then flunk "$name" "no '$pattern' on standard output"
    else pass "$name"; fi
}

# bad NAME CODE PATTERN COMMAND...: that exit code, and one line "ctgp: ...PATTERN..." on standard error.
# LINES_ALLOWED may allow more lines: those of a caret. `that` may look at out and err afterwards.
bad() {
    local name=$1 code=$2 pattern=$3 rc=0 lines
    shift 3
    "$@" >out 2>err </dev/null || rc=$?
    lines=$(wc -l <err)
    if [ $rc -ne "$code" ]; then flunk "$name" "exit code $rc instead of $code"
    elif [ "$lines" -ne "${LINES_ALLOWED:-1}" ]; then flunk "$name" "$lines lines on standard error"
    elif ! head -n 1 err | grep -q '^ctgp: '; then
        flunk "$name" "the message does not begin with the program's name"
    elif ! grep -qE -- "$pattern" err; then flunk "$name" "no '$pattern' on standard error"
    else pass "$name"; fi
}

# says NAME PATTERN COMMAND...: exit code 0, and the pattern on standard output or standard error.
says() {
    local name=$1 pattern=$2
    shift 2
    if ! "$@" >out 2>err </dev/null; then flunk "$name" 'it failed'
    elif ! cat out err | grep -qE -- "$pattern"; then flunk "$name" "no '$pattern'"
    else pass "$name"; fi
}

# near NAME VALUE WANTED TOLERANCE: relative; the numbers may be expressions of awk.
near() { that "$1" awk "BEGIN { d = ($2) - ($3); w = $4 * ($3); exit !(d * d <= w * w) }"; }

# cell FILE ROW COLUMN: of a CSV file, whose rows count from 1.
cell() { awk -F, -v row="$2" -v name="$3" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i }
    NR == row + 1 { print $at }' "$1"; }

# limited KIB COMMAND...: the command can write no longer file. Its counts for ./run coverage would be cut, so
# they go to a folder of their own.
limited() { (
    ulimit -f "$1"
    shift
    GCOV_PREFIX=$folder/counts GCOV_ERROR_FILE=/dev/null exec "$@"
) }
