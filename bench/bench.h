/* What every benchmark shares: the device and other options, a clock, the best of several rounds, and the
 * line that scripts read:
 *
 *     bench=NAME case=TEXT who=cotangent|cotangent-graph|gemm|copy|PEER n=… dtype=f64
 *     pass=forward|training seconds=… per_gemm=…
 *     peak_bytes=… device=…
 *
 * training is forward and backward; per_gemm is seconds over those of one matrix product timed beside it on
 * the same device; peak_bytes the most held beyond inputs, outputs and gradients; device is there where one
 * was asked for. What does not apply is left out. */
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

/* Takes the options out of the arguments, prints the machine and opens the device. Nonzero where that is
 * impossible, which has been said then. */
int bench_open(bench *b, int *argc, char **argv);
void bench_close(bench *b);
/* Whether the dtype is among those wanted. */
bool bench_wants(const bench *b, ct_dtype dtype);

/* Seconds of a monotonic clock. */
double bench_now(void);

/* The shortest of `rounds` calls of run(context) after one that is not timed; at least until `seconds` have
 * passed. On a GPU a call is as many in a row as make it long beside a wait, and the seconds are those of
 * one. */
double bench_best(const bench *b, void (*run)(void *context), void *context, int rounds, double seconds);

/* The same of replays of a training step, which on a GPU are one graph: 0 where it cannot be one, and that is
 * said. */
double bench_replays(const bench *b, ct_step_fn step, void *context, int rounds, double seconds);

/* One n x n x n product: the unit of per_gemm. */
double bench_gemm(const bench *b, int64_t n, ct_dtype dtype, int rounds);
/* A (m x k) times B (k x n): the same. Where B is the transpose of a matrix it is given as a view. */
double bench_product(const bench *b, ct_tensor *A, ct_tensor *B, int rounds, double seconds);

/* Copying `bytes` / 2 of memory, so that `bytes` are read or written: what is bound by memory cannot take
 * less. */
double bench_copy(const bench *b, int64_t bytes, int rounds);

#endif
