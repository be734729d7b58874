/* Shared by all benchmarks: the device and other options, a clock, the best of several rounds, and the line
 * that scripts read:
 *
 *     bench=NAME case=TEXT who=cotangent|cotangent-graph|gemm|copy|PEER n=… dtype=f64
 *     pass=forward|training seconds=… per_gemm=…
 *     peak_bytes=… device=…
 *     bench=waits case=PROGRAM-CASE who=cotangent host_seconds=… device_seconds=…
 *     queue_seconds=… device=…
 *
 * training is forward and backward. per_gemm is the time divided by that of one matrix product, timed next to
 * it on the same device. peak_bytes is the most memory held beyond inputs, outputs and gradients. device is
 * printed if --device was given. Fields that do not apply are left out. */
#ifndef BENCH_H
#define BENCH_H

#include <cotangent/cotangent.h>
#include <cotangent/step.h>

/* Options, anywhere among the arguments:
 *
 *     --device NAME   "cpu" (default), "cuda:0"
 *     --dtype T       f64, f32, bf16: only this one, in programs with several
 *     --n N --batch N a size other than the program's default
 *     --d D           columns of a model's data (mll: 2 to 8)
 *     --once          one cold call of each, and no product: for cases that take all of the memory */
typedef struct bench {
    ct_device *dev;
    ct_tape *tape;       /* for waiting until the device has finished */
    char where[40];      /* " device=NAME" for the lines; "" without --device */
    bool queues;         /* the device computes asynchronously: the clock stops when it has finished */
    int dtype;           /* -1: all that the program has */
    int64_t n, d, batch; /* 0: the program's own */
    bool once;
} bench;

/* Removes the options from the arguments, prints the machine and opens the device. Returns nonzero, after a
 * message, on failure. */
int bench_open(bench *b, int *argc, char **argv);
void bench_close(bench *b);
/* Whether the options select the dtype. */
bool bench_wants(const bench *b, ct_dtype dtype);

/* Seconds of a monotonic clock. */
double bench_now(void);

/* Calls run(context) once untimed, then `rounds` times, and more until `seconds` have passed; returns the
 * shortest time of a call. On a GPU one measurement is many calls in a row, so that it is long compared with
 * a wait, and the time is divided by their number. */
double bench_best(const bench *b, void (*run)(void *context), void *context, int rounds, double seconds);

/* The same for replays of a training step, which on a GPU are one graph. Returns 0 on a CPU, and, after a
 * remark, if the step cannot be captured. */
double bench_replays(const bench *b, ct_step_fn step, void *context, int rounds, double seconds);

/* On a GPU, prints a line that shows whether run(context) waits for it. Products that take 0.1 s are queued
 * before the call. host_seconds is the time of the call, device_seconds the time from its start until the
 * device has finished, and queue_seconds the products' part of that: a call that waits takes as long. */
void bench_waits(const bench *b, const char *name, void (*run)(void *context), void *context);

/* Seconds of one n x n x n product: the unit of per_gemm. */
double bench_gemm(const bench *b, int64_t n, ct_dtype dtype, int rounds);
/* The same for A (m x k) times B (k x n). Pass a transposed B as a view. */
double bench_product(const bench *b, ct_tensor *A, ct_tensor *B, int rounds, double seconds);

/* Seconds of copying `bytes` / 2 of memory, which reads and writes `bytes` in all: the floor of a
 * memory-bound operation. */
double bench_copy(const bench *b, int64_t bytes, int rounds);

#endif
