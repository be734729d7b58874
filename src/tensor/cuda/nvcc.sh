#!/bin/sh
# nvcc.sh FILE NVCC...: runs nvcc. What ptxas says of each kernel goes to FILE, for tools/resources, after the
# compiler's version and the threads that the kernels' __launch_bounds__ allow; all else to stderr.
file=$1
shift
kept=$file.kept
mkdir -p "$kept" # what nvcc keeps has the names that it has given: one folder per object
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
