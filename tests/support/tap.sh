# Checks of a shell script in TAP. Sourced; `plan` is its last line.
# shellcheck shell=sh
checks=0

pass() {
    checks=$((checks + 1))
    echo "ok - $1"
}
# flunk NAME WHY: prints the reason and the beginning of the files of output.
flunk() {
    checks=$((checks + 1))
    echo "not ok - $1"
    { echo "$2"; head -qn 8 err out said log 2>/dev/null | cut -c 1-300; } | sed 's/^/# /'
}
# that NAME COMMAND...: the command succeeds; its output is in the file log.
that() {
    tap_name=$1
    shift
    if "$@" >log 2>&1; then pass "$tap_name"; else flunk "$tap_name" "$*"; fi
}
# Goes to a folder of the script's own, which is removed at the end.
own_folder() {
    folder=$(mktemp -d) || exit 2
    trap 'rm -rf "$folder"' EXIT
    cd "$folder" || exit 2
}
plan() { echo "1..$checks"; }
