/* The threads of the CPU backend. A parallel region asks for no more threads than OpenMP gives it. OpenBLAS
 * is held to the same number, because it waits for ever for threads that it does not get. No region has an
 * `if` clause beside num_threads: LLVM's runtime would keep that number for the next region, OpenBLAS's
 * included. */
#ifndef CT_TENSOR_CPU_TEAM_H
#define CT_TENSOR_CPU_TEAM_H

#include "tensor/internal.h"

#include <pthread.h>
#include <stdatomic.h>

/* The number of threads, at most `wanted`, that a region gets within OpenMP's limits (thread limit, active
 * levels). It is 1 in a child forked from a process with several threads: fork does not copy them, and OpenMP
 * would wait for them. */
int ct__team_limit(int wanted);

/* The same for a region whose result does not depend on the team's size. It is 1 while the machine is
 * busy. */
int ct__team(const ct_device *dev, int wanted);

/* Times a primitive in which a team of `team` threads synchronises often, to find out whether the machine is
 * busy with other programs. If it is, threads that wait for each other run in turn, and together are many
 * times slower than one thread. */
typedef struct ct__stopwatch {
    double wall, cpu; /* seconds */
} ct__stopwatch;

ct__stopwatch ct__pace_begin(int team);
void ct__pace_end(ct_device *dev, const ct__stopwatch *begin);

/* The number of threads, at most `wanted`, that a trial region gets after the process has proved that the
 * system lets it create them. For opening a device. */
int ct__team_trial(int wanted);

/* The most threads that a device may ask for, whatever OpenMP's settings: four per processor, but at least
 * 64. */
int ct__team_most(void);

/* A barrier for the threads of a team. OpenMP's own barriers spin for milliseconds; when other programs want
 * the processors, spinning keeps them from the very thread that is waited for. Use it before the end of a
 * region, too. */
typedef struct ct__barrier {
    atomic_int arrived, asleep;
    atomic_uint turn;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
} ct__barrier;

#define CT__BARRIER_INITIALIZER                                              \
    {                                                                        \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER \
    }

/* The barrier: each of the `team` threads calls it. */
void ct__barrier_wait(ct__barrier *m, int team);

/* Calls run(context, part) for every part, one thread for each. */
void ct__each_part(int parts, void (*run)(const void *context, int part), const void *context);

/* The calling task's OpenMP settings before ct__blas_begin, and whether it holds the lock on threaded
 * BLAS. */
typedef struct ct__blas_team {
    int threads;
    bool dynamic, locked;
} ct__blas_team;

/* Between these two calls BLAS uses at most `threads` threads, and one inside a parallel region entered
 * between them. They change only the calling task's settings, and the second restores them. */
ct__blas_team ct__blas_begin(int threads);
void ct__blas_end(const ct__blas_team *before);

#endif
