/* Reads numbers from the bytes of a fuzz target; after the last byte come zeros. */
#ifndef FUZZ_BYTES_H
#define FUZZ_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bytes {
    const uint8_t *at, *end;
} bytes;

static inline bool more(const bytes *b) { return b->at < b->end; }
static inline uint8_t byte(bytes *b) { return more(b) ? *b->at++ : 0; }
/* 0 .. n-1 */
static inline int below(bytes *b, int n) { return byte(b) % n; }

static inline uint64_t word(bytes *b)
{
    uint64_t v = 0;
    for (int i = 0; i < 8; i++) v |= (uint64_t)byte(b) << 8 * i;
    return v;
}

/* Traps where the condition does not hold, so that the fuzzer keeps the input. */
#define MUST(condition)                                                             \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                \
        }                                                                           \
    } while (0)

#endif
