/* The storage pool keeps blocks of device memory that are returned for the next request of about their size,
 * so a loop in its steady state never asks the system for memory.
 *
 * There is one list of free blocks for each size class, with four classes for each power of two. Small sizes
 * (up to 64 KiB) are rounded up to their class, so any block of the list serves. Large sizes are rounded up
 * to 4 KiB; the best fit that wastes at most an eighth is taken.
 *
 * Idle blocks take at most 16 MB plus twice the recent peak of what was held. Beyond that the blocks that
 * have been idle longest are returned to the system. So sizes that change from step to step do not
 * accumulate, while a loop that repeats its requests always finds its blocks.
 *
 * A graph writes to the same addresses at every replay. So a step that becomes a graph draws from a pool of
 * its own, whose blocks nobody else gets; they go to the device's pool when the step is freed. All blocks of
 * a step's pool count as held, whether or not a tensor uses them. */
#include "internal.h"

#include <string.h>

enum {
    SMALL_LIMIT = 64 * 1024,
    CLASSES = 4 * 56, /* up to 2^62 bytes */
    SLAB_BYTES = 16 * 1024,
    IDLE_SLACK = 16 << 20, /* bytes that may be idle in any case */
    PEAK_LIFE = 1 << 20,   /* requests after which a peak counts 1/e of its size */
};

typedef struct free_block {
    struct free_block *next, **link;  /* list of the class; *link points to this block */
    struct free_block *older, *newer; /* ordered by the time of return, in a ring */
    void *data;
    size_t bytes;
} free_block;

struct ct__pool {
    free_block *of_class[CLASSES];
    free_block ages; /* closes the ring: its `newer` is the oldest block */
    uint64_t lately; /* for the device's pool: the recent peak of bytes held */
    void **slabs;    /* for the device's pool: slabs of all structs, linked by the first word of each */
    bool own;        /* it is a step's pool */
    bool closed;     /* the step was freed: blocks that come back go to the device's pool */
    int64_t out;     /* for a step's pool: the number of blocks in use */
};

static size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

/* -- host structs ---------------------------------------------------------------------------------------- */

/* Divides a new slab into free blocks of the list's size and returns the first. */
void *ct__struct_refill(ct_device *dev, size_t list)
{
    void **s = ct__host_alloc(dev, SLAB_BYTES);
    if (!s) return NULL;
    *s = dev->pool->slabs;
    dev->pool->slabs = s;
    size_t each = (list + 1) * 64;
    char *first = (char *)s + 64;
    for (char *p = first + each; p + each <= (char *)s + SLAB_BYTES; p += each) ct__struct_put(dev, p, each);
    return first;
}

/* -- free blocks ----------------------------------------------------------------------------------------- */

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

static void push(ct__pool *pool, free_block *b)
{
    free_block **head = &pool->of_class[class_of(b->bytes)], *ages = &pool->ages;
    b->next = *head, b->link = head;
    if (b->next) b->next->link = &b->next;
    *head = b;
    b->newer = ages, b->older = ages->older;
    b->older->newer = b->newer->older = b;
}

static free_block *pull(free_block *b)
{
    *b->link = b->next;
    if (b->next) b->next->link = b->link;
    b->older->newer = b->newer;
    b->newer->older = b->older;
    return b;
}

/* The block that has been idle longest; NULL if the pool is empty. */
static free_block *oldest(ct__pool *pool)
{
    return pool->ages.newer != &pool->ages ? pool->ages.newer : NULL;
}

/* A free block of at least *bytes; rounds *bytes up to its size. NULL if there is none. */
static free_block *take(ct__pool *pool, size_t *bytes)
{
    const int class = class_of(*bytes);
    free_block *best = NULL;
    if (*bytes <= SMALL_LIMIT) {
        *bytes = class_bytes(class);
        best = pool->of_class[class];
    } else {
        *bytes = round_up(*bytes, 4096);
        for (int c = class; c <= class + 1; c++) /* a block an eighth larger is at most one class up */
            for (free_block *b = pool->of_class[c]; b; b = b->next)
                if (b->bytes >= *bytes && b->bytes - *bytes <= *bytes / 8 &&
                    (!best || b->bytes < best->bytes))
                    best = b;
    }
    return best ? pull(best) : NULL;
}

/* -- device blocks --------------------------------------------------------------------------------------- */

/* Returns idle blocks to the system, the oldest first, until at most `bytes` are left. */
static void shrink(ct_device *dev, uint64_t bytes)
{
    while (dev->memory.bytes_pooled > bytes) {
        free_block *b = pull(oldest(dev->pool));
        dev->memory.bytes_pooled -= b->bytes;
        dev->backend->release(dev, b->data, b->bytes);
        ct__struct_put(dev, b, sizeof *b);
    }
}

/* A GPU with memory pools frees the blocks in stream order, so this does not wait. */
static void shrink_to_bound(ct_device *dev) { shrink(dev, 2 * dev->pool->lately + IDLE_SLACK); }

