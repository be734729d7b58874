/* What every benchmark shares: a clock, the best of several rounds, and the line that scripts read:
 *
 *     bench=NAME case=TEXT who=cotangent|gemm|PEER n=… dtype=f64 pass=forward|training seconds=… per_gemm=…
 *     peak_bytes=…
 *
 * training is forward and backward; per_gemm is seconds over those of one matrix product timed beside it;
 * peak_bytes the most held beyond inputs, outputs and gradients. What does not apply is left out. */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>

/* Seconds of a monotonic clock. */
double bench_now(void);

/* The shortest of `rounds` calls of run(context) after one that is not timed; at least until `seconds` have passed. */
double bench_best(void (*run)(void *context), void *context, int rounds, double seconds);

/* One n x n x n product in double (or float) on all threads: the unit of per_gemm. */
double bench_gemm(int64_t n, int f32, int rounds);

/* Copying `bytes` / 2 of memory, so that `bytes` are read or written, on all threads: what is bound by memory cannot take less. */
double bench_copy(int64_t bytes, int rounds);

/* Prints the machine: CPU, threads, BLAS core; for the head of every run. */
void bench_machine(void);

#endif
