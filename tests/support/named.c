/* With CT_TEST_NAME only the tests of that name run; '*' and '?' stand for anything. */
#include "check.h"

static __attribute__((constructor)) void choose_tests(void)
{
    cmocka_set_test_filter(getenv("CT_TEST_NAME"));
}
