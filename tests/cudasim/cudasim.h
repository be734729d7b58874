/* What a test may ask of the simulated GPU, and tell it. The calls of the CUDA runtime, cuBLAS, cuSOLVER and
 * the kernel launches are counted together, in order. */
#ifndef TESTS_CUDASIM_H
#define TESTS_CUDASIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Streams and threads run in an order drawn from this seed; also CUDASIM_SEED in the environment. Seed 0:
 * work begins only when somebody waits for it; odd: at random moments before; even: at once. */
void cudasim_seed(uint64_t seed);

/* From now on calls are counted from zero, and so are those that wait for the device or may. */
void cudasim_watch(void);
int64_t cudasim_calls(void);
int64_t cudasim_waits(void);
/* The name of the first that waited, or NULL. */
const char *cudasim_first_wait(void);

/* Counting from now, call k (from 1) returns an error; with `broken` so does every later one, as after a
 * kernel that crashed. A call that releases something releases it all the same. k = 0: none. */
void cudasim_fail_at(int64_t k, bool broken);
bool cudasim_failed(void);
/* Its name; "" where none has failed. */
const char *cudasim_failed_call(void);

/* What is held: streams, events, graphs, handles, pools and blocks of memory, device's and pinned; and in
 * bytes, the memory of the device. */
int64_t cudasim_live(void);
int64_t cudasim_live_bytes(void);

/* A mistake of the program (memory misused, a barrier not met, ...) is printed and ends it; between these two
 * the first is kept instead. take returns its text, "" for none, until the next expect. */
void cudasim_expect_report(void);
const char *cudasim_take_report(void);

#ifdef __cplusplus
}
#endif

#endif
