#include "team.h"
#include "kernel/config.h"
#include "kernel/isa.h"

#include <omp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

/* -- forked processes ------------------------------------------------------------------------------------ */

/* The library's only process-wide state. fork copies only the thread that calls it. */
static bool has_threads, lost_threads;

/* /proc/self/task has two links and one more for each thread. If it cannot be read, assume several
 * threads. */
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

/* -- teams ----------------------------------------------------------------------------------------------- */

int ct__team_limit(int wanted)
{
    if (wanted < 2 || lost_threads || omp_get_active_level() >= omp_get_max_active_levels()) return 1;
    return (int)ct__min(wanted, omp_get_thread_limit());
}

int ct__team_most(void) { return (int)ct__max(CT__TEAM_EACH * (int64_t)omp_get_num_procs(), CT__TEAM_LEAST); }

/* Creates a thread, which creates the next, and so on, so that all exist at once. Leaves in *left the number
 * that could not be created. The stacks are mapped here, because the C library would cache stacks of its own
 * for later threads of just that size. */
static void *make_threads(void *left)
{
    int *n = left;
    pthread_t next;
    pthread_attr_t attributes;
    size_t bytes = 0;
    if (!*n || pthread_attr_init(&attributes)) return NULL;
    pthread_attr_getstacksize(&attributes, &bytes);
    void *stack =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack != MAP_FAILED) {
        --*n;
        if (pthread_attr_setstack(&attributes, stack, bytes) ||
            pthread_create(&next, &attributes, make_threads, left))
            ++*n;
        else
            pthread_join(next, NULL);
        munmap(stack, bytes);
    }
    pthread_attr_destroy(&attributes);
    return NULL;
}

int ct__team_trial(int wanted)
{
    wanted = ct__team_limit(wanted);
    int missing = wanted - 1, got = 1;
    make_threads(&missing); /* OpenMP ends the process if it cannot create a thread, */
    if (missing) wanted = (wanted - missing + 1) / 2; /* and needs memory besides the stacks */
    const ct__blas_team before = ct__blas_begin(1);
#pragma omp parallel num_threads(wanted)
#pragma omp master
    got = omp_get_num_threads();
    ct__blas_end(&before);
    return got;
}

/* -- a busy machine -------------------------------------------------------------------------------------- */

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int ct__team(const ct_device *dev, int wanted)
{
    if (wanted > 1 && dev->pace.alone_until > 0 && seconds(CLOCK_MONOTONIC) < dev->pace.alone_until) return 1;
    return ct__team_limit(wanted);
}

ct__stopwatch ct__pace_begin(int team)
{
    if (team < 2) return (ct__stopwatch){ 0 };
    return (ct__stopwatch){ seconds(CLOCK_MONOTONIC), seconds(CLOCK_THREAD_CPUTIME_ID) };
}

/* Wall time passes without CPU time while a thread has no processor, or waits for a thread that has none. If
 * the team took longer than one thread alone would have, the device uses one thread for a while. */
void ct__pace_end(ct_device *dev, const ct__stopwatch *begin)
{
    struct ct__pace *p = &dev->pace;
    if (!begin->wall) return;
    const double now = seconds(CLOCK_MONOTONIC);
    p->wall += now - begin->wall;
    p->cpu += seconds(CLOCK_THREAD_CPUTIME_ID) - begin->cpu;
    if (p->wall < 1e-3 * CT__PACE_WINDOW) return;
    p->alone_until = p->wall > dev->threads * p->cpu ? now + CT__PACE_REST * p->wall : 0;
    p->wall = p->cpu = 0;
}

/* -- waiting --------------------------------------------------------------------------------------------- */

static inline void relax(void)
{
#if CT__X86
    __builtin_ia32_pause();
#endif
}

void ct__barrier_wait(ct__barrier *m, int team)
{
    if (team == 1) return;
    const unsigned turn = atomic_load(&m->turn);
    if (atomic_fetch_add(&m->arrived, 1) + 1 == team) {
        atomic_store(&m->arrived, 0);
        atomic_store(&m->turn, turn + 1);
        if (!atomic_load(&m->asleep)) return;
        pthread_mutex_lock(&m->mutex); /* a thread that saw the old turn waits by now */
        pthread_cond_broadcast(&m->cond);
        pthread_mutex_unlock(&m->mutex);
        return;
    }
    for (int i = 0; i < CT__TEAM_SPINS; i++) {
        if (atomic_load_explicit(&m->turn, memory_order_acquire) != turn) return;
        relax();
    }
    pthread_mutex_lock(&m->mutex);
    atomic_fetch_add(&m->asleep, 1);
    while (atomic_load(&m->turn) == turn) pthread_cond_wait(&m->cond, &m->mutex);
    atomic_fetch_sub(&m->asleep, 1);
    pthread_mutex_unlock(&m->mutex);
}

void ct__each_part(int parts, void (*run)(const void *context, int part), const void *context)
{
    if (parts == 1) {
        run(context, 0);
        return;
    }
    ct__barrier end = CT__BARRIER_INITIALIZER;
#pragma omp parallel num_threads(parts)
    {
#pragma omp for schedule(static) nowait
        for (int part = 0; part < parts; part++) run(context, part);
        ct__barrier_wait(&end, omp_get_num_threads());
    }
}

/* -- BLAS ------------------------------------------------------------------------------------------------ */

/* OpenBLAS keeps one thread count for the whole process. Each threaded call sets it and reads it again later,
 * so two such calls with different counts could wait for each other's threads. OpenBLAS serialises them
 * anyway. */
static pthread_mutex_t several = PTHREAD_MUTEX_INITIALIZER;

/* OpenBLAS asks OpenMP for the thread count at each call, and uses one thread in an active region. A dynamic
 * team could be smaller than OpenMP said. */
ct__blas_team ct__blas_begin(int threads)
{
    threads = omp_in_parallel() ? 1 : ct__team_limit(threads);
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
