/* With CT_TEST_NAME only the tests of that name run; '*' and '?' stand for anything. A program without such a
 * test fails. */
#include "check.h"

#include <fnmatch.h>
#include <unistd.h>

static const char *name;
static bool found;

int __real__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t n,
                                   CMFixtureFunction setup, CMFixtureFunction teardown);
int __wrap__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t n,
                                   CMFixtureFunction setup, CMFixtureFunction teardown);

int __wrap__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t n,
                                   CMFixtureFunction setup, CMFixtureFunction teardown)
{
    for (size_t i = 0; i < n && name; i++) found |= tests[i].name && !fnmatch(name, tests[i].name, 0);
    return __real__cmocka_run_group_tests(group, tests, n, setup, teardown);
}

static __attribute__((constructor)) void choose_tests(void)
{
    name = getenv("CT_TEST_NAME");
    cmocka_set_test_filter(name);
}

static __attribute__((destructor)) void check_choice(void)
{
    if (!name || found) return;
    fprintf(stderr, "no test fits CT_TEST_NAME=%s\n", name);
    _exit(1);
}
