/* A device holds tensors and computes on them. It also keeps the storage pool, the memory account and the
 * last error message.
 *
 * A ct_device, its tensors and its tapes must be used from one thread at a time. Different devices share
 * nothing, so each thread may use a device of its own. A device computes with several threads (OpenMP).
 * docs/embedding.md covers threads, OpenMP's settings and fork. */
#ifndef COTANGENT_DEVICE_H
#define COTANGENT_DEVICE_H

#include <cotangent/status.h>

CT_BEGIN_DECLS

typedef struct ct_device ct_device;

/* Host memory from the application. `alloc` returns memory aligned to `alignment` (a power of two, here 64),
 * or NULL. `release` gets the same size back. Both are called only from the thread that uses the device. */
typedef struct ct_allocator {
    void *(*alloc)(void *context, size_t bytes, size_t alignment);
    void (*release)(void *context, void *pointer, size_t bytes);
    void *context;
} ct_allocator;

/* Receives one line of text, without a newline, for a remark that is not an error: a BLAS core that is slow,
 * or a GPU that cannot be used. */
typedef void (*ct_log_fn)(void *context, const char *line);

/* Zero-initialise, then set what you need. */
typedef struct ct_device_options {
    /* Copied. NULL: aligned_alloc and free, with large pages where they fit. */
    const ct_allocator *allocator;
    ct_log_fn log; /* NULL: remarks appear in the description only */
    void *log_context;
    uint64_t memory_limit; /* bytes that this device may hold at once; 0: the machine's physical memory */
    /* Threads to compute with; 0: as many as OpenMP would use. ct_device_threads gives the actual number,
     * which is lower where OpenMP's limits or the system allow fewer. A number above both 64 and four per
     * processor is CT_EINVAL. */
    int threads;
} ct_device_options;

/* Opens "cpu", "cuda:0", or with NULL the best device: the first GPU if it works, else the CPU, whose
 * description then says why. options = NULL: the defaults. Never returns NULL. If the device cannot be
 * opened, the object carries the error (ct_device_status, ct_message) and every use of it fails with that
 * error. Close it with ct_device_close in either case. */
CT_API ct_device *ct_device_open(const char *name);
CT_API ct_device *ct_device_open_with(const char *name, const ct_device_options *options);

/* Gives up the caller's handle. The device itself lives until its last tensor is released. NULL is
 * allowed. */
CT_API void ct_device_close(ct_device *device);
/* A further handle, for an object that outlives the caller's: give it up with ct_device_close. Returns the
 * device; NULL for NULL. */
CT_API ct_device *ct_device_retain(ct_device *device);

/* CT_OK if the device can be used, else the reason why it could not be opened. */
CT_API ct_status ct_device_status(const ct_device *device);

/* The message of the last failed call on this device, its tensors or its models; "" before the first failure.
 * Owned by the device and valid until the next failure. Never NULL, not even for a NULL device. */
CT_API const char *ct_message(const ct_device *device);

/* The status that belongs to ct_message. */
CT_API ct_status ct_last_status(const ct_device *device);

/* Sets the message and the status, for code built on this library. The message should be one line that names
 * a remedy. Returns `status`. Allocates nothing. */
CT_API ct_status ct_device_fail(ct_device *device, ct_status status, const char *format, ...) CT_PRINTF(3, 4);

/* Loads a module of the library, given the name of its file. Three places are searched in turn: the folder of
 * this library (or of the program, if it is linked statically), the folder where the library is installed,
 * and the system loader's search path. The module stays loaded until the process ends. With `global`,
 * libraries loaded later see its symbols. path[0..size) receives the file's path. Returns the loader's
 * handle. On failure returns NULL and sets *reason to the loader's message, which is valid until the loader's
 * next call, or to NULL if no such file exists. An argument of NULL gives NULL. */
CT_API void *ct_module_load(const char *file, bool global, char *path, size_t size, const char **reason);

/* One line for a log: name, threads, the microarchitecture that it is tuned for, BLAS and its core, memory. A
 * remark follows if the BLAS core does not use all instructions of the CPU. Owned by the device. */
CT_API const char *ct_device_description(const ct_device *device);

/* The device's name: "cpu", "cuda:0". Owned by the device. */
CT_API const char *ct_device_name(const ct_device *device);

/* Whether the device computes asynchronously, as a GPU does. Reading a value then waits for it. */
CT_API bool ct_device_is_asynchronous(const ct_device *device);

/* -- several devices at once -- */

/* The number of threads that the device computes with; 1 for a device other than the CPU. After a fork, a
 * device that was opened before it computes on one thread, whatever this function returns. */
CT_API int ct_device_threads(const ct_device *device);
/* Calls run(context, k) once for each k in 0 .. count-1, on up to ct_device_threads(device) threads, and
 * returns when all calls have returned. `run` must not use the device or its tensors: each call, or each
 * thread, opens a device of its own with ct_device_open_worker. If the device is not a CPU, or uses the
 * application's allocator, all calls run in sequence in the caller's thread. */
CT_API void ct_device_parallel_for(ct_device *device, int64_t count, void (*run)(void *context, int64_t k),
                                   void *context);
/* Opens a device that computes on one thread and logs nothing. It has this one's allocator and memory limit.
 * Never returns NULL; a failure is kept in the device, as for ct_device_open_with. */
CT_API ct_device *ct_device_open_worker(const ct_device *device);

/* Bytes of tensor storage. The pool's idle blocks do not count as held. The pool keeps at most 16 MB plus
 * twice the highest bytes_peak; beyond that it returns the blocks that have been idle longest to the system,
 * without waiting. A past peak fades from this limit over a million requests. */
typedef struct ct_memory_info {
    uint64_t bytes_now;    /* held by live tensors */
    uint64_t bytes_peak;   /* the most held at once since opening or the last ct_memory_mark */
    uint64_t bytes_pooled; /* idle in the pool, ready for the next request */
    uint64_t requests;     /* storages requested */
    uint64_t from_pool;    /* requests served by the pool without the system allocator */
    uint64_t limit;        /* ct_device_options.memory_limit, or its default */
} ct_memory_info;

CT_API ct_memory_info ct_memory(const ct_device *device);

/* Starts a new peak: sets bytes_peak to bytes_now. */
CT_API void ct_memory_mark(ct_device *device);

/* Returns the pool's idle blocks to the system, for other programs and libraries. Waits for a GPU. */
CT_API void ct_memory_trim(ct_device *device);

CT_END_DECLS
#endif
