#!/bin/sh
# test_named.sh PROGRAM TEST: a program of tests runs those that CT_TEST_NAME names, and fails where it names
# none. In TAP.
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/tap.sh"
own_folder

run() { CT_TEST_NAME=$1 CMOCKA_MESSAGE_OUTPUT=$2 "$program" >out 2>err; }
refused() { ! run nothing "$1"; }

program=$1
that 'a test by its name' run "$2" STDOUT
that 'is the only one' test "$(cat out err | grep -c 'OK')" -eq 1
that 'a pattern' run "${2%?}?" STDOUT
for format in STDOUT TAP SUBUNIT XML; do
    that "a name that no test has fails ($format)" refused $format
    that 'with a message' grep -qx 'no test fits CT_TEST_NAME=nothing' err
done
plan
