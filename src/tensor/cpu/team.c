#include "team.h"

#include <omp.h>
#include <pthread.h>
#include <sys/stat.h>

enum { LEAST = 64, EACH = 4 };

/* -- forked processes ------------------------------------------------------------------------------------------------- */

/* The only facts that the library keeps for the process as a whole. A fork copies the thread that calls it and no other. */
static bool has_threads, lost_threads;

/* A directory has a link for each thread, and two more. Where the system does not say so there may be threads. */
static void before_fork(void)
{
    struct stat tasks;
    has_threads = stat("/proc/self/task", &tasks) || tasks.st_nlink != 3;
}

static void in_the_child(void) { lost_threads |= has_threads; }

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, NULL, in_the_child);
}

/* -- teams ------------------------------------------------------------------------------------------------------------- */

static int smaller(int a, int b) { return a < b ? a : b; }

int ct__team(int wanted)
{
    if (wanted < 2 || lost_threads || omp_get_active_level() >= omp_get_max_active_levels()) return 1;
    return smaller(wanted, omp_get_thread_limit());
}

int ct__team_most(void)
{
    const int processors = omp_get_num_procs();
    return processors > LEAST / EACH ? EACH * processors : LEAST;
}

/* Makes a thread, which makes the next, and so on: all are there at once. Counts down to those that could not be made. */
static void *make_threads(void *left)
{
    int *n = left;
    pthread_t next;
    if (!*n) return NULL;
    --*n;
    if (pthread_create(&next, NULL, make_threads, left))
        ++*n;
    else
        pthread_join(next, NULL);
    return NULL;
}

int ct__team_trial(int wanted)
{
    wanted = ct__team(wanted);
    int missing = wanted - 1, got = 1;
    make_threads(&missing); /* libgomp ends the process where it cannot make one */
    const ct__blas_team before = ct__blas_begin(1);
#pragma omp parallel num_threads(wanted - missing)
#pragma omp master
    got = omp_get_num_threads();
    ct__blas_end(&before);
    return got;
}

/* -- BLAS --------------------------------------------------------------------------------------------------------------- */

/* OpenBLAS keeps one number of threads for the whole process, sets it at each call that takes several, and reads it again later:
 * two such calls with different numbers could wait for each other's threads. It does one at a time anyway. */
static pthread_mutex_t several = PTHREAD_MUTEX_INITIALIZER;

/* OpenBLAS asks OpenMP at each call, and takes one thread in an active region. A dynamic team could be smaller than it was told. */
ct__blas_team ct__blas_begin(int threads)
{
    threads = omp_in_parallel() ? 1 : ct__team(threads);
    const ct__blas_team before = { omp_get_max_threads(), omp_get_dynamic(), threads > 1 };
    if (before.locked) pthread_mutex_lock(&several);
    if (before.threads != threads) omp_set_num_threads(threads);
    if (before.dynamic) omp_set_dynamic(0);
    return before;
}

void ct__blas_end(const ct__blas_team *before)
{
    if (omp_get_max_threads() != before->threads) omp_set_num_threads(before->threads);
    if (before->dynamic) omp_set_dynamic(1);
    if (before->locked) pthread_mutex_unlock(&several);
}
