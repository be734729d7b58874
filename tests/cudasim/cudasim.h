/* What a test may ask of the simulated GPU, and set. Calls of the CUDA runtime, cuBLAS and cuSOLVER, and
 * kernel launches, are counted together, in order. */
#ifndef TESTS_CUDASIM_H
#define TESTS_CUDASIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Streams and threads run in an order drawn from this seed; CUDASIM_SEED in the environment sets it, too.
 * Seed 0: work begins only when the host waits for it. Odd: at random moments before. Even: at once. */
void cudasim_seed(uint64_t seed);

/* From now on there are so many GPUs, 4 at most, and none of them has a context; 1 at the beginning. */
void cudasim_gpus(int count);
/* Whether something has made a context on the GPU, which takes time and some of its memory. */
bool cudasim_has_context(int gpu);
/* From now on the runtime is gone, as it is in the last functions of a program that ends. */
void cudasim_end_runtime(void);

/* Starts counting calls from zero, and the calls among them that wait for the device or may wait. */
void cudasim_watch(void);
int64_t cudasim_calls(void);
int64_t cudasim_waits(void);
/* The name of the first that waited, or NULL. */
const char *cudasim_first_wait(void);

/* Counting from now, call k (from 1) returns an error; with `broken` so does every later one, as after a
 * kernel that crashed. A call that releases something releases it all the same. k = 0: none. */
void cudasim_fail_at(int64_t k, bool broken);
bool cudasim_failed(void);
/* The name of the call that failed; "" where none has. */
const char *cudasim_failed_call(void);

/* As in a new process: no kernel has been loaded. The first launch loads it, which a capture refuses. */
void cudasim_forget_kernels(void);

/* The number of streams, events, graphs, handles, pools and blocks of device and pinned memory that are held;
 * and the bytes of device memory held. */
int64_t cudasim_live(void);
int64_t cudasim_live_bytes(void);

/* A mistake of the program (misused memory, a barrier that some threads miss, ...) is printed and ends the
 * program. Between these two calls the first mistake is kept instead. take returns its text, "" for none,
 * which is valid until the next expect. */
void cudasim_expect_report(void);
const char *cudasim_take_report(void);

#ifdef __cplusplus
}
#endif

#endif
