/* The storage pool: blocks of device memory that come back are kept for the next request of about their size, so
 * a loop in its steady state never asks the system.
 *
 * Small blocks (up to 64 KiB) have one free list per size class, four classes per power of two. Large blocks
 * are kept in a list; the best fit that wastes at most an eighth is taken. Sizes are rounded so that equal
 * requests always meet: small to their class, large to 4 KiB.
 *
 * A graph writes to the same addresses at every replay. So a step that becomes one draws from a pool of its own, whose
 * blocks nobody else gets, and which hands them to the device's when the step is freed. What such a pool has counts as
 * held, whether or not a tensor lies there. */
#include "internal.h"

#include <string.h>

#define SMALL_LIMIT   (64 * 1024)
#define SMALL_CLASSES 48
#define SLAB_BYTES    (16 * 1024)

typedef struct free_block {
    struct free_block *next;
    void *data;
    size_t bytes;
} free_block;

typedef struct slab {
    struct slab *next;
} slab;

struct ct__pool {
    free_block *small[SMALL_CLASSES];
    free_block *large;
    slab *slabs; /* the device's pool has those of all structs */
    bool own;    /* a step's                                   */
    bool closed; /* the step is gone: blocks still to come go to the device */
    int64_t out; /* blocks handed out, of a step's pool        */
};

static size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

/* -- host structs -------------------------------------------------------------------------------------------------- */

void *ct__host_alloc(ct_device *dev, size_t bytes)
{
    if (bytes > SIZE_MAX / 2) {
        ct__fail(dev, CT_ENOMEM, "out of memory: %zu bytes of host memory were asked for", bytes);
        return NULL;
    }
    size_t rounded = round_up(bytes ? bytes : 1, CT__ALIGNMENT);
    void *p = dev->allocator.alloc(dev->allocator.context, rounded, CT__ALIGNMENT);
    if (!p) ct__fail(dev, CT_ENOMEM, "out of memory: %zu bytes of host memory were asked for", bytes);
    return p;
}

void ct__host_free(ct_device *dev, void *p, size_t bytes)
{
    if (p) dev->allocator.release(dev->allocator.context, p, round_up(bytes ? bytes : 1, CT__ALIGNMENT));
}

/* A slab becomes free blocks of that list's size, the first of which is returned. */
void *ct__struct_refill(ct_device *dev, size_t list)
{
    slab *s = ct__host_alloc(dev, SLAB_BYTES);
    if (!s) return NULL;
    s->next = dev->pool->slabs;
    dev->pool->slabs = s;
    size_t each = (list + 1) * 64;
    char *first = (char *)s + 64;
    for (char *p = first + each; p + each <= (char *)s + SLAB_BYTES; p += each) ct__struct_put(dev, p, each);
    return first;
}

/* -- device blocks -------------------------------------------------------------------------------------------------- */

/* Class and rounded size of a small request: 64 * {1, 1.25, 1.5, 1.75} * 2^k, in whole cache lines. */
static size_t small_class(size_t *bytes)
{
    size_t lines = round_up(*bytes ? *bytes : 1, 64) / 64;
    if (lines <= 4) {
        *bytes = lines * 64;
        return lines - 1;
    }
    int log2 = 63 - __builtin_clzll(lines - 1); /* 2^log2 <= lines - 1 */
    size_t step = (size_t)1 << (log2 - 2), quarter = (lines - 1 - ((size_t)1 << log2)) / step; /* 0..3 */
    *bytes = (((size_t)1 << log2) + (quarter + 1) * step) * 64;
    return 4 + (size_t)(log2 - 2) * 4 + quarter;
}

/* The free block that fits best, unlinked; NULL where none does. */
static free_block *take_large(ct__pool *pool, size_t bytes)
{
    free_block **best = NULL;
    for (free_block **b = &pool->large; *b; b = &(*b)->next)
        if ((*b)->bytes >= bytes && (*b)->bytes - bytes <= bytes / 8 &&
            (!best || (*b)->bytes < (*best)->bytes))
            best = b;
    if (!best) return NULL;
    free_block *found = *best;
    *best = found->next;
    return found;
}

/* Back to the system. */
static void release_list(ct_device *dev, free_block **list)
{
    while (*list) {
        free_block *b = *list;
        *list = b->next;
        dev->memory.bytes_pooled -= b->bytes;
        dev->backend->release(dev, b->data, b->bytes);
        ct__struct_put(dev, b, sizeof *b);
    }
}

static void release_all(ct_device *dev)
{
    release_list(dev, &dev->pool->large);
    for (int i = 0; i < SMALL_CLASSES; i++) release_list(dev, &dev->pool->small[i]);
}

void ct_memory_trim(ct_device *dev)
{
    if (!dev || !dev->pool) return;
    release_all(dev);
    if (dev->backend->trim) dev->backend->trim(dev);
}

