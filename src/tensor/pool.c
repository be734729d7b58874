/* The storage pool keeps blocks of device memory that are returned for the next request of about their size,
 * so a loop in its steady state never asks the system for memory.
 *
 * A request is served by the smallest idle block that is large enough and wastes at most an eighth (idle.h).
 *
 * Idle blocks take at most 16 MB plus twice the recent peak of what was held. Beyond that the blocks that
 * have been idle longest are returned to the system. So sizes that change from step to step do not
 * accumulate, while a loop that repeats its requests always finds its blocks.
 *
 * A graph writes to the same addresses at every replay. So a step that becomes a graph draws from a pool of
 * its own, whose blocks nobody else gets; they go to the device's pool when the step is freed. All blocks of
 * a step's pool count as held, whether or not a tensor uses them. */
#include "idle.h"
#include "internal.h"

enum {
    SLAB_BYTES = 16 * 1024,
    IDLE_SLACK = 16 << 20, /* bytes that may be idle in any case */
    PEAK_LIFE = 1 << 20,   /* requests after which a peak counts 1/e of its size */
};

struct ct__pool {
    ct__idle idle;
    uint64_t lately; /* for the device's pool: the recent peak of bytes held */
    void **slabs;    /* for the device's pool: slabs of all structs, linked by the first word of each */
    bool own;        /* it is a step's pool */
    bool closed;     /* the step was freed: blocks that come back go to the device's pool */
    int64_t out;     /* for a step's pool: the number of blocks in use */
};

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

/* -- device blocks --------------------------------------------------------------------------------------- */

/* Returns idle blocks to the system, the oldest first, until at most `bytes` are left. */
static void shrink(ct_device *dev, uint64_t bytes)
{
    while (dev->memory.bytes_pooled > bytes) {
        ct__block *b = ct__idle_remove(ct__idle_oldest(&dev->pool->idle));
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
    ct__block *found = fits || pool->own ? ct__idle_take(&pool->idle, bytes) : NULL;
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
    ct__block *b = ct__struct_get(dev, sizeof *b);
    if (!b || !to->own) dev->memory.bytes_now -= bytes;
    if (b) {
        b->data = data, b->bytes = bytes;
        ct__idle_add(&to->idle, b);
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
    if (!pool) return NULL;
    *pool = (ct__pool){ .own = dev->pool != NULL };
    ct__idle_init(&pool->idle);
    return pool;
}

/* The blocks move to the device's pool as they are. */
void ct__pool_free(ct_device *dev, ct__pool *pool)
{
    if (!pool) return;
    for (ct__block *b; (b = ct__idle_oldest(&pool->idle));) {
        ct__idle_add(&dev->pool->idle, ct__idle_remove(b));
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
