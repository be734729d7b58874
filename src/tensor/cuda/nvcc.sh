#!/bin/sh
# nvcc.sh FILE NVCC...: runs nvcc. Writes to FILE, for tools/resources, the compiler's version, the threads
# that the kernels' __launch_bounds__ allow, and ptxas's report of each kernel; the rest goes to stderr.
file=$1
shift
kept=$file.kept
mkdir -p "$kept" # nvcc names the files that it keeps, so each object needs its own folder
"$@" -Xptxas -v --keep --keep-dir "$kept" 2>"$kept/said"
status=$?
of_ptxas='^ptxas info|^ *[0-9]+ bytes stack frame'
grep -vE "$of_ptxas" "$kept/said" >&2
{
    "$1" --version | grep release
    grep -hE '\.entry |^\.maxntid' "$kept"/*.ptx
    grep -E "$of_ptxas" "$kept/said"
} >"$file"
rm -rf "$kept"
exit $status
