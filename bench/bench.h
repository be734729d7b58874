/* What every benchmark shares: the device and other options, a clock, the best of several rounds, and the
 * line that scripts read:
 *
 *     bench=NAME case=TEXT who=cotangent|cotangent-graph|gemm|copy|PEER n=… dtype=f64
 *     pass=forward|training seconds=… per_gemm=…
 *     peak_bytes=… device=…
 *
 * training is forward and backward. per_gemm is the time divided by that of one matrix product, timed beside
 * it on the same device. peak_bytes is the most memory held beyond inputs, outputs and gradients. device is
 * printed where --device was given. What does not apply is left out. */
#ifndef BENCH_H
#define BENCH_H

#include <cotangent/cotangent.h>
#include <cotangent/step.h>

/* Options, anywhere among the arguments:
 *
 *     --device NAME   "cpu" (default), "cuda:0"
 *     --dtype T       f64, f32, bf16: of what the program has in several, this alone
 *     --n N --batch N another size than the program's own
 *     --d D           columns of a model's data (mll: 2 to 8)
 *     --once          one call of each, cold, and no product beside it: for what takes all of the memory */
typedef struct bench {
    ct_device *dev;
    ct_tape *tape;       /* to wait for the device with */
    char where[40];      /* " device=NAME" for the lines; "" where no device was asked for */
    bool queues;         /* the device computes behind the host's back: the clock stops when it has done */
    int dtype;           /* -1: all that the program has */
    int64_t n, d, batch; /* 0: the program's own */
    bool once;
} bench;

/* Removes the options from the arguments, prints the machine and opens the device. Returns nonzero, after a
 * message, where that fails. */
int bench_open(bench *b, int *argc, char **argv);
void bench_close(bench *b);
/* Whether the dtype is one of those asked for. */
bool bench_wants(const bench *b, ct_dtype dtype);

/* Seconds of a monotonic clock. */
double bench_now(void);

/* Calls run(context) once untimed, then `rounds` times, and more until `seconds` have passed; returns the
 * shortest time of a call. On a GPU one measurement is many calls in a row, so that it is long beside a wait,
 * and the time is divided by their number. */
double bench_best(const bench *b, void (*run)(void *context), void *context, int rounds, double seconds);

/* The same for replays of a training step, which on a GPU are one graph. Returns 0, after a message, where
 * the step cannot be captured. */
double bench_replays(const bench *b, ct_step_fn step, void *context, int rounds, double seconds);

/* Seconds of one n x n x n product: the unit of per_gemm. */
double bench_gemm(const bench *b, int64_t n, ct_dtype dtype, int rounds);
/* The same for A (m x k) times B (k x n). A transposed B is passed as a view. */
double bench_product(const bench *b, ct_tensor *A, ct_tensor *B, int rounds, double seconds);

/* Seconds of copying `bytes` / 2 of memory, which reads and writes `bytes` in all: the floor of an operation
 * bound by memory. */
double bench_copy(const bench *b, int64_t bytes, int rounds);

#endif
