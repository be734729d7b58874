/* Watching and failing allocations. The test programs are linked with --wrap=malloc and its kin, so every
 * allocation of the library and of the test goes through alloc.c; those inside libc, BLAS and OpenMP do not.
 * One thread watches at a time; what all threads allocate is counted. */
#ifndef TESTS_ALLOC_H
#define TESTS_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

/* Starts counting from zero; until alloc_unwatch. */
void alloc_watch(void);
void alloc_unwatch(void);

/* Allocations asked for since alloc_watch; those granted and not yet freed; their bytes. */
int64_t alloc_calls(void);
int64_t alloc_live(void);
int64_t alloc_live_bytes(void);

/* Starts watching, and the k-th allocation (from 1) returns NULL; alloc_fail_from: every one from the k-th
 * on. */
void alloc_fail_at(int64_t k);
void alloc_fail_from(int64_t k);

/* Whether an allocation was refused since then. A loop over k ends at the first run without a refusal. */
bool alloc_refused(void);

#endif
