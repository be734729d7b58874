/* The idle blocks of a pool.
 *
 * A class spans a quarter of a power of two. Up to 64 KiB each class has one size. Above it the sizes of a
 * class form a binary trie: each node is the list of blocks of one size, and the bits of the size, from the
 * highest that can differ within the class, say at each level which child leads on. All sizes below child[0]
 * are smaller than all below child[1]; the node's own size may be any of its subtree's. A leaf can therefore
 * take the place of any node above it, and no node is deeper than a size has bits. [Lea's malloc keeps its
 * large chunks so: http://gee.cs.oswego.edu/dl/html/malloc.html] */
#include "idle.h"

#include <stdbool.h>

enum { SMALL_LIMIT = 64 * 1024 };

/* The smallest class that holds `bytes`. */
static int class_of(size_t bytes)
{
    const size_t last = bytes ? (bytes - 1) / 64 : 0; /* cache line */
    if (last < 4) return (int)last;
    const int log2 = 63 - __builtin_clzll(last); /* 2^log2 <= last */
    return 4 * (log2 - 2) + (int)(last >> (log2 - 2));
}

/* 64 * {1, 1.25, 1.5, 1.75} * 2^k, in whole cache lines. */
static size_t class_bytes(int class)
{
    return 64 * (class < 4 ? class + 1 : (5 + class % 4) << (class / 4 - 1));
}

/* The bits of a size that can differ within a class, from the top of the word: all sizes of a class agree in
 * the three highest bits of bytes - 1. */
static uint64_t bits_of(size_t bytes) { return (uint64_t)(bytes - 1) << (__builtin_clzll(bytes - 1) + 3); }

/* -- the trie -------------------------------------------------------------------------------------------- */

/* Makes `block` (may be NULL) the target of a pointer in the trie or in a list. */
static void place(ct__block **link, ct__block *block)
{
    *link = block;
    if (block) block->link = link;
}

static void add(ct__block **root, ct__block *block)
{
    ct__block **at = root;
    for (uint64_t bits = bits_of(block->bytes); *at && (*at)->bytes != block->bytes; bits <<= 1)
        at = &(*at)->child[bits >> 63];
    if (*at) at = &(*at)->next; /* second in the list of its size */
    block->child[0] = block->child[1] = NULL;
    block->next = NULL;
    ct__block *rest = *at;
    place(at, block);
    if (rest) place(&block->next, rest);
}

/* A leaf below b, and its place is empty then; NULL if b is a leaf. */
static ct__block *pluck(ct__block *b)
{
    ct__block *leaf = b;
    while (leaf->child[0] || leaf->child[1]) leaf = leaf->child[leaf->child[1] != NULL];
    if (leaf == b) return NULL;
    *leaf->link = NULL;
    return leaf;
}

ct__block *ct__idle_remove(ct__block *b)
{
    ct__block *heir = b->next ? b->next : pluck(b);
    place(b->link, heir);
    for (int i = 0; heir && i < 2; i++) place(&heir->child[i], b->child[i]);
    b->older->newer = b->newer;
    b->newer->older = b->older;
    return b;
}

/* The smaller of `best`, which may be NULL, and the smallest of the subtree t. */
static ct__block *smallest(ct__block *t, ct__block *best)
{
    for (; t; t = t->child[t->child[0] == NULL])
        if (!best || t->bytes < best->bytes) best = t;
    return best;
}

/* The smallest of at least `bytes` in the trie t of their class. The sizes below a child[1] that the way of
 * `bytes` leaves aside are larger than `bytes`; those of the lowest such child are the closest. */
static ct__block *best_fit(ct__block *t, size_t bytes)
{
    ct__block *best = NULL, *above = NULL;
    for (uint64_t bits = bits_of(bytes); t; bits <<= 1) {
        if (t->bytes == bytes) return t;
        if (t->bytes > bytes && (!best || t->bytes < best->bytes)) best = t;
        if (!(bits >> 63) && t->child[1]) above = t->child[1];
        t = t->child[bits >> 63];
    }
    return smallest(above, best);
}

/* -- by size and by age ---------------------------------------------------------------------------------- */

void ct__idle_init(ct__idle *idle)
{
    *idle = (ct__idle){ .ages = { .older = &idle->ages, .newer = &idle->ages } };
}

void ct__idle_add(ct__idle *idle, ct__block *b)
{
    ct__block *ages = &idle->ages;
    add(&idle->of_class[class_of(b->bytes)], b);
    b->newer = ages, b->older = ages->older;
    b->older->newer = b->newer->older = b;
}

ct__block *ct__idle_take(ct__idle *idle, size_t *bytes)
{
    const int class = class_of(*bytes);
    const bool small = *bytes <= SMALL_LIMIT;
    *bytes = small ? class_bytes(class) : (*bytes + 4095) / 4096 * 4096;
    ct__block *best = best_fit(idle->of_class[class], *bytes);
    /* a block an eighth larger is at most one class up */
    if (!best && !small) best = smallest(idle->of_class[class + 1], NULL);
    if (!best || best->bytes - *bytes > *bytes / 8) return NULL;
    return ct__idle_remove(best->next ? best->next : best); /* the second of a list is the latest */
}

ct__block *ct__idle_oldest(const ct__idle *idle)
{
    return idle->ages.newer != &idle->ages ? idle->ages.newer : NULL;
}
