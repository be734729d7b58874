/* The threads of the CPU backend. What a region may ask for is what OpenMP gives it here and now, and OpenBLAS, which waits
 * for ever for threads that it does not get, is held to as many. */
#ifndef CT_TENSOR_CPU_TEAM_H
#define CT_TENSOR_CPU_TEAM_H

#include <stdbool.h>

/* Of `wanted` threads, those that a region gets within OpenMP's limits (thread limit, active levels); one in a process that
 * was forked from one with several: they are not there any more, and OpenMP would wait for them. */
int ct__team(int wanted);

/* Of `wanted` threads, those that the system lets the process make and a trial gets. For opening a device. */
int ct__team_trial(int wanted);

/* The most that a device may ask for, whatever OpenMP's setting: four for each processor, and 64. */
int ct__team_most(void);

/* OpenMP's setting of the calling task, and whether this is the thread that BLAS has now. */
typedef struct ct__blas_team {
    int threads;
    bool dynamic, locked;
} ct__blas_team;

/* Between the two BLAS takes at most so many threads, and one in a region that is entered between them. The settings are the
 * calling task's own; they come back in the end. */
ct__blas_team ct__blas_begin(int threads);
void ct__blas_end(const ct__blas_team *before);

#endif