void ct_memory_trim(ct_device *dev)
{
    if (!dev || !dev->pool) return;
    ct_memory_trim(dev->lane);
    shrink(dev, 0);
    dev->pool->lately = dev->memory.bytes_now;
    if (dev->backend->trim) dev->backend->trim(dev);
}

/* The message suggests a larger limit only if the limit is what was reached and the machine has more
 * memory. */
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

static void *from_system(ct_device *dev, size_t bytes)
{
    const ct_memory_info *m = &dev->memory;
    const uint64_t held = m->bytes_now + bytes;
    shrink(dev, held < m->limit ? m->limit - held : 0);
    void *data = dev->backend->allocate(dev, bytes);
    if (data || !m->bytes_pooled) return data;
    shrink(dev, 0);
    return dev->backend->allocate(dev, bytes);
}

void *ct__pool_get(ct_device *dev, size_t *bytes)
{
    ct__pool *pool = ct__pool_now(dev);
    ct_memory_info *m = &dev->memory;
    bool fits = *bytes <= m->limit && m->bytes_now <= m->limit - *bytes;
    free_block *found = fits || pool->own ? take(pool, bytes) : NULL;
    if (!found && !fits) return out_of_memory(dev, *bytes);
    m->requests++;
    m->from_pool += found != NULL;
    void *data = found ? found->data : from_system(dev, *bytes);
    if (!data) return out_of_memory(dev, *bytes);
    pool->out += pool->own;
    if (found) {
        *bytes = found->bytes;
        if (!pool->own) m->bytes_pooled -= *bytes;
        ct__struct_put(dev, found, sizeof *found);
    }
    if (!found || !pool->own) ct__account(dev, *bytes);
    /* The bytes held now or the earlier peak, whichever is more; the peak fades with each request. */
    uint64_t *lately = &dev->pool->lately;
    *lately -= *lately / PEAK_LIFE;
    if (*lately < m->bytes_now) *lately = m->bytes_now;
    return data;
}

static void free_pool(ct_device *dev, ct__pool *pool) { ct__host_free(dev, pool, sizeof *pool); }

/* If there is no memory to record the block, it is returned to the system. */
void ct__pool_return(ct_device *dev, ct__pool *pool, void *data, size_t bytes)
{
    if (!data) return;
    ct__pool *to = pool->closed ? dev->pool : pool;
    free_block *b = ct__struct_get(dev, sizeof *b);
    if (!b || !to->own) dev->memory.bytes_now -= bytes;
    if (b) {
        b->data = data, b->bytes = bytes;
        push(to, b);
    } else {
        dev->backend->release(dev, data, bytes);
    }
    if (b && !to->own) {
        dev->memory.bytes_pooled += bytes;
        shrink_to_bound(dev);
    }
    if (pool->own && !--pool->out && pool->closed) free_pool(dev, pool);
}

void ct__pool_put(ct_device *dev, void *data, size_t bytes)
{
    ct__pool_return(dev, ct__pool_now(dev), data, bytes);
}

ct__pool *ct__pool_new(ct_device *dev)
{
    ct__pool *pool = ct__host_alloc(dev, sizeof *pool);
    if (pool)
        *pool =
            (ct__pool){ .ages = { .older = &pool->ages, .newer = &pool->ages }, .own = dev->pool != NULL };
    return pool;
}

/* The blocks move to the device's pool as they are. */
void ct__pool_free(ct_device *dev, ct__pool *pool)
{
    if (!pool) return;
    for (free_block *b; (b = oldest(pool));) {
        push(dev->pool, pull(b));
        dev->memory.bytes_now -= b->bytes;
        dev->memory.bytes_pooled += b->bytes;
    }
    shrink_to_bound(dev);
    pool->closed = true;
    if (!pool->out) free_pool(dev, pool);
}

void ct__device_destroy(ct_device *dev)
{
    if (dev->lane) ct__device_destroy(dev->lane);
    if (dev->backend) {
        shrink(dev, 0);
        while (dev->pool->slabs) {
            void **s = dev->pool->slabs;
            dev->pool->slabs = *s;
            ct__host_free(dev, s, SLAB_BYTES);
        }
        free_pool(dev, dev->pool);
        dev->backend->close(dev);
    }
    dev->allocator.release(dev->allocator.context, dev, sizeof *dev);
}

ct_memory_info ct_memory(const ct_device *dev)
{
    ct_memory_info m = dev ? dev->memory : (ct_memory_info){ 0 };
    for (const ct_device *lane = dev ? dev->lane : NULL; lane; lane = lane->lane) {
        m.bytes_pooled += lane->memory.bytes_pooled;
        m.requests += lane->memory.requests;
        m.from_pool += lane->memory.from_pool;
    }
    return m;
}

void ct_memory_mark(ct_device *dev)
{
    if (dev && dev->backend) dev->memory.bytes_peak = dev->memory.bytes_now;
}
