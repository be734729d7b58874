/* The idle blocks of a pool, found by size and by age. No call takes more steps than a size has bits, however
 * many blocks there are. */
#ifndef CT_TENSOR_IDLE_H
#define CT_TENSOR_IDLE_H

#include <stddef.h>
#include <stdint.h>

enum { CT__IDLE_CLASSES = 4 * 56 }; /* four for each power of two, up to 2^62 bytes */

/* The owner sets data and bytes and keeps the struct while the block is idle; the rest is idle.c's. */
typedef struct ct__block {
    void *data;
    size_t bytes;
    struct ct__block *older, *newer; /* a ring in the order of return */
    struct ct__block *next, **link;  /* a list of blocks of one size; *link points to this block */
    struct ct__block *child[2];      /* in the first block of a size: larger and smaller sizes, see idle.c */
} ct__block;

typedef struct ct__idle {
    ct__block *of_class[CT__IDLE_CLASSES];
    ct__block ages; /* closes the ring: its `newer` is the oldest block */
} ct__idle;

void ct__idle_init(ct__idle *idle);
/* Adds a block of a size that ct__idle_take has rounded. */
void ct__idle_add(ct__idle *idle, ct__block *block);
/* Removes a block and returns it. */
ct__block *ct__idle_remove(ct__block *block);
/* Rounds *bytes up to a block's size: its class's up to 64 KiB, above it whole units of 4 KiB. Removes and
 * returns the smallest block of at least that size that wastes at most an eighth; NULL if there is none. */
ct__block *ct__idle_take(ct__idle *idle, size_t *bytes);
/* The block that has been idle longest; NULL if there is none. */
ct__block *ct__idle_oldest(const ct__idle *idle);

#endif
