/* The threads of the CPU backend. What a region may ask for is what OpenMP gives it here and now, and
 * OpenBLAS, which waits for ever for threads that it does not get, is held to as many. */
#ifndef CT_TENSOR_CPU_TEAM_H
#define CT_TENSOR_CPU_TEAM_H

#include "tensor/internal.h"

#include <pthread.h>
#include <stdatomic.h>

/* Of `wanted` threads, those that a region gets within OpenMP's limits (thread limit, active levels); one in
 * a process that was forked from one with several: they are not there any more, and OpenMP would wait for
 * them. */
int ct__team_limit(int wanted);

/* The same for a region whose result does not depend on the team: one while the machine is busy. */
int ct__team(const ct_device *dev, int wanted);

/* Around a primitive of many regions, or with meetings, of a team of so many threads: what it takes tells
 * whether the machine is busy with other programs. Threads that wait for each other take turns there, and are
 * many times slower than one. */
typedef struct ct__stopwatch {
    double wall, cpu; /* seconds */
} ct__stopwatch;

ct__stopwatch ct__pace_begin(int team);
void ct__pace_end(ct_device *dev, const ct__stopwatch *begin);

/* Of `wanted` threads, those that the system lets the process make and a trial gets. For opening a device. */
int ct__team_trial(int wanted);

/* The most that a device may ask for, whatever OpenMP's setting: four for each processor, and 64. */
int ct__team_most(void);

/* Where the threads of a team wait for each other, in place of OpenMP's barriers: those spin for
 * milliseconds, and where other programs want the processors, too, a thread that is waited for does not get
 * one meanwhile. Also before the end of a region. */
typedef struct ct__meeting {
    atomic_int arrived, asleep;
    atomic_uint turn;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
} ct__meeting;

#define CT__MEETING                                                          \
    {                                                                        \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER \
    }

/* By each of the `team` threads. */
void ct__meet(ct__meeting *m, int team);

/* OpenMP's setting of the calling task, and whether this is the thread that BLAS has now. */
typedef struct ct__blas_team {
    int threads;
    bool dynamic, locked;
} ct__blas_team;

/* Between the two BLAS takes at most so many threads, and one in a region that is entered between them. The
 * settings are the calling task's own; they come back in the end. */
ct__blas_team ct__blas_begin(int threads);
void ct__blas_end(const ct__blas_team *before);

#endif