/* A larger limit helps where there is one to reach, and memory to give. */
static void *out_of_memory(ct_device *dev, size_t bytes)
{
    const ct_memory_info *m = &dev->memory;
    uint64_t needed = bytes < UINT64_MAX - m->bytes_now ? m->bytes_now + bytes : UINT64_MAX;
    bool raise = needed > m->limit && needed <= dev->memory_there;
    ct__fail(
        dev, CT_ENOMEM,
        "out of memory on %s: %zu bytes were asked for, %llu are held, the limit is %llu: use less data%s",
        dev->name, bytes, (unsigned long long)m->bytes_now, (unsigned long long)m->limit,
        raise ? ", or a larger memory_limit" : "");
    return NULL;
}

/* A free block of at least *bytes, which are rounded up; NULL where there is none. */
static free_block *take(ct__pool *pool, size_t *bytes)
{
    if (*bytes <= SMALL_LIMIT) {
        free_block **head = &pool->small[small_class(bytes)], *found = *head;
        if (found) *head = found->next;
        return found;
    }
    *bytes = round_up(*bytes, 4096);
    return take_large(pool, *bytes);
}

void *ct__pool_get(ct_device *dev, size_t *bytes)
{
    ct__pool *pool = ct__pool_now(dev);
    ct_memory_info *m = &dev->memory;
    bool fits = *bytes <= m->limit && m->bytes_now <= m->limit - *bytes;
    free_block *found = fits || pool->own ? take(pool, bytes) : NULL;
    if (!found && !fits) return out_of_memory(dev, *bytes);
    m->requests++;
    if (found) {
        void *data = found->data;
        *bytes = found->bytes;
        m->from_pool++;
        ct__struct_put(dev, found, sizeof *found);
        if (pool->own) {
            pool->out++;
        } else {
            m->bytes_pooled -= *bytes;
            ct__account(dev, *bytes);
        }
        return data;
    }
    if (m->bytes_now + m->bytes_pooled + *bytes > m->limit) release_all(dev);
    void *data = dev->backend->allocate(dev, *bytes);
    if (!data) {
        release_all(dev);
        data = dev->backend->allocate(dev, *bytes);
    }
    if (!data) return out_of_memory(dev, *bytes);
    ct__account(dev, *bytes);
    pool->out += pool->own;
    return data;
}

/* Into the device's pool, or back to the system where there is no room to remember it. */
static void put_block(ct_device *dev, ct__pool *pool, void *data, size_t bytes)
{
    free_block *b = ct__struct_get(dev, sizeof *b);
    if (!b || !pool->own) dev->memory.bytes_now -= bytes;
    if (!b) {
        dev->backend->release(dev, data, bytes);
        return;
    }
    size_t rounded = bytes;
    free_block **head = bytes <= SMALL_LIMIT ? &pool->small[small_class(&rounded)] : &pool->large;
    *b = (free_block){ *head, data, bytes };
    *head = b;
    if (!pool->own) dev->memory.bytes_pooled += bytes;
}

static void free_pool(ct_device *dev, ct__pool *pool) { ct__host_free(dev, pool, sizeof *pool); }

void ct__pool_return(ct_device *dev, ct__pool *pool, void *data, size_t bytes)
{
    if (!data) return;
    put_block(dev, pool->closed ? dev->pool : pool, data, bytes);
    if (pool->own && !--pool->out && pool->closed) free_pool(dev, pool);
}

void ct__pool_put(ct_device *dev, void *data, size_t bytes)
{
    ct__pool_return(dev, ct__pool_now(dev), data, bytes);
}

ct__pool *ct__pool_new(ct_device *dev)
{
    ct__pool *pool = ct__host_alloc(dev, sizeof *pool);
    if (!pool) return NULL;
    memset(pool, 0, sizeof *pool);
    pool->own = true;
    return pool;
}

/* The blocks move over as they are. */
static void hand_over(ct_device *dev, free_block **from, free_block **to)
{
    while (*from) {
        free_block *b = *from;
        *from = b->next;
        b->next = *to;
        *to = b;
        dev->memory.bytes_now -= b->bytes;
        dev->memory.bytes_pooled += b->bytes;
    }
}

void ct__pool_free(ct_device *dev, ct__pool *pool)
{
    if (!pool) return;
    hand_over(dev, &pool->large, &dev->pool->large);
    for (int i = 0; i < SMALL_CLASSES; i++) hand_over(dev, &pool->small[i], &dev->pool->small[i]);
    pool->closed = true;
    if (!pool->out) free_pool(dev, pool);
}

ct_status ct__pool_open(ct_device *dev)
{
    dev->pool = ct__host_alloc(dev, sizeof *dev->pool);
    if (!dev->pool) return CT_ENOMEM;
    memset(dev->pool, 0, sizeof *dev->pool);
    return CT_OK;
}

void ct__pool_close(ct_device *dev)
{
    release_all(dev);
    while (dev->pool->slabs) {
        slab *s = dev->pool->slabs;
        dev->pool->slabs = s->next;
        ct__host_free(dev, s, SLAB_BYTES);
    }
    ct__host_free(dev, dev->pool, sizeof *dev->pool);
    dev->pool = NULL;
}

ct_memory_info ct_memory(const ct_device *dev) { return dev ? dev->memory : (ct_memory_info){ 0 }; }

void ct_memory_mark(ct_device *dev)
{
    if (dev && dev->backend) dev->memory.bytes_peak = dev->memory.bytes_now;
}
