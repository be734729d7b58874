/* Devices: opens them by name and counts references. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LARGE_PAGE = 2 << 20 }; /* bytes */

/* What ct_device_open returns if not even a ct_device can be allocated. It has no references and is never
 * written to. */
static const ct_device no_memory_device = {
    .status = CT_ENOMEM,
    .last_status = CT_ENOMEM,
    .message = "out of memory while opening a device",
    .description = "no device: out of memory",
    .name = "none",
};

/* A block that fills large pages is allocated in such pages if the system has them, because they are faster
 * to allocate and to access. */
static void *default_alloc(void *context, size_t bytes, size_t alignment)
{
    (void)context;
    char *p = aligned_alloc(alignment, bytes);
#ifdef MADV_HUGEPAGE
    const uintptr_t from = ((uintptr_t)p + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE,
                    to = ((uintptr_t)p + bytes) / LARGE_PAGE * LARGE_PAGE;
    if (p && from < to) madvise((void *)from, to - from, MADV_HUGEPAGE);
#endif
    return p;
}

static void default_release(void *context, void *pointer, size_t bytes)
{
    (void)context, (void)bytes;
    free(pointer);
}

static const ct_allocator default_allocator = { default_alloc, default_release, NULL };

static const ct_services services = {
    .pool_get = ct__pool_get,
    .pool_put = ct__pool_put,
    .host_alloc = ct__host_alloc,
    .host_free = ct__host_free,
    .failure_note = ct__failure_note,
};

/* Finds the backend and the ordinal of "cpu", "cuda" or "cuda:<ordinal>". NULL with a message. */
static const ct_backend *find_backend(ct_device *dev, const char *name, int *ordinal)
{
    char tail;
    *ordinal = 0;
    if (!strcmp(name, "cpu")) return &ct__cpu_backend;
    if (!strcmp(name, "cuda") || (sscanf(name, "cuda:%3d%c", ordinal, &tail) == 1 && *ordinal >= 0))
        return ct__cuda_backend(dev, *ordinal);
    ct__fail(dev, CT_EDEVICE, "no device is called \"%.40s\": use \"cpu\" or \"cuda:0\"", name);
    return NULL;
}

static ct_status open_backend(ct_device *dev, const char *name, const ct_device_options *options)
{
    int ordinal;
    const ct_backend *backend = find_backend(dev, name, &ordinal);
    ct_status s = backend ? backend->open(dev, ordinal) : dev->last_status;
    if (s) return s;
    dev->backend = backend;
    dev->memory_there = dev->memory.limit;
    if (options->memory_limit) dev->memory.limit = options->memory_limit;
    dev->pool = ct__pool_new(dev);
    if (dev->pool) return CT_OK;
    backend->close(dev);
    dev->backend = NULL;
    return CT_ENOMEM;
}

/* Opens the GPU if one works, else the CPU, whose description then says why. */
static ct_status open_best(ct_device *dev, const ct_device_options *options)
{
    if (!open_backend(dev, "cuda:0", options)) return CT_OK;
    dev->threads = options->threads;
    dev->memory.limit = 0;
    ct_status s = open_backend(dev, "cpu", options);
    if (s) return s;
    ct__remark(dev, "not a GPU: %s", dev->message);
    dev->message[0] = '\0';
    return dev->last_status = CT_OK;
}

ct_device *ct_device_open_with(const char *name, const ct_device_options *options)
{
    static const ct_device_options none = { 0 };
    if (!options) options = &none;
    const ct_allocator *given = options->allocator;
    const bool whole = !given || (given->alloc && given->release);
    ct_allocator allocator = given && whole ? *given : default_allocator;
    ct_device *dev = allocator.alloc(allocator.context, sizeof *dev, CT__ALIGNMENT);
    if (!dev) return (ct_device *)(uintptr_t)&no_memory_device;
    *dev = (ct_device){ .refs = 1,
                        .services = &services,
                        .allocator = allocator,
                        .log = options->log,
                        .log_context = options->log_context,
                        .threads = options->threads };
    if (!whole)
        dev->status =
            ct__fail(dev, CT_EINVAL, "the allocator has no %s function", given->alloc ? "release" : "alloc");
    else if (options->threads < 0)
        dev->status = ct__fail(dev, CT_EINVAL, "threads must be 0 or more, not %d", options->threads);
    else
        dev->status = name ? open_backend(dev, name, options) : open_best(dev, options);
    return dev;
}

ct_device *ct_device_open(const char *name) { return ct_device_open_with(name, NULL); }

ct_device *ct_device_retain(ct_device *dev)
{
    if (dev && dev != &no_memory_device) dev->refs++;
    return dev;
}

void ct_device_close(ct_device *dev)
{
    if (dev && dev != &no_memory_device && !--dev->refs) ct__device_destroy(dev);
}

ct_status ct_device_status(const ct_device *dev) { return dev ? dev->status : CT_EINVAL; }

const char *ct_device_description(const ct_device *dev)
{
    if (!dev) return "no device";
    return dev->status ? dev->message : dev->description;
}

const char *ct_device_name(const ct_device *dev) { return dev ? dev->name : "none"; }

bool ct_device_is_asynchronous(const ct_device *dev)
{
    return dev && dev->backend && !dev->backend->host_memory;
}

/* -- several devices at once ----------------------------------------------------------------------------- */

int ct_device_threads(const ct_device *dev)
{
    return dev && !dev->status && dev->backend->spread && dev->threads > 1 ? dev->threads : 1;
}

/* An allocator of the application need not be safe for several threads. */
static bool may_spread(const ct_device *dev, int64_t count)
{
    return count > 1 && ct_device_threads(dev) > 1 && dev->allocator.alloc == default_alloc;
}

void ct_device_parallel_for(ct_device *dev, int64_t count, void (*run)(void *context, int64_t k),
                            void *context)
{
    if (run && may_spread(dev, count))
        dev->backend->spread(dev, count, run, context);
    else
        for (int64_t k = 0; run && k < count; k++) run(context, k);
}

ct_device *ct_device_open_worker(const ct_device *dev)
{
    if (!dev || dev->status) return ct_device_open_with("beside a NULL or unusable device", NULL);
    return ct_device_open_with(dev->name, &(ct_device_options){ .allocator = &dev->allocator,
                                                                .memory_limit = dev->memory.limit,
                                                                .threads = 1 });
}

/* -- lanes ----------------------------------------------------------------------------------------------- */

ct_device *ct__lane(ct_device *dev, int64_t k)
{
    for (; k >= 0; k--) dev = dev->lane;
    return dev;
}

static ct_device *open_lane(const ct_device *dev)
{
    ct_device *lane = ct_device_open_worker(dev);
    if (!lane->status) return lane;
    ct_device_close(lane);
    return NULL;
}

int ct__lanes(ct_device *dev, int64_t count)
{
    const int wanted = count < dev->threads ? (int)count : dev->threads;
    const ct_memory_info *m = &dev->memory;
    int lanes = 0;
    if (!may_spread(dev, count)) return 0;
    for (ct_device *last = dev; lanes < wanted; last = last->lane, lanes++) {
        if (!last->lane && !(last->lane = open_lane(dev))) break;
        last->lane->threads = dev->threads; /* the thread count affects the bits, so it equals the device's */
        last->lane->memory.limit = m->bytes_now < m->limit ? (m->limit - m->bytes_now) / (uint64_t)wanted : 0;
    }
    return lanes;
}

void ct__lanes_end(ct_device *dev)
{
    uint64_t held = dev->memory.bytes_now;
    for (ct_device *lane = dev->lane; lane; lane = lane->lane) {
        held += lane->memory.bytes_peak;
        ct_memory_mark(lane);
    }
    if (held > dev->memory.bytes_peak) dev->memory.bytes_peak = held;
}
