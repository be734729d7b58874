/* A device: where tensors live and who computes on them; also the keeper of the storage pool, of the memory
 * account and of the last error message.
 *
 * One device per thread is safe: a ct_device, its tensors and its tapes are used from one thread at a time,
 * and different devices share nothing. A device computes with several threads of its own (OpenMP).
 * docs/embedding.md: threads, OpenMP's settings, fork. */
#ifndef COTANGENT_DEVICE_H
#define COTANGENT_DEVICE_H

#include <cotangent/status.h>

CT_BEGIN_DECLS

typedef struct ct_device ct_device;

/* Host memory from the application. `alloc` returns memory aligned to `alignment` (a power of two, 64 here),
 * or NULL; `release` gets the same size back. Both are called from the device's own thread only. */
typedef struct ct_allocator {
    void *(*alloc)(void *context, size_t bytes, size_t alignment);
    void (*release)(void *context, void *pointer, size_t bytes);
    void *context;
} ct_allocator;

/* Called with one line of text (no newline) for remarks that are no errors: a slow BLAS core, a GPU that
 * cannot be used. */
typedef void (*ct_log_fn)(void *context, const char *line);

/* Zero-initialise, then set what you need. */
typedef struct ct_device_options {
    const ct_allocator *allocator; /* NULL: aligned_alloc/free, in large pages where they fit. Copied.  */
    ct_log_fn log;                 /* NULL: remarks are only kept in the description.                  */
    void *log_context;
    uint64_t memory_limit; /* bytes this device may hold at once; 0: the physical memory of the machine */
    /* Threads that the device computes with; 0: as many as OpenMP would use. The device has fewer
     * (ct_device_threads) where OpenMP's limits or the system give fewer. CT_EINVAL beyond 64 and four for
     * each processor. */
    int threads;
} ct_device_options;

/* Opens a device: "cpu", "cuda:0", or NULL for the best there is: the first GPU if it works, else the CPU,
 * whose description then says why. Never returns NULL: where the device cannot
 * be opened the object carries the error (ct_device_status, ct_message) and every use of it fails with that.
 * Close it with ct_device_close in either case. */
CT_API ct_device *ct_device_open(const char *name);
CT_API ct_device *ct_device_open_with(const char *name, const ct_device_options *options);

/* Gives up the caller's handle. The device itself lives until its last tensor is released. NULL is
 * allowed. */
CT_API void ct_device_close(ct_device *device);

/* Whether the device can be used: CT_OK, or why it could not be opened. */
CT_API ct_status ct_device_status(const ct_device *device);

/* The message of the last call on this device, its tensors or its models that failed; "" before the first.
 * Owned by the device and valid until the next failure. Never NULL, also for a NULL device. */
CT_API const char *ct_message(const ct_device *device);

/* The status that belongs to ct_message. */
CT_API ct_status ct_last_status(const ct_device *device);

/* Sets both, for what is built on this library: one line with a remedy. Returns status. Allocates nothing. */
CT_API ct_status ct_device_fail(ct_device *device, ct_status status, const char *format, ...) CT_PRINTF(3, 4);

/* One line for a log: name, threads, BLAS and its core, memory; a remark follows where the BLAS core is below
 * what the CPU has. Owned by the device. */
CT_API const char *ct_device_description(const ct_device *device);

/* "cpu", "cuda:0". */
CT_API const char *ct_device_name(const ct_device *device);

/* Whether work is queued and done later, as on a GPU: then to read a value is to wait for it. */
CT_API bool ct_device_computes_late(const ct_device *device);

/* -- several devices at once -- */

/* Threads that the device computes with; 1 where it is not the host that computes. After a fork a device that
 * was opened before works on one thread, whatever this says. */
CT_API int ct_device_threads(const ct_device *device);
/* Calls run(context, k) once for each k in 0 .. count-1, on up to ct_device_threads(device) threads, and
 * returns when all have returned. The device and its tensors are not for `run` to use: each call, or each
 * thread, opens a device of its own with ct_device_open_beside. One after the other, in the caller's thread,
 * where the device is not the CPU or has an allocator of the application's. */
CT_API void ct_device_spread(ct_device *device, int64_t count, void (*run)(void *context, int64_t k),
                             void *context);
/* A device like this one (allocator, memory limit) that computes on one thread and logs nothing. As
 * ct_device_open_with. */
CT_API ct_device *ct_device_open_beside(const ct_device *device);

/* Bytes of tensor storage; the pool's idle blocks are not counted as held. Idle is at most twice the highest
 * bytes_peak, and 16 MB: beyond that the pool returns to the system, without waiting, the blocks that have
 * been idle longest. A peak fades there over a million requests. */
typedef struct ct_memory_info {
    uint64_t bytes_now;    /* held by live tensors                                      */
    uint64_t bytes_peak;   /* the most held at once since opening or ct_memory_mark     */
    uint64_t bytes_pooled; /* idle in the pool, ready for the next request              */
    uint64_t requests;     /* storages asked for                                        */
    uint64_t from_pool;    /* of these, served by the pool without the system allocator */
    uint64_t limit;        /* see ct_device_options                                     */
} ct_memory_info;

CT_API ct_memory_info ct_memory(const ct_device *device);

/* Starts a new peak: bytes_peak becomes bytes_now. */
CT_API void ct_memory_mark(ct_device *device);

/* Returns the pool's idle blocks to the system, for other programs and libraries; waits for a GPU. */
CT_API void ct_memory_trim(ct_device *device);

CT_END_DECLS
#endif
