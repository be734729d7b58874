/* A failed assertion in a forked child of a test aborts the child. Otherwise cmocka would run the program's
 * remaining tests there, too, and report them twice. */
#include <pthread.h>
#include <stdlib.h>

static void abort_at_a_failure(void) { setenv("CMOCKA_TEST_ABORT", "1", 1); }

static __attribute__((constructor)) void watch_forks(void) { pthread_atfork(NULL, NULL, abort_at_a_failure); }
